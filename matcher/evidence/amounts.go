package evidence

import (
	"encoding/json"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/quantity"
)

// recent is in how many messages before the one that is matched the unit of a number is
// looked for.
const recent = 6

// meantAmounts compares the numbers that a model took from the conversation with the units that
// they were said in. A model that hears "30 seconds" and gives 30 where minutes are counted
// means half a minute: meant has what the number is in the parameter's unit. Where a number
// was said only of something that does not convert, in a range or in a denial, it is no
// value, and among the faults. A number that was not said so is left as it is: models may
// have worked it out.
func meantAmounts(request matcher.Request, values map[string]any, tool *repositories.Tool) (meant map[string]any, faults []parameters.ValueFault) {
	for _, parameter := range tool.Params().List() {
		number, is := values[parameter.Name].(json.Number)
		if !is || parameter.Unit == nil || parameter.Hidden {
			continue
		}
		instead, why := heard(request, *parameter.Unit, number)
		switch {
		case why != "":
			faults = append(faults, parameters.ValueFault{Parameter: parameter.Name, Detail: why})
		case instead != "":
			if meant == nil {
				meant = map[string]any{}
			}
			meant[parameter.Name] = instead
		}
	}
	return meant, faults
}

// heard looks for a number in the newest of the messages that have it.
func heard(request matcher.Request, unit quantity.Unit, number json.Number) (instead json.Number, why string) {
	said := []string{request.Text}
	history := request.History[max(0, len(request.History)-recent):]
	for _, one := range slices.Backward(history) {
		said = append(said, one.Text)
	}
	for _, text := range said {
		if instead, why, found := judged(unit, number, text); found {
			return instead, why
		}
	}
	return "", ""
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
