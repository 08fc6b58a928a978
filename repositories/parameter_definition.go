package repositories

import (
	"encoding/json"

	"earshot/repositories/fault"
)

// definition is one member of a list of parameters as it was given. SERMAS calls the
// name "parameter"; all else has one word in both lists.
type definition struct {
	Parameter      string      `json:"parameter"`
	Name           string      `json:"name"`
	Type           kind        `json:"type"`
	Description    string      `json:"description"`
	Required       *bool       `json:"required"`
	Ignore         bool        `json:"ignore"`
	Grounded       bool        `json:"grounded"`
	Value          any         `json:"value"`
	Default        any         `json:"default"`
	AllowedValues  []any       `json:"allowedValues"`
	ExcludedValues []any       `json:"excludedValues"`
	MinValue       json.Number `json:"minValue"`
	MaxValue       json.Number `json:"maxValue"`
	Items          *definition `json:"items"`
	ValueType      kind        `json:"valueType"`
	Escape         string      `json:"escape"`
	AuthServices   []claim     `json:"authServices"`
}

// dialect is what the two lists differ in.
type dialect struct {
	field    string // of the tool
	key      string // of the name
	required bool   // where it is not said
	pasted   bool   // values become a part of a statement's text
}

// list is one of a tool's lists of parameters.
type list struct {
	dialect
	raw json.RawMessage
}

// The languages of the lists.
var (
	sermas          = dialect{field: "schema", key: "parameter", required: false}
	toolbox         = dialect{field: "parameters", key: "name", required: true}
	toolboxTemplate = dialect{field: "templateParameters", key: "name", required: true, pasted: true}
	pathList        = dialect{field: "pathParams", key: "name", required: true}
	queryList       = dialect{field: "queryParams", key: "name", required: true}
	bodyList        = dialect{field: "bodyParams", key: "name", required: true}
	headerList      = dialect{field: "headerParams", key: "name", required: true}
)

// compileList compiles the definitions of one list. The faults' pointers begin at
// the tool.
func compileList(raw json.RawMessage, in dialect, with *patterns) ([]*parameter, fault.List) {
	var faults fault.List
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		faults.Add(fault.Point(in.field), "is not a list of parameters: %s", fault.Clip(err.Error()))
		return nil, faults
	}
	parameters := make([]*parameter, 0, len(list))
	for i := range list {
		at := fault.Point(in.field, i)
		d := &definition{}
		if err := unmarshalNumbers(list[i], d); err != nil {
			faults.Add(at, "is not the definition of a parameter: %s", fault.Clip(err.Error()))
			continue
		}
		parameters = append(parameters, d.compile(in, with, at, &faults))
	}
	return parameters, faults
}

// compile makes the parameter and reports what can never be satisfied.
func (d *definition) compile(in dialect, with *patterns, at string, faults *fault.List) *parameter {
	p := d.rules(with)
	p.name, p.place, p.pasted = d.Name, at, in.pasted
	if in.key == "parameter" {
		p.name = d.Parameter
	}
	p.required, p.ignored, p.claims, p.grounded = in.required, d.Ignore, d.AuthServices, d.Grounded
	if d.Required != nil {
		p.required = *d.Required
	}
	found := newFindings(faults, at)
	found.rules(d, p)
	p.fallback = found.fixed(p, "default", d.Default)
	p.static = found.fixed(p, "value", d.Value)
	found.unfillable(p)
	p.required = p.required && p.fallback == nil
	return p
}

// rules compiles what holds for a parameter and for the items of one alike.
func (d *definition) rules(with *patterns) *parameter {
	p := &parameter{
		description: d.Description,
		kind:        d.Type,
		allowed:     newEntries(d.AllowedValues, with),
		excluded:    newEntries(d.ExcludedValues, with),
		least:       newBound(d.MinValue),
		most:        newBound(d.MaxValue),
		escape:      d.Escape,
	}
	if d.Items != nil {
		p.items = d.Items.rules(with)
	}
	if d.ValueType != "" {
		p.values = &parameter{kind: d.ValueType}
	}
	return p
}

func newBound(given json.Number) *bound {
	number, ok := parseDecimal(given.String())
	if !ok {
		return nil
	}
	return &bound{given: given.String(), number: number}
}
