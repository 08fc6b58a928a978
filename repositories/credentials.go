package repositories

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// Credential refers to one credential of a definition. Its stored name contains ids, not positions, so that the
// order may change.
type Credential struct {
	Name    string
	pointer string
	Get     func() secret.Secret
	Set     func(secret.Secret)
	// to is its destination, which may depend on the app's sources; nil for a credential that is never sent.
	to    func(app *App) destination
	Shown bool          // the value of a header that is not confidential
	call  func() string // of a Kept one: the call that it is for
	// host is where what it signs is sent, of a webhook's secret. It is not stored with the secret.
	host func() string
}

// Kept reports that no client sends the credential: it stays while its destination and its call are unchanged.
func (c Credential) Kept() bool { return c.call != nil }

func fieldCredential(name, pointer string, field *secret.Secret, to func(*App) destination) Credential {
	return Credential{Name: name, pointer: pointer, Get: func() secret.Secret { return *field }, Set: func(s secret.Secret) { *field = s }, to: to}
}

// Credentials returns all places where the app can hold a credential. Its signing secrets are never sent.
func (a *App) Credentials() []Credential {
	list := []Credential{fieldCredential("signingSecret", "/signingSecret", &a.SigningSecret, nil)}
	for i := range a.Settings.Webhooks {
		w := &a.Settings.Webhooks[i]
		signs := fieldCredential("webhooks/"+w.Name, webhookPoint(i, "secret"), &w.Secret, nil)
		signs.host = func() string { return fmt.Sprint(endpoint(w.URL)) }
		list = append(list, signs)
	}
	for i := range a.Modules {
		m := &a.Modules[i]
		to := func(*App) destination { return destination{"tokenUrl": m.TokenURL, "clientId": m.OAuthClient()} }
		list = append(list, fieldCredential("modules/"+m.ID, fault.Point("modules", i, "secret"), &m.Secret, to))
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
	if s.Auth != nil {
		list = append(list, credentialsOf(s.Auth.Basic, s.Auth.Bearer, name+"/auth/", pointer+"/auth", to)...)
	}
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
	name, request := "tools/"+t.Name, t.Request
	list := t.Headers.credentials(name+"/own headers/", pointer+"/headers", t.destination)
	if request == nil {
		return list
	}
	pointer += "/request"
	list = append(list, credentialsOf(request.Basic, request.Bearer, name+"/", pointer, t.destination)...)
	anywhere := fieldCredential(name+"/module", pointer+"/moduleId", &request.anywhere, func(*App) destination {
		calls := destination{"source": t.Source}
		if t.Source == "" {
			calls = endpoint(t.URL)
		}
		return calls.with(destination{"moduleId": request.ModuleID})
	})
	anywhere.call = t.call
	list = append(list, anywhere)
	return append(list, request.Headers.credentials(name+"/headers/", pointer+"/headers", t.destination)...)
}

// call returns what the tool's author wrote about its call, without credentials; the parameters may change.
func (t *Tool) call() string {
	request := *t.Request
	request.Description = ""
	text, _ := json.Marshal([]any{t.URL, t.Source, t.Method, t.Path, t.RequestBody, t.Headers, request}) // texts and raw JSON, read before
	return string(text)
}

// credentialsOf returns the credentials of a user and of an OAuth2 client, or nil; calls is the destination of
// calls.
func credentialsOf(basic *Basic, bearer *Bearer, name, pointer string, calls func(*App) destination) []Credential {
	var list []Credential
	if basic != nil {
		to := func(app *App) destination { return calls(app).with(destination{"username": basic.Username}) }
		list = append(list, fieldCredential(name+"basic.password", pointer+"/basic/password", &basic.Password, to))
	}
	if bearer != nil {
		// The token endpoints receive them, and the token is sent to the destination of calls.
		to := func(app *App) destination {
			return calls(app).with(destination{"tokenUrl": bearer.TokenURL, "refreshUrl": bearer.RefreshURL, "clientId": bearer.ClientID, "username": bearer.Username})
		}
		list = append(list,
			fieldCredential(name+"bearer.clientSecret", pointer+"/bearer/clientSecret", &bearer.ClientSecret, to),
			fieldCredential(name+"bearer.password", pointer+"/bearer/password", &bearer.Password, to))
	}
	return list
}

func (h Headers) credentials(name, pointer string, to func(*App) destination) []Credential {
	var list []Credential
	for _, header := range slices.Sorted(maps.Keys(h)) {
		list = append(list, Credential{
			Name: name + header, pointer: pointer + fault.Point(header), to: to, Shown: !NamesCredential(header),
			Get: func() secret.Secret { return h[header] }, Set: func(s secret.Secret) { h[header] = s },
		})
	}
	return list
}

// towards returns the stored form of the destination; equal destinations have equal ones.
func (c Credential) towards(app *App) string {
	if c.to == nil {
		return ""
	}
	text, _ := json.Marshal(c.to(app)) // a map of texts, encoded in the order of its keys
	return string(text)
}

// noneStored is the fault of a mask without a stored credential.
const noneStored = "%q stands for a stored credential, and none is stored here: give the credential itself"

// KeepMasked replaces every mask with the stored credential of the same name. A mask without one, or with one for
// another destination, is a fault. A new credential is bound to its destination.
func KeepMasked(app *App, given, stored []Credential) error {
	kept, before := map[string]secret.Secret{}, map[string]Credential{}
	for _, c := range stored {
		kept[c.Name], before[c.Name] = c.Get(), c
	}
	var faults fault.List
	for _, c := range given {
		credential, current := c.Get(), kept[c.Name]
		switch {
		case c.Kept() && credential.Empty():
			if !current.Empty() && current.Towards() == c.towards(app) && before[c.Name].call() == c.call() {
				c.Set(current)
			}
		case !credential.IsMasked():
			if !credential.Empty() && credential.Towards() == "" {
				c.Set(credential.For(c.towards(app)))
			}
		case current.Empty():
			faults.Add(c.pointer, noneStored, secret.Masked)
		case c.host != nil && c.host() != before[c.Name].host():
			faults.Add(c.pointer, "%q stands for a stored secret, which was given for another host: give the secret again, since the url changed", secret.Masked)
		case current.Towards() != c.towards(app):
			faults.Add(c.pointer, "%q stands for a stored credential, which was given for another place: give the credential again, since %s changed", secret.Masked, c.to(app).changed(current.Towards()))
		default:
			c.Set(current)
		}
	}
	return faults.Err()
}

// CheckDestination returns an error if the tool's source has a new address since its credentials were given.
func (t *Tool) CheckDestination(app *App) error {
	for _, c := range t.credentials("") {
		if credential := c.Get(); !c.Shown && !credential.Empty() && credential.Towards() != c.towards(app) {
			return fmt.Errorf("the credential in %s of the tool was given for another place: %s of the source %s has changed; give the credential again",
				c.pointer, c.to(app).changed(credential.Towards()), fault.Show(t.Source))
		}
	}
	return nil
}

// CheckReadable returns an error if a credential of the tool's calls is still sealed: with a secret key that this
// process does not have. The app's signingSecret is checked where a call is signed, since statements are not.
func (t *Tool) CheckReadable(app *App) error {
	var sealed string
	see := func(secret secret.Secret, at string) {
		if sealed == "" && secret.IsSealed() {
			sealed = at
		}
	}
	for _, c := range t.credentials("") {
		see(c.Get(), c.pointer+" of the tool")
	}
	if t.Request != nil {
		module, _ := app.Module(t.Request.ModuleID)
		see(module.Secret, "module "+module.ID)
	}
	if source, ok := app.Source(t.Source); ok {
		for _, c := range source.credentials("source " + t.Source) {
			see(c.Get(), c.pointer)
		}
	}
	if sealed == "" {
		return nil
	}
	return fmt.Errorf("the credential in %s was encrypted with a secret key that this replica does not have: give the credential again, or start with that key as EARSHOT_SECRET_KEY_OLD", sealed)
}

// destination is where and as which user a credential is sent. It is stored with the credential, so that a change
// of a definition cannot redirect another author's credential.
type destination map[string]string

// changed lists the fields that differ from the destination that a credential was given for.
func (d destination) changed(towards string) string {
	var old destination
	if json.Unmarshal([]byte(towards), &old) != nil {
		return "where it goes" // its destination is unknown
	}
	both := maps.Clone(old)
	maps.Copy(both, d)
	maps.DeleteFunc(both, func(name, _ string) bool { return d[name] == old[name] })
	return strings.Join(slices.Sorted(maps.Keys(both)), ", ")
}

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

// endpoint returns the destination of a URL, without its path.
func endpoint(text string) destination {
	parsed, err := url.Parse(text)
	if err != nil {
		return destination{"url": text}
	}
	scheme := strings.ToLower(parsed.Scheme)
	port := cmp.Or(parsed.Port(), map[string]string{"http": "80", "https": "443"}[scheme])
	return destination{"scheme": scheme, "host": strings.ToLower(parsed.Hostname()), "port": port}
}

// destination returns where a source's credentials are sent. It includes sslmode and tls, because a lower level
// would let another server impersonate the database.
func (s *Source) destination() destination {
	d := destination{"type": s.Type}
	switch s.Type {
	case SourcePostgres, SourceMySQL:
		return d.with(destination{
			"host": s.Host, "port": s.DatabasePort(), "user": s.User, "database": s.Database,
			"sslmode": s.QueryParams["sslmode"].Reveal(), "tls": s.QueryParams["tls"].Reveal(),
		})
	case SourceMCP:
		return endpoint(s.URL).with(d)
	}
	return d.with(destination{"baseUrl": s.BaseURL})
}

// destination returns where the tool's calls go: a URL, or a source of the app.
func (t *Tool) destination(app *App) destination {
	if t.Source == "" {
		return endpoint(t.URL)
	}
	source, _ := app.Source(t.Source)
	return destination{"source": t.Source, "baseUrl": source.BaseURL}
}

// An author who may only write tools can send a module's token only to hosts that the module lists. An author who
// may change the app can send it anywhere; Request.anywhere records that.

// Reaches reports whether every tool may send the module's token to a host. A * matches one label.
func (m Module) Reaches(host string) bool {
	host = plainHost(host)
	if token, err := url.Parse(m.TokenURL); err == nil && token.Host != "" && plainHost(token.Hostname()) == host {
		return true
	}
	_, below, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(m.Hosts, func(entry string) bool {
		entry = plainHost(entry)
		above, wild := strings.CutPrefix(entry, "*.")
		return entry == host || wild && above == below
	})
}

// plainHost returns the canonical form of a host for comparison.
func plainHost(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Unmap().String()
	}
	return host
}

