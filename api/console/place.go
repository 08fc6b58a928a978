package console

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
)

// flawPlace is where a fault is in a text that somebody edits.
type flawPlace struct {
	flaw
	Line     int    // from 1; 0 where it is nowhere
	Text     string // of the line
	From, To int    // in code units of UTF-16, as scripts count them
}

// placed finds the places of faults in a text of JSON.
func placed(flaws []flaw, text string) []flawPlace {
	places := make([]flawPlace, len(flaws))
	for i, one := range flaws {
		places[i] = flawPlace{flaw: one}
		if from, to, found := span(text, one); found {
			places[i].at(text, from, to)
		}
	}
	return places
}

func (p *flawPlace) at(text string, from, to int) {
	p.Line = strings.Count(text[:from], "\n") + 1
	begin := strings.LastIndexByte(text[:from], '\n') + 1
	line, _, _ := strings.Cut(text[begin:], "\n")
	p.Text = strings.TrimSpace(line)
	p.From, p.To = units(text[:from]), units(text[:to])
}

func units(text string) int { return len(utf16.Encode([]rune(text))) }

// malformed is how REST says where a text ends to be JSON.
var malformed = regexp.MustCompile(`at line (\d+), column (\d+)`)

// span is the bytes of the value that a fault is about. Where that is missing they are
// those of the object that should have it.
func span(text string, of flaw) (from, to int, found bool) {
	if at := malformed.FindStringSubmatch(of.Detail); at != nil && of.Pointer == "" {
		line, _ := strconv.Atoi(at[1])
		column, _ := strconv.Atoi(at[2])
		return offset(text, line, column)
	}
	walk := walker{json.NewDecoder(strings.NewReader(text)), text}
	return walk.find(pointerTokens(of.Pointer))
}

// offset is the byte of a column of a line, both from 1.
func offset(text string, line, column int) (from, to int, found bool) {
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

// pointerTokens are the parts of a JSON Pointer (RFC 6901).
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

// walker goes through a text of JSON.
type walker struct {
	*json.Decoder
	text string
}

// find returns the span of the value that tokens lead to from the next value.
func (w walker) find(tokens []string) (from, to int, found bool) {
	from = w.next()
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

// next is the byte at which the next value begins.
func (w walker) next() int {
	at := int(w.InputOffset())
	return at + len(w.text[at:]) - len(strings.TrimLeft(w.text[at:], " \t\r\n:,"))
}
