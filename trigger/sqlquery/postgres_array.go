package sqlquery

import (
	"bytes"
	"encoding/json"
	"strings"
)

// readArray writes the text of an array as a JSON array of its elements, nested as it
// is. It reports false for a text that it does not understand.
func readArray(given string, element uint32) (json.RawMessage, bool) {
	if at := strings.IndexByte(given, '='); strings.HasPrefix(given, "[") && at > 0 {
		given = given[at+1:] // [2:3]={…}: JSON has no lower bounds
	}
	r := &arrayReader{rest: given, element: element}
	if !r.list(0) || r.rest != "" {
		return nil, false
	}
	return r.text.Bytes(), true
}

type arrayReader struct {
	rest    string
	element uint32
	text    bytes.Buffer
}

// mostDimensions is PostgreSQL's own limit (MAXDIM).
const mostDimensions = 6

func (r *arrayReader) list(depth int) bool {
	if depth >= mostDimensions || !r.take('{') {
		return false
	}
	r.text.WriteByte('[')
	for first := true; !r.take('}'); first = false {
		if !first {
			if !r.take(',') {
				return false
			}
			r.text.WriteByte(',')
		}
		if !r.member(depth) {
			return false
		}
	}
	r.text.WriteByte(']')
	return true
}

func (r *arrayReader) take(sign byte) bool {
	if r.rest == "" || r.rest[0] != sign {
		return false
	}
	r.rest = r.rest[1:]
	return true
}

func (r *arrayReader) member(depth int) bool {
	if strings.HasPrefix(r.rest, "{") {
		return r.list(depth + 1)
	}
	if r.take('"') {
		return r.quoted()
	}
	end := strings.IndexAny(r.rest, ",}")
	if end <= 0 {
		return false
	}
	word := r.rest[:end]
	r.rest = r.rest[end:]
	if word == "NULL" {
		r.text.Write(null)
		return true
	}
	r.text.Write(postgresValue([]byte(word), r.element))
	return true
}

func (r *arrayReader) quoted() bool {
	var b strings.Builder
	for i := 0; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '\\' && i+1 < len(r.rest):
			i++
			b.WriteByte(r.rest[i])
		case c == '"':
			r.rest = r.rest[i+1:]
			r.text.Write(postgresValue([]byte(b.String()), r.element))
			return true
		default:
			b.WriteByte(c)
		}
	}
	return false
}
