package parameters

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/plaintext"
	"earshot/repositories/schema"
)

// annotations are the keywords of a property that are not validation rules. All but
// the first two are the words of the lists; a validator passes over them. Where one that
// others may use for something of their own does not say what the lists say with it, it is
// passed over here as well.
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
	Format       any             `json:"format"`
	Items        json.RawMessage `json:"items"`
}

// compileProperty compiles one property of the root.
func compileProperty(name string, given any, property *jsonschema.Schema, required bool, found *faultCollector) *compiledParameter {
	p := &compiledParameter{name: name, place: found.at, required: required, property: property}
	p.nullable = property.Validate(nil) == nil
	if types := schemaTypes(property); len(types) > 0 {
		p.kind = kind(types[0])
	}
	notes, err := readAnnotations(given)
	if err != nil {
		found.faults.Add(found.at, "%s", err)
		return p
	}
	p.description, p.ignored, p.claims = plaintext.Text(notes.Description), notes.Ignore, notes.AuthServices
	p.grounded, p.format = notes.Grounded, formatOf(notes.Format, p.kind)
	p.ask, _ = notes.Ask.(string)
	p.ask = plaintext.Text(p.ask)
	found.said(p, notes)
	p.useDefault(notes.Default)
	p.static = found.fixedProperty(p, notes.Value)
	found.unfillable(p)
	p.required = p.required && p.fallback == nil
	return p
}

// said takes the aliases and the unit of a property, and those of an array's members.
func (f *faultCollector) said(p *compiledParameter, notes annotations) {
	f.propertyAliases(p, notes)
	if name, is := notes.Unit.(string); is && name != "" && p.kind.numeric() {
		p.count(name)
	}
	items, inner := schema.Item(p.property, 0), annotations{}
	if p.kind != kindArray || items == nil || json.Unmarshal(notes.Items, &inner) != nil {
		return
	}
	p.items = &compiledParameter{property: items, description: plaintext.Text(inner.Description)}
	if types := schemaTypes(items); len(types) > 0 {
		p.items.kind = kind(types[0])
	}
	newFaultCollector(f.faults, f.at+fault.Point("items")).said(p.items, inner)
}

func readAnnotations(given any) (annotations, error) {
	var notes annotations
	if _, ok := given.(map[string]any); !ok {
		return notes, nil // true and false are schemas as well
	}
	raw, err := exactjson.Encode(given)
	if err != nil {
		return notes, err
	}
	if err := exactjson.Unmarshal(raw, &notes); err != nil {
		return notes, errors.New("ignore and grounded are true or false, authServices a list of {\"name\",\"field\"}")
	}
	return notes, nil
}

// useDefault takes a property's default as far as it is one. To JSON Schema it is a
// mere annotation, and real definitions say "false" for false, or "any" beside an enum
// that has no such member: the first is read as a model's value would be, the second
// is not used, and a model that sends it is taken to have left the value out.
func (p *compiledParameter) useDefault(given any) {
	if given == nil {
		return
	}
	meant, _ := p.translate(normal(given))
	read, _ := coerceProperty(meant, p.property)
	if p.property.Validate(read) != nil || p.formatFlaw(read) != "" {
		p.refused = given
		return
	}
	p.fallback = &fixed{read}
}

// fixedProperty takes a static value, which has to fit the property.
func (f *faultCollector) fixedProperty(p *compiledParameter, given any) *fixed {
	if given == nil {
		return nil
	}
	given, _ = p.translate(given)
	if err := p.property.Validate(given); err != nil {
		for _, one := range schema.Violations(err) {
			f.add("value", "%s", one.Text(given))
		}
	} else if flaw := p.formatFlaw(given); flaw != "" {
		f.add("value", "%s", flaw)
	}
	return &fixed{given}
}

// schemaTypes returns the types that a schema names, null aside.
func schemaTypes(s *jsonschema.Schema) []string {
	if s != nil && s.Types == nil {
		s = s.Ref
	}
	if s == nil || s.Types == nil {
		return nil
	}
	var types []string
	for _, name := range s.Types.ToStrings() {
		if name != "null" {
			types = append(types, name)
		}
	}
	return types
}

// keysInOrder returns the keys of the object under field of a document, in the order
// in which they stand there; known is the object itself.
func keysInOrder(document []byte, field string, known map[string]any) []string {
	var outer map[string]json.RawMessage
	if json.Unmarshal(document, &outer) != nil || len(known) == 0 {
		return slices.Sorted(maps.Keys(known))
	}
	keys, err := exactjson.Keys(outer[field])
	if err != nil || len(keys) != len(known) {
		return slices.Sorted(maps.Keys(known))
	}
	return keys
}
