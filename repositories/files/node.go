package files

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// place is where something stands; line and column count from 1.
type place struct {
	file         string
	line, column int
}

type valueKind int

const (
	null valueKind = iota
	boolean
	number
	text
	list
	object
)

// kindNames are the kinds with their article, for faults.
var kindNames = [...]string{"null", "a boolean", "a number", "a text", "a list", "a map"}

func (k valueKind) String() string { return kindNames[k] }

// node is a value of a file and where it stands. It is what JSON can say: whatever
// the file was written in, the REST API gets JSON.
type node struct {
	kind valueKind
	// text is a text itself, or the JSON literal of a boolean or number.
	text string
	// plain is how an unquoted scalar is written: what it is where a text is wanted.
	plain string
	at    place
	// missing says that a variable of the value is not set: what else is wrong with it
	// follows from that.
	missing bool

	fields []field
	items  []*node
}

// field is a field of an object. Fields keep the order of the file: the order of
// parameters tells a model something.
type field struct {
	name  string
	at    place
	value *node
}

// get returns the value of the field, or nil.
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

// without returns an object that lacks the named fields.
func (n *node) without(names ...string) *node {
	next := *n
	next.fields = slices.DeleteFunc(slices.Clone(n.fields), func(f field) bool { return slices.Contains(names, f.name) })
	return &next
}

// with returns an object that begins with one more field.
func (n *node) with(name string, value *node) *node {
	next := *n
	next.fields = append([]field{{name, value.at, value}}, n.fields...)
	return &next
}

// word returns the text of a scalar where one is wanted: an unquoted 12 is "12".
func (n *node) word() (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind == text:
		return n.text, true
	case n.plain != "" && n.kind != null:
		return n.plain, true
	}
	return "", false
}

// asText makes a text of an unquoted scalar that was read as another kind.
func (n *node) asText() bool {
	if n == nil || n.kind == text || n.kind == null || n.plain == "" {
		return false
	}
	n.kind, n.text = text, n.plain
	return true
}

func newText(value string, at place) *node { return &node{kind: text, text: value, at: at} }

func newObject(at place) *node { return &node{kind: object, at: at} }

func (n *node) add(name string, at place, value *node) {
	n.fields = append(n.fields, field{name, at, value})
}

// equal compares what two nodes say, whatever the order of fields.
func (n *node) equal(other *node) bool {
	if n.kind != other.kind || n.text != other.text || len(n.fields) != len(other.fields) {
		return false
	}
	for _, f := range n.fields {
		if there := other.get(f.name); there == nil || !f.value.equal(there) {
			return false
		}
	}
	return slices.EqualFunc(n.items, other.items, (*node).equal)
}

// json writes the node.
func (n *node) json() []byte {
	var out strings.Builder
	n.write(&out)
	return []byte(out.String())
}

func (n *node) write(out *strings.Builder) {
	switch n.kind {
	case null:
		out.WriteString("null")
	case boolean, number:
		out.WriteString(n.text)
	case text:
		out.Write(quote(n.text))
	case list:
		for i, item := range n.items {
			out.WriteByte("[,"[min(i, 1)])
			item.write(out)
		}
		out.WriteString("[]"[min(len(n.items), 1):])
	case object:
		for i, f := range n.fields {
			out.WriteByte("{,"[min(i, 1)])
			out.Write(quote(f.name))
			out.WriteByte(':')
			f.value.write(out)
		}
		out.WriteString("{}"[min(len(n.fields), 1):])
	}
}

func quote(value string) []byte {
	literal, _ := json.Marshal(value) // a string always marshals
	return literal
}

// index reads a token of a JSON pointer as the index of a list.
func index(token string, of []*node) (int, bool) {
	i, err := strconv.Atoi(token)
	return i, err == nil && i >= 0 && i < len(of)
}
