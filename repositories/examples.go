package repositories

import (
	"strings"

	"earshot/repositories/annotations"
	"earshot/repositories/fault"
	"earshot/repositories/parameters"
)

// maxMarks bounds what it takes to hold the marked values of one tool against its rules.
const maxMarks = 1000

// speak reads the marks of the examples. What is no mark of a value, in a record of an earlier
// version, stays in the text as it was. Without rules values are not held against them.
func (t *Tool) speak(rules *parameters.Parameters, sound bool) {
	t.plain, t.marked = nil, nil
	left := maxMarks
	for i, given := range t.Examples {
		one := annotations.Parse(given, func(parameter, words string) (any, bool) {
			if left--; rules == nil || !sound || left < 0 || words == "" {
				return nil, false
			}
			value, why, known := rules.Said(parameter, words)
			return value, known && why == ""
		})
		if one.Text != given && t.plain == nil {
			t.plain = append([]string{}, t.Examples...)
		}
		if one.Text != given {
			t.plain[i] = one.Text
		}
		if len(one.Marks) > 0 {
			t.marked = append(t.marked, one)
		}
	}
}

// marks names the marks that have no value. It needs the compiled parameters, whose faults are
// named first.
func (d *decoding) marks(t *Tool, at string) {
	if t.params == nil {
		return
	}
	names, left := t.params.Names(), maxMarks
	for i, given := range t.Examples {
		annotations.Parse(given, func(parameter, words string) (any, bool) {
			if left--; d.Full() || left < 0 {
				return nil, false
			}
			if flaw := t.markFlaw(names, parameter, words); flaw != "" {
				d.Another(at+fault.Point("examples", i), "%s", flaw)
			}
			return nil, false
		})
	}
	if left < 0 {
		d.Add(at+fault.Point("examples"), "mark %d values; a tool marks at most %d", maxMarks-left, maxMarks)
	}
}

// markFlaw says why a mark has no value; empty where it has one.
func (t *Tool) markFlaw(names []string, parameter, words string) string {
	if words == "" {
		return "marks no words as " + fault.Show(parameter)
	}
	_, why, known := t.params.Said(parameter, words)
	switch {
	case !known:
		return fault.Show(words) + " is marked as " + fault.Show(parameter) + ", which is no parameter of the tool" +
			fault.DidYouMean(parameter, names) + hintLiteral(parameter)
	case why != "":
		return fault.Show(words) + " is marked as " + parameter + ": " + why
	}
	return ""
}

// hintLiteral says how brackets are written that mark nothing, where that may be what is meant.
func hintLiteral(parameter string) string {
	if strings.ContainsAny(parameter, "/. ") || parameter == "" {
		return `; write \[ for a bracket that is meant as it is`
	}
	return ""
}
