package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
)

var errNoJSON = errors.New("the body is no JSON object with messages")

// span is a part of a text, from its first byte to that behind its last.
type span struct{ from, to int }

func (s span) in(text []byte) []byte { return text[s.from:s.to] }

// members shows the members of the object that begins at a place of a text, each with its
// name as it is written, quotes and all, and returns the place behind the object. It finds
// where values end and does not check them: that is for whoever reads them.
func members(text []byte, at int, show func(name []byte, value span)) (end int, err error) {
	if at = blank(text, at); !startsWith(text, at, '{') {
		return at, errNoJSON
	}
	if at = blank(text, at+1); startsWith(text, at, '}') {
		return at + 1, nil
	}
	for {
		name := span{from: blank(text, at)}
		if name.to, err = quoted(text, name.from); err != nil {
			return at, err
		}
		if at = blank(text, name.to); !startsWith(text, at, ':') {
			return at, errNoJSON
		}
		value := span{from: blank(text, at+1)}
		if value.to, err = behind(text, value.from); err != nil {
			return at, err
		}
		show(name.in(text), value)
		if at = blank(text, value.to); startsWith(text, at, '}') {
			return at + 1, nil
		}
		if !startsWith(text, at, ',') {
			return at, errNoJSON
		}
		at++
	}
}

// elements lists the elements of the array that begins at a place of a text.
func elements(text []byte, at int) (list []span, err error) {
	if at = blank(text, at); !startsWith(text, at, '[') {
		return nil, errNoJSON
	}
	if at = blank(text, at+1); startsWith(text, at, ']') {
		return nil, nil
	}
	for {
		one := span{from: blank(text, at)}
		if one.to, err = behind(text, one.from); err != nil {
			return nil, err
		}
		list = append(list, one)
		if at = blank(text, one.to); startsWith(text, at, ']') {
			return list, nil
		}
		if !startsWith(text, at, ',') {
			return nil, errNoJSON
		}
		at++
	}
}

// behind is the place behind the value that begins at a place.
func behind(text []byte, at int) (int, error) {
	switch {
	case at >= len(text):
		return at, errNoJSON
	case text[at] == '"':
		return quoted(text, at)
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
			end, err := quoted(text, at)
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

// quoted is the place behind the string that begins at a place.
func quoted(text []byte, at int) (int, error) {
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

// unquoted is the text of a JSON string; empty for any other value.
func unquoted(value []byte) (text string) {
	if len(value) > 0 && value[0] == '"' {
		_ = json.Unmarshal(value, &text) // a string that is none says nothing
	}
	return text
}
