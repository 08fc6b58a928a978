// Package template fills the templates of Toolbox's tools: the statement of a SQL tool, the path and the body of an
// http tool.
//
// The syntax is a subset of text/template: {{.name}}, {{index . "a-name"}}, {{if}} with {{else}}, the functions
// and, or, not, eq and ne, and those passed to Parse. {{json .}} is an object of all values. There are no method
// calls, loops and definitions, so an untrusted text takes time linear in its length.
//
// An Escaper decides how a value is written: the author of a template cannot disable escaping.
package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// Template is a text with places for values. It is safe for concurrent use.
type Template struct {
	root     *parse.ListNode
	names    []string
	literals []string
}

// Parse reads a template that may use the named functions beside the built-in ones. Its errors quote the text.
func Parse(text string, functions ...string) (*Template, error) {
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", set); err != nil {
		return nil, fmt.Errorf("is not a valid template: %s", strings.TrimPrefix(err.Error(), "template: template:"))
	}
	if len(set) > 1 {
		return nil, fmt.Errorf("{{define}} and {{block}} are not supported")
	}
	c := &checker{functions: append(slices.Clone(builtins), functions...)}
	if err := c.check(tree.Root); err != nil {
		return nil, err
	}
	return &Template{root: tree.Root, names: c.names, literals: c.literals}, nil
}

// Names returns the distinct names of the template's values, in order.
func (t *Template) Names() []string { return t.names }

// Literals returns the texts between the actions in order, including both branches of an {{if}}.
func (t *Template) Literals() []string { return t.literals }

// checker traverses a tree once, to refuse nodes that Fill does not support.
type checker struct {
	functions []string
	names     []string
	literals  []string
}

