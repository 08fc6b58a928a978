package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"earshot/repositories/fault"
)

// position is the position of a value in a file; line and column count from 1.
type position struct {
	file         string
	line, column int
}

type valueKind int

const (
	nullValue valueKind = iota
	booleanValue
	numberValue
	textValue
	listValue
	objectValue
)

// String returns the kind with its article, for faults.
func (k valueKind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}[k]
}

// node is a value with its position, limited to JSON's types for every input format.
type node struct {
	kind     valueKind
	text     string
	unquoted string // the source of an unquoted scalar, used where text is required
	at       position
	// unset means that a variable of the value is not set, which causes its other faults.
	unset bool

	fields []field
	items  []*node
}

// field is a field of an object. Their order is kept, because that of parameters informs models.
type field struct {
	name  string
	at    position
	value *node
}

func newText(value string, at position) *node { return &node{kind: textValue, text: value, at: at} }

func newObject(at position) *node { return &node{kind: objectValue, at: at} }

func newTextObject(at position, namesAndTexts ...string) *node {
	fields := newObject(at)
	for i := 0; i < len(namesAndTexts); i += 2 {
		fields.add(namesAndTexts[i], at, newText(namesAndTexts[i+1], at))
	}
	return fields
}

func (n *node) add(name string, at position, value *node) {
	n.fields = append(n.fields, field{name, at, value})
}

func (n *node) addOnce(f field, seen map[string]position, faults *Faults) {
	if first, isRepeated := seen[f.name]; isRepeated {
		faults.add(f.at, "%q is given twice in one map, first on line %d", fault.Clip(f.name), first.line)
		return
	}
	seen[f.name] = f.at
	n.fields = append(n.fields, f)
}

func (n *node) get(name string) *node {
	if f := n.field(name); f != nil {
		return f.value
	}
	return nil
}

func (n *node) field(name string) *field {
	if n == nil {
		return nil
	}
	for i := range n.fields {
		if n.fields[i].name == name {
			return &n.fields[i]
		}
	}
	return nil
}

func (n *node) itemsOf(name string) []*node {
	if value := n.get(name); value != nil {
		return value.items
	}
	return nil
}

func (n *node) fieldsOf(name string) []field {
	if value := n.get(name); value != nil {
		return value.fields
	}
	return nil
}

func (n *node) textOf(name string) string {
	value, _ := n.get(name).scalarText()
	return value
}

func isTrue(n *node) bool { return n != nil && n.kind == booleanValue && n.text == "true" }

// scalarText returns a scalar where text is required: an unquoted 12 is "12".
func (n *node) scalarText() (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind == textValue:
		return n.text, true
	case n.unquoted != "" && n.kind != nullValue:
		return n.unquoted, true
	}
	return "", false
}

func (n *node) child(token string) *node {
	if i, ok := n.index(token); ok {
		return n.items[i]
	}
	return n.get(token)
}

func (n *node) index(token string) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && n != nil && i >= 0 && i < len(n.items)
}

func (n *node) without(names ...string) *node {
	next := *n
	next.fields = slices.DeleteFunc(slices.Clone(n.fields), func(f field) bool { return slices.Contains(names, f.name) })
	return &next
}

func (n *node) with(name string, value *node) *node {
	next := *n
	next.fields = append([]field{{name, value.at, value}}, n.fields...)
	return &next
}

// equal compares the values of two nodes, ignoring the order of fields.
func (n *node) equal(other *node) bool {
	if n.kind != other.kind || n.text != other.text || len(n.fields) != len(other.fields) {
		return false
	}
	for _, f := range n.fields {
		if current := other.get(f.name); current == nil || !f.value.equal(current) {
			return false
		}
	}
	return slices.EqualFunc(n.items, other.items, (*node).equal)
}

func (n *node) json() []byte { return n.appendJSON(nil) }

func (n *node) appendJSON(out []byte) []byte {
	switch n.kind {
	case booleanValue, numberValue:
		return append(out, n.text...)
	case textValue:
		return append(out, quote(n.text)...)
	case listValue:
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.appendJSON(out)
		}
		return append(out, ']')
	case objectValue:
		out = append(out, '{')
		for i, f := range n.fields {
			if i > 0 {
				out = append(out, ',')
			}
			out = f.value.appendJSON(append(append(out, quote(f.name)...), ':'))
		}
		return append(out, '}')
	}
	return append(out, "null"...)
}

func quote(value string) string {
	literal, _ := json.Marshal(value) // a string always marshals
	return string(literal)
}

type cursor struct {
	position
	offset int
}

func newCursor(file string) *cursor { return &cursor{position: position{file, 1, 1}} }

func (c *cursor) advance(source string, offset int) position {
	offset = min(max(offset, c.offset), len(source))
	skipped := source[c.offset:offset]
	if lines := strings.Count(skipped, "\n"); lines > 0 {
		c.line += lines
		c.column = 1
		skipped = skipped[strings.LastIndexByte(skipped, '\n')+1:]
	}
	c.column += utf8.RuneCountInString(skipped)
	c.offset = offset
	return c.position
}

// maxDepth bounds the nesting of values; the later decoders allow less.
const maxDepth = 100

// jsonReader reads a JSON file token by token. The YAML parser does not read all of JSON, and gives other
// positions.
type jsonReader struct {
	decoder *json.Decoder
	source  string
	cursor  *cursor
	env     *environment
	faults  *Faults
}

func readJSON(source string, env *environment, faults *Faults) *node {
	r := &jsonReader{decoder: json.NewDecoder(strings.NewReader(source)), source: source, cursor: newCursor(env.file), env: env, faults: faults}
	r.decoder.UseNumber()
	value, err := r.value(0)
	if err == nil {
		if _, err = r.decoder.Token(); errors.Is(err, io.EOF) {
			return value
		}
		err = errors.New("text follows the value")
	}
	offset := r.decoder.InputOffset()
	var discarded any
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(source), &discarded)); ok {
		offset, err = syntax.Offset-1, syntax // Unmarshal has the more accurate position
	}
	faults.add(newCursor(env.file).advance(source, int(max(offset, 0))), "malformed JSON: %s", fault.Clip(err.Error()))
	return nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	token, at, err := r.nextToken()
	if err != nil {
		return nil, err
	}
	switch value := token.(type) {
	case string:
		before := len(*r.faults)
		filled := placeholder.ReplaceAllStringFunc(value, func(found string) string { return r.env.value(maskedVariable{found, at}, r.faults) })
		return &node{kind: textValue, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case json.Number:
		return &node{kind: numberValue, text: value.String(), at: at}, nil
	case bool:
		return &node{kind: booleanValue, text: fmt.Sprint(value), at: at}, nil
	case nil:
		return &node{at: at}, nil
	}

	result := &node{kind: listValue, at: at}
	if token == json.Delim('{') {
		result.kind = objectValue
	}
	seen := map[string]position{}
	for r.decoder.More() {
		var key field
		if result.kind == objectValue {
			if token, key.at, err = r.nextToken(); err != nil {
				return nil, err
			}
			key.name, _ = token.(string)
		}
		if key.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if result.kind == objectValue {
			result.addOnce(key, seen, r.faults)
		} else {
			result.items = append(result.items, key.value)
		}
	}
	_, err = r.decoder.Token()
	return result, err
}

func (r *jsonReader) nextToken() (json.Token, position, error) {
	start := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil {
		return nil, position{}, err
	}
	start += len(r.source[start:]) - len(strings.TrimLeft(r.source[start:], " \t\r\n,:"))
	return token, r.cursor.advance(r.source, start), nil
}
