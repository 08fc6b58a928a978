package files

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// position is the position of a value in a file; line and column count from 1.
type position struct {
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

// node is a node of the syntax tree of a file: a value and its position. It is what JSON
// can say: whatever the file was written in, the REST API gets JSON.
type node struct {
	kind valueKind
	// text is a text itself, or the JSON literal of a boolean or number.
	text string
	// unquoted is how an unquoted scalar is written: what it is where a text is wanted.
	unquoted string
	at       position
	// unset says that a variable of the value is not set: what else is wrong with it
	// follows from that.
	unset bool

	fields []field
	items  []*node
}

// field is a field of an object. Fields keep the order of the file: the order of
// parameters tells a model something.
type field struct {
	name  string
	at    position
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

// scalarText returns the text of a scalar where one is wanted: an unquoted 12 is "12".
func (n *node) scalarText() (string, bool) {
	switch {
	case n == nil:
		return "", false
	case n.kind == text:
		return n.text, true
	case n.unquoted != "" && n.kind != null:
		return n.unquoted, true
	}
	return "", false
}

// asText makes a text of an unquoted scalar that was read as another kind.
func (n *node) asText() bool {
	if n == nil || n.kind == text || n.kind == null || n.unquoted == "" {
		return false
	}
	n.kind, n.text = text, n.unquoted
	return true
}

func newText(value string, at position) *node { return &node{kind: text, text: value, at: at} }

func newObject(at position) *node { return &node{kind: object, at: at} }

// textsOf is an object of texts, which are given with their names before them.
func textsOf(at position, namesAndTexts ...string) *node {
	made := newObject(at)
	for i := 0; i < len(namesAndTexts); i += 2 {
		made.add(namesAndTexts[i], at, newText(namesAndTexts[i+1], at))
	}
	return made
}

func (n *node) add(name string, at position, value *node) {
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

// render writes a value as YAML in blocks, each line behind the indent.
func render(value *node, indent string) string {
	var b strings.Builder
	switch value.kind {
	case object:
		for _, f := range value.fields {
			b.WriteString(indent + renderText(f.name, indent) + ":" + renderBeside(f.value, indent))
		}
	case list:
		for _, item := range value.items {
			if item.kind == object && len(item.fields) > 0 {
				b.WriteString(indent + "- " + strings.TrimPrefix(render(item, indent+"  "), indent+"  "))
				continue
			}
			b.WriteString(indent + "-" + renderBeside(item, indent))
		}
	}
	return b.String()
}

// renderBeside writes a value behind a key or a dash, with the end of the line.
func renderBeside(value *node, indent string) string {
	switch {
	case value.kind == object && len(value.fields) == 0:
		return " {}\n"
	case value.kind == list && len(value.items) == 0:
		return " []\n"
	case value.kind == object || value.kind == list:
		return "\n" + render(value, indent+"  ")
	case value.kind == null:
		return " null\n"
	case value.kind != text, value.unquoted != "" && placeholder.MatchString(value.unquoted):
		return " " + value.text + "\n"
	}
	return " " + renderText(value.text, indent+"  ") + "\n"
}

// Texts that YAML reads as they are written, without quotes, and texts of several
// lines that can stand as a block.
var (
	plainText = regexp.MustCompile(`^[A-Za-z0-9_/](?:[^:#\x00-\x1f\x7f-\x{9f}\x{feff}\x{fffe}]|:[^\s:#\x00-\x1f])*$`)
	blockText = regexp.MustCompile(`^[^\s\x00-\x1f\x7f-\x{9f}\x{feff}][^\x00-\x09\x0b-\x1f\x7f-\x{9f}\x{feff}]*[^\s]\n?$`)
)

func renderText(value, indent string) string {
	if strings.Contains(value, "\n") && indent != "" && blockText.MatchString(value) && !strings.Contains(value, " \n") {
		return renderBlock(value, indent)
	}
	if plain, err := resolve(value, position{}); err == nil && plain.kind == text && plainText.MatchString(value) &&
		strings.TrimSpace(value) == value && !strings.HasSuffix(value, ":") {
		return value
	}
	return string(quote(value)) // JSON's quotes are YAML's
}

func renderBlock(value, indent string) string {
	head := "|-"
	if strings.HasSuffix(value, "\n") {
		head = "|"
	}
	for line := range strings.Lines(strings.TrimSuffix(value, "\n")) {
		head += "\n"
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			head += indent + line
		}
	}
	return head
}