func (c *checker) check(nodes ...parse.Node) error {
	for _, node := range nodes {
		var err error
		switch node := node.(type) {
		case *parse.ListNode:
			if node != nil {
				err = c.check(node.Nodes...)
			}
		case *parse.TextNode:
			c.literals = append(c.literals, string(node.Text))
		case *parse.ActionNode:
			err = c.check(node.Pipe)
		case *parse.IfNode:
			err = c.check(node.Pipe, node.List, node.ElseList)
		case *parse.PipeNode:
			if len(node.Decl) > 0 {
				return unsupported(node)
			}
			for i := 0; i < len(node.Cmds) && err == nil; i++ {
				err = c.command(node.Cmds[i], i > 0)
			}
		case *parse.FieldNode:
			if len(node.Ident) > 1 {
				return fmt.Errorf("{{%s}}: members of values are not supported", node)
			}
			c.add(node.Ident[0])
		case *parse.CommentNode, *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		default:
			return unsupported(node)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// command reads one command; a piped one gets another argument, the last.
func (c *checker) command(command *parse.CommandNode, piped bool) error {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	switch {
	case !ok && (len(command.Args) > 1 || piped):
		return fmt.Errorf("{{%s}}: %s is not a function", command, command.Args[0])
	case ok && !slices.Contains(c.functions, name.Ident):
		return fmt.Errorf("{{%s}}: there is no function %s; there are %s", command, name, strings.Join(c.functions, ", "))
	case ok:
		arguments := len(command.Args) - 1
		if piped {
			arguments++
		}
		if !takes(name.Ident, arguments) {
			return fmt.Errorf("{{%s}}: %s does not take %d arguments", command, name, arguments)
		}
		switch {
		case ofAll(command):
			return nil
		case name.Ident != indexOf:
			return c.check(command.Args[1:]...)
		}
		// {{index . "name"}} is for names that are no identifiers.
		_, dot := command.Args[1].(*parse.DotNode)
		if literal, ok := command.Args[len(command.Args)-1].(*parse.StringNode); ok && dot && !piped {
			c.add(literal.Text)
			return nil
		}
		return fmt.Errorf(`{{%s}}: index is for names that are no identifiers, as in {{index . "a-name"}}`, command)
	}
	return c.check(command.Args...)
}

// ofAll reports whether a command is {{json .}}, an object of all values.
func ofAll(command *parse.CommandNode) bool {
	name, ok := command.Args[0].(*parse.IdentifierNode)
	if !ok || name.Ident != ToJSON || len(command.Args) != 2 {
		return false
	}
	_, dot := command.Args[1].(*parse.DotNode)
	return dot
}

func (c *checker) add(name string) {
	if !slices.Contains(c.names, name) {
		c.names = append(c.names, name)
	}
}

func unsupported(node parse.Node) error {
	text := fault.ClipTo(strings.TrimSpace(node.String()), 60)
	if !strings.HasPrefix(text, "{{") {
		text = "{{" + text + "}}"
	}
	return fmt.Errorf(`%s is not supported; a template pastes values, as in {{.name}}, and chooses with {{if}}`, text)
}

// maxLength bounds a filled template, in bytes.
const maxLength = 1 << 20

// Escaper decides how values are written. It sees the parts of a text in order.
type Escaper interface {
	// Literal returns the text for a literal part of the template.
	Literal(text string) string
	// Paste returns the text for a value: nil, a string, a bool, a json.Number, a []any, a map[string]any, or a
	// JSON.
	Paste(value any) (string, error)
}

// Fill fills the template with the values. A missing value counts as nil. Errors name the part of the template and
// contain no value.
func (t *Template) Fill(values map[string]any, escaper Escaper) (string, error) {
	f := &filler{values: values, escaper: escaper}
	if err := f.list(t.root); err != nil {
		return "", err
	}
	return f.text.String(), nil
}

type filler struct {
	values  map[string]any
	escaper Escaper
	text    strings.Builder
}

func (f *filler) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := f.node(node); err != nil {
			return err
		}
		if f.text.Len() > maxLength {
			return fmt.Errorf("it is longer than %d bytes with its values", maxLength)
		}
	}
	return nil
}

func (f *filler) node(node parse.Node) error {
	switch node := node.(type) {
	case *parse.TextNode:
		f.text.WriteString(f.escaper.Literal(string(node.Text)))
	case *parse.ActionNode:
		value, err := f.pipe(node.Pipe)
		if err != nil {
			return err
		}
		text, err := f.escaper.Paste(value)
		if err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		f.text.WriteString(text)
	case *parse.IfNode:
		value, err := f.pipe(node.Pipe)
		if err != nil {
			return err
		}
		if isTrue(value) {
			return f.list(node.List)
		}
		return f.list(node.ElseList)
	}
	return nil
}

func (f *filler) pipe(pipe *parse.PipeNode) (value any, err error) {
	for i, command := range pipe.Cmds {
		function, ok := command.Args[0].(*parse.IdentifierNode)
		if ofAll(command) {
			given := map[string]any{}
			for name, value := range f.values {
				if value != nil {
					given[name] = value
				}
			}
			value = toJSON(given)
		} else if !ok {
			value, err = f.argument(command.Args[0])
		} else {
			value, err = f.call(function.Ident, command.Args[1:], value, i > 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return value, nil
}

func (f *filler) call(function string, nodes []parse.Node, before any, piped bool) (any, error) {
	if function == indexOf {
		return f.values[nodes[1].(*parse.StringNode).Text], nil
	}
	var arguments []any
	for _, node := range nodes {
		value, err := f.argument(node)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, value)
	}
	if piped {
		arguments = append(arguments, before)
	}
	value, err := call(function, arguments)
	if err != nil {
		return nil, fmt.Errorf("{{%s …}}: %w", function, err)
	}
	return value, nil
}

func (f *filler) argument(node parse.Node) (any, error) {
	switch node := node.(type) {
	case *parse.FieldNode:
		return f.values[node.Ident[0]], nil
	case *parse.StringNode:
		return node.Text, nil
	case *parse.NumberNode:
		return json.Number(node.Text), nil
	case *parse.BoolNode:
		return node.True, nil
	case *parse.PipeNode:
		return f.pipe(node)
	default:
		return nil, fmt.Errorf("{{%s}} is not supported", node) // refused by Parse
	}
}

// Functions for templates.
const (
	// Array joins the strings of a list with ", ", for names of columns.
	Array = "array"
	// ToJSON encodes a value as JSON, a string with its quotes.
	ToJSON = "json"
	// PathEscape and QueryEscape change nothing: a value's place in a URL decides how it is escaped.
	PathEscape  = "pathEscape"
	QueryEscape = "queryEscape"
)

const indexOf = "index"

var builtins = []string{indexOf, "and", "or", "not", "eq", "ne"}

// JSON is a value encoded by the function json.
type JSON string

func takes(function string, arguments int) bool {
	switch function {
	case "and", "or":
		return arguments >= 1
	case "eq", "ne", indexOf:
		return arguments == 2
	default:
		return arguments == 1
	}
}

func call(function string, arguments []any) (any, error) {
	switch function {
	case Array:
		if arguments[0] == nil {
			return nil, nil
		}
		list, ok := arguments[0].([]any)
		if !ok {
			return nil, errors.New("array is for lists of strings")
		}
		texts := make([]string, len(list))
		for i, member := range list {
			if texts[i], ok = member.(string); !ok {
				return nil, errors.New("array is for lists of strings, and an item is not a string")
			}
		}
		return strings.Join(texts, ", "), nil
	case ToJSON:
		return toJSON(arguments[0]), nil
	case "not":
		return !isTrue(arguments[0]), nil
	case "and":
		return choose(arguments, false), nil
	case "or":
		return choose(arguments, true), nil
	case "eq":
		return equal(arguments[0], arguments[1]), nil
	case "ne":
		return !equal(arguments[0], arguments[1]), nil
	default: // PathEscape, QueryEscape
		return arguments[0], nil
	}
}

func toJSON(value any) JSON {
	if written, ok := value.(JSON); ok {
		return written
	}
	return JSON(exactjson.EncodeOrNull(value))
}

// choose returns the first argument with the wanted truth, else the last.
func choose(arguments []any, want bool) any {
	for _, value := range arguments {
		if isTrue(value) == want {
			return value
		}
	}
	return arguments[len(arguments)-1]
}

// isTrue follows text/template: empty values are false.
func isTrue(value any) bool {
	switch value := value.(type) {
	case nil:
		return false
	case bool:
		return value
	case string:
		return value != ""
	case JSON:
		return value != ""
	case json.Number:
		number, err := value.Float64()
		return err != nil || number != 0
	case []any:
		return len(value) > 0
	case map[string]any:
		return len(value) > 0
	}
	return true
}

// equal compares scalars; numbers as floats.
func equal(a, b any) bool {
	one, isNumber := a.(json.Number)
	two, both := b.(json.Number)
	if isNumber && both {
		x, errX := one.Float64()
		y, errY := two.Float64()
		return one == two || errX == nil && errY == nil && x == y
	}
	return toJSON(a) == toJSON(b)
}
