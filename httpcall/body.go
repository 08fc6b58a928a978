package httpcall

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"earshot/trigger/effect"
)

// mostBody bounds what a template and its values can grow to.
const mostBody = 1 << 20

// bodyOf returns the body of a call: the tool's own template where it has one, with
// any method; else the trigger event with the methods that carry content (RFC 9110
// 9.3), which GET, HEAD and DELETE do not. Nil means none.
func bodyOf(method string, template, event json.RawMessage, names *names) ([]byte, error) {
	if len(template) > 0 {
		return names.fillBody(template)
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		return nil, nil
	default:
		return event, nil
	}
}

// fillBody fills a JSON template on its decoded form, so that no value can leave the
// string that it stands in: a string that is a placeholder and nothing else becomes
// the value with its type, null without one; placeholders inside longer strings become
// text. Names of members are left alone.
func (n *names) fillBody(template json.RawMessage) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(template))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, dead(effect.ReasonRequest, "request.body is not JSON")
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, dead(effect.ReasonRequest, "request.body is more than one JSON value")
	}
	filler := &bodyFiller{names: n, left: mostBody}
	filled := filler.fill(tree)
	if filler.left < 0 {
		return nil, dead(effect.ReasonRequest, "the values make the body longer than %d bytes", mostBody)
	}
	return compact(filled), nil
}

// bodyFiller fills a tree and stops when the values have used up what is left.
type bodyFiller struct {
	names *names
	left  int
}

func (f *bodyFiller) fill(node any) any {
	switch node := node.(type) {
	case string:
		return f.fillString(node)
	case []any:
		for i := range node {
			node[i] = f.fill(node[i])
		}
	case map[string]any:
		for name := range node {
			node[name] = f.fill(node[name])
		}
	}
	return node
}

func (f *bodyFiller) fillString(template string) any {
	pieces := f.names.scan(template)
	if len(pieces) == 1 && pieces[0].name != "" {
		value, _ := f.names.value(pieces[0].name)
		f.left -= len(compact(value))
		return value
	}
	var b strings.Builder
	for _, piece := range pieces {
		if f.left < 0 {
			break
		}
		if !piece.known {
			b.WriteString(piece.text)
			continue
		}
		if value, there := f.names.value(piece.name); there {
			text := textOf(value)
			f.left -= len(text)
			b.WriteString(text)
		}
	}
	return b.String()
}

// textOf renders a value for a place that holds text: strings as they are, all else as
// compact JSON with numbers as they were written.
func textOf(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	return string(compact(value))
}

// compact encodes a value that came out of JSON, without the HTML escapes that
// json.Marshal adds.
func compact(value any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return []byte("null") // nothing that came out of JSON
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
