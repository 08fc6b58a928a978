// Package evidence finds inferred values in a conversation.
//
// A value is converted to all forms in which it may be expressed, and the messages, newest first, are searched for
// them at word boundaries. A form has one of three kinds. Words are folded, with usual variations (the names of
// identifiers, "the", a plural, initials in capitals, an alias). Tight forms are the same without spaces. A meaning
// is a plain decimal (25), a day (2006-01-02) or a time of day (17:30); the tables of every language convert
// figures, words and relative dates to it.
package evidence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// Find locates every value that a matcher inferred: its Evidence is in the newest message with the value, nil if no
// message has it. Hidden parameters are left out, and so are defaults without evidence.
//
// The user's and the agent's messages count, up to the one that is being matched. Words are compared without case,
// accents, spacing and punctuation, numbers, dates and times of day by meaning; relative dates count from
// request.Now, also in older messages. Synonyms do not count: "cheap" is no evidence for "inexpensive", nor
// "Philly" for "Philadelphia"; "LA" is for "Los Angeles". Only the first 512 parts of all values are searched. The
// cost is linear in the length of the conversation.
func Find(request matcher.Request, values map[string]any, tool *repositories.Tool) map[string]*matcher.Evidence {
	found := make(map[string]*matcher.Evidence, len(values))
	s, list := newSearch(request), tool.Params().List()
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		of := parameters.Parameter{Name: name} // a JSON Schema may allow one without naming it
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

func defaulted(p parameters.Parameter, value any) bool {
	return p.Default != nil && written(value) == written(p.Default)
}

func written(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// Read reads a model's arguments for a tool and checks them against the conversation: amounts are converted from
// the user's unit to the parameter's, and grounded values need evidence. It also returns the converted arguments.
func Read(request matcher.Request, arguments map[string]any, tool *repositories.Tool) (parameters.Reading, map[string]any) {
	reading := tool.Params().Read(arguments)
	converted, invalid := convertedAmounts(request, reading.Values, tool)
	if len(converted) > 0 {
		arguments = maps.Clone(arguments)
		maps.Copy(arguments, converted)
		reading = tool.Params().Read(arguments)
		reading.Coerced = append(reading.Coerced, slices.Sorted(maps.Keys(converted))...)
	}
	reading.Errors = slices.Concat(reading.Errors, invalid, ungrounded(request, reading, tool))
	return reading, arguments
}

// ungrounded returns a fault for every parameter with "grounded": true whose value has no evidence by the rules of
// Find. A value equal to the default is exempt, and so is a list or an object without parts, which claims nothing.
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
			detail := clipped(written(missing.value)) + " was not said in the conversation"
			if missing.at != "" {
				detail = clipped(parameter.Name+missing.at) + ": " + detail
			}
			faults = append(faults, parameters.ValueFault{Parameter: parameter.Name, Detail: detail})
		}
	}
	return faults
}

func clipped(text string) string {
	if cut := fault.Cut(text, 100); cut != text {
		return cut + "…"
	}
	return text
}

// recent is how many earlier messages are searched for the unit of a number.
const recent = 6

// convertedAmounts compares a model's numbers with their units in the newest message that has them. If the user said
// "30 seconds" and the model gives 30 for minutes, converted has the number in the parameter's unit. A number that only
// occurs with an inconvertible unit, in a range or denied, is a fault. Any other number stays: models may have
// computed it.
func convertedAmounts(request matcher.Request, values map[string]any, tool *repositories.Tool) (converted map[string]any, faults []parameters.ValueFault) {
	said := []string{request.Text}
	for _, one := range slices.Backward(request.History[max(0, len(request.History)-recent):]) {
		said = append(said, one.Text)
	}
	for _, parameter := range tool.Params().List() {
		number, ok := values[parameter.Name].(json.Number)
		if !ok || parameter.Unit == nil || parameter.Hidden {
			continue
		}
		for _, text := range said {
			instead, why, found := judged(*parameter.Unit, number, text)
			if why != "" {
				faults = append(faults, parameters.ValueFault{Parameter: parameter.Name, Detail: why})
			}
			if instead != "" {
				if converted == nil {
					converted = map[string]any{}
				}
				converted[parameter.Name] = instead
			}
			if found {
				break
			}
		}
	}
	return converted, faults
}

// judged compares a number with a message's amounts: instead is the converted number, why a fault. found is false
// if the message does not have it.
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

func hasNumber(numbers []json.Number, wanted json.Number) bool {
	plain, ok := exactjson.ParseDecimal(wanted.String())
	return ok && slices.ContainsFunc(numbers, func(one json.Number) bool {
		decimal, is := exactjson.ParseDecimal(one.String())
		return is && decimal == plain
	})
}
