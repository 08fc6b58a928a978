package repositories

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkIntegers finds what JSON Schema would let through and a program may not send:
// 5.0 where only integers are wanted. All else is the schema's own business.
func checkIntegers(value any, s *jsonschema.Schema, at string) []flaw {
	if s == nil {
		return nil
	}
	if s.Types == nil && s.Ref != nil && s.Ref.Ref == nil {
		s = s.Ref
	}
	var flaws []flaw
	switch value := value.(type) {
	case json.Number:
		if detail := literalFlaw(value, s); detail != "" {
			return []flaw{{at, detail}}
		}
	case []any:
		for i := range value {
			flaws = append(flaws, checkIntegers(value[i], itemSchema(s, i), index(at, i))...)
		}
	case map[string]any:
		for _, key := range sortedKeys(value) {
			flaws = append(flaws, checkIntegers(value[key], s.Properties[key], member(at, key))...)
		}
	}
	return flaws
}

// literalFlaw names a number that is whole but not written as an integer. JSON
// Schema knows no 64-bit limit, so none is set here.
func literalFlaw(value json.Number, s *jsonschema.Schema) string {
	types := schemaTypes(s)
	if !slices.Contains(types, "integer") || slices.Contains(types, "number") {
		return ""
	}
	number, ok := parseDecimal(value.String())
	if !ok || !number.whole() || !strings.ContainsAny(value.String(), ".eE") {
		return ""
	}
	return value.String() + " is not an integer: write it without fraction and exponent"
}
