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
	"fmt"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/repositories"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
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
	names := slices.AppendSeq(make([]string, 0, len(values)), maps.Keys(values))
	slices.Sort(names)
	for _, name := range names {
		of := parameters.Parameter{Name: name} // a JSON Schema may take one without naming it
		if i := slices.IndexFunc(list, func(p parameters.Parameter) bool { return p.Name == name }); i >= 0 {
			of = list[i]
		}
		if of.Hidden {
			continue
		}
		if evidence, _ := s.value(of, values[name]); evidence != nil || !defaulted(of, values[name]) {
			found[name] = evidence
		}
	}
	return found
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
	reading.Errors = slices.Concat(reading.Errors, unheard, ungrounded(request, reading, tool))
	return reading, arguments
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
			detail := short(written(missing.value)) + " was not said in the conversation"
			if missing.at != "" {
				detail = short(parameter.Name+missing.at) + ": " + detail
			}
			faults = append(faults, parameters.ValueFault{Parameter: parameter.Name, Detail: detail})
		}
	}
	return faults
}

// short bounds what an error quotes.
func short(text string) string {
	if cut := fault.Cut(text, 100); cut != text {
		return cut + "…"
	}
	return text
}

// recent is in how many messages before the one that is matched the unit of a number is
// looked for.
const recent = 6

// meantAmounts compares the numbers that a model took from the conversation with the units that
// they were said in, in the newest of the messages that have them. A model that hears "30 seconds" and
// gives 30 where minutes are counted means half a minute: meant has what the number is in the
// parameter's unit. Where a number was said only of something that does not convert, in a range or in a
// denial, it is no value, and among the faults. A number that was not said so is left as it is: models
// may have worked it out.
func meantAmounts(request matcher.Request, values map[string]any, tool *repositories.Tool) (meant map[string]any, faults []parameters.ValueFault) {
	said := []string{request.Text}
	for _, one := range slices.Backward(request.History[max(0, len(request.History)-recent):]) {
		said = append(said, one.Text)
	}
	for _, parameter := range tool.Params().List() {
		number, is := values[parameter.Name].(json.Number)
		if !is || parameter.Unit == nil || parameter.Hidden {
			continue
		}
		for _, text := range said {
			instead, why, found := judged(*parameter.Unit, number, text)
			if why != "" {
				faults = append(faults, parameters.ValueFault{Parameter: parameter.Name, Detail: why})
			}
			if instead != "" {
				if meant == nil {
					meant = map[string]any{}
				}
				meant[parameter.Name] = instead
			}
			if found {
				break
			}
		}
	}
	return meant, faults
}

// judged says what a message makes of a number; not found where it does not have it.
func judged(unit quantity.Unit, number json.Number, text string) (instead json.Number, why string, found bool) {
	amounts := unit.Amounts(text)
	for _, one := range amounts {
		if hasNumber(unit.Numbers(one), number) || one.Loose && hasNumber(one.Spoken(), number) {
			return "", "", true
		}
	}
	for _, one := range amounts {
		if !hasNumber(one.Spoken(), number) {
			continue
		}
		words := text[one.From:one.To]
		switch numbers := unit.Numbers(one); {
		case one.Denied:
			return "", fmt.Sprintf("%q was denied", words), true
		case one.Range:
			return "", fmt.Sprintf("%q is one end of a range, and one amount is wanted", words), true
		case len(numbers) == 0:
			return "", fmt.Sprintf("%q was said, which does not convert to %s", words, unit), true
		default:
			return numbers[0], "", true
		}
	}
	return "", "", false
}

// hasNumber reports whether a number is among others, however they are written.
func hasNumber(numbers []json.Number, wanted json.Number) bool {
	plain, ok := datetime.Decimal(wanted.String())
	return ok && slices.ContainsFunc(numbers, func(one json.Number) bool {
		decimal, is := datetime.Decimal(one.String())
		return is && decimal == plain
	})
}
