package template

import (
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// Template is a text with places for values. It is safe for concurrent use.
type Template struct {
	root     *parse.ListNode
	names    []string
	literals []string
}

// Parse reads a template that may use the named functions beside those of the
// language. Its errors say what is not understood, in the words of the text.
func Parse(text string, functions ...string) (*Template, error) {
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := tree.Parse(text, "", "", set); err != nil {
		return nil, fmt.Errorf("is no template: %s", strings.TrimPrefix(err.Error(), "template: template:"))
	}
	if len(set) > 1 {
		return nil, fmt.Errorf("{{define}} and {{block}} are not supported")
	}
	r := &checker{functions: append(slices.Clone(builtins), functions...)}
	if tree.Root == nil {
		return &Template{root: &parse.ListNode{}}, nil
	}
	if err := r.list(tree.Root); err != nil {
		return nil, err
	}
	return &Template{root: tree.Root, names: r.names, literals: r.literals}, nil
}

// Names returns the names of the values that the template asks for, in the order in
// which they stand in it, each once.
func (t *Template) Names() []string { return t.names }

// Literals returns the texts between the actions, in their order. Each is pasted as it
// stands, where it is pasted at all: those of both branches of an {{if}} are among them.
func (t *Template) Literals() []string { return t.literals }

// checker goes through a tree once, to refuse what Fill does not know.
type checker struct {
	functions []string
	names     []string
	literals  []string
}

func (r *checker) list(list *parse.ListNode) error {
	if list == nil {
		return nil
	}
	for _, node := range list.Nodes {
		if err := r.node(node); err != nil {
			return err
		}
	}
	return nil
}

func (r *checker) node(node parse.Node) error {
	switch node := node.(type) {
	case *parse.TextNode:
		r.literals = append(r.literals, string(node.Text))
		return nil
	case *parse.CommentNode:
		return nil
	case *parse.ActionNode:
		return r.pipe(node.Pipe)
	case *parse.IfNode:
		if err := r.pipe(node.Pipe); err != nil {
			return err
		}
		if err := r.list(node.List); err != nil {
			return err
		}
		return r.list(node.ElseList)
	default:
		return unsupported(node)
	}
}

func (r *checker) pipe(pipe *parse.PipeNode) error {
	if len(pipe.Decl) > 0 {
		return unsupported(pipe)
	}
	for i, command := range pipe.Cmds {
		if err := r.command(command, i > 0); err != nil {
			return err
		}
	}
	return nil
}

// command reads one command; a piped one gets one more argument, the last.
func (r *checker) command(command *parse.CommandNode, piped bool) error {
	name, is := command.Args[0].(*parse.IdentifierNode)
	switch {
	case !is && (len(command.Args) > 1 || piped):
		return fmt.Errorf("{{%s}}: %s is no function", command, command.Args[0])
	case is && !slices.Contains(r.functions, name.Ident):
		return fmt.Errorf("{{%s}}: there is no function %s; there are %s", command, name, strings.Join(r.functions, ", "))
	case is:
		arguments := len(command.Args) - 1
		if piped {
			arguments++
		}
		if !takes(name.Ident, arguments) {
			return fmt.Errorf("{{%s}}: %s does not take %d arguments", command, name, arguments)
		}
		if name.Ident == indexOf {
			return r.index(command)
		}
		if ofAll(command) {
			return nil
		}
		command = &parse.CommandNode{Args: command.Args[1:]}
	}
	for _, argument := range command.Args {
		if err := r.argument(argument); err != nil {
			return err
		}
	}
	return nil
}

// index reads {{index . "name"}}, for names that are no identifiers.
func (r *checker) index(command *parse.CommandNode) error {
	if len(command.Args) == 3 {
		name, literal := command.Args[2].(*parse.StringNode)
		if _, dot := command.Args[1].(*parse.DotNode); dot && literal {
			r.add(name.Text)
			return nil
		}
	}
	return fmt.Errorf(`{{%s}}: index is for names that are no identifiers, as in {{index . "a-name"}}`, command)
}

// ofAll reports whether a command is {{json .}}, which is all values that there are.
func ofAll(command *parse.CommandNode) bool {
	name, is := command.Args[0].(*parse.IdentifierNode)
	if !is || name.Ident != ToJSON || len(command.Args) != 2 {
		return false
	}
	_, dot := command.Args[1].(*parse.DotNode)
	return dot
}

func (r *checker) argument(argument parse.Node) error {
	switch argument := argument.(type) {
	case *parse.FieldNode:
		if len(argument.Ident) > 1 {
			return fmt.Errorf("{{%s}}: members of values are not supported", argument)
		}
		r.add(argument.Ident[0])
		return nil
	case *parse.StringNode, *parse.NumberNode, *parse.BoolNode:
		return nil
	case *parse.PipeNode:
		return r.pipe(argument)
	default:
		return unsupported(argument)
	}
}

func (r *checker) add(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

func unsupported(node parse.Node) error {
	text := strings.TrimSpace(node.String())
	if len(text) > 60 {
		text = strings.ToValidUTF8(text[:60], "") + "…"
	}
	if !strings.HasPrefix(text, "{{") {
		text = "{{" + text + "}}"
	}
	return fmt.Errorf(`%s is not supported; a template pastes values, as in {{.name}}, and chooses with {{if}}`, text)
}
