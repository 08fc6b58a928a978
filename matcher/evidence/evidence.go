// Package evidence finds where a conversation has the values that a matcher inferred.
package evidence

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/parameters"
)

// Find locates every value that a matcher has inferred in the conversation: its Evidence is
// in the newest message that has the value, nil if no message has it. Hidden parameters are
// left out, and so are defaults that nobody mentioned.
//
// The messages of the user and of the agent count, up to the one that is being matched.
// Words are compared without case, accents, spacing and punctuation, numbers, dates and
// times of day without their form; relative dates are resolved against request.Now, in
// older messages as well. The meaning of words is not considered: "cheap" is no evidence
// for "inexpensive", nor "LA" for "Los Angeles". Of all values together the first 512 parts
// are looked up, and further ones not found. The cost grows with the length of the
// conversation, not its square.
func Find(request matcher.Request, values map[string]any, tool *repositories.Tool) map[string]*matcher.Evidence {
	found := make(map[string]*matcher.Evidence, len(values))
	s := newSearch(request)
	for _, name := range sortedNames(values) {
		if tool.Params().Hidden(name) {
			continue
		}
		of := described(tool.Params(), name)
		evidence, _ := s.value(of.Parameter, name, values[name])
		if evidence == nil && of.defaulted(values[name]) {
			continue
		}
		found[name] = evidence
	}
	return found
}

// ungrounded returns a fault for every parameter with "grounded": true whose value
// stands nowhere in the conversation, by the rules of Find. A value that
// equals the parameter's default is taken for it and is no fault; neither is a list or
// an object without any part, which claims nothing.
func ungrounded(request matcher.Request, reading parameters.Reading, tool *repositories.Tool) []parameters.ValueFault {
	var faults []parameters.ValueFault
	var s *search
	for _, parameter := range tool.Params().List() {
		value, given := reading.Values[parameter.Name]
		if !parameter.Grounded || parameter.Hidden || !given || (describedParameter{parameter}).defaulted(value) {
			continue
		}
		if s == nil {
			s = newSearch(request)
		}
		if _, missing := s.value(parameter, parameter.Name, value); missing != nil {
			faults = append(faults, missing.fault(parameter.Name))
		}
	}
	return faults
}

// Read reads a model's arguments as those of a tool, against what was said: amounts are those
// that the user means, in the parameter's unit, and grounded values stand in the conversation.
// It returns the arguments as they are meant, as well.
func Read(request matcher.Request, arguments map[string]any, tool *repositories.Tool) (parameters.Reading, map[string]any) {
	reading := tool.Params().Read(arguments)
	meant, unheard := meantAmounts(request, reading.Values, tool)
	if len(meant) > 0 {
		arguments = maps.Clone(arguments)
		maps.Copy(arguments, meant)
		reading = tool.Params().Read(arguments)
		reading.Coerced = append(reading.Coerced, slices.Sorted(maps.Keys(meant))...)
	}
	reading.Errors = append(reading.Errors, unheard...)
	reading.Errors = append(reading.Errors, ungrounded(request, reading, tool)...)
	return reading, arguments
}

// part is a scalar inside a value, with its path, as in [2].day.
type part struct {
	at    string
	value any
}

func (p part) fault(name string) parameters.ValueFault {
	detail := short(written(p.value)) + " was not said in the conversation"
	if p.at != "" {
		detail = short(name+p.at) + ": " + detail
	}
	return parameters.ValueFault{Parameter: name, Detail: detail}
}

// short bounds what an error quotes.
func short(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	cut := most
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// describedParameter is a parameter as its definition describes it; the zero value is
// one that a JSON Schema takes without naming it.
type describedParameter struct{ parameters.Parameter }

func described(params *parameters.Parameters, name string) describedParameter {
	for _, parameter := range params.List() {
		if parameter.Name == name {
			return describedParameter{parameter}
		}
	}
	return describedParameter{}
}

// defaulted reports whether the value is the parameter's default.
func (p describedParameter) defaulted(value any) bool {
	return p.Default != nil && written(value) == written(p.Default)
}

// written encodes a value as JSON.
func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "{}"
	}
	return string(text)
}
