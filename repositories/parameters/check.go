package parameters

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// check validates a value strictly against the parameter, in the order of the contract:
// type, allowed, excluded, minimum, maximum. It reports the first rule that a value breaks,
// for each member of a list or map separately.
func (p *compiledParameter) check(value any, at string) []violation {
	if flaws := p.pasteFlaws(value, at); len(flaws) > 0 {
		return flaws
	}
	detail := p.kind.violation(value)
	if detail == "" {
		detail = p.ruleFlaw(value)
	} else if why := p.unread(value); why != "" {
		detail = why
	}
	if detail != "" {
		return []violation{{at, detail}}
	}
	return p.checkMembers(value, at)
}

func (p *compiledParameter) checkMembers(value any, at string) []violation {
	var flaws []violation
	switch value := value.(type) {
	case []any:
		for i := range value {
			flaws = append(flaws, p.items.check(value[i], index(at, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flaws = append(flaws, p.checkValue(value[key], member(at, key))...)
		}
	}
	return flaws
}

// checkValue checks one value of a map: against valueType where there is one, otherwise
// only for what no reader could handle.
func (p *compiledParameter) checkValue(value any, at string) []violation {
	if p.values != nil {
		return p.values.check(value, at)
	}
	return checkAnything(value, at)
}

func checkAnything(value any, at string) []violation {
	var flaws []violation
	switch value := value.(type) {
	case json.Number:
		if detail := exactjson.NumberFlaw(value); detail != "" {
			return []violation{{at, detail}}
		}
	case []any:
		for i := range value {
			flaws = append(flaws, checkAnything(value[i], index(at, i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flaws = append(flaws, checkAnything(value[key], member(at, key))...)
		}
	case nil, string, bool:
	default:
		return []violation{{at, fault.Show(value) + " is not a JSON value"}}
	}
	return flaws
}

// violation says why a value is not of the type, or nothing. Nothing is converted.
func (k kind) violation(value any) string {
	switch value := value.(type) {
	case string:
		return k.unless(k == kindString, value)
	case bool:
		return k.unless(k == kindBoolean, value)
	case []any:
		return k.unless(k == kindArray, value)
	case map[string]any:
		return k.unless(k.mapping(), value)
	case json.Number:
		return k.numberFlaw(value)
	default:
		return k.unless(false, value)
	}
}

func (k kind) numberFlaw(value json.Number) string {
	if !k.numeric() {
		return k.unless(false, value)
	}
	if detail := exactjson.NumberFlaw(value); detail != "" {
		return detail
	}
	if k == kindInteger {
		return exactjson.IntegerFlaw(value)
	}
	return ""
}

func (k kind) unless(fits bool, value any) string {
	if fits {
		return ""
	}
	return fault.Show(value) + " is not " + k.article()
}

// article names the type in a sentence.
func (k kind) article() string {
	switch k {
	case kindInteger, kindArray, kindObject:
		return "an " + string(k)
	default:
		return "a " + string(k)
	}
}

// ruleFlaw names the first rule that a value of the right type breaks.
func (p *compiledParameter) ruleFlaw(value any) string {
	if len(p.allowed) > 0 && !slices.ContainsFunc(p.allowed, func(e entry) bool { return e.allows(value) }) {
		return fault.Show(value) + " is not an allowed value" + p.allowedHint()
	}
	if flaw := p.formatFlaw(value); flaw != "" {
		return flaw
	}
	if slices.ContainsFunc(p.excluded, func(e entry) bool { return e.excludes(value) }) {
		return fault.Show(value) + " is an excluded value"
	}
	number, ok := value.(json.Number)
	if !ok || p.least == nil && p.most == nil {
		return ""
	}
	return p.boundFlaw(number)
}

func (p *compiledParameter) boundFlaw(value json.Number) string {
	number, _ := exactjson.ParseDecimal(value.String())
	if p.least != nil && number.Compare(p.least.number) < 0 {
		return fault.Show(value) + " is under the minimum of " + p.least.given
	}
	if p.most != nil && number.Compare(p.most.number) > 0 {
		return fault.Show(value) + " is above the maximum of " + p.most.given
	}
	return ""
}

// allowedHint lists what is allowed, as far as it is short.
func (p *compiledParameter) allowedHint() string {
	const most = 12
	if len(p.allowed) > most {
		return ""
	}
	shown := make([]string, len(p.allowed))
	for i, e := range p.allowed {
		shown[i] = fault.Show(e.given)
	}
	return "; allowed: " + strings.Join(shown, ", ")
}
