package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Requests and answers are read where they stand, and edited there: all other bytes stay.

var errNoJSON = errors.New("the body is no JSON object with messages")

// span is a part of a text, from its first byte to that behind its last.
type span struct{ from, to int }

func (s span) in(text []byte) []byte { return text[s.from:s.to] }

// members shows the members of the object that begins at a place of a text, each with its name as
// it is written, quotes and all. It finds where values end and does not check them.
func members(text []byte, at int, show func(name []byte, value span)) error {
	return walk(text, at, '{', '}', show)
}

// memberOf is the member of the object that begins at a place of a text; empty for none.
func memberOf(text []byte, object span, name string) (value span) {
	_ = members(text, object.from, func(found []byte, at span) { // only an object has members
		if string(found[1:len(found)-1]) == name {
			value = at
		}
	})
	return value
}

// memberIn is the member of an object that is all of a text; empty for none.
func memberIn(object []byte, name string) []byte {
	return memberOf(object, span{0, len(object)}, name).in(object)
}

// elements lists the elements of the array that begins at a place of a text.
func elements(text []byte, at int) (list []span, err error) {
	if err = walk(text, at, '[', ']', func(_ []byte, value span) { list = append(list, value) }); err != nil {
		return nil, err
	}
	return list, nil
}

func walk(text []byte, at int, opening, closing byte, show func(name []byte, value span)) (err error) {
	if at = blank(text, at); !startsWith(text, at, opening) {
		return errNoJSON
	}
	if at = blank(text, at+1); startsWith(text, at, closing) {
		return nil
	}
	for {
		name := span{from: blank(text, at)}
		name.to, at = name.from, name.from
		if opening == '{' {
			if name.to, err = stringEnd(text, name.from); err != nil {
				return err
			}
			if at = blank(text, name.to); !startsWith(text, at, ':') {
				return errNoJSON
			}
			at++
		}
		value := span{from: blank(text, at)}
		if value.to, err = valueEnd(text, value.from); err != nil {
			return err
		}
		show(name.in(text), value)
		if at = blank(text, value.to); startsWith(text, at, closing) {
			return nil
		}
		if !startsWith(text, at, ',') {
			return errNoJSON
		}
		at++
	}
}

// valueEnd is the place behind the value that begins at a place.
func valueEnd(text []byte, at int) (int, error) {
	switch {
	case at >= len(text):
		return at, errNoJSON
	case text[at] == '"':
		return stringEnd(text, at)
	case text[at] != '{' && text[at] != '[':
		end := at
		for end < len(text) && bytes.IndexByte([]byte(",]} \t\r\n"), text[end]) < 0 {
			end++
		}
		if end == at {
			return at, errNoJSON
		}
		return end, nil
	}
	for depth := 0; at < len(text); at++ {
		switch text[at] {
		case '"':
			end, err := stringEnd(text, at)
			if err != nil {
				return at, err
			}
			at = end - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1, nil
			}
		}
	}
	return at, errNoJSON
}

// stringEnd is the place behind the string that begins at a place.
func stringEnd(text []byte, at int) (int, error) {
	if !startsWith(text, at, '"') {
		return at, errNoJSON
	}
	for at++; ; {
		n := bytes.IndexByte(text[at:], '"')
		if n < 0 {
			return at, errNoJSON
		}
		at += n + 1
		slashes := 0
		for text[at-2-slashes] == '\\' { // it ends at the quote that the string began with
			slashes++
		}
		if slashes%2 == 0 {
			return at, nil
		}
	}
}

func blank(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t') {
		at++
	}
	return at
}

func startsWith(text []byte, at int, want byte) bool { return at < len(text) && text[at] == want }

// isObject reports whether a value is a JSON object, and not null.
func isObject(value []byte) bool { return bytes.HasPrefix(value, []byte{'{'}) }

// unquoted is the text of a JSON string; empty for any other value.
func unquoted(value []byte) (text string) {
	if len(value) > 0 && value[0] == '"' {
		_ = json.Unmarshal(value, &text) // a broken string has no text
	}
	return text
}

func quote(text string) []byte {
	written, _ := json.Marshal(text) // a string always marshals
	return written
}

func array(values [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'})
}

// edit puts a text in the place of a part of another; an empty part only says where.
type edit struct {
	at   span
	with []byte
}

// insertAfter puts values behind a part of a list, with a comma before each.
func insertAfter(at span, values [][]byte) edit {
	return edit{span{at.to, at.to}, append([]byte{','}, bytes.Join(values, []byte{','})...)}
}

// edited is a text with some edits, of which no two are in one place.
func edited(text []byte, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return a.at.from - b.at.from })
	var out bytes.Buffer
	last := 0
	for _, one := range edits {
		out.Write(text[last:one.at.from])
		out.Write(one.with)
		last = one.at.to
	}
	out.Write(text[last:])
	return out.Bytes()
}
