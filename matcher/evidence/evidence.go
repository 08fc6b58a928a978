// Package evidence finds where a conversation has the values that a matcher inferred.
//
// A value is written in all the forms in which it may have been said, and the messages,
// newest first, are searched for any of them at the borders of words. A form is of one of
// three kinds: words, folded, with what people leave out or in (the names of identifiers, "the",
// a plural, initials in capitals, an alias); the same without the spaces between them; or a
// meaning, as a plain decimal (25), a day (2006-01-02) or a time of day (17:30), which the
// tables of every language give to what was said in figures, words or from today on.
package evidence

import (
	"encoding/json"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/fault"
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
// for "inexpensive", nor "Philly" for "Philadelphia"; "LA" is for "Los Angeles". Of all values
// together the first 512 parts are looked up, and further ones not found. The cost grows with
// the length of the conversation, not its square.
func Find(request matcher.Request, values map[string]any, tool *repositories.Tool) map[string]*matcher.Evidence {
	found := make(map[string]*matcher.Evidence, len(values))
	s, list := newSearch(request), tool.Params().List()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		of := described(list, name)
		if of.Hidden {
			continue
		}
		evidence, _ := s.value(of, values[name])
		if evidence == nil && defaulted(of, values[name]) {
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
		if !parameter.Grounded || parameter.Hidden || !given || defaulted(parameter, value) {
			continue
		}
		if s == nil {
			s = newSearch(request)
		}
		if _, missing := s.value(parameter, value); missing != nil {
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

// fault says that a part of a parameter's value was not said.
func (p part) fault(name string) parameters.ValueFault {
	detail := short(written(p.value)) + " was not said in the conversation"
	if p.at != "" {
		detail = short(name+p.at) + ": " + detail
	}
	return parameters.ValueFault{Parameter: name, Detail: detail}
}

// short bounds what an error quotes.
func short(text string) string {
	if cut := fault.Cut(text, 100); cut != text {
		return cut + "…"
	}
	return text
}

// described is a parameter as its definition describes it; of one that a JSON Schema takes
// without naming it there is only the name.
func described(list []parameters.Parameter, name string) parameters.Parameter {
	if i := slices.IndexFunc(list, func(p parameters.Parameter) bool { return p.Name == name }); i >= 0 {
		return list[i]
	}
	return parameters.Parameter{Name: name}
}

// defaulted reports whether the value is the parameter's default.
func defaulted(p parameters.Parameter, value any) bool {
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
