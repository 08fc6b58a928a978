package parameters

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
	"earshot/repositories/schema"
)

// annotations are the keywords of a property that are no validation rules, mostly fields of the lists. Other uses
// of the same keywords, in another form, are ignored.
type annotations struct {
	Description  string          `json:"description"`
	Default      any             `json:"default"`
	Ignore       bool            `json:"ignore"`
	Grounded     bool            `json:"grounded"`
	Value        any             `json:"value"`
	AuthServices []Claim         `json:"authServices"`
	Ask          any             `json:"ask"`
	Aliases      json.RawMessage `json:"aliases"`
	Unit         any             `json:"unit"`
	Items        json.RawMessage `json:"items"`
}

func compileProperty(name string, given any, property *jsonschema.Schema, required bool, found *faultCollector) *compiledParameter {
	p := &compiledParameter{name: name, place: found.at, required: required, property: property, kind: kindOf(property)}
	p.nullable = property.Validate(nil) == nil
	var notes annotations
	if _, ok := given.(map[string]any); ok { // true and false are also schemas
		raw, err := exactjson.Encode(given)
		if err == nil && exactjson.Unmarshal(raw, &notes) != nil {
			err = errors.New("ignore and grounded are true or false, authServices a list of {\"name\",\"field\"}")
		}
		if err != nil {
			found.faults.Add(found.at, "%s", err)
			return p
		}
	}

	p.description, p.ignored, p.claims, p.grounded = plaintext.Text(notes.Description), notes.Ignore, notes.AuthServices, notes.Grounded
	ask, _ := notes.Ask.(string)
	p.ask = plaintext.Text(ask)
	if p.format = formatOf(property, maxDepth); p.format != "" {
		p.kind = kindString
	}
	found.spoken(p, notes)
	if notes.Default != nil {
		// Real definitions have "false" for false, or "any" beside an enum without it: the first is read like a
		// model's value, the second counts as none.
		converted, _ := p.translate(normal(notes.Default))
		read := coerceProperty(converted, p.property)
		if flaws := p.schemaFlaws(read); len(flaws) > 0 {
			p.refused, p.refusal = notes.Default, flaws[0].detail
		} else {
			p.fallback = &fixed{read}
		}
	}
	if notes.Value != nil {
		value, _ := p.translate(notes.Value)
		for _, flaw := range p.schemaFlaws(value) {
			found.flaw("/value", flaw, flaw.detail)
		}
		p.static = &fixed{value}
	}
	found.unfillable(p)
	p.required = p.required && p.fallback == nil
	return p
}

func (f *faultCollector) spoken(p *compiledParameter, notes annotations) {
	var aliases map[string][]string
	if notes.Aliases != nil && json.Unmarshal(notes.Aliases, &aliases) == nil && p.property.Enum != nil {
		f.aliases(p, aliases, func(name string) (any, []violation) {
			value := coerceProperty(name, p.property)
			flaws := p.schemaFlaws(value)
			for i := range flaws {
				flaws[i].detail = fault.Show(name) + " is not an allowed value"
			}
			return value, flaws
		})
	}
	if name, ok := notes.Unit.(string); ok && name != "" && p.kind.numeric() {
		p.count(name)
	}
	items, inner := schema.Item(p.property, 0), annotations{}
	if p.kind != kindArray || items == nil || json.Unmarshal(notes.Items, &inner) != nil {
		return
	}
	p.items = &compiledParameter{property: items, description: plaintext.Text(inner.Description), kind: kindOf(items)}
	newFaultCollector(f.faults, f.of, f.at+fault.Point("items")).spoken(p.items, inner)
}

func (p *compiledParameter) schemaFlaws(value any) []violation {
	err := p.property.Validate(value)
	if err == nil {
		return nil
	}
	var flaws []violation
	for _, one := range schema.Violations(err) {
		flaws = append(flaws, violation{detail: one.Text(value), meant: one.Meant(), format: one.OfFormat()})
	}
	return flaws
}

// formatOf returns the format of a string, also behind a $ref or beside null.
func formatOf(s *jsonschema.Schema, depth int) Format {
	switch {
	case s == nil || depth == 0:
		return ""
	case s.Format != nil && kindOf(s) == kindString && Format(s.Format.Name).Known():
		return Format(s.Format.Name)
	case s.Ref != nil:
		return formatOf(s.Ref, depth-1)
	}
	forms := slices.DeleteFunc(slices.Concat(s.AnyOf, s.OneOf), func(form *jsonschema.Schema) bool {
		return form.Types != nil && len(schemaTypes(form)) == 0
	})
	if len(forms) != 1 {
		return ""
	}
	return formatOf(forms[0], depth-1)
}

// kindOf returns the first type of a schema except null; empty for none.
func kindOf(s *jsonschema.Schema) kind {
	if types := schemaTypes(s); len(types) > 0 {
		return kind(types[0])
	}
	return ""
}

