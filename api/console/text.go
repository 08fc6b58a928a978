package console

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"earshot/repositories/exactjson"
)

// flawPlace is the place of a fault in an edited text.
type flawPlace struct {
	flaw
	Line     int    // from 1; 0 if unknown
	Text     string // of the line
	From, To int    // in UTF-16 code units, as in scripts
}

func placed(flaws []flaw, text string) []flawPlace {
	places := make([]flawPlace, len(flaws))
	for i, one := range flaws {
		places[i] = flawPlace{flaw: one}
		from, to, found := span(text, one)
		if !found {
			continue
		}
		begin := strings.LastIndexByte(text[:from], '\n') + 1
		line, _, _ := strings.Cut(text[begin:], "\n")
		places[i].Line, places[i].Text = strings.Count(text[:from], "\n")+1, strings.TrimSpace(line)
		places[i].From, places[i].To = units(text[:from]), units(text[:to])
	}
	return places
}

// units returns the length of a text in UTF-16 code units.
func units(text string) int { return len(utf16.Encode([]rune(text))) }

// malformed matches the place of a syntax error in REST's fault.
var malformed = regexp.MustCompile(`at line (\d+), column (\d+)`)

// span returns the byte range of the value that a fault is about, or of the object that lacks it.
func span(text string, of flaw) (from, to int, found bool) {
	at := malformed.FindStringSubmatch(of.Detail)
	if at == nil || of.Pointer != "" {
		return walker{json.NewDecoder(strings.NewReader(text)), text}.find(pointerTokens(of.Pointer))
	}
	line, _ := strconv.Atoi(at[1])
	column, _ := strconv.Atoi(at[2])
	for ; line > 1; line-- {
		end := strings.IndexByte(text[from:], '\n')
		if end < 0 {
			return 0, 0, false
		}
		from += end + 1
	}
	from = min(from+max(column-1, 0), len(text))
	return from, min(from+1, len(text)), true
}

// pointerTokens returns the parts of a JSON Pointer (RFC 6901).
func pointerTokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts
}

type walker struct {
	*json.Decoder
	text string
}

// find returns the span of the value that tokens lead to from the next value.
func (w walker) find(tokens []string) (from, to int, found bool) {
	at := int(w.InputOffset())
	from = at + len(w.text[at:]) - len(strings.TrimLeft(w.text[at:], " \t\r\n:,"))
	if len(tokens) == 0 {
		var value json.RawMessage
		if w.Decode(&value) != nil {
			return 0, 0, false
		}
		return from, from + len(bytes.TrimSpace(value)), true
	}
	begin, err := w.Token()
	if delimiter, is := begin.(json.Delim); err != nil || !is || delimiter != '{' && delimiter != '[' {
		return from, from + 1, err == nil
	}
	for i := 0; w.More(); i++ {
		name := strconv.Itoa(i)
		if begin == json.Delim('{') {
			key, err := w.Token()
			if err != nil {
				return from, from + 1, true
			}
			name, _ = key.(string)
		}
		if name == tokens[0] {
			return w.find(tokens[1:])
		}
		var skipped json.RawMessage
		if w.Decode(&skipped) != nil {
			break
		}
	}
	return from, from + 1, true
}

// laidOut formats JSON for people, in its own order: a short value takes one line, except on the first open
// levels.
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

// partsOf formats the parts of an object or a list. Other values have none, and an empty begin.
func partsOf(value json.RawMessage, write func(json.RawMessage) string) (parts []string, begin, end string) {
	switch text := strings.TrimSpace(string(value)); {
	case strings.HasPrefix(text, "{"):
		names, members, _ := membersOf(value) // REST wrote valid JSON
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

// membersOf returns the members of an object, and their names in order.
func membersOf(object json.RawMessage) (names []string, members map[string]json.RawMessage, err error) {
	if len(object) == 0 {
		return nil, nil, nil
	}
	if names, err = exactjson.Keys(object); err == nil {
		err = json.Unmarshal(object, &members)
	}
	return names, members, err
}