// granted marks a request whose module may be used with any host.
var granted = secret.New("granted")

// GrantModules allows any host for the tools' modules. Only authors who may change the app may use it.
func (r *Repository) GrantModules() { grantModules(r.Tools) }

// RevokeModules takes the grants of GrantModules back. A write keeps those that the stored repository has for the same
// calls.
func (r *Repository) RevokeModules() {
	for i := range r.Tools {
		if request := r.Tools[i].Request; request != nil {
			request.anywhere = secret.Secret{}
		}
	}
}

// GrantModules is like Repository.GrantModules, for the tools of a patch.
func (p *Patch) GrantModules() { grantModules(p.Tools) }

func grantModules(tools []Tool) {
	for i := range tools {
		if request := tools[i].Request; request != nil && request.Auth == AuthModule {
			request.anywhere = granted
		}
	}
}

// MayUse reports whether a call with this request may carry the module's token to a host.
func (r *Request) MayUse(module Module, host string) bool {
	return !r.anywhere.Empty() || module.Reaches(host)
}

// CheckModuleHosts returns faults for tools that would send a module's token to a host beyond the author's
// permission. Unchanged tools of a PATCH are checked at each call.
func (r *Repository) CheckModuleHosts(app *App, current *Repository) error {
	var faults fault.List
	for i := range r.Tools {
		tool := &r.Tools[i]
		old := current.Tool(tool.Name)
		if tool.Request == nil || tool.Request.Auth != AuthModule || old != nil && old.params == tool.params {
			continue
		}
		field, called := "url", tool.URL
		if tool.Source != "" {
			source, _ := app.Source(tool.Source)
			field, called = "source", source.BaseURL
		}
		host := ""
		if parsed, err := url.Parse(called); err == nil {
			host = parsed.Hostname()
		}
		if module, known := app.Module(tool.Request.ModuleID); known && !tool.Request.MayUse(module, host) {
			faults.Add(fault.Point("tools", i, field),
				"leads to %s, and a key without the scope app may use module %s towards the host of its tokenUrl and its hosts alone; have %[1]s added to the hosts of the module, or the tool written with a key of scope app",
				fault.Show(fault.Clip(host)), fault.Show(module.ID))
		}
	}
	return faults.Err()
}
