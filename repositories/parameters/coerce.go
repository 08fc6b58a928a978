package parameters

import (
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
)

// coerce converts a model's value to what the parameter wants if nothing is lost, and
// reports whether the form of the value changed. A value that it cannot convert is returned
// unchanged, for check to report.
func (p *compiledParameter) coerce(value any) (any, bool) {
	read, changed := p.kind.read(value)
	switch read := read.(type) {
	case []any:
		return p.coerceList(read, changed)
	case map[string]any:
		return p.coerceMap(read, changed)
	default:
		if p.kind == kindArray {
			return p.lone(value)
		}
		return p.nearestAllowed(read, changed)
	}
}

func (p *compiledParameter) coerceList(list []any, changed bool) (any, bool) {
	if p.items == nil {
		return list, changed
	}
	for i := range list {
		item, also := p.items.coerce(list[i])
		list[i], changed = item, changed || also
	}
	return list, changed
}

func (p *compiledParameter) coerceMap(values map[string]any, changed bool) (any, bool) {
	if p.kind == kindArray {
		return p.lone(values)
	}
	if p.values == nil {
		return values, changed
	}
	for key := range values {
		value, also := p.values.coerce(values[key])
		values[key], changed = value, changed || also
	}
	return values, changed
}

// lone wraps a single value in a list if a list is wanted and the value is valid as its
// only member.
func (p *compiledParameter) lone(value any) (any, bool) {
	if p.items == nil || value == nil {
		return value, false
	}
	item, _ := p.items.coerce(value)
	if len(p.items.check(item, "")) > 0 {
		return value, false
	}
	return []any{item}, true
}

// nearestAllowed returns the one literal allowed value that the text means.
func (p *compiledParameter) nearestAllowed(value any, changed bool) (any, bool) {
	text, ok := value.(string)
	if !ok || len(p.allowed) == 0 || p.ruleFlaw(text) == "" {
		return value, changed
	}
	var candidates []any
	for _, e := range p.allowed {
		if e.literal() {
			candidates = append(candidates, e.given)
		}
	}
	if meant, ok := meantBy(text, candidates); ok {
		return meant, true
	}
	return value, changed
}

// meantBy returns the one of the texts among the candidates that equals the given one
// without surrounding space or, failing that, without case as well.
func meantBy(text string, candidates []any) (string, bool) {
	text = strings.TrimSpace(text)
	var meant []string
	for _, candidate := range candidates {
		known, ok := candidate.(string)
		if ok && known == text {
			return known, true
		}
		if ok && strings.EqualFold(known, text) {
			meant = append(meant, known)
		}
	}
	if len(meant) != 1 {
		return "", false
	}
	return meant[0], true
}

// read converts a value to the type where that is certain and loses nothing.
func (k kind) read(value any) (any, bool) {
	switch {
	case k == kindString:
		return readString(value)
	case k == kindInteger:
		return readInteger(value)
	case k.numeric():
		return readNumber(value)
	case k == kindBoolean:
		return readBoolean(value)
	case k == kindArray:
		return readJSON(value, '[')
	default:
		return readJSON(value, '{')
	}
}

// readString takes a number or a truth value in its written form.
func readString(value any) (any, bool) {
	switch value := value.(type) {
	case json.Number:
		return value.String(), true
	case bool:
		return scalarTexts(value)[0], true
	default:
		return value, false
	}
}

func readNumber(value any) (any, bool) {
	text, ok := value.(string)
	if !ok || !exactjson.NumberPattern.MatchString(strings.TrimSpace(text)) {
		return value, false
	}
	return json.Number(strings.TrimSpace(text)), true
}

// readInteger also takes 5.0 and 1e2, which are whole, and writes them as integers.
func readInteger(value any) (any, bool) {
	read, changed := readNumber(value)
	number, ok := read.(json.Number)
	if !ok || !strings.ContainsAny(number.String(), ".eE") {
		return read, changed
	}
	parsed, ok := exactjson.ParseDecimal(number.String())
	if !ok || !parsed.Whole() {
		return read, changed
	}
	return json.Number(parsed.String()), true
}

// readBoolean takes the words true and false in any case, as Python writes them.
func readBoolean(value any) (any, bool) {
	text, _ := value.(string)
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true, true
	case "false":
		return false, true
	default:
		return value, false
	}
}

// readJSON takes a list or an object that was sent as its JSON text.
func readJSON(value any, opening byte) (any, bool) {
	text, _ := value.(string)
	text = strings.TrimSpace(text)
	if text == "" || text[0] != opening {
		return value, false
	}
	decoded, err := exactjson.Decode([]byte(text))
	if err != nil {
		return value, false
	}
	return decoded, true
}

// absent reports whether a model's value stands for no value: null, or the word "null",
// unless the parameter explicitly allows that word.
func (p *compiledParameter) absent(value any) bool {
	if value == nil || p.refused != nil && equal(value, p.refused) {
		return true
	}
	text, _ := value.(string)
	return strings.TrimSpace(text) == "null" && !slices.Contains(p.literals(), any("null"))
}
