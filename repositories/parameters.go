package repositories

import "encoding/json"

// Parameters is the one compiled form of a tool's parameters, whichever of the three
// languages they were given in. It is made once per revision of a repository and is
// safe for concurrent use.
type Parameters struct {
	list   []*parameter
	byName map[string]*parameter
	folded map[string]string // name without case, - and _, to the one visible parameter of it
	schema *rootSchema       // nil for the lists
	model  json.RawMessage
	// authenticated says that there are parameters which ID tokens fill.
	authenticated bool
}

// ValueFault is one thing that is wrong with a value.
type ValueFault struct {
	// Parameter is the name of the parameter, or the unknown name that was given.
	Parameter string `json:"parameter"`
	// Detail says what is wrong; for a part of the value it begins with the path,
	// as in "stops[2].day: 5 is not a string".
	Detail string `json:"detail"`
}

// Reading is what came of a model's arguments.
type Reading struct {
	// Values are complete: static values and defaults included. Numbers are
	// json.Number with the digits that were sent. A value at fault is not in it.
	Values map[string]any
	// Missing names the required parameters that have no value, each of which is
	// in Errors as well.
	Missing []string
	Errors  []ValueFault
	// Coerced names the parameters whose value was changed in form, not in meaning.
	Coerced []string
	// Dropped names the arguments that no parameter asks for.
	Dropped []string
}

// Infers reports whether there is any value that a matcher has to find.
func (p *Parameters) Infers() bool {
	for _, parameter := range p.list {
		if !parameter.hidden() {
			return true
		}
	}
	return p.schema != nil && p.schema.open
}

// ModelSchema renders what a model is shown: a JSON Schema object without ignored,
// static and authenticated parameters, keys in a stable order. The caller must not
// change it.
func (p *Parameters) ModelSchema() json.RawMessage {
	if p.model == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return p.model
}

// Names returns the names of all parameters in the order in which they were given.
func (p *Parameters) Names() []string {
	names := make([]string, len(p.list))
	for i, parameter := range p.list {
		names[i] = parameter.name
	}
	return names
}

// Hidden reports whether the parameter is kept from models: ignored, static, or
// filled from a verified ID token. It is false for a name that there is not.
func (p *Parameters) Hidden(name string) bool {
	parameter, ok := p.byName[name]
	return ok && parameter.hidden()
}

// Check takes a program's values strictly and completes them with static values and
// defaults. Nothing is converted: an integer is an integer literal, "5" is no number.
// Null counts as absent, unknown names are faults, and a static value wins over one
// that is given. All faults are returned at once; values at fault are left out.
func (p *Parameters) Check(values map[string]any) (map[string]any, []ValueFault) {
	pass := newPass(p, strict)
	pass.unknown(values)
	for _, parameter := range p.list {
		pass.take(parameter, values)
	}
	pass.finish()
	return pass.Values, pass.Errors
}

// Read takes a model's arguments, coerces what can be coerced without loss, and
// checks the rest as Check does. Unknown names are dropped, unless one parameter
// alone has that name in another case or with other hyphens and underscores.
func (p *Parameters) Read(arguments map[string]any) Reading {
	pass := newPass(p, lenient)
	named := pass.rename(arguments)
	for _, parameter := range p.list {
		pass.take(parameter, named)
	}
	pass.finish()
	return pass.Reading
}
