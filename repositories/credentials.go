package repositories

import (
	"fmt"
	"maps"
	"slices"

	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// credential is one credential of a definition: where it is in the body, and under
// which name it is kept. The name holds ids, not positions, so that a credential
// stays with its module or tool when their order changes.
type credential struct {
	name    string
	pointer string
	get     func() secret.Secret
	set     func(secret.Secret)
	// to is where it goes. It needs the app for tools that work on one of its sources.
	// Nil where it goes nowhere.
	to func(app *App) destination
	// shown marks the value of a header that everybody may read.
	shown bool
	// kept marks what nobody sends: it stays for as long as it is for the same.
	kept bool
}

func fieldCredential(name, pointer string, field *secret.Secret, to func(*App) destination) credential {
	return credential{name: name, pointer: pointer, get: func() secret.Secret { return *field }, set: func(s secret.Secret) { *field = s }, to: to}
}

// credentials of the app, all places where it can hold one. Its signing secret goes
// nowhere: signatures are made with it.
func (a *App) credentials() []credential {
	list := []credential{fieldCredential("signingSecret", "/signingSecret", &a.SigningSecret, nil)}
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

func (s *Source) credentials(pointer string) []credential {
	name, to := "sources/"+s.Name, func(*App) destination { return s.destination() }
	list := []credential{fieldCredential(name+"/password", pointer+"/password", &s.Password, to)}
	list = append(list, s.Headers.credentials(name+"/headers/", pointer+"/headers", to)...)
	return append(list, s.QueryParams.credentials(name+"/queryParams/", pointer+"/queryParams", to)...)
}

// credentials of the repository's tools.
func (r *Repository) credentials() []credential {
	var list []credential
	for i := range r.Tools {
		list = append(list, r.Tools[i].credentials(fault.Point("tools", i))...)
	}
	return list
}

func (t *Tool) credentials(pointer string) []credential {
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
	anywhere.kept = true
	list = append(list, anywhere)
	return append(list, t.Request.Headers.credentials(name+"/headers/", pointer+"/headers", t.destination)...)
}

func (h Headers) credentials(name, pointer string, to func(*App) destination) []credential {
	var list []credential
	for _, header := range slices.Sorted(maps.Keys(h)) {
		list = append(list, credential{
			name:    name + header,
			pointer: pointer + fault.Point(header),
			get:     func() secret.Secret { return h[header] },
			set:     func(s secret.Secret) { h[header] = s },
			to:      to,
			shown:   !credentialHeader.MatchString(header),
		})
	}
	return list
}

// towards is the destination as it is stored with the credential.
func (c credential) towards(app *App) string {
	if c.to == nil {
		return ""
	}
	return c.to(app).text()
}

// keepMasked replaces every mask by the credential of the same name in stored, and names
// the masks that stand for nothing, or for what was given for another destination. What
// is given anew is bound to where it goes.
func keepMasked(app *App, given, stored []credential) error {
	kept := map[string]secret.Secret{}
	for _, c := range stored {
		kept[c.name] = c.get()
	}
	var faults fault.List
	for _, c := range given {
		credential, there := c.get(), kept[c.name]
		switch {
		case c.kept && credential.Empty():
			if there.Towards() == c.towards(app) {
				c.set(there)
			}
		case !credential.IsMasked():
			c.bind(app)
		case there.Empty():
			faults.Add(c.pointer, "%q stands for a stored credential, and none is stored here: give the credential itself", secret.Masked)
		case there.Towards() != c.towards(app):
			faults.Add(c.pointer, "%q stands for a stored credential, which does not go elsewhere: give it again, since %s changed", secret.Masked, c.to(app).changed(there.Towards()))
		default:
			c.set(there)
		}
	}
	return faults.Err()
}

// bind notes for what a credential is given. One that was stored before keeps what it
// was given for.
func (c credential) bind(app *App) {
	if secret := c.get(); !secret.Empty() && secret.Towards() == "" {
		secret = secret.For(c.towards(app))
		c.set(secret)
	}
}

// CheckDestination returns an error where the app has moved what the tool works on since
// the tool's credentials were given: they do not go along.
func (t *Tool) CheckDestination(app *App) error {
	for _, c := range t.credentials("") {
		if secret := c.get(); !c.shown && !secret.Empty() && secret.Towards() != c.towards(app) {
			return fmt.Errorf("the credential in %s of the tool was given for another place: %s changed since for the source %s; give it again",
				c.pointer, c.to(app).changed(secret.Towards()), fault.Show(t.Source))
		}
	}
	return nil
}
