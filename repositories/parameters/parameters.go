// Package parameters compiles the parameters of a tool, given as lists (of SERMAS or
// Toolbox) or as a JSON Schema, into one form and checks values against it: Check takes a
// program's values strictly, Read coerces what a model has written. Compile returns all
// faults of a definition as a fault.List, Check and Read return all faults of the values as
// ValueFaults. The size of regular expressions and JSON Schemas is bounded by a Budget.
package parameters

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"earshot/repositories/fault"
	"earshot/repositories/quantity"
)

// Parameters is the one compiled form of a tool's parameters in any of the three languages. It is safe for
// concurrent use.
type Parameters struct {
	list          []*compiledParameter
	byName        map[string]*compiledParameter
	folded        map[string]string // name without case, - and _, to the one visible parameter of it
	seen          map[string]string // name without invisible characters, to the name
	schema        *rootSchema       // nil for the lists
	model         json.RawMessage
	dialect       string    // the $schema that was given
	derived       *sync.Map // what others made of the model's schema; nil for parameters made by hand
	authenticated bool      // ID tokens fill some of them
}

// ValueFault is one validation error of a value.
type ValueFault struct {
	Parameter string `json:"parameter"` // its name, or the unknown name that was given
	// Detail says what is wrong; for a part it begins with the path, as "stops[2].day: 5 is not a string".
	Detail string      `json:"detail"`
	Meant  fault.Meant `json:"-"` // for problems
}

// Reading is the result of reading a model's arguments.
type Reading struct {
	// Values have static values and defaults, and numbers as json.Number. A value at fault is not in it.
	Values  map[string]any
	Missing []string // the required parameters that have no value, each of which is in Errors as well
	Errors  []ValueFault
	Coerced []string // the parameters whose value was changed in form, not in meaning
	Dropped []string // the arguments that no parameter asks for
}

// Infers reports whether there is any parameter that a matcher has to fill.
func (p *Parameters) Infers() bool {
	visible := func(one *compiledParameter) bool { return !one.hidden() }
	return slices.ContainsFunc(p.list, visible) || p.schema != nil && p.schema.open
}

// ModelSchema is a JSON Schema object without ignored, static and authenticated parameters, keys in a stable
// order. The caller must not change it.
func (p *Parameters) ModelSchema() json.RawMessage {
	if p.model == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return p.model
}

// Dialect is the $schema of a JSON Schema, which ModelSchema leaves out: providers refuse it. Else it is empty.
func (p *Parameters) Dialect() string { return p.dialect }

// Derived returns what derive makes of the models' schema, and keeps it as long as the parameters live. The
// form, of few, names what is made.
func (p *Parameters) Derived(form any, derive func() any) any {
	if p.derived == nil {
		return derive()
	}
	if made, is := p.derived.Load(form); is {
		return made
	}
	made, _ := p.derived.LoadOrStore(form, derive())
	return made
}

// Names returns the names of all parameters in the order in which they were given.
func (p *Parameters) Names() []string {
	names := make([]string, len(p.list))
	for i, parameter := range p.list {
		names[i] = parameter.name
	}
	return names
}

// Hidden reports whether the parameter is hidden from models; false for an unknown name.
func (p *Parameters) Hidden(name string) bool {
	parameter, ok := p.byName[name]
	return ok && parameter.hidden()
}

// Unfillable finds the parameters in the path of a URL that no message can fill: they are hidden from models
// and have no value. The pointers begin at the tool.
func (p *Parameters) Unfillable() (pointers []string) {
	for _, one := range p.list {
		if one.inPath && len(one.claims) == 0 && one.static == nil && one.ignored && one.fallback == nil {
			pointers = append(pointers, one.place+fault.Point("ignore"))
		}
	}
	return pointers
}

// Ask returns the question for the first of the named parameters that has one.
func (p *Parameters) Ask(names ...string) string {
	for _, name := range names {
		if parameter, known := p.byName[name]; known && parameter.ask != "" {
			return parameter.ask
		}
	}
	return ""
}

// Check takes a program's values strictly and completes them with static values and defaults. Nothing is
// converted. Null counts as absent, unknown names are faults, and a static value wins. All faults are returned
// at once; values at fault are left out.
func (p *Parameters) Check(values map[string]any) (map[string]any, []ValueFault) {
	run := evaluation{parameters: p}
	run.evaluate(values)
	return run.Values, run.Errors
}

