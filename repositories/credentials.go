package repositories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// Credential is a reference to one credential of a definition: where it is in the body, and
// under which name it is kept. The name holds ids, not positions, so that a credential
// stays with its module or tool when their order changes.
type Credential struct {
	Name    string
	pointer string
	Get     func() secret.Secret
	Set     func(secret.Secret)
	// to is its destination. It needs the app for tools that work on one of its sources.
	// Nil where it goes nowhere.
	to func(app *App) destination
	// Shown marks the value of a header that is not confidential.
	Shown bool
	// Kept marks a credential that no client sends: it is kept for as long as its
	// destination is the same.
	Kept bool
}

func fieldCredential(name, pointer string, field *secret.Secret, to func(*App) destination) Credential {
	return Credential{Name: name, pointer: pointer, Get: func() secret.Secret { return *field }, Set: func(s secret.Secret) { *field = s }, to: to}
}

// Credentials returns all places where the app can hold a credential. Its signing secret
// has no destination: signatures are made with it.
func (a *App) Credentials() []Credential {
	list := []Credential{fieldCredential("signingSecret", "/signingSecret", &a.SigningSecret, nil)}
	for i := range a.Modules {
		module := &a.Modules[i]
		to := func(*App) destination { return module.secretDestination() }
		list = append(list, fieldCredential("modules/"+module.ID, fault.Point("modules", i, "secret"), &module.Secret, to))
	}
	for i := range a.Sources {
		list = append(list, a.Sources[i].credentials(fault.Point("sources", i))...)
	}
	return list
}

func (s *Source) credentials(pointer string) []Credential {
	name, to := "sources/"+s.Name, func(*App) destination { return s.destination() }
	list := []Credential{fieldCredential(name+"/password", pointer+"/password", &s.Password, to)}
	list = append(list, s.Headers.credentials(name+"/headers/", pointer+"/headers", to)...)
	list = append(list, s.Auth.credentials(name+"/auth/", pointer+"/auth", to)...)
	return append(list, s.QueryParams.credentials(name+"/queryParams/", pointer+"/queryParams", to)...)
}

// Credentials returns all places where the repository's tools can hold a credential.
func (r *Repository) Credentials() []Credential {
	var list []Credential
	for i := range r.Tools {
		list = append(list, r.Tools[i].credentials(fault.Point("tools", i))...)
	}
	return list
}

func (t *Tool) credentials(pointer string) []Credential {
	name := "tools/" + t.Name
	list := t.Headers.credentials(name+"/own headers/", pointer+"/headers", t.destination)
	if t.Request == nil {
		return list
	}
	pointer += "/request"
	if basic := t.Request.Basic; basic != nil {
		to := func(app *App) destination { return t.destination(app).with(destination{"username": basic.Username}) }
		list = append(list, fieldCredential(name+"/basic.password", pointer+"/basic/password", &basic.Password, to))
	}
	if bearer := t.Request.Bearer; bearer != nil {
		to := func(app *App) destination { return bearer.destination(t.destination(app)) }
		list = append(list,
			fieldCredential(name+"/bearer.clientSecret", pointer+"/bearer/clientSecret", &bearer.ClientSecret, to),
			fieldCredential(name+"/bearer.password", pointer+"/bearer/password", &bearer.Password, to))
	}
	anywhere := fieldCredential(name+"/module", pointer+"/moduleId", &t.Request.anywhere, t.moduleUse)
	anywhere.Kept = true
	list = append(list, anywhere)
	return append(list, t.Request.Headers.credentials(name+"/headers/", pointer+"/headers", t.destination)...)
}

func (h Headers) credentials(name, pointer string, to func(*App) destination) []Credential {
	var list []Credential
	for _, header := range slices.Sorted(maps.Keys(h)) {
		list = append(list, Credential{
			Name:    name + header,
			pointer: pointer + fault.Point(header),
			Get:     func() secret.Secret { return h[header] },
			Set:     func(s secret.Secret) { h[header] = s },
			to:      to,
			Shown:   !credentialHeader.MatchString(header),
		})
	}
	return list
}

// towards is the destination as it is stored with the credential.
func (c Credential) towards(app *App) string {
	if c.to == nil {
		return ""
	}
	return c.to(app).text()
}

