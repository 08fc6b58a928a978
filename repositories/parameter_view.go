package repositories

import (
	"encoding/json"
	"math/big"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Parameter describes one parameter to those who look for its value or tell a model
// about it in prose. All rules are in Parameters.Check; this is a view.
type Parameter struct {
	Name        string
	Description string
	// Type is one of string, number, integer, boolean, object, array; float and map
	// read as number and object. It is empty where a JSON Schema names none.
	Type string
	// Required says that a call without it cannot be made; false with a default.
	Required bool
	// Default is used where no value is given; nil where there is none.
	Default any
	// Allowed are the allowed values where all of them are literal, else nil.
	Allowed []any
	// Hidden says that models neither see nor fill it.
	Hidden bool
	// Grounded says that a model's value has to stand in the conversation. It is for
	// whoever knows the conversation to hold to; Check and Read do not.
	Grounded bool
	// Items describes the members of an array; nil where nothing is known of them.
	Items *Parameter
	// Min and Max are inclusive bounds of a number; empty for none.
	Min, Max json.Number
}

// List describes the parameters in the order in which they were given. Of a JSON
// Schema it tells what the top level says in plain words; $ref and combinations of
// schemas are left to Check.
func (p *Parameters) List() []Parameter {
	list := make([]Parameter, len(p.list))
	for i, parameter := range p.list {
		list[i] = parameter.view()
	}
	return list
}

func (p *parameter) view() Parameter {
	view := Parameter{
		Name:        p.name,
		Description: p.description,
		Type:        p.kind.schemaType(),
		Required:    p.required,
		Hidden:      p.hidden(),
		Grounded:    p.grounded,
		Allowed:     p.literals(),
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
		view.fromSchema(p.property, mostDepth)
	}
	return view
}

// fromSchema fills in what the schema of a property says of the same things. The
// depth bounds it: items may refer to the schema that they are in.
func (v *Parameter) fromSchema(s *jsonschema.Schema, depth int) {
	if s.Enum != nil {
		v.Allowed = s.Enum.Values
	}
	v.Min, v.Max = written(s.Minimum), written(s.Maximum)
	if items := itemSchema(s, 0); items != nil && depth > 0 {
		v.Items = &Parameter{}
		if types := schemaTypes(items); len(types) > 0 {
			v.Items.Type = types[0]
		}
		v.Items.Description = items.Description
		v.Items.fromSchema(items, depth-1)
	}
}

// written writes a bound of a schema as a decimal. Every bound was a decimal when it
// was read, so its denominator divides a power of ten.
func written(bound *big.Rat) json.Number {
	if bound == nil {
		return ""
	}
	decimals, _ := bound.FloatPrec()
	return json.Number(bound.FloatString(decimals))
}
