// Package bodies decodes untrusted request bodies and definitions that a JSON Schema describes, to a struct or to
// every fault at once with its place.
package bodies

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

// Body is a request body during decoding: parsed, validated against its schema, decoded without the faulty parts,
// and checked by the caller's rules. No step stops at earlier faults: all are reported at once.
type Body struct {
	body    []byte
	tree    any
	faults  fault.List
	places  map[string]bool // of faults
	moved   Moved
	leftOut bool // the tree lacks fields of the body that count as absent
	closed  bool // no other fields are allowed
}

// Moved maps the present places of fields to those in the sent body.
type Moved map[string]string

// Decode decodes a body of the named kind into target, or returns all its faults as a fault.List. The definition
// must be closed, because JSON tags ignore case.
func (d *Definitions) Decode(name string, body []byte, target any) error {
	reading, err := d.Read(name, body)
	if err != nil {
		return err
	}
	if reading.Faultless() && !reading.leftOut && exactjson.Unmarshal(body, target) == nil {
		return nil
	}
	reading.Into(target)
	return reading.Err()
}

// Read reads the faultless parts of a body. It returns a fault.List if reading must end: the body is not JSON, too
// long, or has too many faults.
func (d *Definitions) Read(name string, body []byte) (*Body, error) {
	return d.ReadMoved(name, body, func(any) Moved { return nil })
}

// ReadMoved is Read of a body with fields in other places: move moves them and returns where they were.
func (d *Definitions) ReadMoved(name string, body []byte, move func(tree any) Moved) (*Body, error) {
	var faults fault.List
	var cut string
	tree, ok := readFlawless(body)
	if !ok {
		tree, faults, cut = readTokens(body)
	}
	if tree == nil && len(faults) > 0 {
		return nil, faults.Err()
	}
	b := &Body{body: body, tree: tree, faults: faults, places: map[string]bool{}}
	if s := d.compiled[name]; s != nil {
		b.closed = s.AdditionalProperties == false
	}
	b.leftOut = d.Absent && leaveOut(d.compiled[name], tree)
	b.moved = move(tree)
	c := &checking{definitions: d}
	c.value(d.compiled[name], tree, nil)
	b.faults.Join(c.faults)
	if cut != "" {
		// Fields missing in incompletely read containers may exist.
		b.faults = slices.DeleteFunc(b.faults, func(f fault.Fault) bool {
			return f.Code == fault.Missing && strings.HasPrefix(cut, f.Pointer[:strings.LastIndexByte(f.Pointer, '/')+1])
		})
	}
	if b.faults.Full() || cut != "" {
		return nil, b.Err() // further rules would cost more and add nothing
	}
	for _, one := range b.faults {
		b.places[one.Pointer] = true
		b.tree = without(b.tree, fault.Tokens(one.Pointer))
	}
	b.checkIntegers(d.compiled[name], b.tree, nil)
	return b, nil
}

