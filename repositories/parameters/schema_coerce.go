package parameters

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/schema"
)

// coercion converts a model's value to what a JSON Schema wants, if nothing is lost. It is
// guided by the types that the schema names; the check of the whole decides afterwards. The
// budget bounds it on schemas that refer in circles.
type coercion struct {
	budget  int
	changed bool
}

func coerceProperty(value any, schema *jsonschema.Schema) (any, bool) {
	c := coercion{budget: 10_000}
	read := c.read(value, schema)
	return read, c.changed
}

func (c *coercion) read(value any, s *jsonschema.Schema) any {
	if c.budget--; s == nil || c.budget < 0 {
		return value
	}
	value = c.read(value, s.Ref)
	for _, part := range s.AllOf {
		value = c.read(value, part)
	}
	value = c.choose(value, s.AnyOf)
	value = c.choose(value, s.OneOf)
	value = c.typed(value, s)
	return c.members(c.listed(value, s), s)
}

// choose reads the value by the first of several forms that it then fits.
func (c *coercion) choose(value any, forms []*jsonschema.Schema) any {
	if slices.ContainsFunc(forms, func(s *jsonschema.Schema) bool { return s.Validate(value) == nil }) {
		return value
	}
	for _, form := range forms {
		attempt := coercion{budget: c.budget}
		read := attempt.read(normal(value), form)
		c.budget = attempt.budget
		if attempt.changed && form.Validate(read) == nil {
			c.changed = true
			return read
		}
	}
	return value
}

// typed converts the value to a type that the schema names, unless it has one.
func (c *coercion) typed(value any, s *jsonschema.Schema) any {
	types := schemaTypes(s)
	if s.Types == nil || slices.Contains(s.Types.ToStrings(), jsonType(value, types)) {
		return c.integer(value, types)
	}
	for _, name := range types {
		if read, changed := kind(name).read(value); changed && jsonType(read, types) == name {
			c.changed = true
			return read
		}
	}
	if text, ok := value.(string); ok && strings.TrimSpace(text) == "null" && slices.Contains(s.Types.ToStrings(), "null") {
		c.changed = true
		return nil
	}
	if slices.Contains(types, "array") && value != nil {
		c.changed = true
		return []any{value}
	}
	return value
}

// integer writes 5.0 as 5 where only integers are wanted.
func (c *coercion) integer(value any, types []string) any {
	if !slices.Contains(types, "integer") || slices.Contains(types, "number") {
		return value
	}
	number, ok := value.(json.Number)
	if !ok {
		return value
	}
	read, _ := readInteger(number)
	c.changed = c.changed || read != any(number)
	return read
}

// jsonType names the value's type in JSON Schema; a whole number is an integer where
// the schema asks for that.
func jsonType(value any, wanted []string) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		number, ok := exactjson.ParseDecimal(value.String())
		if ok && number.Whole() && slices.Contains(wanted, "integer") {
			return "integer"
		}
		return "number"
	default:
		return ""
	}
}

// listed replaces a text by the one member of the enum that it means.
func (c *coercion) listed(value any, s *jsonschema.Schema) any {
	text, ok := value.(string)
	if !ok || s.Enum == nil || slices.Contains(s.Enum.Values, any(text)) {
		return value
	}
	meant, ok := meantBy(text, s.Enum.Values)
	if !ok {
		return value
	}
	c.changed = true
	return meant
}

// members reads the parts of a list or an object.
func (c *coercion) members(value any, s *jsonschema.Schema) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = c.read(value[i], schema.Item(s, i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			c.member(value, name, s)
		}
	}
	return value
}

// member reads one part of an object; null is left out where the schema has no use
// for it and does not ask for the part.
func (c *coercion) member(object map[string]any, name string, s *jsonschema.Schema) {
	property, known := s.Properties[name]
	if !known {
		property, _ = s.AdditionalProperties.(*jsonschema.Schema)
	}
	read := c.read(object[name], property)
	if read == nil && known && !slices.Contains(s.Required, name) && property.Validate(nil) != nil {
		c.changed = true
		delete(object, name)
		return
	}
	object[name] = read
}

// checkIntegers finds what JSON Schema would let through and a program may not send: 5.0
// where only integers are wanted. The schema checks everything else.
func checkIntegers(value any, s *jsonschema.Schema, at string) []violation {
	if s == nil {
		return nil
	}
	if s.Types == nil && s.Ref != nil && s.Ref.Ref == nil {
		s = s.Ref
	}
	var flaws []violation
	switch value := value.(type) {
	case json.Number:
		if detail := literalFlaw(value, s); detail != "" {
			return []violation{{at, detail}}
		}
	case []any:
		for i := range value {
			flaws = append(flaws, checkIntegers(value[i], schema.Item(s, i), index(at, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
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
	number, ok := exactjson.ParseDecimal(value.String())
	if !ok || !number.Whole() || !strings.ContainsAny(value.String(), ".eE") {
		return ""
	}
	return value.String() + " is not an integer: write it without fraction and exponent"
}
