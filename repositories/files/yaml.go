package files

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"earshot/repositories/fault"
)

// maxValues bounds what the aliases of a document may expand to: a few lines of
// aliases to aliases can stand for more values than fit into memory.
const maxValues = 100_000

// yamlReader makes the syntax tree of one YAML document.
type yamlReader struct {
	env     *environment
	before  int // lines before the document
	faults  *Faults
	anchors map[string]*node
	values  int
	sizes   map[*node]int
}

// errTooManyValues stops a document whose aliases expand to too much.
var errTooManyValues = errors.New("too many values")

// readYAML returns the values of the documents of a YAML file. One that is at fault is
// missing; the others are read.
func readYAML(source string, env *environment, faults *Faults) []*node {
	var values []*node
	for _, part := range chunks(env.mask(source)) {
		if value := readDocument(part, env, faults); value != nil {
			values = append(values, value)
		}
	}
	return values
}

func readDocument(part chunk, env *environment, faults *Faults) *node {
	r := &yamlReader{env: env, before: part.before, faults: faults, anchors: map[string]*node{}, sizes: map[*node]int{}}
	if flaw := part.violation(); flaw != "" {
		faults.add(position{env.file, part.before + 1, 1}, "the document %s", flaw)
		return nil
	}
	body, err := parse(part.text())
	if err != nil {
		r.malformed(err)
		return nil
	}
	if body == nil {
		return nil
	}
	value, err := r.read(body, 0)
	if err != nil {
		faults.add(position{env.file, part.before + 1, 1}, "the aliases of the document expand to more than %d values", maxValues)
		return nil
	}
	return value
}

// parse parses one document. What it is given comes from anywhere: a panic of the
// parser is a fault of the file.
func parse(source string) (body ast.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			body, err = nil, errors.New("cannot be read as YAML")
		}
	}()
	// Fields that are given twice are found here, all at once.
	file, err := parser.ParseBytes([]byte(source), 0, parser.AllowDuplicateMapKey())
	if err != nil || len(file.Docs) == 0 {
		return nil, err
	}
	return file.Docs[0].Body, nil
}

