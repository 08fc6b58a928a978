package repositories

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
)

// DecodeApp reads the body of an app; an appId in it must agree with the path's. A credential that is
// secret.Masked stands for the stored one. All faults are returned at once, as a fault.List.
func DecodeApp(id string, body []byte) (*App, error) {
	d, app, err := readApp(id, body)
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, err
	}
	app.ID = id
	return app, nil
}

// readApp returns the faultless parts of an app's body, beside its faults.
func readApp(id string, body []byte) (*decoding, *App, error) {
	d, err := decode("App", body)
	if err != nil {
		return nil, nil, err
	}
	d.Agree("appId", id)
	sources, _ := d.Object()["sources"].([]any)
	for _, member := range sources { // ports become texts; files have numbers
		source, _ := member.(map[string]any)
		if port, ok := source["port"].(json.Number); ok {
			source["port"] = port.String()
		}
	}
	app := &App{}
	d.Into(app)
	d.app(app)
	return d, app, nil
}

// DecodeRepository reads the body of a repository; ids in it must agree with the path's. If id is empty, the body
// may contain one, else the caller generates it. With From the tools are nil: they are unknown yet. All faults are
// returned at once, as a fault.List.
func DecodeRepository(scope Scope, id string, body []byte) (*Repository, error) {
	d, r, err := readRepository(scope, id, body)
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, err
	}
	r.AppID, r.SessionID, r.ID = scope.AppID, scope.SessionID, cmp.Or(id, r.ID)
	if r.Tools == nil && r.From == "" {
		r.Tools = []Tool{}
	}
	return r, nil
}

// UnstoredOf returns the masks for which the current app has no credential, in a body that DecodeApp refuses. So a client
// learns both at once.
func UnstoredOf(current *App, body []byte) fault.List {
	d, app, err := readApp(current.ID, body)
	if err != nil {
		return nil
	}
	return d.unstored(app.Credentials(), current.Credentials())
}

// unstored returns the masks without a stored credential in the faultless parts of a body.
func (d *decoding) unstored(given, stored []Credential) (faults fault.List) {
	has := map[string]bool{}
	for _, c := range stored {
		has[c.Name] = !c.Get().Empty()
	}
	for _, c := range given {
		unnamed := strings.Contains(c.Name+"/", "//") // its owner has no name
		if c.Get().IsMasked() && !has[c.Name] && !unnamed && !d.Faulty(c.pointer) {
			faults.Add(c.pointer, noneStored, secret.Masked)
		}
	}
	return faults
}

// Unresolved returns what Check finds in a body that DecodeRepository refuses, without its faulty parts, and the masks for
// which the current repository has no credential; nil if it is not known. So a client learns all at once.
func Unresolved(app *App, scope Scope, id string, body []byte, current *Repository) (found fault.List) {
	d, r, err := readRepository(scope, id, body)
	if err != nil {
		return nil
	}
	r.SessionID = scope.SessionID
	errors.As(r.Check(app), &found)
	found = slices.DeleteFunc(found, func(one fault.Fault) bool { return d.Faulty(one.Pointer) })
	if current != nil {
		found.Join(d.unstored(r.Credentials(), current.Credentials()))
	}
	return found
}

// readRepository returns the faultless parts of a repository's body, beside its faults.
func readRepository(scope Scope, id string, body []byte) (*decoding, *Repository, error) {
	d, err := decodeTools("Repository", scope, id, body)
	if err != nil {
		return nil, nil, err
	}
	d.from()
	r := &Repository{}
	d.Into(r)
	d.tools(r.Tools)
	return d, r, nil
}

// DecodePatch reads the body of a PATCH: tools to add or override, and options that replace the present ones.
func DecodePatch(scope Scope, id string, body []byte) (*Patch, error) {
	d, err := decodeTools("Patch", scope, id, body)
	if err != nil {
		return nil, err
	}
	p := &Patch{}
	d.Into(p)
	d.tools(p.Tools)
	if err := d.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// decodeTools reads a body with tools and removes the times, which clients may send back.
func decodeTools(name string, scope Scope, id string, body []byte) (*decoding, error) {
	d, err := decode(name, body)
	if err != nil {
		return nil, err
	}
	d.Agree("appId", scope.AppID)
	d.Agree("sessionId", scope.SessionID)
	if id != "" {
		d.Agree("repositoryId", id)
	}
	delete(d.Object(), "created")
	delete(d.Object(), "updated")
	tools, _ := d.Object()["tools"].([]any)
	for i := range tools {
		tool, _ := tools[i].(map[string]any)
		request, _ := tool["request"].(map[string]any)
		if url, given := request["url"]; given && tool["url"] != nil && tool["url"] != url {
			d.Add(fault.Point("tools", i, "request", "url"), "is not the tool's url, which is given as well; one is enough")
		}
	}
	return d, nil
}

// from checks a repository with a source and removes its tools, which a client may send back.
func (d *decoding) from() {
	source, _ := d.Object()["from"].(string)
	tools, given := d.Object()["tools"].([]any)
	if source == "" {
		if !given {
			d.Miss("/tools", "")
		}
		return
	}
	for i, member := range tools {
		tool, _ := member.(map[string]any)
		if tool["type"] != ToolMCP || tool["source"] != source {
			d.Add(fault.Point("tools", i), "%s", ownTools(source, "")[0].Detail)
		}
	}
	delete(d.Object(), "tools")
}

// AppPatch is a JSON merge patch (RFC 7396): null takes a field away, objects are merged, lists replaced.
type AppPatch struct {
	id    string
	patch any
}

// DecodeAppPatch reads the body of a patch, whose parts follow the rules of DecodeApp. The error is a fault.List.
func DecodeAppPatch(id string, body []byte) (*AppPatch, error) {
	_, invalid := DecodeApp(id, body)
	patch, err := exactjson.Decode(body)
	var faults fault.List
	if err == nil && errors.As(invalid, &faults) {
		// Null is valid for any field, but only for one that exists.
		invalid = slices.DeleteFunc(faults, func(one fault.Fault) bool {
			return removes(patch, one.Pointer) && !strings.HasPrefix(one.Detail, "unknown field")
		}).Err()
	}
	if invalid != nil {
		return nil, invalid
	}
	return &AppPatch{id, patch}, err
}

// removes reports whether a patch removes the field at a pointer.
func removes(patch any, pointer string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := patch.(map[string]any)
		value, given := object[name]
		if !given {
			return false
		}
		patch = value
	}
	return patch == nil
}

// Next returns the patched app. Credentials that the patch omits are secret.Masked. Contradictions are returned as
// a fault.List.
func (p *AppPatch) Next(current *App) (*App, error) {
	text, err := exactjson.Encode(current)
	if err != nil {
		return nil, err
	}
	shown, err := exactjson.Decode(text)
	if err != nil {
		return nil, err
	}
	merged, err := exactjson.Encode(mergePatch(shown, p.patch))
	if err != nil {
		return nil, err
	}
	return DecodeApp(p.id, merged)
}

// mergePatch is the function MergePatch of RFC 7396, section 2. It changes the target.
func mergePatch(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, value := range fields {
		if value == nil {
			delete(object, name)
		} else {
			object[name] = mergePatch(object[name], value)
		}
	}
	return object
}