// Read takes a model's arguments, coerces without loss, and checks as Check does. Unknown names are dropped,
// unless one parameter has that name in another case or with other hyphens and underscores.
func (p *Parameters) Read(arguments map[string]any) Reading {
	run := evaluation{parameters: p, lenient: true}
	run.evaluate(arguments)
	return run.Reading
}

// evaluation is one pass of values through the parameters.
type evaluation struct {
	Reading
	parameters *Parameters
	lenient    bool // for a model's values, not for a program's
}

func (e *evaluation) evaluate(given map[string]any) {
	p := e.parameters
	e.Values = make(map[string]any, len(p.list))
	values := given
	if len(p.seen) > 0 { // a caller may have been shown names without their invisible characters
		values = make(map[string]any, len(given))
		for name, value := range given {
			values[cmp.Or(p.seen[name], name)] = value
		}
	}
	if e.lenient {
		values = e.rename(values)
	} else {
		e.unknown(values)
	}
	for _, parameter := range p.list {
		e.take(parameter, values)
	}
	e.body()
	if p.schema == nil {
		return
	}

	for _, found := range p.schema.validate(e.Values) {
		_, there := e.Values[found.Parameter]
		// A value that is absent because it is at fault is not missing as well.
		if there || !slices.ContainsFunc(e.Errors, func(f ValueFault) bool { return f.Parameter == found.Parameter }) {
			e.Errors = append(e.Errors, found)
		}
	}
	for _, found := range e.Errors {
		delete(e.Values, found.Parameter)
	}
}

// rename returns the arguments by the names of the parameters; those that are called so are returned as they are.
func (e *evaluation) rename(arguments map[string]any) map[string]any {
	strange := false
	for name := range arguments {
		if _, known := e.parameters.byName[name]; !known {
			strange = true
		}
	}
	if !strange {
		return arguments
	}
	named := make(map[string]any, len(arguments))
	taken := map[string]int{}
	for name, value := range arguments {
		if _, ok := e.parameters.byName[name]; ok {
			named[name] = value
		} else if meant, ok := e.parameters.folded[FoldName(name)]; ok {
			taken[meant]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if _, ok := e.parameters.byName[name]; ok {
			continue
		}
		meant, ok := e.parameters.folded[FoldName(name)]
		if _, given := named[meant]; ok && !given && taken[meant] == 1 {
			named[meant] = arguments[name]
			e.coerced(meant)
		} else if !e.keep(name, arguments[name]) {
			e.Dropped = append(e.Dropped, name)
		}
	}
	return named
}

// unknown finds a program's values that no parameter asks for.
func (e *evaluation) unknown(values map[string]any) {
	known := e.parameters.Names()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := e.parameters.byName[name]; ok || e.keep(name, values[name]) {
			continue
		}
		found := ValueFault{Parameter: fault.Clip(name), Detail: "is not a parameter of the tool"}
		if len(e.Errors) < fault.Most { // the others are not listed, and each hint takes its time
			found.Meant = fault.DidYouMean(name, known)
			found.Meant.Code = fault.UnknownField
			found.Detail += found.Meant.String()
		}
		e.Errors = append(e.Errors, found)
	}
}

// keep takes a value that has no parameter if a JSON Schema is open to such.
func (e *evaluation) keep(name string, value any) bool {
	if e.parameters.schema == nil || !e.parameters.schema.takes(name) {
		return false
	}
	e.Values[name] = normal(value)
	return true
}

// take gives the parameter its value: the static one, the given one, or the default.
func (e *evaluation) take(p *compiledParameter, values map[string]any) {
	given, sent := values[p.name]
	switch {
	case len(p.claims) > 0: // neither a value that is sent nor a default takes the place of a claim
		if p.required {
			e.miss(p, p.unverified())
		}
	case p.static != nil:
		e.Values[p.name] = normal(p.static.given)
	case e.lenient && p.ignored:
		e.absent(p)
	case given == nil || p.inPath && given == "" || e.lenient && p.absent(given):
		if sent && p.nullable && p.required && !p.inPath {
			e.Values[p.name] = nil // a JSON Schema requires the property, and lets it be null
		} else {
			e.absent(p)
		}
	default:
		e.use(p, normal(given))
	}
}

