// Package parameters compiles the parameters of a tool, given as lists (of SERMAS or Toolbox) or as a JSON Schema,
// into one form and checks values against it. Check validates a program's values strictly; Read coerces a model's
// values. Compile returns all faults of a definition as a fault.List, Check and Read return all faults of values as
// ValueFaults. A Budget bounds the size of regular expressions and JSON Schemas.
package parameters

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"earshot/repositories/fault"
	"earshot/repositories/lists"
	"earshot/repositories/quantity"
)

// Parameters is the compiled form of a tool's parameters. It is safe for concurrent use.
type Parameters struct {
	list          []*compiledParameter
	byName        map[string]*compiledParameter
	folded        map[string]string // name without case, - and _, to the only visible parameter with it
	seen          map[string]string // name without invisible characters, to the name
	schema        *rootSchema       // nil for lists
	model         json.RawMessage
	dialect       string    // the given $schema
	derived       *sync.Map // cached data derived from the model's schema; nil if not compiled
	authenticated bool      // ID tokens fill some of them
	unfit, odd    fault.List
}

// Unfit returns what is refused when a definition is written, beside the faults of Compile: earlier versions, and
// the servers of tools, have such definitions. Pointers are relative to the tool.
func (p *Parameters) Unfit() fault.List { return p.unfit }

// Odd returns defaults that a JSON Schema refuses itself, rules that leave no value, and expressions that do not
// compile. Real definitions have them, so that they are only noted. Pointers are relative to the tool.
func (p *Parameters) Odd() fault.List { return p.odd }

// ValueFault is one validation error of a value.
type ValueFault struct {
	Parameter string `json:"parameter"` // name, or the given unknown name
	// Detail describes the fault; for a part it begins with the path, as "stops[2].day: 5 is not a string".
	Detail string      `json:"detail"`
	Meant  fault.Meant `json:"-"` // for problems

	part place  // of the value; empty for all of it
	bare string // the detail without the path of the part
}

// faultAt returns the fault of a parameter, whose path in texts begins with shown.
func faultAt(parameter, shown string, found violation) ValueFault {
	made := ValueFault{Parameter: parameter, Detail: found.detail, Meant: found.meant}
	if len(found.at) > 0 {
		made.part, made.bare = found.at, found.detail
		made.Detail = shown + found.at.String() + ": " + found.detail
	}
	return made
}

// Fault returns the fault of a body that has the values in a field. Its pointer leads to the faulty part.
func (f ValueFault) Fault(field string) fault.Fault {
	pointer := fault.Point(field)
	if f.Parameter != "" {
		pointer += fault.Point(f.Parameter) + fault.Point(f.part...)
	}
	return fault.Fault{Pointer: pointer, Detail: cmp.Or(f.bare, f.Detail), Meant: f.Meant}
}

// Reading is the result of reading a model's arguments.
type Reading struct {
	// Values include static values and defaults; numbers are json.Number. Faulty values are left out.
	Values  map[string]any
	Missing []string // required parameters without a value; each is also in Errors
	Errors  []ValueFault
	Coerced []string // parameters whose value was converted without a change of meaning
	Dropped []string // arguments without a parameter, and unknown members, as "stops[2].when"
}

// Infers reports whether there are parameters that a matcher must fill.
func (p *Parameters) Infers() bool {
	visible := func(one *compiledParameter) bool { return !one.hidden() }
	return slices.ContainsFunc(p.list, visible) || p.schema != nil && p.schema.open
}

