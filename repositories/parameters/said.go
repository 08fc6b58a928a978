package parameters

import (
	"strings"

	"earshot/repositories/quantity"
	"earshot/repositories/schema"
)

// Said returns the value that words are of the named parameter, as its author would have them
// read: they are coerced as those of a model are, and number words count as numbers. Those of a date or a
// time stay as they are: what day they name depends on when they are said. Why says
// why they are none, by the rule that they break; it is empty for a value. A parameter that
// does not exist is not known.
func (p *Parameters) Said(name, words string) (value any, why string, known bool) {
	of, known := p.byName[name]
	if !known {
		return nil, "", false
	}
	if of.format != "" { // words become a value of it where they are said
		return strings.TrimSpace(words), "", true
	}
	value, why = p.held(of, words)
	if why == "" {
		return value, "", true
	}
	if number, is := quantity.Number(words); is {
		if value, flaw := p.held(of, string(number)); flaw == "" {
			return value, "", true
		}
	}
	return nil, why, true
}

// held coerces words and holds them against the parameter's rules, and names the first that
// they break.
func (p *Parameters) held(of *compiledParameter, words string) (any, string) {
	value, _ := p.coerce(of, strings.TrimSpace(words))
	flaws, _ := p.check(of, value)
	if len(flaws) > 0 {
		return nil, strings.TrimPrefix(flaws[0].at+": "+flaws[0].detail, ": ")
	}
	if of.property == nil {
		return value, ""
	}
	if err := of.property.Validate(value); err != nil {
		return nil, schema.Violations(err)[0].Text(value)
	}
	return value, ""
}
