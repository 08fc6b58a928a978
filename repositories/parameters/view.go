package parameters

import (
	"encoding/json"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/lists"
	"earshot/repositories/quantity"
	"earshot/repositories/schema"
)

// Parameter is a read-only description of one parameter. Parameters.Check has the complete rules.
type Parameter struct {
	Name        string
	Description string
	Type        string      // string, number, integer, boolean, object or array; empty if a JSON Schema has none
	Required    bool        // required for a call; false with a default
	Default     any         // nil for none
	Allowed     []any       // allowed values if all are literal, else nil
	Hidden      bool        // models neither see nor fill it
	Grounded    bool        // a model's value needs evidence in the conversation; Check and Read ignore it
	Items       *Parameter  // of an array; nil if unknown
	Min, Max    json.Number // inclusive; empty for none
	Aliases     []Alias
	Unit        *quantity.Unit // of a number; nil for none
	Format      Format         // of a string; empty for any
}

// Numeric reports whether the type is one of numbers.
func (p Parameter) Numeric() bool {
	return p.Type == "integer" || p.Type == "number" || p.Type == "float"
}

// List describes the parameters in order; for a JSON Schema, the top level without $ref. The list is shared and
// must not be modified.
func (p *Parameters) List() []Parameter {
	return p.Derived(views{}, func() any {
		return lists.Map(p.list, (*compiledParameter).view)
	}).([]Parameter)
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
