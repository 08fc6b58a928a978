package repositories

import (
	"slices"
	"strings"

	"earshot/repositories/fault"
)

// Whose values a pass takes.
const (
	strict  = false // a program's
	lenient = true  // a model's
)

// pass is one way of values through the parameters.
type pass struct {
	Reading
	parameters *Parameters
	lenient    bool
}

func newPass(parameters *Parameters, lenient bool) *pass {
	return &pass{
		Reading:    Reading{Values: make(map[string]any, len(parameters.list))},
		parameters: parameters,
		lenient:    lenient,
	}
}

// take gives the parameter its value: the static one, the given one, or the default.
func (s *pass) take(p *parameter, values map[string]any) {
	given, sent := values[p.name]
	switch {
	case len(p.claims) > 0:
		s.unverified(p)
	case p.static != nil:
		s.Values[p.name] = normal(p.static.used)
	case s.lenient && p.ignored:
		s.absent(p)
	case given == nil || s.lenient && p.absent(given):
		s.null(p, sent)
	default:
		s.settle(p, normal(given))
	}
}

// null counts as absent, except where a JSON Schema requires a property and lets it
// be null.
func (s *pass) null(p *parameter, sent bool) {
	if sent && p.nullable && p.required {
		s.Values[p.name] = nil
		return
	}
	s.absent(p)
}

// unverified reports that a parameter's claim is missing. Nothing that is sent takes
// its place, and neither does a default.
func (s *pass) unverified(p *parameter) {
	if p.required {
		s.miss(p, "cannot be filled: it comes from a verified ID token of "+p.services()+", and there is none")
	}
}

func (s *pass) absent(p *parameter) {
	switch {
	case p.fallback != nil:
		s.Values[p.name] = normal(p.fallback.used)
	case p.required:
		s.miss(p, "is required")
	}
}

func (s *pass) miss(p *parameter, detail string) {
	s.Missing = append(s.Missing, p.name)
	s.Errors = append(s.Errors, ValueFault{Parameter: p.name, Detail: detail})
}

func (s *pass) settle(p *parameter, value any) {
	if s.lenient {
		read, changed := s.parameters.coerce(p, value)
		if value = read; changed {
			s.coerced(p.name)
		}
	}
	flaws, usable := s.parameters.check(p, value)
	s.Errors = append(s.Errors, p.faultsOf(flaws)...)
	if usable {
		s.Values[p.name] = p.escaped(value)
	}
}

func (s *pass) coerced(name string) {
	if !slices.Contains(s.Coerced, name) {
		s.Coerced = append(s.Coerced, name)
	}
}

// unknown finds a program's values that no parameter asks for.
func (s *pass) unknown(values map[string]any) {
	known := s.parameters.Names()
	for _, name := range sortedKeys(values) {
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
func (s *pass) rename(arguments map[string]any) map[string]any {
	named := make(map[string]any, len(arguments))
	taken := map[string]int{}
	for name, value := range arguments {
		if _, ok := s.parameters.byName[name]; ok {
			named[name] = value
		} else if meant, ok := s.parameters.folded[fold(name)]; ok {
			taken[meant]++
		}
	}
	for _, name := range sortedKeys(arguments) {
		s.renameOne(named, taken, name, arguments[name])
	}
	return named
}

func (s *pass) renameOne(named map[string]any, taken map[string]int, name string, value any) {
	if _, ok := s.parameters.byName[name]; ok {
		return
	}
	meant, ok := s.parameters.folded[fold(name)]
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
func (s *pass) keep(name string, value any) bool {
	if s.parameters.schema == nil || !s.parameters.schema.takes(name) {
		return false
	}
	s.Values[name] = normal(value)
	return true
}

// finish holds the values as a whole against the JSON Schema, where there is one.
func (s *pass) finish() {
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

// atFault reports whether a parameter has a fault already; that it is not among the
// values is then no second one.
func (s *pass) atFault(name string) bool {
	return slices.ContainsFunc(s.Errors, func(f ValueFault) bool { return f.Parameter == name })
}

// fold brings names that differ in case, hyphens and underscores together.
func fold(name string) string {
	return strings.ToLower(foldReplacer.Replace(name))
}

var foldReplacer = strings.NewReplacer("-", "", "_", "", " ", "")
