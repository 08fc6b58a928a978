package parameters

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/quantity"
	"earshot/repositories/schema"
)

// kind is the type of a parameter, in the words of the lists.
type kind string

const (
	kindString  kind = "string"
	kindNumber  kind = "number"
	kindInteger kind = "integer"
	kindFloat   kind = "float"
	kindBoolean kind = "boolean"
	kindObject  kind = "object"
	kindArray   kind = "array"
	kindMap     kind = "map"
)

func (k kind) numeric() bool { return k == kindNumber || k == kindInteger || k == kindFloat }

func (k kind) mapping() bool { return k == kindObject || k == kindMap }

// compiledParameter is the compiled form of one parameter. The rules are those of its list;
// a property of a JSON Schema has its rules in the schema.
type compiledParameter struct {
	name        string
	place       string // in the tool, as a JSON Pointer
	description string
	kind        kind
	required    bool // and without default
	ignored     bool
	grounded    bool // a model's value has to stand in the conversation
	claims      []Claim
	pasted      bool   // into a statement
	inPath      bool   // of a URL, which has no place for an empty value
	ask         string // what a user is asked for it; empty for nothing
	format      Format // of a string

	fallback *fixed // default
	static   *fixed // value

	allowed  []entry
	excluded []entry
	least    *bound
	most     *bound
	items    *compiledParameter // of an array
	values   *compiledParameter // of a map with valueType; nil where anything goes

	// property is the schema of a parameter that is a property of a JSON Schema, and
	// nil for the lists.
	property *jsonschema.Schema
	spoken
	nullable bool // the property may be null
	refused  any  // its default, where its own schema refuses it
}

// Claim is a reference to a field of a verified ID token, as authServices lists them.
type Claim struct {
	Service string `json:"name"`
	Field   string `json:"field"`
}

// fixed is a default or static value.
type fixed struct{ given any }

// bound is minValue or maxValue: as it was given, and as a decimal.
type bound struct {
	given  string
	number exactjson.Decimal
}

// hidden reports whether a model neither sees the parameter nor fills it.
func (p *compiledParameter) hidden() bool {
	return p.ignored || p.static != nil || len(p.claims) > 0
}

// services names the services whose tokens fill the parameter.
func (p *compiledParameter) services() string {
	names := make([]string, len(p.claims))
	for i := range p.claims {
		names[i] = p.claims[i].Service
	}
	return strings.Join(names, " or ")
}

// violation is one validation error of a value, with its place inside the value: a path such as
// [2].day, empty for the value itself.
type violation struct{ at, detail string }

// faultsOf turns flaws of the parameter's value into faults of a call.
func (p *compiledParameter) faultsOf(flaws []violation) []ValueFault {
	faults := make([]ValueFault, len(flaws))
	for i, found := range flaws {
		faults[i] = ValueFault{Parameter: p.name, Detail: found.detail}
		if found.at != "" {
			faults[i].Detail = p.name + found.at + ": " + found.detail
		}
	}
	return faults
}

func index(at string, i int) string { return fmt.Sprintf("%s[%d]", at, i) }

func member(at, key string) string { return at + "." + fault.Clip(key) }

// Parameter is a read-only description of one parameter, for code that looks for its value
// or describes it to a model in prose. Parameters.Check has the complete rules.
type Parameter struct {
	Name        string
	Description string
	// Type is one of string, number, integer, boolean, object, array; float and map
	// read as number and object. It is empty where a JSON Schema names none.
	Type string
	// Required says that a call without it cannot be made; false with a default.
	Required bool
	// Default is used where no value is given; nil if there is none.
	Default any
	// Allowed are the allowed values where all of them are literal, else nil.
	Allowed []any
	// Hidden says that models neither see nor fill the parameter.
	Hidden bool
	// Grounded says that a model's value has to stand in the conversation. Check and Read
	// ignore it: whoever knows the conversation enforces it.
	Grounded bool
	// Items describes the members of an array; nil where nothing is known of them.
	Items *Parameter
	// Min and Max are inclusive bounds of a number; empty for none.
	Min, Max json.Number
	// Aliases are other words for allowed values.
	Aliases []Alias
	// Unit is what a number counts; nil where that is not said.
	Unit *quantity.Unit
	// Format is the form of a string's values; empty for any.
	Format Format
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

// Placed is a Parameter with its place in the definition, for code that checks the
// definition.
type Placed struct {
	Parameter
	// Kind is the type as its list calls it: float and map are not translated.
	Kind string
	// Place is a JSON Pointer to it, relative to the tool.
	Place string
	// Claims are the fields of ID tokens that fill it, of which one has to be there.
	Claims []Claim
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

// fromSchema fills in what the schema of a property says of the same things. The
// depth bounds it: items may refer to the schema that they are in.
func (v *Parameter) fromSchema(s *jsonschema.Schema, depth int) {
	if s.Enum != nil {
		v.Allowed = s.Enum.Values
	}
	v.Min, v.Max = schema.Decimal(s.Minimum), schema.Decimal(s.Maximum)
	if items := schema.Item(s, 0); items != nil && depth > 0 {
		v.Items = &Parameter{}
		if types := schemaTypes(items); len(types) > 0 {
			v.Items.Type = types[0]
		}
		v.Items.Description = items.Description
		v.Items.fromSchema(items, depth-1)
	}
}
