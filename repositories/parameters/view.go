package parameters

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/quantity"
	"earshot/repositories/schema"
)

// Parameter is a read-only description of one parameter. Parameters.Check has the complete rules.
type Parameter struct {
	Name        string
	Description string
	Type        string      // string, number, integer, boolean, object or array; empty if a JSON Schema names none
	Required    bool        // a call without it cannot be made; false with a default
	Default     any         // nil for none
	Allowed     []any       // the allowed values if all of them are literal, else nil
	Hidden      bool        // models neither see nor fill the parameter
	Grounded    bool        // a model's value has to stand in the conversation; Check and Read ignore it
	Items       *Parameter  // the members of an array; nil if nothing is known of them
	Min, Max    json.Number // inclusive bounds of a number; empty for none
	Aliases     []Alias
	Unit        *quantity.Unit // what a number counts; nil for none
	Format      Format         // of a string; empty for any
}

// List describes the parameters in their order. Of a JSON Schema it describes the top level without $ref. The
// list is the same at each call, and not to be changed.
func (p *Parameters) List() []Parameter {
	return p.Derived(views{}, func() any {
		list := make([]Parameter, len(p.list))
		for i, parameter := range p.list {
			list[i] = parameter.view()
		}
		return list
	}).([]Parameter)
}

// views is the form of what List derives.
type views struct{}

// Placed is a Parameter with its place in the definition.
type Placed struct {
	Parameter
	Kind   string  // the type as its list calls it: float and map are not translated
	Place  string  // a JSON Pointer, relative to the tool
	Claims []Claim // the fields of ID tokens that fill it, of which one has to be there
}

// Placed lists the parameters in the order in which they were given.
func (p *Parameters) Placed() []Placed {
	list := make([]Placed, len(p.list))
	for i, one := range p.list {
		list[i] = Placed{Parameter: one.view(), Kind: string(one.kind), Place: one.place, Claims: one.claims}
	}
	return list
}

// maxDepth bounds how deep items of items are described.
const maxDepth = 64

func (p *compiledParameter) view() Parameter {
	view := Parameter{
		Name:        p.name,
		Description: p.description,
		Type:        p.kind.schemaType(),
		Required:    p.required,
		Hidden:      p.hidden(),
		Grounded:    p.grounded,
		Allowed:     p.literals(),
		Aliases:     p.aliases,
		Unit:        p.unit,
		Format:      p.format,
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

// fromSchema fills in what the schema says. The depth bounds it: items may refer to their own schema.
func (v *Parameter) fromSchema(s *jsonschema.Schema, depth int) {
	if s.Enum != nil {
		v.Allowed = s.Enum.Values
	}
	v.Min, v.Max = schema.Decimal(s.Minimum), schema.Decimal(s.Maximum)
	if items := schema.Item(s, 0); items != nil && depth > 0 {
		v.Items = &Parameter{Type: string(kindOf(items)), Description: items.Description}
		v.Items.fromSchema(items, depth-1)
	}
}
