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
)

// Parameters is the one compiled form of a tool's parameters, whichever of the three
// languages they were given in. It is made once per revision of a repository and is
// safe for concurrent use.
type Parameters struct {
	list   []*compiledParameter
	byName map[string]*compiledParameter
	folded map[string]string // name without case, - and _, to the one visible parameter of it
	// seen leads from what is seen of a name that has invisible characters to that name.
	seen   map[string]string
	schema *rootSchema // nil for the lists
	model  json.RawMessage
	// dialect is the $schema that was given.
	dialect string
	// derived is what others made of the model's schema, nil for parameters made by hand.
	derived *sync.Map
	// authenticated says that there are parameters which ID tokens fill.
	authenticated bool
}

// ValueFault is one validation error of a value.
type ValueFault struct {
	// Parameter is the name of the parameter, or the unknown name that was given.
	Parameter string `json:"parameter"`
	// Detail says what is wrong; for a part of the value it begins with the path,
	// as in "stops[2].day: 5 is not a string".
	Detail string `json:"detail"`
}

// Reading is the result of reading a model's arguments.
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

// Infers reports whether there is any parameter that a matcher has to fill.
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

// Dialect is the $schema of a JSON Schema that was given with one, which ModelSchema leaves out
// since models' providers refuse it; empty for all other parameters.
func (p *Parameters) Dialect() string { return p.dialect }

// Derived returns what derive makes of the schema that models are shown, from the second
// call on as the first one made it: it lives as long as the parameters. A form, of which
// there are to be few, tells apart what is made of one schema.
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

// Hidden reports whether the parameter is kept from models: ignored, static, or filled from
// a verified ID token. It is false for an unknown name.
func (p *Parameters) Hidden(name string) bool {
	parameter, ok := p.byName[name]
	return ok && parameter.hidden()
}

// Ask returns the question that asks a user for the first of the named parameters that has
// one; empty where none has.
func (p *Parameters) Ask(names ...string) string {
	for _, name := range names {
		if parameter, known := p.byName[name]; known && parameter.ask != "" {
			return parameter.ask
		}
	}
	return ""
}

// Check takes a program's values strictly and completes them with static values and
// defaults. Nothing is converted: an integer is an integer literal, "5" is no number.
// Null counts as absent, unknown names are faults, and a static value wins over one
// that is given. All faults are returned at once; values at fault are left out.
func (p *Parameters) Check(values map[string]any) (map[string]any, []ValueFault) {
	run := newEvaluation(p, strict)
	values = p.unseen(values)
	run.unknown(values)
	for _, parameter := range p.list {
		run.take(parameter, values)
	}
	run.finish()
	return run.Values, run.Errors
}

// Read takes a model's arguments, coerces what can be coerced without loss, and
// checks the rest as Check does. Unknown names are dropped, unless one parameter
// alone has that name in another case or with other hyphens and underscores.
func (p *Parameters) Read(arguments map[string]any) Reading {
	run := newEvaluation(p, lenient)
	named := run.rename(p.unseen(arguments))
	for _, parameter := range p.list {
		run.take(parameter, named)
	}
	run.finish()
	return run.Reading
}

// The two modes of an evaluation, by the source of its values.
const (
	strict  = false // a program's
	lenient = true  // a model's
)

// evaluation is one pass of values through the parameters.
type evaluation struct {
	Reading
	parameters *Parameters
	lenient    bool
}

func newEvaluation(parameters *Parameters, fromModel bool) *evaluation {
	return &evaluation{
		Reading:    Reading{Values: make(map[string]any, len(parameters.list))},
		parameters: parameters,
		lenient:    fromModel,
	}
}

// take gives the parameter its value: the static one, the given one, or the default.
func (s *evaluation) take(p *compiledParameter, values map[string]any) {
	given, sent := values[p.name]
	switch {
	case len(p.claims) > 0:
		s.unverified(p)
	case p.static != nil:
		s.Values[p.name] = normal(p.static.given)
	case s.lenient && p.ignored:
		s.absent(p)
	case given == nil || p.inPath && given == "" || s.lenient && p.absent(given):
		s.null(p, sent)
	default:
		s.settle(p, normal(given))
	}
}

// null counts as absent, except where a JSON Schema requires a property and lets it
// be null.
func (s *evaluation) null(p *compiledParameter, sent bool) {
	if sent && p.nullable && p.required && !p.inPath {
		s.Values[p.name] = nil
		return
	}
	s.absent(p)
}

