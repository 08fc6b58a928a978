package parameters

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
	"earshot/repositories/quantity"
	"earshot/repositories/schema"
)

type modelProperty struct {
	Type                 string          `json:"type"`
	Description          string          `json:"description,omitempty"`
	Format               Format          `json:"format,omitempty"`
	Enum                 []any           `json:"enum,omitempty"`
	Minimum              json.RawMessage `json:"minimum,omitempty"`
	Maximum              json.RawMessage `json:"maximum,omitempty"`
	Items                *modelProperty  `json:"items,omitempty"`
	AdditionalProperties any             `json:"additionalProperties,omitempty"`
	Default              any             `json:"default,omitempty"`
}

func listModel(list []*compiledParameter) (json.RawMessage, error) {
	var properties exactjson.Object
	var required []string
	for _, p := range list {
		if p.hidden() {
			continue
		}
		if err := properties.Add(p.name, p.modelProperty()); err != nil {
			return nil, err
		}
		if p.required {
			required = append(required, p.name)
		}
	}
	raw, err := exactjson.Encode(struct {
		Type       string          `json:"type"`
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required,omitempty"`
	}{"object", properties.JSON(), required})
	return plaintext.JSON(raw), err
}

func (p *compiledParameter) modelProperty() *modelProperty {
	shown := &modelProperty{Type: p.kind.schemaType(), Description: p.shownDescription(), Format: p.format, Enum: p.literals()}
	if p.least != nil {
		shown.Minimum = json.RawMessage(p.least.given)
	}
	if p.most != nil {
		shown.Maximum = json.RawMessage(p.most.given)
	}
	if p.items != nil {
		shown.Items = p.items.modelProperty()
	}
	switch {
	case p.values != nil:
		shown.AdditionalProperties = map[string]string{"type": p.values.kind.schemaType()}
	case p.kind.mapping():
		shown.AdditionalProperties = true
	}
	if p.fallback != nil {
		shown.Default = p.fallback.given
	}
	return shown
}

// schemaModel renders a JSON Schema without hidden parameters, $schema and $id, which providers refuse.
func schemaModel(document map[string]any, list []*compiledParameter) json.RawMessage {
	shown := maps.Clone(document)
	delete(shown, "$schema")
	delete(shown, "$id")
	shown["type"] = "object"
	properties, _ := document["properties"].(map[string]any)
	names := requiredNames(document)
	var ordered exactjson.Object
	var required []string // in order, without hidden ones
	for _, p := range list {
		if (names[p.name] || p.inPath && p.required) && !p.hidden() {
			required = append(required, p.name)
		}
		delete(names, p.name)
		if !p.hidden() && ordered.Add(p.name, p.withoutListFields(properties[p.name])) != nil {
			return nil
		}
	}
	shown["properties"] = ordered.JSON()
	delete(shown, "required")
	if required = append(required, slices.Sorted(maps.Keys(names))...); len(required) > 0 {
		shown["required"] = required
	}
	raw, err := exactjson.Encode(shown)
	if err != nil {
		return nil
	}
	return plaintext.JSON(raw)
}

// withoutListFields removes the fields of the lists, and adds the relevant ones to the description.
func (p *compiledParameter) withoutListFields(property any) any {
	given, ok := property.(map[string]any)
	if !ok {
		return property
	}
	shown := maps.Clone(given)
	for _, word := range []string{"ignore", "grounded", "ask"} {
		delete(shown, word)
	}
	if p.unit != nil || p.aliases != nil {
		shown["description"] = p.shownDescription()
	}
	if p.unit != nil {
		delete(shown, "unit")
	}
	if p.aliases != nil {
		delete(shown, "aliases")
	}
	if p.items != nil {
		shown["items"] = p.items.withoutListFields(shown["items"])
	}
	return shown
}

func requiredNames(document map[string]any) map[string]bool {
	names := map[string]bool{}
	list, _ := document["required"].([]any)
	for _, item := range list {
		if name, ok := item.(string); ok {
			names[name] = true
		}
	}
	return names
}

// Parameter is a read-only description of one parameter. Parameters.Check has the complete rules.
type Parameter struct {
	Name        string
	Description string
	Type        string      // string, number, integer, boolean, object or array; empty if a JSON Schema has none
	Required    bool        // required for a call; false with a default
	Default     any         // nil for none
	Allowed     []any       // allowed values if all are literal, else nil
	Spelled     []any       // else those that are words with no sign but dots: "Dr. Weber"
	Hidden      bool        // models neither see nor fill it
	Grounded    bool        // a model's value needs evidence in the conversation; Check and Read ignore it
	Items       *Parameter  // of an array; nil if unknown
	Min, Max    json.Number // inclusive; empty for none
	Aliases     []Alias
	Unit        *quantity.Unit // of a number; nil for none
	Format      Format         // of a string; empty for any
}

// Numeric reports whether the type is one of numbers.
func (p Parameter) Numeric() bool { return p.Type == "integer" || p.Type == "number" }

// List describes the parameters in order; for a JSON Schema, the top level without $ref. The list is shared and
// must not be modified.
func (p *Parameters) List() []Parameter {
	return p.Derived(views{}, func() any { return lists.Map(p.list, (*compiledParameter).view) }).([]Parameter)
}

// views is the cache key of List.
type views struct{}

// Placed is a Parameter with its place in the definition.
type Placed struct {
	Parameter
	Kind   string  // type as named in the list, also float and map
	Place  string  // JSON Pointer relative to the tool
	Claims []Claim // alternative fields of ID tokens that fill it
}

// Placed lists the parameters in the given order.
func (p *Parameters) Placed() []Placed {
	list := make([]Placed, len(p.list))
	for i, one := range p.list {
		list[i] = Placed{Parameter: one.view(), Kind: string(one.kind), Place: one.place, Claims: one.claims}
	}
	return list
}

// maxDepth bounds the described nesting of items.
const maxDepth = 64

func (p *compiledParameter) view() Parameter {
	view := Parameter{
		Name: p.name, Description: p.description, Type: p.kind.schemaType(), Format: p.format, Required: p.required,
		Hidden: p.hidden(), Grounded: p.grounded, Allowed: p.literals(), Spelled: p.spelled(), Aliases: p.aliases, Unit: p.unit,
	}
	if p.fallback != nil {
		view.Default = normal(p.fallback.given)
	}
	if p.least != nil {
		view.Min = json.Number(p.least.given)
	}
	if p.most != nil {
		view.Max = json.Number(p.most.given)
	}
	if p.items != nil {
		items := p.items.view()
		view.Items = &items
	}
	if p.property != nil {
		view.fromSchema(p.property, maxDepth)
		if p.items != nil && view.Items != nil {
			view.Items.Aliases, view.Items.Unit = p.items.aliases, p.items.unit
		}
	}
	return view
}

// fromSchema fills in the schema's rules. depth bounds items that refer to their own schema.
func (v *Parameter) fromSchema(s *jsonschema.Schema, depth int) {
	if s.Enum != nil {
		v.Allowed = s.Enum.Values
	}
	v.Min, v.Max = schema.Decimal(s.Minimum), schema.Decimal(s.Maximum)
	if items := schema.Item(s, 0); items != nil && depth > 0 {
		v.Items = &Parameter{Type: string(kindOf(items)), Description: items.Description, Format: formatOf(items, depth)}
		v.Items.fromSchema(items, depth-1)
	}
}