// body finds what a body lacks that is sent: one without any value is not.
func (e *evaluation) body() {
	sent := slices.IndexFunc(e.parameters.list, func(p *compiledParameter) bool {
		return p.ofBody && (e.Values[p.name] != nil || p.required && len(p.claims) > 0)
	})
	if sent < 0 {
		return
	}
	for _, p := range e.parameters.list {
		isFaulty := func(f ValueFault) bool { return f.Parameter == p.name }
		if p.inBody && e.Values[p.name] == nil && !slices.ContainsFunc(e.Errors, isFaulty) {
			e.miss(p, "is required beside "+e.parameters.list[sent].name+": the body of the request has both")
		}
	}
}

func (e *evaluation) absent(p *compiledParameter) {
	switch {
	case p.fallback != nil:
		e.Values[p.name] = normal(p.fallback.given)
	case p.required:
		e.miss(p, "is required")
	}
}

func (e *evaluation) miss(p *compiledParameter, detail string) {
	e.Missing = append(e.Missing, p.name)
	e.Errors = append(e.Errors, ValueFault{Parameter: p.name, Detail: detail, Meant: fault.Meant{Code: fault.Missing}})
}

func (e *evaluation) use(p *compiledParameter, value any) {
	if e.lenient {
		read, changed := p.readLeniently(value)
		if value = read; changed {
			e.coerced(p.name)
		}
	} else {
		value, _ = p.translate(value)
	}
	flaws, usable := p.flaws(value)
	e.Errors = append(e.Errors, p.faultsOf(flaws)...)
	if usable {
		e.Values[p.name] = value
	}
}

func (e *evaluation) coerced(name string) {
	if !slices.Contains(e.Coerced, name) {
		e.Coerced = append(e.Coerced, name)
	}
}

// absent reports whether a model's value is null, or the word "null", unless that word is allowed.
func (p *compiledParameter) absent(value any) bool {
	if p.refused != nil && equal(value, p.refused) {
		return true
	}
	text, _ := value.(string)
	return strings.TrimSpace(text) == "null" && !slices.Contains(p.literals(), any("null"))
}

// readLeniently converts a model's value by the rules of the list or of the schema.
func (p *compiledParameter) readLeniently(value any) (any, bool) {
	meant, also := p.translate(value)
	read, changed := meant, false
	if p.property != nil {
		read, changed = coerceProperty(meant, p.property)
	} else {
		read, changed = p.coerce(meant)
	}
	if changed { // a list may have been sent as a text
		read, _ = p.translate(read)
	}
	return read, changed || also
}

// flaws checks a value. One that a schema will validate as part of the whole is usable even with a flaw.
func (p *compiledParameter) flaws(value any) (flaws []violation, usable bool) {
	if p.property == nil {
		flaws = p.check(value, "")
		return flaws, len(flaws) == 0
	}
	if flaws = checkAnything(value, ""); len(flaws) > 0 {
		return flaws, false
	}
	if why := p.unread(value); why != "" {
		return []violation{{detail: why}}, false
	}
	flaws = checkIntegers(value, p.property, "")
	if flaw := p.formatFlaw(value); flaw != "" {
		flaws = append(flaws, violation{detail: flaw})
	}
	return flaws, true
}

// Said returns the value of words for the named parameter, as its author would have them read: coerced, with
// number words as numbers. Those of a date or a time stay: what day they name depends on when they are spoken.
// Why is the rule that they break, empty for a value.
func (p *Parameters) Said(name, words string) (value any, why string, known bool) {
	of, known := p.byName[name]
	if !known {
		return nil, "", false
	}
	if of.format != "" {
		return strings.TrimSpace(words), "", true
	}
	value, why = of.valueOf(words)
	if number, is := quantity.Number(words); is && why != "" {
		if counted, flaw := of.valueOf(string(number)); flaw == "" {
			return counted, "", true
		}
	}
	return value, why, true
}

// valueOf coerces words and names the first rule of the parameter that they break.
func (p *compiledParameter) valueOf(words string) (any, string) {
	value, _ := p.readLeniently(strings.TrimSpace(words))
	flaws, _ := p.flaws(value)
	if len(flaws) == 0 && p.property != nil {
		flaws = p.schemaFlaws(value)
	}
	if len(flaws) > 0 {
		return nil, strings.TrimPrefix(flaws[0].at+": "+flaws[0].detail, ": ")
	}
	return value, ""
}

// FoldName makes names that differ in case, hyphens, underscores and spaces alone equal.
func FoldName(name string) string { return nameFolder.Replace(strings.ToLower(name)) }

var nameFolder = strings.NewReplacer("-", "", "_", "", " ", "")
