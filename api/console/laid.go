package console

import (
	"encoding/json"
	"strings"

	"earshot/repositories/exactjson"
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
		names, members, _ := membersOf(value) // it is JSON that REST wrote
		for _, name := range names {
			quoted, _ := json.Marshal(name) // a text
			parts = append(parts, string(quoted)+": "+write(members[name]))
		}
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

// membersOf are the members of an object, and their names in the order in which they stand.
func membersOf(object json.RawMessage) (names []string, members map[string]json.RawMessage, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	if names, err = exactjson.Keys(object); err == nil {
		err = json.Unmarshal(object, &members)
	}
	return names, members, err
}
