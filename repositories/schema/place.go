package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

// Weight counts the values that a value is made of, up to a bound.
func Weight(value any, most int) int {
	total := 1
	switch container := value.(type) {
	case []any:
		for i := 0; i < len(container) && total < most; i++ {
			total += Weight(container[i], most-total)
		}
	case map[string]any:
		for _, member := range container {
			if total >= most {
				break
			}
			total += Weight(member, most-total)
		}
	}
	return total
}

// Item is what the i-th member of a list is held against; nil where nothing is known of it.
func Item(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) { // drafts before 2020-12
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
	}
	return nil
}

// Tokens are the steps of a place as fault.Point takes them.
func Tokens(at []string) []any {
	list := make([]any, len(at))
	for i := range at {
		list[i] = at[i]
	}
	return list
}
