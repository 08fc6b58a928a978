package parameters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/lists"
)

// DecodeValues reads one JSON object. Numbers are json.Number; null and empty input are an empty object.
func DecodeValues(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	value, err := exactjson.Decode(raw)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	switch {
	case ok:
		return object, nil
	case value != nil:
		return nil, fmt.Errorf("values must be an object with names and values, not %s", fault.Show(value))
	}
	return map[string]any{}, nil
}

// normal converts Go values to those of a JSON decoder. It copies lists and maps.
func normal(value any) any {
	switch value := value.(type) {
	case []any:
		return lists.Map(value, normal)
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key := range value {
			copied[key] = normal(value[key])
		}
		return copied
	case int:
		return json.Number(strconv.Itoa(value))
	case int64:
		return json.Number(strconv.FormatInt(value, 10))
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return value
		}
		return json.Number(strconv.FormatFloat(value, 'g', -1, 64))
	case []string:
		return lists.Map(value, func(one string) any { return one })
	default:
		return value
	}
}

// equal reports whether two values are equal, also in different notations of a number: 1 equals 1.0.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		x, isX := exactjson.ParseDecimal(a.String())
		y, isY := exactjson.ParseDecimal(b.String())
		return ok && isX && isY && x.Compare(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case nil, string, bool:
		return a == b
	}
	return false
}

// violation is one validation error with its place inside the value.
type violation struct {
	at     place
	detail string
	meant  fault.Meant
	format bool // it is the format that the value violates
}

// place lists the indices and names that lead to a part of a value.
type place []any

func (p place) then(token any) place { return append(slices.Clip(p), token) }

// String formats the place as [2].day.
func (p place) String() string {
	text := ""
	for _, token := range p {
		switch token := token.(type) {
		case int:
			text += "[" + strconv.Itoa(token) + "]"
		case string:
			text += "." + fault.Clip(token)
		}
	}
	return text
}

// inParts checks the members of a list or a map. token is the index or the name of a member.
func inParts(value any, at place, check func(member, token any, at place) []violation) (flaws []violation) {
	switch value := value.(type) {
	case []any:
		for i := range value {
			flaws = append(flaws, check(value[i], i, at.then(i))...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			flaws = append(flaws, check(value[key], key, at.then(key))...)
		}
	}
	return flaws
}

// checkAnything checks a value of unknown type for parts that no reader could handle.
func checkAnything(value any, at place) []violation {
	switch value := value.(type) {
	case json.Number:
		if detail := exactjson.NumberFlaw(value); detail != "" {
			return []violation{{at: at, detail: detail}}
		}
	case nil, string, bool, []any, map[string]any:
	default:
		return []violation{{at: at, detail: fault.Show(value) + " is not a JSON value"}}
	}
	return inParts(value, at, func(member, _ any, at place) []violation { return checkAnything(member, at) })
}

// ControlCharacter returns the first control character of a text. A zero byte would end a statement.
func ControlCharacter(text string) (found rune, ok bool) {
	at := strings.IndexFunc(text, unicode.IsControl)
	if at < 0 {
		return 0, false
	}
	return []rune(text[at:])[0], true
}

// controlFlaws reports control characters in a value, in its members and in their names.
func controlFlaws(value any, at place) []violation {
	text, _ := value.(string)
	if found, ok := ControlCharacter(text); ok {
		return []violation{{at: at, detail: fmt.Sprintf("%s has the control character U+%04X, which is never pasted into a statement", fault.Show(value), found)}}
	}
	return inParts(value, at, func(member, token any, below place) []violation {
		return append(controlFlaws(token, at), controlFlaws(member, below)...)
	})
}
