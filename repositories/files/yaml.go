package files

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

// yamlChunk holds the lines of one document of a YAML stream, without markers, and the number of lines before it.
type yamlChunk struct {
	lines      []string
	lineOffset int
}

var (
	// A line that begins with --- or ... is a marker even within a block of text (YAML 1.2.2, section 9.1.2).
	marker    = regexp.MustCompile(`^(---|\.\.\.)(\s|$)`)
	directive = regexp.MustCompile(`^%(YAML|TAG)\s`)
)

// splitYAML splits a stream into its documents, because the parser stops at an empty document, and a fault in one
// would hide those of the others. A document of only comments belongs to the next one.
func splitYAML(source string) []yamlChunk {
	var found []yamlChunk
	current, isEmpty := yamlChunk{}, true
	for i, line := range strings.SplitAfter(source, "\n") {
		switch {
		case marker.MatchString(line):
			if !isEmpty {
				found = append(found, current)
				current, isEmpty = yamlChunk{lineOffset: i}, true
			}
			line = "   " + line[3:] // keeps the columns of the text after it
		case directive.MatchString(line) && isEmpty:
			line = "#" + line[1:]
		}
		current.lines = append(current.lines, line)
		bare := strings.TrimSpace(line)
		isEmpty = isEmpty && (bare == "" || bare[0] == '#')
	}
	if !isEmpty {
		found = append(found, current)
	}
	return found
}

// Limits of the parser's input: its time is quadratic in the keys and the depth.
const (
	maxKeys   = 40_000
	maxOpen   = 200
	maxDashes = 64
)

func (c yamlChunk) violation() string {
	open, deepest, keys := 0, 0, 0
	for _, line := range c.lines {
		for _, sign := range line {
			switch sign {
			case '[', '{':
				open++
				deepest = max(deepest, open)
			case ']', '}':
				open = max(open-1, 0)
			case ':', ',':
				keys++
			}
		}
		levels := 0 // leading signs that each open a level, as in "- - - a"
		for word := range strings.FieldsSeq(line) {
			if !strings.ContainsRune("-?!&:", rune(word[0])) {
				break
			}
			levels++
		}
		if levels > maxDashes {
			return "is nested too deep"
		}
	}
	switch {
	case deepest > maxOpen:
		return "is nested too deep, or has very many brackets that are not closed"
	case keys > maxKeys:
		return "is too long for one document; write several, with --- between them"
	}
	return ""
}

// maxValues bounds the expansion of aliases: a few lines can expand beyond memory.
const maxValues = 100_000

var errTooManyValues = errors.New("too many values")

type yamlReader struct {
	env        *environment
	lineOffset int // lines before the document
	faults     *Faults
	anchors    map[string]*node
	values     int
	sizes      map[*node]int
}

// readDocument returns the value of a document; nil for a faulty one.
func readDocument(doc yamlChunk, env *environment, faults *Faults) *node {
	r := &yamlReader{env: env, lineOffset: doc.lineOffset, faults: faults, anchors: map[string]*node{}, sizes: map[*node]int{}}
	start := position{env.file, doc.lineOffset + 1, 1}
	if violation := doc.violation(); violation != "" {
		faults.add(start, "the document %s", violation)
		return nil
	}
	body, err := parse(strings.Join(doc.lines, ""))
	if err != nil {
		pos, message := start, ""
		if yamlErr, ok := errors.AsType[yaml.Error](err); ok && yamlErr.GetToken() != nil {
			pos, message = r.positionOf(yamlErr.GetToken()), yamlErr.GetMessage()
		} else {
			message, _, _ = strings.Cut(err.Error(), "\n")
		}
		original := environment{masked: env.masked}
		message, _ = original.fillMasked(fault.Clip(message), faults)
		if strings.Contains(message, "'\t'") {
			message += "; YAML is indented with spaces, not with tabs"
		}
		faults.add(pos, "malformed YAML: %s", message)
		return nil
	}
	if body == nil {
		return nil
	}
	value, err := r.read(body, 0)
	if err != nil {
		faults.add(start, "the aliases of the document expand to more than %d values", maxValues)
		return nil
	}
	return value
}

// parse parses one document. A panic of the parser is a fault of the file.
func parse(source string) (body ast.Node, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			body, err = nil, errors.New("cannot be read as YAML")
		}
	}()
	file, err := parser.ParseBytes([]byte(source), 0, parser.AllowDuplicateMapKey()) // addOnce reports them all
	if err != nil || len(file.Docs) == 0 {
		return nil, err
	}
	return file.Docs[0].Body, nil
}

