package console

import (
	"encoding/json"
	"strings"
)

// laidOut writes JSON for people to read and to change, in its own order: what fits on a line
// stands on one, but for the first open levels.
func laidOut(value json.RawMessage, indent string, open int) string {
	const width = 100
	line := onOneLine(value)
	parts, begin, end := partsOf(value, func(part json.RawMessage) string { return laidOut(part, indent+"  ", open-1) })
	if len(parts) == 0 || open <= 0 && len(indent)+len(line) <= width {
		return line
	}
	inner := "\n" + indent + "  "
	return begin + inner + strings.Join(parts, ","+inner) + "\n" + indent + end
}

func onOneLine(value json.RawMessage) string {
	parts, begin, end := partsOf(value, onOneLine)
	if begin == "" {
		return strings.TrimSpace(string(value))
	}
	return begin + strings.Join(parts, ", ") + end
}

// partsOf writes the parts of an object or of a list. A value that is neither has none, and
// begins with nothing.
func partsOf(value json.RawMessage, write func(json.RawMessage) string) (parts []string, begin, end string) {
	switch text := strings.TrimSpace(string(value)); {
	case strings.HasPrefix(text, "{"):
		_ = eachMember(value, func(name string, part json.RawMessage) { // it is JSON that REST wrote
			quoted, _ := json.Marshal(name) // a text
			parts = append(parts, string(quoted)+": "+write(part))
		})
		return parts, "{", "}"
	case strings.HasPrefix(text, "["):
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items)
		for _, item := range items {
			parts = append(parts, write(item))
		}
		return parts, "[", "]"
	}
	return nil, "", ""
}