// unverified reports that a parameter's claim is missing. Neither a value that is sent nor
// a default takes its place.
func (s *evaluation) unverified(p *compiledParameter) {
	if p.required {
		s.miss(p, "cannot be filled: it comes from a verified ID token of "+p.services()+", and there is none")
	}
}

func (s *evaluation) absent(p *compiledParameter) {
	switch {
	case p.fallback != nil:
		s.Values[p.name] = normal(p.fallback.given)
	case p.required:
		s.miss(p, "is required")
	}
}

func (s *evaluation) miss(p *compiledParameter, detail string) {
	s.Missing = append(s.Missing, p.name)
	s.Errors = append(s.Errors, ValueFault{Parameter: p.name, Detail: detail})
}

func (s *evaluation) settle(p *compiledParameter, value any) {
	if s.lenient {
		read, changed := s.parameters.coerce(p, value)
		if value = read; changed {
			s.coerced(p.name)
		}
	} else {
		value, _ = p.translate(value)
	}
	flaws, usable := s.parameters.check(p, value)
	s.Errors = append(s.Errors, p.faultsOf(flaws)...)
	if usable {
		s.Values[p.name] = value
	}
}

func (s *evaluation) coerced(name string) {
	if !slices.Contains(s.Coerced, name) {
		s.Coerced = append(s.Coerced, name)
	}
}

// unknown finds a program's values that no parameter asks for.
func (s *evaluation) unknown(values map[string]any) {
	known := s.parameters.Names()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := s.parameters.byName[name]; ok || s.keep(name, values[name]) {
			continue
		}
		detail := "is not a parameter of the tool"
		if len(s.Errors) < fault.Most { // the others are not listed, and each hint takes its time
			detail += fault.DidYouMean(name, known)
		}
		s.Errors = append(s.Errors, ValueFault{Parameter: fault.Clip(name), Detail: detail})
	}
}

// rename returns a model's arguments by the names of the parameters.
func (s *evaluation) rename(arguments map[string]any) map[string]any {
	named := make(map[string]any, len(arguments))
	taken := map[string]int{}
	for name, value := range arguments {
		if _, ok := s.parameters.byName[name]; ok {
			named[name] = value
		} else if meant, ok := s.parameters.folded[FoldName(name)]; ok {
			taken[meant]++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		s.renameOne(named, taken, name, arguments[name])
	}
	return named
}

func (s *evaluation) renameOne(named map[string]any, taken map[string]int, name string, value any) {
	if _, ok := s.parameters.byName[name]; ok {
		return
	}
	meant, ok := s.parameters.folded[FoldName(name)]
	if _, given := named[meant]; ok && !given && taken[meant] == 1 {
		named[meant] = value
		s.coerced(meant)
		return
	}
	if !s.keep(name, value) {
		s.Dropped = append(s.Dropped, name)
	}
}

// keep takes a value that has no parameter where a JSON Schema is open to such.
func (s *evaluation) keep(name string, value any) bool {
	if s.parameters.schema == nil || !s.parameters.schema.takes(name) {
		return false
	}
	s.Values[name] = normal(value)
	return true
}

// finish validates the values as a whole against the JSON Schema, if there is one.
func (s *evaluation) finish() {
	if s.parameters.schema == nil {
		return
	}
	for _, fault := range s.parameters.schema.validate(s.Values) {
		_, there := s.Values[fault.Parameter]
		if there || !s.atFault(fault.Parameter) {
			s.Errors = append(s.Errors, fault)
		}
	}
	for _, fault := range s.Errors {
		delete(s.Values, fault.Parameter)
	}
}

// atFault reports whether a parameter has a fault already; its absence from the values is
// then not a second one.
func (s *evaluation) atFault(name string) bool {
	return slices.ContainsFunc(s.Errors, func(f ValueFault) bool { return f.Parameter == name })
}

// unseen puts values under the names that their parameters have, where a caller was shown these
// without their invisible characters.
func (p *Parameters) unseen(values map[string]any) map[string]any {
	if len(p.seen) == 0 {
		return values
	}
	named := make(map[string]any, len(values))
	for given, value := range values {
		named[cmp.Or(p.seen[given], given)] = value
	}
	return named
}

// FoldName makes names that differ in case, hyphens, underscores and spaces alone equal.
func FoldName(name string) string { return nameFolder.Replace(strings.ToLower(name)) }

var nameFolder = strings.NewReplacer("-", "", "_", "", " ", "")