// schemaTypes returns the types of a schema except null.
func schemaTypes(s *jsonschema.Schema) []string {
	if s != nil && s.Types == nil {
		s = s.Ref
	}
	if s == nil || s.Types == nil {
		return nil
	}
	return slices.DeleteFunc(s.Types.ToStrings(), func(name string) bool { return name == "null" })
}

// coercion converts a model's value to a JSON Schema's types without loss. The validation of the whole value
// decides afterwards.
type coercion struct {
	budget  int  // bounds the work on circular schemas
	drops   bool // closed objects lose unknown members
	changed bool
	dropped []place // of lost members
}

const maxCoerced = 10_000

func coerceProperty(value any, schema *jsonschema.Schema) any {
	c := coercion{budget: maxCoerced}
	return c.read(value, schema, nil)
}

func (c *coercion) read(value any, s *jsonschema.Schema, at place) any {
	if c.budget--; s == nil || c.budget < 0 {
		return value
	}
	value = c.read(value, s.Ref, at)
	for _, part := range s.AllOf {
		value = c.read(value, part, at)
	}
	value = c.choose(value, s.AnyOf, at)
	value = c.choose(value, s.OneOf, at)
	value = c.typed(value, s)
	if s.Format != nil {
		if whole, short := Format(s.Format.Name).read(value); short && (s.Enum == nil || !slices.Contains(s.Enum.Values, value)) {
			value, c.changed = whole, true
		}
	}
	if text, ok := value.(string); ok && s.Enum != nil && !slices.Contains(s.Enum.Values, any(text)) {
		if converted, ok := uniqueMatch(text, s.Enum.Values); ok {
			value, c.changed = converted, true
		}
	}

	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = c.read(value[i], schema.Item(s, i), at.then(i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			property, known := s.Properties[name]
			if !known && c.drops && refuses(s, name) {
				c.dropped = append(c.dropped, at.then(name))
				delete(value, name)
				continue
			}
			if !known {
				property, _ = s.AdditionalProperties.(*jsonschema.Schema)
			}
			value[name] = c.read(value[name], property, at.then(name))
			if value[name] == nil && known && !slices.Contains(s.Required, name) && property.Validate(nil) != nil {
				c.changed = true
				delete(value, name) // the schema does not allow null
			}
		}
	}
	return value
}

// choose converts the value to the first of several forms that it then satisfies, with the fewest lost members.
func (c *coercion) choose(value any, forms []*jsonschema.Schema, at place) any {
	if slices.ContainsFunc(forms, func(s *jsonschema.Schema) bool { return s.Validate(value) == nil }) {
		return value
	}
	best, chosen, found := coercion{}, value, false
	for _, form := range forms {
		attempt := coercion{budget: c.budget, drops: c.drops}
		read := attempt.read(normal(value), form, at)
		c.budget = attempt.budget
		lost := len(attempt.dropped)
		if !attempt.changed && lost == 0 || found && lost >= len(best.dropped) || form.Validate(read) != nil {
			continue
		}
		best, chosen, found = attempt, read, true
		if lost == 0 {
			break
		}
	}
	c.changed = c.changed || best.changed
	c.dropped = append(c.dropped, best.dropped...)
	return chosen
}

func (c *coercion) typed(value any, s *jsonschema.Schema) any {
	types := schemaTypes(s)
	if s.Types == nil || slices.Contains(s.Types.ToStrings(), jsonType(value, types)) {
		if number, is := value.(json.Number); is && integersAlone(types) {
			read, _ := readInteger(number)
			c.changed = c.changed || read != value
			return read
		}
		return value
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

func integersAlone(types []string) bool {
	return slices.Contains(types, "integer") && !slices.Contains(types, "number")
}

// jsonType names the value's type in JSON Schema; a whole number is an integer if wanted.
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

// checkIntegers reports values that JSON Schema allows but programs may not send: 5.0 for an integer.
func checkIntegers(value any, s *jsonschema.Schema, at place) []violation {
	if s == nil {
		return nil
	}
	if s.Types == nil && s.Ref != nil && s.Ref.Ref == nil {
		s = s.Ref
	}
	if value, is := value.(json.Number); is && integersAlone(schemaTypes(s)) && strings.ContainsAny(value.String(), ".eE") {
		if number, ok := exactjson.ParseDecimal(value.String()); ok && number.Whole() {
			return []violation{{at: at, detail: exactjson.IntegerFlaw(value)}}
		}
	}
	return inParts(value, at, func(member, token any, at place) []violation {
		if i, isIndex := token.(int); isIndex {
			return checkIntegers(member, schema.Item(s, i), at)
		}
		return checkIntegers(member, s.Properties[token.(string)], at)
	})
}