func (r *yamlReader) positionOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{r.env.file, r.lineOffset + 1, 1}
	}
	return position{r.env.file, r.lineOffset + max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

func (r *yamlReader) read(source ast.Node, depth int) (*node, error) {
	if r.values++; r.values > maxValues {
		return nil, errTooManyValues
	}
	at := r.positionOf(source.GetToken())
	if depth > maxDepth {
		r.faults.add(at, "is nested more than %d deep", maxDepth)
		return &node{at: at}, nil
	}
	switch source := source.(type) {
	case *ast.MappingNode:
		return r.object(source.Values, at, source.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		return r.object([]*ast.MappingValueNode{source}, at, false, depth)
	case *ast.SequenceNode:
		result := &node{kind: listValue, at: at}
		for _, value := range source.Values {
			item, err := r.read(value, depth+1)
			if err != nil {
				return nil, err
			}
			result.items = append(result.items, item)
		}
		return result, nil
	case *ast.AnchorNode:
		name := source.Name.GetToken().Value
		if source.Value == nil {
			r.anchors[name] = &node{at: at}
			return r.anchors[name], nil
		}
		before := r.values
		result, err := r.read(source.Value, depth)
		if err == nil {
			r.anchors[name], r.sizes[result] = result, r.values-before
		}
		return result, err
	case *ast.AliasNode:
		name := source.Value.GetToken().Value
		result, known := r.anchors[name]
		if !known {
			r.faults.add(at, "the alias *%s names nothing that stands before it", fault.Clip(name))
			return &node{at: at}, nil
		}
		if r.values += r.sizes[result]; r.values > maxValues {
			return nil, errTooManyValues
		}
		return result, nil
	case *ast.TagNode:
		return r.tagged(source, at, depth)
	case *ast.LiteralNode:
		before := len(*r.faults)
		filled, _ := r.env.fillMasked(source.Value.Value, r.faults)
		return &node{kind: textValue, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case *ast.NullNode, ast.ScalarNode:
		return r.scalar(source, at), nil
	default:
		r.faults.add(at, "cannot be read here: %s", strings.ToLower(source.Type().String()))
		return &node{at: at}, nil
	}
}

// tagged reads a value with a tag of YAML's own schema; others are faults.
func (r *yamlReader) tagged(source *ast.TagNode, at position, depth int) (*node, error) {
	tag := source.Start.Value
	if source.Value == nil {
		return &node{at: at}, nil
	}
	value, err := r.read(source.Value, depth)
	if err != nil {
		return nil, err
	}
	switch tag {
	case "!!str":
		if plain, ok := value.scalarText(); ok || value.kind == nullValue {
			return newText(plain, at), nil
		}
	case "!!int", "!!float":
		if value.kind == textValue {
			return resolve(value.text, at)
		}
	case "!!bool", "!!null", "!!map", "!!seq", "!!timestamp":
	default:
		r.faults.add(at, "the tag %s has no meaning here", fault.Clip(tag))
	}
	return value, nil
}

// object reads a map: its own fields, then those that << merges.
func (r *yamlReader) object(values []*ast.MappingValueNode, at position, isFlow bool, depth int) (*node, error) {
	result := newObject(at)
	seen := map[string]position{}
	var merged []*node
	for i, pair := range values {
		at := r.positionOf(pair.Key.GetToken())
		if i == 0 && !isFlow {
			result.at = at // the parser's position of a block is its first colon
		}
		source := pair.Value
		if source == nil { // a key without a value
			source = ast.Null(pair.Key.GetToken())
		}
		value, err := r.read(source, depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		if name, ok := r.key(pair.Key, at); ok {
			result.addOnce(field{name, at, value}, seen, r.faults)
		}
	}
	for _, source := range merged {
		r.merge(result, source)
	}
	return result, nil
}

// key reads a key: an unquoted 1 is "1". Placeholders in keys stay unchanged.
func (r *yamlReader) key(source ast.MapKeyNode, at position) (string, bool) {
	original, reader := *r.env, *r
	original.lookup = nil
	reader.env = &original
	var key ast.Node = source
	if mapping, is := source.(*ast.MappingKeyNode); is {
		key = mapping.Value
	}
	value, err := reader.read(key, 0)
	if err != nil {
		return "", false
	}
	if name, ok := value.scalarText(); ok {
		return name, true
	}
	if value.kind == nullValue && value.unquoted != "" {
		return value.unquoted, true
	}
	r.faults.add(at, "the key of a map is %s; it must be a text", value.kind)
	return "", false
}

func (r *yamlReader) merge(target, source *node) {
	switch source.kind {
	case listValue:
		for _, item := range source.items {
			r.merge(target, item)
		}
	case objectValue:
		for _, f := range source.fields {
			if target.field(f.name) == nil {
				target.fields = append(target.fields, f)
			}
		}
	default:
		r.faults.add(source.at, "<< merges maps, and this is %s", source.kind)
	}
}

// scalar reads a value of one line. ${PORT} can be a number, "${PORT}" is text.
func (r *yamlReader) scalar(source ast.Node, at position) *node {
	t := source.GetToken()
	if _, ok := source.(*ast.NullNode); ok {
		value := &node{at: at}
		if t.Type == token.NullType { // explicit, as ~
			value.unquoted = t.Value
		}
		return value
	}
	before := len(*r.faults)
	filled, isPlaceholder := r.env.fillMasked(t.Value, r.faults)
	if len(*r.faults) > before {
		return &node{kind: textValue, at: at, unset: true}
	}
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType || filled != t.Value && !isPlaceholder {
		return newText(filled, at)
	}
	if r.env.lookup == nil && isPlaceholder {
		return &node{kind: textValue, text: filled, unquoted: filled, at: at}
	}
	value, err := resolve(filled, at)
	if err != nil {
		r.faults.add(at, "%s", err)
	}
	return value
}

// resolve reads an unquoted text by YAML's core schema.
func resolve(plain string, at position) (*node, error) {
	value := &node{kind: textValue, text: plain, at: at, unquoted: plain}
	typed := func(kind valueKind, literal string) (*node, error) {
		value.kind, value.text = kind, literal
		return value, nil
	}
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return typed(nullValue, "")
	case "true", "True", "TRUE":
		return typed(booleanValue, "true")
	case "false", "False", "FALSE":
		return typed(booleanValue, "false")
	case ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return value, fmt.Errorf("%s is not a number in JSON", plain)
	}
	if exactjson.NumberPattern.MatchString(plain) { // the YAML parser reads 1e3 and long integers as texts
		return typed(numberValue, plain)
	}
	if found := token.ToNumber(plain); found != nil { // in another form, such as 0x1F or 1_000
		switch value := found.Value.(type) {
		case int64:
			return typed(numberValue, strconv.FormatInt(value, 10))
		case uint64:
			return typed(numberValue, strconv.FormatUint(value, 10))
		case float64:
			if !math.IsInf(value, 0) && !math.IsNaN(value) {
				return typed(numberValue, strconv.FormatFloat(value, 'g', -1, 64))
			}
		}
	}
	return value, nil
}

func render(value *node, indent string) string {
	var b strings.Builder
	for _, f := range value.fields {
		b.WriteString(indent + renderText(f.name, indent) + ":" + renderBeside(f.value, indent))
	}
	for _, item := range value.items {
		if item.kind == objectValue && len(item.fields) > 0 {
			b.WriteString(indent + "- " + strings.TrimPrefix(render(item, indent+"  "), indent+"  "))
			continue
		}
		b.WriteString(indent + "-" + renderBeside(item, indent))
	}
	return b.String()
}

func renderBeside(value *node, indent string) string {
	switch {
	case value.kind == objectValue && len(value.fields) == 0:
		return " {}\n"
	case value.kind == listValue && len(value.items) == 0:
		return " []\n"
	case value.kind == objectValue || value.kind == listValue:
		return "\n" + render(value, indent+"  ")
	case value.kind == nullValue:
		return " null\n"
	case value.kind != textValue, value.unquoted != "" && placeholder.MatchString(value.unquoted):
		return " " + value.text + "\n"
	}
	return " " + renderText(value.text, indent+"  ") + "\n"
}

// Texts that YAML reads without quotes, and multi-line texts that can be a block.
var (
	plainText = regexp.MustCompile(`^[A-Za-z0-9_/](?:[^:#\x00-\x1f\x7f-\x{9f}\x{feff}\x{fffe}]|:[^\s:#\x00-\x1f])*$`)
	blockText = regexp.MustCompile(`^[^\s\x00-\x1f\x7f-\x{9f}\x{feff}][^\x00-\x09\x0b-\x1f\x7f-\x{9f}\x{feff}]*[^\s]\n?$`)
)

func renderText(value, indent string) string {
	if strings.Contains(value, "\n") && indent != "" && blockText.MatchString(value) && !strings.Contains(value, " \n") {
		block := "|-"
		if strings.HasSuffix(value, "\n") {
			block = "|"
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(value, "\n"), "\n") {
			block += "\n"
			if line != "" {
				block += indent + line
			}
		}
		return block
	}
	if plain, err := resolve(value, position{}); err == nil && plain.kind == textValue && plainText.MatchString(value) &&
		strings.TrimSpace(value) == value && !strings.HasSuffix(value, ":") {
		return value
	}
	return quote(value) // JSON's quoting is valid in YAML
}