// checkIntegers reports integers that are not written as such or are too long, as 1e2, 5.0 and 1e19: JSON Schema takes
// them, but no field does.
func (b *Body) checkIntegers(known *jsonschema.Schema, value any, at []string) {
	for known != nil && known.Ref != nil && known.Types == nil {
		known = known.Ref
	}
	if known == nil {
		return
	}
	below := func(name string) []string { return append(at[:len(at):len(at)], name) }
	switch value := value.(type) {
	case json.Number:
		if known.Types == nil {
			return // of any type
		}
		types := known.Types.ToStrings()
		if flaw := exactjson.IntegerFlaw(value); flaw != "" && slices.Contains(types, "integer") && !slices.Contains(types, "number") {
			b.Add(fault.Point(schema.Tokens(at)...), "%s", flaw)
			b.tree = without(b.tree, at)
		}
	case []any:
		for i, member := range value {
			b.checkIntegers(schema.Item(known, i), member, below(strconv.Itoa(i)))
		}
	case map[string]any:
		var names []string
		for name, member := range value {
			switch member.(type) {
			case json.Number, []any, map[string]any:
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			b.checkIntegers(memberSchema(known, name), value[name], below(name))
		}
	}
}

// Tree reads a body that no definition describes, or returns a fault.List: repeated fields and deep nesting are faults
// in any body.
func Tree(body []byte) (any, error) {
	read, err := (&Definitions{}).Read("", body)
	if err != nil {
		return nil, err
	}
	return read.tree, read.Err()
}

// leaveOut removes the fields that count as absent, at any depth, and reports whether there are any.
func leaveOut(known *jsonschema.Schema, tree any) (found bool) {
	if known == nil {
		return false
	}
	found = leaveOut(known.Ref, tree)
	switch value := tree.(type) {
	case map[string]any:
		for field, inner := range value {
			property := known.Properties[field]
			optional := property != nil && !slices.Contains(known.Required, field)
			if optional && (inner == nil || inner == "") && property.Validate(inner) != nil {
				delete(value, field)
				found = true
			} else {
				found = leaveOut(property, inner) || found
			}
		}
	case []any:
		for _, item := range value {
			found = leaveOut(known.Items2020, item) || found
		}
	}
	return found
}

// Object returns the body as an object, or nil if it is not one.
func (b *Body) Object() map[string]any {
	object, _ := b.tree.(map[string]any)
	return object
}

// Into decodes the faultless parts into a struct.
func (b *Body) Into(target any) {
	raw, err := b.body, error(nil)
	if !b.flat() {
		raw, err = exactjson.Encode(b.Object())
	}
	if err == nil {
		err = exactjson.Unmarshal(raw, target)
	}
	if err != nil {
		b.faults.Add("", "cannot be read: %s", fault.Clip(err.Error()))
	}
}

// flat reports whether the body has only scalar fields with exact names, so that it can be decoded directly: JSON
// tags ignore case.
func (b *Body) flat() bool {
	if b.leftOut || len(b.faults)+len(b.moved) > 0 || !b.closed {
		return false
	}
	for _, value := range b.Object() {
		switch value.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return b.Object() != nil
}

// Raw returns the body as it was sent.
func (b *Body) Raw() []byte { return b.body }

// Add records a fault, unless the place is already faulty.
func (b *Body) Add(pointer, format string, args ...any) {
	if b.mark(pointer) {
		b.Another(pointer, format, args...)
	}
}

// Miss records a missing field, unless the place is already faulty. Why follows "is missing", as ": http needs it".
func (b *Body) Miss(pointer, why string) {
	if b.mark(pointer) {
		b.faults.Miss(pointer, why)
	}
}

// mark makes a place faulty, and reports whether it was not.
func (b *Body) mark(pointer string) bool {
	if b.Faulty(pointer) {
		return false
	}
	if !b.faults.Full() {
		b.places[pointer] = true
	}
	return true
}

// Another records a fault even if the place has others.
func (b *Body) Another(pointer, format string, args ...any) { b.faults.Add(pointer, format, args...) }

// Faulty reports whether the place, or one that contains it, is faulty.
func (b *Body) Faulty(pointer string) bool {
	for !b.places[pointer] {
		end := strings.LastIndexByte(pointer, '/')
		if end < 0 {
			return false
		}
		pointer = pointer[:end]
	}
	return true
}

// Agree checks an id in the body against the one in the path.
func (b *Body) Agree(field, want string) {
	given, ok := b.Object()[field].(string)
	switch {
	case !ok || given == want:
	case want == "":
		b.Add(fault.Point(field), "is %q, but the path names none", fault.Clip(given))
	default:
		b.Add(fault.Point(field), "is %q, but the path says %q", fault.Clip(given), fault.Clip(want))
	}
}

// Full reports whether the maximum number of faults is listed.
func (b *Body) Full() bool { return b.faults.Full() }

// Skip counts faults that are not listed.
func (b *Body) Skip(n int) { b.faults.Skip(n) }

// Faultless reports whether no fault was found so far.
func (b *Body) Faultless() bool { return len(b.faults) == 0 }

// Err returns the faults in order of their places, or nil.
func (b *Body) Err() error {
	listed, more := b.faults.Listed()
	for i := range listed {
		place := listed[i].Pointer
		for outer := place; outer != "" && len(b.moved) > 0; outer = outer[:strings.LastIndexByte(outer, '/')] {
			if old, ok := b.moved[outer]; ok {
				listed[i].Pointer = old + place[len(outer):]
				break
			}
		}
	}
	slices.SortStableFunc(listed, func(x, y fault.Fault) int {
		return cmp.Or(schema.ComparePlaces(fault.Tokens(x.Pointer), fault.Tokens(y.Pointer)), cmp.Compare(x.Detail, y.Detail))
	})
	b.faults = slices.CompactFunc(listed, func(x, y fault.Fault) bool { return x.Pointer == y.Pointer && x.Detail == y.Detail })
	b.faults.Skip(more)
	return b.faults.Err()
}

// without deletes a field, or sets a member of a list to null, so that the others keep their places.
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

// atOnce is how many values are validated at once. The validator collects all faults, at a kilobyte each, so a body
// is checked in pieces until enough are found.
const atOnce = 500

// checking validates a tree against a definition until fault.Most faults are found.
type checking struct {
	definitions *Definitions
	faults      fault.List
}

// value checks one value. No rule looks deep inside a container, so members can be checked separately.
func (c *checking) value(s *jsonschema.Schema, value any, at []string) {
	if s == nil || c.faults.Full() {
		return
	}
	for s.Ref != nil && s.Types == nil {
		s = s.Ref
	}
	if schema.Weight(value, atOnce) < atOnce {
		c.report(s.Validate(value), value, at, nil)
		return
	}
	apart := map[string]bool{}
	switch container := value.(type) {
	case []any:
		head := slices.Clone(container[:min(len(container), atOnce)]) // whether it may be a list, and a long one
		for i := range head {
			apart[strconv.Itoa(i)] = true
			head[i] = emptied(head[i])
		}
		c.report(s.Validate(head), head, at, apart)
		for i := 0; i < len(container) && !c.faults.Full(); i++ {
			c.value(schema.Item(s, i), container[i], append(at[:len(at):len(at)], strconv.Itoa(i)))
		}
	case map[string]any:
		shell := map[string]any{}
		for name, member := range container {
			known := memberSchema(s, name) != nil
			if known {
				apart[name] = true
			}
			if _, named := s.Properties[name]; named || !known {
				shell[name] = emptied(member)
			}
		}
		c.report(s.Validate(shell), shell, at, apart)
		for _, name := range slices.Sorted(maps.Keys(container)) {
			c.value(memberSchema(s, name), container[name], append(at[:len(at):len(at)], name))
		}
	default:
		c.report(s.Validate(value), value, at, nil)
	}
}

func memberSchema(s *jsonschema.Schema, name string) *jsonschema.Schema {
	if property, named := s.Properties[name]; named {
		return property
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	return additional
}

func emptied(value any) any {
	switch value.(type) {
	case []any:
		return []any{}
	case map[string]any:
		return map[string]any{}
	}
	return value
}

// report adds the faults of a piece, except those of members that are checked separately.
func (c *checking) report(err error, piece any, at []string, apart map[string]bool) {
	if err == nil {
		return
	}
	for _, one := range schema.Violations(err) {
		switch {
		case len(one.At) > 0 && apart[one.At[0]]:
		case c.faults.Full():
			c.faults.Skip(1)
		default:
			found := c.definitions.fault(one, piece)
			found.Pointer = fault.Point(schema.Tokens(at)...) + fault.Point(schema.Tokens(one.At)...)
			c.faults.Put(found)
		}
	}
}
