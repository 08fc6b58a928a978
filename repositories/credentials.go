package repositories

import (
	"maps"
	"slices"
)

// credential is one credential of a definition: where it is in the body, and under
// which name it is kept. The name holds ids, not positions, so that a credential
// stays with its module or tool when their order changes.
type credential struct {
	name    string
	pointer string
	get     func() Secret
	set     func(Secret)
}

func fieldCredential(name, pointer string, field *Secret) credential {
	return credential{name, pointer, func() Secret { return *field }, func(s Secret) { *field = s }}
}

// credentials of the app, all places where it can hold one.
func (a *App) credentials() []credential {
	list := []credential{fieldCredential("signingSecret", "/signingSecret", &a.SigningSecret)}
	for i := range a.Modules {
		module := &a.Modules[i]
		list = append(list, fieldCredential("modules/"+module.ID, Point("modules", i, "secret"), &module.Secret))
	}
	for i := range a.Sources {
		list = append(list, a.Sources[i].credentials(Point("sources", i))...)
	}
	return list
}

func (s *Source) credentials(pointer string) []credential {
	name := "sources/" + s.Name
	list := []credential{fieldCredential(name+"/password", pointer+"/password", &s.Password)}
	list = append(list, s.Headers.credentials(name+"/headers/", pointer+"/headers")...)
	return append(list, s.QueryParams.credentials(name+"/queryParams/", pointer+"/queryParams")...)
}

// credentials of the repository's tools.
func (r *Repository) credentials() []credential {
	var list []credential
	for i := range r.Tools {
		at, tool := Point("tools", i), &r.Tools[i]
		list = append(list, tool.credentials(at+"/request")...)
		list = append(list, tool.Headers.credentials("tools/"+tool.Name+"/own headers/", at+"/headers")...)
	}
	return list
}

func (t *Tool) credentials(pointer string) []credential {
	if t.Request == nil {
		return nil
	}
	var list []credential
	add := func(name, at string, field *Secret) {
		list = append(list, fieldCredential("tools/"+t.Name+"/"+name, pointer+at, field))
	}
	if basic := t.Request.Basic; basic != nil {
		add("basic.password", "/basic/password", &basic.Password)
	}
	if bearer := t.Request.Bearer; bearer != nil {
		add("bearer.clientSecret", "/bearer/clientSecret", &bearer.ClientSecret)
		add("bearer.password", "/bearer/password", &bearer.Password)
	}
	return append(list, t.Request.Headers.credentials("tools/"+t.Name+"/headers/", pointer+"/headers")...)
}

func (h Headers) credentials(name, pointer string) []credential {
	var list []credential
	for _, header := range slices.Sorted(maps.Keys(h)) {
		list = append(list, credential{
			name:    name + header,
			pointer: pointer + Point(header),
			get:     func() Secret { return h[header] },
			set:     func(s Secret) { h[header] = s },
		})
	}
	return list
}

// keepMasked replaces every mask by the credential of the same name in stored, and
// names the masks that stand for nothing.
func keepMasked(given, stored []credential) error {
	kept := map[string]Secret{}
	for _, c := range stored {
		kept[c.name] = c.get()
	}
	var faults Faults
	for _, c := range given {
		if !c.get().IsMasked() {
			continue
		}
		if kept[c.name].Empty() {
			faults.Add(c.pointer, "%q stands for a stored credential, and none is stored here: give the credential itself", Masked)
			continue
		}
		c.set(kept[c.name])
	}
	return faults.Err()
}
