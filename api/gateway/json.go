package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"earshot/repositories/exactjson"
)

// Requests and answers are parsed and edited in place: all other bytes stay unchanged.

var errNoJSON = errors.New("the body is not a JSON object with messages")

// span is a half-open byte range of a text.
type span struct{ from, to int }

func (s span) in(text []byte) []byte { return text[s.from:s.to] }

// members calls show for each member of the object at a position, with its name as written, including
// quotes. It finds where values end, but does not validate them.
func members(text []byte, at int, show func(name []byte, value span)) error {
	return walk(text, at, '{', '}', show)
}

// memberOf returns the member of the object at a span; empty for none.
func memberOf(text []byte, object span, name string) (value span) {
	_ = members(text, object.from, func(found []byte, at span) { // only an object has members
		if string(found[1:len(found)-1]) == name {
			value = at
		}
	})
	return value
}

// memberIn returns a member of a text that is an object; empty for none.
func memberIn(object []byte, name string) []byte {
	return memberOf(object, span{0, len(object)}, name).in(object)
}

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

// valueEnd returns the position after the value at a position.
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

// stringEnd returns the position after the string at a position.
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
		for text[at-2-slashes] == '\\' { // stops at the opening quote
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

func isObject(value []byte) bool { return bytes.HasPrefix(value, []byte{'{'}) }

// unquoted returns the text of a JSON string; empty for other values.
func unquoted(value []byte) (text string) {
	if len(value) > 0 && value[0] == '"' {
		_ = json.Unmarshal(value, &text) // a malformed string has no text
	}
	return text
}

// plainlyWritten returns a value without blanks and needless escapes; an invalid one as it is.
func plainlyWritten(value []byte) []byte {
	var compact, out bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return value
	}
	for rest := compact.Bytes(); len(rest) > 0; {
		end := 1
		if rest[0] == '"' {
			end, _ = stringEnd(rest, 0) // valid, as compacted
		}
		if written := rest[:end]; bytes.ContainsAny(written, "\\\u2028\u2029") {
			out.Write(exactjson.EncodeOrNull(unquoted(written)))
		} else {
			out.Write(written)
		}
		rest = rest[end:]
	}
	return out.Bytes()
}

func quote(text string) []byte {
	written, _ := json.Marshal(text) // strings always encode
	return written
}

func array(values [][]byte) []byte {
	return slices.Concat([]byte{'['}, bytes.Join(values, []byte{','}), []byte{']'})
}

// edit replaces a span; an empty span inserts.
type edit struct {
	at   span
	with []byte
}

func insertAfter(at span, values [][]byte) edit {
	return edit{span{at.to, at.to}, append([]byte{','}, bytes.Join(values, []byte{','})...)}
}

// edited applies edits, which must not overlap.
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
