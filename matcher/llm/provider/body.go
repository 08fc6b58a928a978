package provider

import (
	"bytes"
	"encoding/json"
	"io"
)

// Body is what Post sends: the tools, which are JSON already, before the rest, since they
// change least and providers cache what requests begin with.
type Body struct {
	Model string
	Rest  any
	Tools []json.RawMessage
	// Within is the member of the only element of the list of tools that has them all;
	// empty where they are its elements.
	Within string
}

// Parts are the JSON of a request in pieces. The tools are written once for many requests,
// and are most of each: they are sent from where they are.
type Parts [][]byte

// WithTools returns a request with a list of tools at its beginning; rest is an object.
func (b Body) WithTools(rest []byte) Parts {
	if len(b.Tools) == 0 {
		return Parts{rest}
	}
	before, after := `{"tools":[`, "]"
	if b.Within != "" {
		before, after = before+`{"`+b.Within+`":[`, "]}]"
	}
	if len(rest) > len("{}") {
		after += ","
	}
	parts := append(make(Parts, 0, 2*len(b.Tools)+2), []byte(before))
	for i, tool := range b.Tools {
		if i > 0 {
			parts = append(parts, comma)
		}
		parts = append(parts, tool)
	}
	return append(parts, []byte(after), rest[1:])
}

var comma = []byte(",")

// size is the length of the whole in bytes.
func (p Parts) size() (n int64) {
	for _, part := range p {
		n += int64(len(part))
	}
	return n
}

// whole is the request in one piece.
func (p Parts) whole() []byte { return bytes.Join(p, nil) }

// reader reads the request from its beginning.
func (p Parts) reader() io.ReadCloser { return &partsReader{rest: p} }

type partsReader struct {
	rest Parts
	at   int // in the first of them
}

// Read implements io.Reader.
func (r *partsReader) Read(into []byte) (n int, err error) {
	for n < len(into) && len(r.rest) > 0 {
		copied := copy(into[n:], r.rest[0][r.at:])
		n, r.at = n+copied, r.at+copied
		if r.at == len(r.rest[0]) {
			r.rest, r.at = r.rest[1:], 0
		}
	}
	if n == 0 && len(into) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (r *partsReader) Close() error { return nil }