func (r *yamlReader) malformed(err error) {
	var known yaml.Error
	if errors.As(err, &known) && known.GetToken() != nil {
		r.faults.add(r.placeOf(known.GetToken()), "malformed YAML: %s", r.env.unmask(fault.Clip(known.GetMessage())))
		return
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	r.faults.add(position{r.env.file, r.before + 1, 1}, "malformed YAML: %s", r.env.unmask(fault.Clip(line)))
}

func (r *yamlReader) placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{r.env.file, r.before + 1, 1}
	}
	return position{r.env.file, r.before + max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// read makes a tree of a node of the parser.
func (r *yamlReader) read(from ast.Node, depth int) (*node, error) {
	if r.values++; r.values > maxValues {
		return nil, errTooManyValues
	}
	at := r.placeOf(from.GetToken())
	if depth > maxDepth {
		r.faults.add(at, "is nested more than %d deep", maxDepth)
		return &node{at: at}, nil
	}
	switch from := from.(type) {
	case *ast.MappingNode:
		return r.object(from, from.Values, depth)
	case *ast.MappingValueNode:
		return r.object(from, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		return r.list(from, at, depth)
	case *ast.AnchorNode:
		return r.anchor(from, at, depth)
	case *ast.AliasNode:
		return r.alias(from, at)
	case *ast.TagNode:
		return r.tagged(from, at, depth)
	case *ast.LiteralNode:
		before := len(*r.faults)
		filled, _ := r.env.fillMasked(from.Value.Value, r.faults)
		return &node{kind: text, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case *ast.NullNode, ast.ScalarNode:
		return r.scalar(from, at), nil
	default:
		r.faults.add(at, "cannot be read here: %s", strings.ToLower(from.Type().String()))
		return &node{at: at}, nil
	}
}

func (r *yamlReader) list(from *ast.SequenceNode, at position, depth int) (*node, error) {
	made := &node{kind: list, at: at}
	for _, value := range from.Values {
		item, err := r.read(value, depth+1)
		if err != nil {
			return nil, err
		}
		made.items = append(made.items, item)
	}
	return made, nil
}

func (r *yamlReader) anchor(from *ast.AnchorNode, at position, depth int) (*node, error) {
	name := from.Name.GetToken().Value
	if from.Value == nil {
		r.anchors[name] = &node{at: at}
		return r.anchors[name], nil
	}
	before := r.values
	made, err := r.read(from.Value, depth)
	if err == nil {
		r.anchors[name], r.sizes[made] = made, r.values-before
	}
	return made, err
}

func (r *yamlReader) alias(from *ast.AliasNode, at position) (*node, error) {
	name := from.Value.GetToken().Value
	made, known := r.anchors[name]
	if !known {
		r.faults.add(at, "the alias *%s names nothing that stands before it", fault.Clip(name))
		return &node{at: at}, nil
	}
	if r.values += r.sizes[made]; r.values > maxValues {
		return nil, errTooManyValues
	}
	return made, nil
}

// tagged reads a value with a tag of YAML's own schema; others have no meaning here.
func (r *yamlReader) tagged(from *ast.TagNode, at position, depth int) (*node, error) {
	tag := from.Start.Value
	if from.Value == nil {
		return &node{at: at}, nil
	}
	made, err := r.read(from.Value, depth)
	if err != nil {
		return nil, err
	}
	switch tag {
	case "!!str":
		if plain, ok := made.scalarText(); ok || made.kind == null {
			return newText(plain, at), nil
		}
	case "!!int", "!!float":
		if made.kind == text {
			return resolve(made.text, at)
		}
	case "!!bool", "!!null", "!!map", "!!seq", "!!timestamp":
	default:
		r.faults.add(at, "the tag %s has no meaning here", fault.Clip(tag))
	}
	return made, nil
}

// object reads a map: its own fields, then what << merges into it.
func (r *yamlReader) object(from ast.Node, values []*ast.MappingValueNode, depth int) (*node, error) {
	made := newObject(r.placeOf(from.GetToken()))
	seen := map[string]position{}
	var merged []*node
	for i, pair := range values {
		at := r.placeOf(pair.Key.GetToken())
		if i == 0 && !isFlow(from) {
			made.at = at // the parser's place of a block is that of its first colon
		}
		value, err := r.read(valueOf(pair), depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		if name, ok := r.key(pair.Key, at); ok {
			addField(made, name, at, value, seen, r.faults)
		}
	}
	for _, from := range merged {
		r.merge(made, from)
	}
	return made, nil
}

func isFlow(from ast.Node) bool {
	mapping, is := from.(*ast.MappingNode)
	return is && mapping.IsFlowStyle
}

// valueOf is never nil: a key without a value has the value null.
func valueOf(pair *ast.MappingValueNode) ast.Node {
	if pair.Value == nil {
		return ast.Null(pair.Key.GetToken())
	}
	return pair.Value
}

// key reads a key. JSON has texts as keys and nothing else; an unquoted 1 is "1".
func (r *yamlReader) key(from ast.MapKeyNode, at position) (string, bool) {
	asWritten := *r.env
	asWritten.lookup = nil // placeholders are for values
	keys := *r
	keys.env = &asWritten
	var key ast.Node = from
	if mapping, is := from.(*ast.MappingKeyNode); is {
		key = mapping.Value
	}
	value, err := keys.read(key, 0)
	if err != nil {
		return "", false
	}
	if name, ok := value.scalarText(); ok {
		return name, true
	}
	if value.kind == null && value.unquoted != "" {
		return value.unquoted, true
	}
	r.faults.add(at, "the key of a map is %s; it must be a text", value.kind)
	return "", false
}

// merge adds the fields of << that the map does not have itself.
func (r *yamlReader) merge(to, from *node) {
	switch from.kind {
	case list:
		for _, item := range from.items {
			r.merge(to, item)
		}
	case object:
		for _, f := range from.fields {
			if to.field(f.name) == nil {
				to.fields = append(to.fields, f)
			}
		}
	default:
		r.faults.add(from.at, "<< merges maps, and this is %s", from.kind)
	}
}
