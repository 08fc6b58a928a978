package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/template/parse"
)

// maxLength is the length that a filled template may have, in bytes.
const maxLength = 1 << 20

// Escaper decides how values are written. It sees the parts of a text in their order.
type Escaper interface {
	// Literal is told a part of the template that stands for itself, and returns
	// what is written for it.
	Literal(text string) string
	// Paste returns what is written for a value: nil, a string, a bool, a
	// json.Number, a []any, a map[string]any, or a JSON.
	Paste(value any) (string, error)
}

// Fill writes the template with the values. A name without one counts as nil. Errors
// name the part of the template and hold no value.
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
		return f.paste(node)
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

func (f *filler) paste(node *parse.ActionNode) error {
	value, err := f.pipe(node.Pipe)
	if err != nil {
		return err
	}
	text, err := f.escaper.Paste(value)
	if err != nil {
		return fmt.Errorf("%s: %w", node, err)
	}
	f.text.WriteString(text)
	return nil
}

func (f *filler) pipe(pipe *parse.PipeNode) (value any, err error) {
	for i, command := range pipe.Cmds {
		function, is := command.Args[0].(*parse.IdentifierNode)
		if ofAll(command) {
			value = toJSON(f.given())
		} else if !is {
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

// given are the values that there are, without names that have none.
func (f *filler) given() map[string]any {
	given := map[string]any{}
	for name, value := range f.values {
		if value != nil {
			given[name] = value
		}
	}
	return given
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
		return nil, fmt.Errorf("{{%s}} is not supported", node) // Parse has refused it
	}
}
