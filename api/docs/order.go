package docs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// order ranks names of fields by where they first stand in the descriptions: people wrote
// them there in an order that means something, which a Go map has lost.
type order map[string]int

func orderOf(texts ...[]byte) order {
	found := order{}
	for _, text := range texts {
		found.read(json.NewDecoder(bytes.NewReader(text)), false, false)
	}
	return found
}

// read reads one value. Its keys are names of fields where it is the properties of a schema,
// and with those of all that is in it where it is an example.
func (o order) read(from *json.Decoder, fields, example bool) {
	token, err := from.Token()
	if err != nil {
		return
	}
	switch token {
	case json.Delim('{'):
		for from.More() {
			key, _ := from.Token()
			name := key.(string)
			if (fields || example) && o[name] == 0 {
				o[name] = len(o) + 1
			}
			o.read(from, name == "properties" && !fields, example || name == "example" || name == "x-examples")
		}
		_, _ = from.Token()
	case json.Delim('['):
		for from.More() {
			o.read(from, false, example)
		}
		_, _ = from.Token()
	}
}

// keys lists those of an object in this order, those of first before all others.
func (o order) keys(of object, first []any) []string {
	return slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if sooner := slices.Contains(first, any(a)); sooner != slices.Contains(first, any(b)) {
			if sooner {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(o[a], o[b]), strings.Compare(a, b))
	})
}

// indented writes a value that came from JSON.
func (o order) indented(value any, indent string) string {
	deeper := indent + "  "
	var parts []string
	ends := "{}"
	switch value := value.(type) {
	case object:
		for _, key := range o.keys(value, nil) {
			parts = append(parts, literal(key)+": "+o.indented(value[key], deeper))
		}
	case []any:
		ends = "[]"
		for _, part := range value {
			parts = append(parts, o.indented(part, deeper))
		}
	default:
		return literal(value)
	}
	if oneLine := ends[:1] + strings.Join(parts, ", ") + ends[1:]; len(oneLine) < 60 && !strings.Contains(oneLine, "\n") {
		return oneLine
	}
	return ends[:1] + "\n" + deeper + strings.Join(parts, ",\n"+deeper) + "\n" + indent + ends[1:]
}

// literal writes what is neither an object nor a list.
func literal(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it came from JSON
	return strings.TrimSpace(text.String())
}
