package repositories

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"earshot/repositories/fault"
)

// decoding is the way of one body: to a tree, through the definition schema, without
// what is at fault into structs, and through the rules that a schema cannot say. No
// step stops at the faults of another, so that all are named at once.
type decoding struct {
	body   []byte
	tree   any
	faults fault.List
	places map[string]bool // of the faults
	// patterns bounds the regular expressions of all tools of the body together.
	patterns patterns
}

// decode reads a body that is to be the named definition. It returns nil where the
// body is no JSON.
func decode(name string, body []byte) (*decoding, error) {
	return decodeBy(loadDefinitions(), name, body)
}

// decodeBy reads a body by other definitions than ours.
func decodeBy(definitions *definitions, name string, body []byte) (*decoding, error) {
	tree, faults, cut := readTree(body)
	if tree == nil && len(faults) > 0 {
		return nil, faults.Err()
	}
	d := &decoding{body: body, tree: tree, faults: faults, places: map[string]bool{}}
	d.faults.Join(definitions.check(name, tree))
	if cut != "" {
		// What is missing in the containers that were not read to their end may be there.
		d.faults = slices.DeleteFunc(d.faults, func(f fault.Fault) bool {
			return f.Detail == "is missing" && strings.HasPrefix(cut, f.Pointer[:strings.LastIndexByte(f.Pointer, '/')+1])
		})
	}
	if d.faults.Full() || cut != "" {
		return nil, d.err() // rules about what is left would cost more and say no more
	}
	for _, fault := range d.faults {
		d.places[fault.Pointer] = true
		d.tree = without(d.tree, splitPointer(fault.Pointer))
	}
	return d, nil
}

// object returns the body as far as it is one.
func (d *decoding) object() map[string]any {
	object, _ := d.tree.(map[string]any)
	return object
}

// into fills a struct with what is not at fault.
func (d *decoding) into(target any) {
	raw, err := Encode(d.object())
	if err == nil {
		err = unmarshalNumbers(raw, target)
	}
	if err != nil {
		d.faults.Add("", "cannot be read: %s", fault.Clip(err.Error()))
	}
}

// asGiven returns the named fields of each tool as they stand in the body: what went
// through the tree has its fields sorted, and the order of parameters tells a model
// something.
func (d *decoding) asGiven() []map[string]json.RawMessage {
	var given struct {
		Tools []map[string]json.RawMessage `json:"tools"`
	}
	if json.Unmarshal(d.body, &given) != nil {
		return nil // something is of the wrong type, and named as a fault
	}
	return given.Tools
}

// add records a fault of a rule, unless the place is at fault already: what is
// missing or of the wrong type breaks other rules as well, and that is no news.
func (d *decoding) add(pointer, format string, args ...any) {
	if d.faulty(pointer) {
		return
	}
	if !d.faults.Full() {
		d.places[pointer] = true
	}
	d.faults.Add(pointer, format, args...)
}

// faulty reports whether the place, or one that it is in, is at fault.
func (d *decoding) faulty(pointer string) bool {
	for !d.places[pointer] {
		end := strings.LastIndexByte(pointer, '/')
		if end < 0 {
			return false
		}
		pointer = pointer[:end]
	}
	return true
}

// agree checks an id in the body against the one in the path.
func (d *decoding) agree(field, want string) {
	given, ok := d.object()[field].(string)
	switch {
	case !ok || given == want:
	case want == "":
		d.add(fault.Point(field), "is %q, but the path names none", fault.Clip(given))
	default:
		d.add(fault.Point(field), "is %q, but the path says %q", fault.Clip(given), fault.Clip(want))
	}
}

// err returns the faults in the order of their places, or nil.
func (d *decoding) err() error {
	listed, more := d.faults.Listed()
	slices.SortStableFunc(listed, func(a, b fault.Fault) int {
		return cmp.Or(comparePlaces(splitPointer(a.Pointer), splitPointer(b.Pointer)), cmp.Compare(a.Detail, b.Detail))
	})
	d.faults = slices.Compact(listed)
	d.faults.Skip(more)
	return d.faults.Err()
}

// without returns the tree without the place: a field is deleted, a member of a list
// becomes null, so that the others keep their places.
func without(tree any, place []string) any {
	if len(place) == 0 {
		return nil
	}
	switch container := tree.(type) {
	case map[string]any:
		value, ok := container[place[0]]
		if ok && len(place) > 1 {
			container[place[0]] = without(value, place[1:])
		} else {
			delete(container, place[0])
		}
	case []any:
		if i, err := strconv.Atoi(place[0]); err == nil && i >= 0 && i < len(container) {
			container[i] = without(container[i], place[1:])
		}
	}
	return tree
}

// splitPointer is the inverse of Point.
func splitPointer(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i := range parts {
		parts[i] = pointerUnescaper.Replace(parts[i])
	}
	return parts
}

var pointerUnescaper = strings.NewReplacer("~1", "/", "~0", "~")
