package bodies

import (
	"maps"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/fault"
	"earshot/repositories/schema"
)

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
