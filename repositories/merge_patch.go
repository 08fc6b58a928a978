package repositories

import (
	"errors"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// AppPatch is a change to an app as a JSON merge patch (RFC 7396): what it names replaces
// what is there, null takes a field away, objects are merged, lists are replaced whole.
type AppPatch struct {
	id    string
	patch any
}

// DecodeAppPatch reads the body of a patch. The parts of it have to be those of an app, by
// the rules of DecodeApp; all faults are returned at once, as a fault.List.
func DecodeAppPatch(id string, body []byte) (*AppPatch, error) {
	_, wrong := DecodeApp(id, body)
	patch, err := exactjson.Decode(body)
	if err == nil {
		wrong = withoutRemovals(wrong, patch)
	}
	if wrong != nil {
		return nil, wrong
	}
	return &AppPatch{id, patch}, err
}

// withoutRemovals leaves out the faults of fields that are null: null takes the field away,
// whatever it is to hold. A field that nobody knows is one all the same.
func withoutRemovals(err error, patch any) error {
	var faults fault.List
	if !errors.As(err, &faults) {
		return err
	}
	return slices.DeleteFunc(faults, func(one fault.Fault) bool {
		return removes(patch, one.Pointer) && !strings.HasPrefix(one.Detail, "unknown field")
	}).Err()
}

// removes reports whether a patch takes away the field in a place.
func removes(patch any, pointer string) bool {
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, is := patch.(map[string]any)
		if !is {
			return false
		}
		value, given := object[name]
		if !given {
			return false
		}
		patch = value
	}
	return patch == nil
}

// Next returns the app as the patch makes it. Credentials that it does not name are
// secret.Masked in it, which stands for the stored ones. What does not go together in the
// whole is a fault.List.
func (p *AppPatch) Next(there *App) (*App, error) {
	text, err := exactjson.Encode(there)
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
	fields, is := patch.(map[string]any)
	if !is {
		return patch
	}
	object, is := target.(map[string]any)
	if !is {
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
