package template

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
)

// Functions for templates.
const (
	// Array joins the strings of a list with ", ", for names of columns.
	Array = "array"
	// ToJSON encodes a value as JSON, a string with its quotes.
	ToJSON = "json"
	// PathEscape and QueryEscape change nothing: a value's place in a URL decides how it is escaped.
	PathEscape  = "pathEscape"
	QueryEscape = "queryEscape"
)

const indexOf = "index"

var builtins = []string{indexOf, "and", "or", "not", "eq", "ne"}

// JSON is a value encoded by the function json.
type JSON string

// takes reports whether a function accepts a number of arguments.
func takes(function string, arguments int) bool {
	switch function {
	case "and", "or":
		return arguments >= 1
	case "eq", "ne", indexOf:
		return arguments == 2
	default:
		return arguments == 1
	}
}

func call(function string, arguments []any) (any, error) {
	switch function {
	case Array:
		if arguments[0] == nil {
			return nil, nil
		}
		list, ok := arguments[0].([]any)
		if !ok {
			return nil, errors.New("array is for lists of strings")
		}
		texts := make([]string, len(list))
		for i, member := range list {
			if texts[i], ok = member.(string); !ok {
				return nil, errors.New("array is for lists of strings, and one of these is none")
			}
		}
		return strings.Join(texts, ", "), nil
	case ToJSON:
		return toJSON(arguments[0]), nil
	case "not":
		return !isTrue(arguments[0]), nil
	case "and":
		return choose(arguments, false), nil
	case "or":
		return choose(arguments, true), nil
	case "eq":
		return equal(arguments[0], arguments[1]), nil
	case "ne":
		return !equal(arguments[0], arguments[1]), nil
	default: // PathEscape, QueryEscape
		return arguments[0], nil
	}
}

func toJSON(value any) JSON {
	if written, ok := value.(JSON); ok {
		return written
	}
	return JSON(exactjson.EncodeOrNull(value))
}

// choose returns the first argument with the wanted truth, else the last.
func choose(arguments []any, want bool) any {
	i := slices.IndexFunc(arguments, func(value any) bool { return isTrue(value) == want })
	if i < 0 {
		i = len(arguments) - 1
	}
	return arguments[i]
}

// isTrue follows text/template: empty values are false.
func isTrue(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case JSON:
		return value != ""
	case json.Number:
		number, err := value.Float64()
		return err != nil || number != 0
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	default:
		return true
	}
}

// equal compares scalars; numbers as floats.
func equal(a, b any) bool {
	one, isNumber := a.(json.Number)
	two, both := b.(json.Number)
	if isNumber && both {
		x, errX := one.Float64()
		y, errY := two.Float64()
		return one == two || errX == nil && errY == nil && x == y
	}
	return toJSON(a) == toJSON(b)
}
