package parameters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// DecodeValues reads the values of a tool: one JSON object, and nothing after it.
// Numbers come out as json.Number with the digits that were sent; null and an empty
// input are an object without fields.
func DecodeValues(raw []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	value, err := exactjson.Decode(raw)
	if err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return value, nil
	default:
		return nil, fmt.Errorf("values are an object of names and values, not %s", fault.Show(value))
	}
}

// normal converts Go values to those that a JSON decoder makes, so that all rules see
// json.Number. It copies lists and maps, whose owner may go on using them.
func normal(value any) any {
	switch value := value.(type) {
	case []any:
		copied := make([]any, len(value))
		for i := range value {
			copied[i] = normal(value[i])
		}
		return copied
	case map[string]any:
		copied := make(map[string]any, len(value))
		for key := range value {
			copied[key] = normal(value[key])
		}
		return copied
	case nil, string, bool, json.Number:
		return value
	default:
		return normalScalar(value)
	}
}

func normalScalar(value any) any {
	switch value := value.(type) {
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
		list := make([]any, len(value))
		for i := range value {
			list[i] = value[i]
		}
		return list
	default:
		return value
	}
}

// equal reports whether two values mean the same: numbers are compared by value, so that 1
// equals 1.0, and everything else exactly.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case nil, string, bool:
		return a == b
	default:
		return false
	}
}

func equalNumbers(a, b json.Number) bool {
	x, ok := exactjson.ParseDecimal(a.String())
	y, also := exactjson.ParseDecimal(b.String())
	return ok && also && x.Compare(y) == 0
}