// ModelSchema returns a JSON Schema object without ignored, static and authenticated parameters, with keys in a
// stable order. The caller must not modify it.
func (p *Parameters) ModelSchema() json.RawMessage {
	if p.model == nil {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return p.model
}

// Dialect returns the $schema of a JSON Schema, which ModelSchema omits because providers refuse it; empty for
// lists.
func (p *Parameters) Dialect() string { return p.dialect }

// Derived returns the result of derive for the models' schema, cached as long as the parameters exist. form is the
// cache key; there must be few.
func (p *Parameters) Derived(form any, derive func() any) any {
	if p.derived == nil {
		return derive()
	}
	if made, ok := p.derived.Load(form); ok {
		return made
	}
	made, _ := p.derived.LoadOrStore(form, derive())
	return made
}

// Names returns the names of all parameters in the given order.
func (p *Parameters) Names() []string {
	return lists.Map(p.list, func(parameter *compiledParameter) string { return parameter.name })
}

// Hidden reports whether the parameter is hidden from models; false for an unknown name.
func (p *Parameters) Hidden(name string) bool {
	parameter, ok := p.byName[name]
	return ok && parameter.hidden()
}

// Visible returns the values without those of hidden parameters.
func (p *Parameters) Visible(values map[string]any) map[string]any {
	visible := map[string]any{}
	for name, value := range values {
		if !p.Hidden(cmp.Or(p.seen[name], name)) {
			visible[name] = value
		}
	}
	return visible
}

// Unfillable returns the parameters in the path of a URL that no message can fill: they are hidden from models and
// have no value. The pointers begin at the tool.
func (p *Parameters) Unfillable() (pointers []string) {
	for _, one := range p.list {
		if one.inPath && len(one.claims) == 0 && one.static == nil && one.ignored && one.fallback == nil {
			pointers = append(pointers, one.place+fault.Point("ignore"))
		}
	}
	return pointers
}

// Ask returns the question of the first named parameter that has one.
func (p *Parameters) Ask(names ...string) string {
	for _, name := range names {
		if parameter, known := p.byName[name]; known && parameter.ask != "" {
			return parameter.ask
		}
	}
	return ""
}

// Check validates a program's values strictly and adds static values and defaults. Nothing is converted. Null
// counts as absent, unknown names are faults, and a static value takes precedence. All faults are returned at once;
// faulty values are left out.
func (p *Parameters) Check(values map[string]any) (map[string]any, []ValueFault) {
	run := evaluation{parameters: p}
	run.evaluate(values)
	return run.Values, run.Errors
}

// Read coerces a model's arguments without loss, and validates them like Check. Unknown names are dropped, at any
// depth, unless one parameter has the name with different case, hyphens or underscores.
func (p *Parameters) Read(arguments map[string]any) Reading {
	run := evaluation{parameters: p, lenient: true}
	run.evaluate(arguments)
	return run.Reading
}

// evaluation is one pass of values through the parameters.
type evaluation struct {
	Reading
	parameters *Parameters
	lenient    bool // for a model's values
}

func (e *evaluation) evaluate(given map[string]any) {
	p := e.parameters
	e.Values = make(map[string]any, len(p.list))
	values := given
	if len(p.seen) > 0 { // callers may see names without their invisible characters
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
		_, present := e.Values[found.Parameter]
		// A value left out as faulty is not also missing. The values together may have several faults.
		known := func(f ValueFault) bool {
			return f.Parameter == found.Parameter && (f.Parameter != "" || f.Detail == found.Detail)
		}
		if present || !slices.ContainsFunc(e.Errors, known) {
			e.Errors = append(e.Errors, found)
		}
	}
	for _, found := range e.Errors {
		delete(e.Values, found.Parameter)
	}
}

// rename returns the arguments with the parameters' exact names.
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
		} else if canonical, ok := e.parameters.folded[FoldName(name)]; ok {
			taken[canonical]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		if _, ok := e.parameters.byName[name]; ok {
			continue
		}
		canonical, ok := e.parameters.folded[FoldName(name)]
		if _, given := named[canonical]; ok && !given && taken[canonical] == 1 {
			named[canonical] = arguments[name]
			e.coerced(canonical)
		} else if !e.keep(name, arguments[name]) {
			e.Dropped = append(e.Dropped, name)
		}
	}
	return named
}

// unknown reports a program's values without a parameter.
func (e *evaluation) unknown(values map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := e.parameters.byName[name]; ok || e.keep(name, values[name]) {
			continue
		}
		found := ValueFault{Parameter: fault.Clip(name), Detail: "is not a parameter of the tool"}
		if len(e.Errors) < fault.Most { // further ones are not listed, and hints are expensive
			found.Meant = fault.DidYouMean(name, e.parameters.Names())
			found.Meant.Code = fault.UnknownField
			found.Detail += found.Meant.String()
		}
		e.Errors = append(e.Errors, found)
	}
}

