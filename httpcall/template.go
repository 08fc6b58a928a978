package httpcall

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// appIDName is the placeholder of the tenant's id. No value overrides it.
const appIDName = "appId"

// variables are the parameters that the placeholders of a template may name, with the
// values of those that have one.
type variables struct {
	values   map[string]any
	declared map[string]bool
}

func variablesOf(delivery effect.Effect) *variables {
	values := make(map[string]any, len(delivery.Call.Values)+1)
	for name, value := range delivery.Call.Values {
		values[name] = value
	}
	values[appIDName] = delivery.AppID
	return &variables{values: values, declared: declaredIn(delivery.Call.Event)}
}

// value returns the value of a parameter; null counts as absent.
func (n *variables) value(name string) (any, bool) {
	value := n.values[name]
	return value, value != nil
}

func (n *variables) known(name string) bool {
	_, valued := n.values[name]
	return valued || n.declared[name]
}

// templatePart is literal text or a placeholder of a template.
type templatePart struct {
	text string // as it stands in the template
	name string // of the parameter; empty for literal text
	// known says that the tool has a parameter of that name, with a value or without.
	known bool
}

// scan splits a template into its parts. A placeholder is a colon with the longest known name
// that follows it; a name ends with its run of letters, digits, _ and -, or before a
// hyphen, so that :id never eats :idCard, and :id-x is id where no id-x is known.
// A run that no name begins is a placeholder of an unknown name, unless it begins with
// a digit: 12:30 and :8080 are text.
func (n *variables) scan(template string) []templatePart {
	var pieces []templatePart
	for template != "" {
		colon := strings.IndexByte(template, ':')
		if colon != 0 {
			literal := template
			if colon > 0 {
				literal = template[:colon]
			}
			pieces = append(pieces, templatePart{text: literal})
			template = template[len(literal):]
			continue
		}
		next := n.placeholder(template)
		pieces = append(pieces, next)
		template = template[len(next.text):]
	}
	return pieces
}

// placeholder reads the part at the colon that text begins with.
func (n *variables) placeholder(text string) templatePart {
	run := text[1 : 1+runLength(text[1:])]
	for end := len(run); end > 0; end-- {
		if end < len(run) && run[end] != '-' {
			continue
		}
		if n.known(run[:end]) {
			return templatePart{text: text[:1+end], name: run[:end], known: true}
		}
	}
	if run == "" || run[0] >= '0' && run[0] <= '9' {
		return templatePart{text: text[:1+len(run)]}
	}
	return templatePart{text: text[:1+len(run)], name: run}
}

func runLength(text string) int {
	for i := range len(text) {
		if !nameByte(text[i]) {
			return i
		}
	}
	return len(text)
}

func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// declaredIn returns the names of the tool's parameters according to the trigger event,
// also of those without a value, which Values leaves out. An event that is not understood
// declares none.
func declaredIn(event json.RawMessage) map[string]bool {
	var told struct {
		Schema json.RawMessage `json:"schema"`
	}
	if json.Unmarshal(event, &told) != nil {
		return nil
	}
	declared := map[string]bool{}
	var list []struct{ Parameter, Name string }
	if json.Unmarshal(told.Schema, &list) == nil {
		for _, entry := range list {
			declared[or(entry.Parameter, entry.Name)] = true
		}
		return declared
	}
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(told.Schema, &object) == nil {
		for name := range object.Properties {
			declared[name] = true
		}
	}
	return declared
}

// maxBodyBytes bounds what a template and its values can grow to.
const maxBodyBytes = 1 << 20

// bodyOf returns the body of a call: the tool's own template where it has one, with
// any method; else the trigger event with the methods that carry content (RFC 9110
// 9.3), which GET, HEAD and DELETE do not. Nil means none.
func bodyOf(method string, template, event json.RawMessage, names *variables) ([]byte, error) {
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
func (n *variables) fillBody(template json.RawMessage) ([]byte, error) {
	tree, err := exactjson.Decode(template)
	if errors.Is(err, exactjson.ErrMore) {
		return nil, effect.Permanent(effect.ReasonRequest, "request.body is more than one JSON value")
	} else if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "request.body is not JSON")
	}
	filler := &bodyFiller{names: n, left: maxBodyBytes}
	filled := filler.fill(tree)
	if filler.left < 0 {
		return nil, effect.Permanent(effect.ReasonRequest, "the values make the body longer than %d bytes", maxBodyBytes)
	}
	return exactjson.EncodeOrNull(filled), nil
}

// bodyFiller fills the decoded JSON of a body template and stops when the values have used
// up the bytes that are left.
type bodyFiller struct {
	names *variables
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
		f.left -= len(exactjson.EncodeOrNull(value))
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
	return string(exactjson.EncodeOrNull(value))
}