// KeepMasked replaces every mask with the credential of the same name in stored, and
// returns a fault for each mask without a stored credential or with one for another
// destination. A new credential is bound to its destination.
func KeepMasked(app *App, given, stored []Credential) error {
	kept := map[string]secret.Secret{}
	for _, c := range stored {
		kept[c.Name] = c.Get()
	}
	var faults fault.List
	for _, c := range given {
		credential, there := c.Get(), kept[c.Name]
		switch {
		case c.Kept && credential.Empty():
			if there.Towards() == c.towards(app) {
				c.Set(there)
			}
		case !credential.IsMasked():
			c.bind(app)
		case there.Empty():
			faults.Add(c.pointer, "%q stands for a stored credential, and none is stored here: give the credential itself", secret.Masked)
		case there.Towards() != c.towards(app):
			faults.Add(c.pointer, "%q stands for a stored credential, which does not go elsewhere: give it again, since %s changed", secret.Masked, c.to(app).changed(there.Towards()))
		default:
			c.Set(there)
		}
	}
	return faults.Err()
}

// bind records the destination of a new credential. A stored one keeps the destination that
// it was given for.
func (c Credential) bind(app *App) {
	if secret := c.Get(); !secret.Empty() && secret.Towards() == "" {
		secret = secret.For(c.towards(app))
		c.Set(secret)
	}
}

// CheckDestination returns an error if the app has changed the tool's source to another
// destination since the tool's credentials were given: they are not sent there.
func (t *Tool) CheckDestination(app *App) error {
	for _, c := range t.credentials("") {
		if secret := c.Get(); !c.Shown && !secret.Empty() && secret.Towards() != c.towards(app) {
			return fmt.Errorf("the credential in %s of the tool was given for another place: %s changed since for the source %s; give it again",
				c.pointer, c.to(app).changed(secret.Towards()), fault.Show(t.Source))
		}
	}
	return nil
}

// destination is where a credential is sent and as which user: the values of the fields
// that decide it, by their names. A credential is stored with it, so that somebody who may
// change a definition cannot redirect a credential that somebody else has given.
type destination map[string]string

// text is the form that is stored and compared; equal destinations have equal ones.
func (d destination) text() string {
	text, _ := json.Marshal(d) // a map of texts, which is written in the order of its keys
	return string(text)
}

// changed lists in which fields a destination differs from the one that a credential
// was given for.
func (d destination) changed(towards string) string {
	var was destination
	if json.Unmarshal([]byte(towards), &was) != nil {
		return "where it goes" // it is not known for what it was given
	}
	names := slices.Collect(maps.Keys(was))
	names = slices.AppendSeq(names, maps.Keys(d))
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return d[name] == was[name] })
	return strings.Join(names, ", ")
}

// endpoint is the destination of what goes to a URL, whatever its path.
func endpoint(text string) destination {
	parsed, err := url.Parse(text)
	if err != nil {
		return destination{"url": text}
	}
	scheme := strings.ToLower(parsed.Scheme)
	return destination{"scheme": scheme, "host": strings.ToLower(parsed.Hostname()), "port": cmp.Or(parsed.Port(), portOf[scheme])}
}

// portOf is the port of a scheme where a URL names none.
var portOf = map[string]string{"http": "80", "https": "443"}

// with returns the destination with more fields; empty ones are left out.
func (d destination) with(more destination) destination {
	next := maps.Clone(d)
	for name, value := range more {
		if value != "" {
			next[name] = value
		}
	}
	return next
}

// secretDestination: a module's secret is shown to its token endpoint.
func (m *Module) secretDestination() destination {
	return destination{"tokenUrl": m.TokenURL, "clientId": m.OAuthClient()}
}

// destination of all credentials of a source. With a lower sslmode or tls another server could
// take the place of the database.
func (s *Source) destination() destination {
	d := destination{"type": s.Type}
	if s.Type == SourcePostgres || s.Type == SourceMySQL {
		return d.with(destination{
			"host": s.Host, "port": s.DatabasePort(), "user": s.User, "database": s.Database,
			"sslmode": s.QueryParams["sslmode"].Reveal(), "tls": s.QueryParams["tls"].Reveal(),
		})
	}
	if s.Type == SourceMCP {
		return endpoint(s.URL).with(d)
	}
	return d.with(destination{"baseUrl": s.BaseURL})
}

// destination of the tool's calls: a URL, or the source of the app that it works on.
func (t *Tool) destination(app *App) destination {
	if t.Source == "" {
		return endpoint(t.URL)
	}
	source, _ := app.Source(t.Source)
	return destination{"source": t.Source, "baseUrl": source.BaseURL}
}

// destination of a bearer's own credentials: they are shown to the endpoints of the
// token, which then goes where the calls go.
func (b *Bearer) destination(calls destination) destination {
	return calls.with(destination{
		"tokenUrl": b.TokenURL, "refreshUrl": b.RefreshURL, "clientId": b.ClientID, "username": b.Username,
	})
}