// keep accepts a value without a parameter if a JSON Schema allows it.
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
	case len(p.claims) > 0: // neither a given value nor a default replaces a claim
		if p.required {
			e.miss(p, p.unverified())
		}
	case p.static != nil:
		e.Values[p.name] = normal(p.static.given)
	case e.lenient && p.ignored:
		e.absent(p)
	case given == nil || p.inPath && given == "" || e.lenient && p.absent(given):
		if sent && p.nullable && p.required && !p.inPath {
			e.Values[p.name] = nil // a JSON Schema requires the property, and allows null
		} else {
			e.absent(p)
		}
	default:
		e.use(p, normal(given))
	}
}

// body reports missing values of a body, unless it has no value at all and is not sent.
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
	if flaw := sizeFlaw(value, p.entries(), maxComparisons); flaw != "" {
		e.Errors = append(e.Errors, p.faultsOf([]violation{{detail: flaw}})...)
		return
	}
	if e.lenient {
		read, changed, dropped := p.readLeniently(value)
		if value = read; changed {
			e.coerced(p.name)
		}
		e.Dropped = append(e.Dropped, dropped...)
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

// absent reports whether a model's value is null, or a text that models write for it: "null" if that is not allowed,
// and the empty one for a number, a truth value, a date or a time.
func (p *compiledParameter) absent(value any) bool {
	if p.refused != nil && equal(value, p.refused) {
		return true
	}
	text, is := value.(string)
	text = strings.TrimSpace(text)
	if is && text == "" {
		return p.kind.numeric() || p.kind == kindBoolean || p.format != ""
	}
	return text == "null" && !slices.Contains(p.literals(), any("null"))
}

// readLeniently converts a model's value by the rules of the list or of the schema.
func (p *compiledParameter) readLeniently(value any) (read any, changed bool, dropped []string) {
	converted, also := p.translate(value)
	if p.property != nil {
		c := coercion{budget: maxCoerced, drops: true}
		read = c.read(converted, p.property, nil)
		changed = c.changed
		for _, lost := range c.dropped {
			dropped = append(dropped, p.name+lost.String())
		}
	} else {
		read, changed = p.coerce(converted)
	}
	if changed { // a list may be encoded as a text
		read, _ = p.translate(read)
	}
	return read, changed || also, dropped
}

// flaws checks a value. A flawed value is still usable if a schema validates it later as part of the whole.
func (p *compiledParameter) flaws(value any) (flaws []violation, usable bool) {
	if p.property == nil {
		flaws = p.check(value, nil)
		return flaws, len(flaws) == 0
	}
	if flaws = checkAnything(value, nil); len(flaws) > 0 {
		return flaws, false
	}
	if why := p.amountFlaw(value); why != "" {
		return []violation{{detail: why}}, false
	}
	return checkIntegers(value, p.property, nil), true
}

// Said returns the named parameter's value for an author's words: coerced, with number words as numbers. Words of a
// date or a time stay, because their day depends on the time of the message. why is the violated rule, empty for a
// value.
func (p *Parameters) Said(name, words string) (value any, why string, known bool) {
	of, known := p.byName[name]
	if !known {
		return nil, "", false
	}
	if of.format != "" {
		return strings.TrimSpace(words), "", true
	}
	value, why = of.valueOf(words)
	if number, ok := quantity.Number(words); ok && why != "" {
		if counted, flaw := of.valueOf(string(number)); flaw == "" || of.kind.numeric() {
			return counted, flaw, true
		}
	}
	return value, why, true
}

// valueOf coerces words; the second result is the first violated rule of the parameter.
func (p *compiledParameter) valueOf(words string) (any, string) {
	value, _, _ := p.readLeniently(strings.TrimSpace(words))
	flaws, _ := p.flaws(value)
	if len(flaws) == 0 && p.property != nil {
		flaws = p.schemaFlaws(value)
	}
	if len(flaws) > 0 {
		return nil, strings.TrimPrefix(flaws[0].at.String()+": "+flaws[0].detail, ": ")
	}
	return value, ""
}

// FoldName removes differences in case, hyphens, underscores and spaces.
func FoldName(name string) string { return nameFolder.Replace(strings.ToLower(name)) }

var nameFolder = strings.NewReplacer("-", "", "_", "", " ", "")
