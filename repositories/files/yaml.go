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

	"earshot/repositories/fault"
)

// chunk holds the lines of one document of a YAML stream, without markers, and the number of lines before it.
type chunk struct {
	lines  []string
	before int
}

var (
	// A line that begins with --- or ... is a marker even within a block of text (YAML 1.2.2, section 9.1.2).
	marker    = regexp.MustCompile(`^(---|\.\.\.)(\s|$)`)
	directive = regexp.MustCompile(`^%(YAML|TAG)\s`)
)

// chunks splits a stream into its documents, because the parser stops at an empty document, and a fault in one
// would hide those of the others. A document of only comments belongs to the next one.
func chunks(source string) []chunk {
	var found []chunk
	current, isEmpty := chunk{}, true
	for i, line := range strings.SplitAfter(source, "\n") {
		switch {
		case marker.MatchString(line):
			if !isEmpty {
				found = append(found, current)
				current, isEmpty = chunk{before: i}, true
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

func (c chunk) violation() string {
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
	env     *environment
	before  int // lines before the document
	faults  *Faults
	anchors map[string]*node
	values  int
	sizes   map[*node]int
}

// readDocument returns the value of a document; nil for a faulty one.
func readDocument(part chunk, env *environment, faults *Faults) *node {
	r := &yamlReader{env: env, before: part.before, faults: faults, anchors: map[string]*node{}, sizes: map[*node]int{}}
	start := position{env.file, part.before + 1, 1}
	if flaw := part.violation(); flaw != "" {
		faults.add(start, "the document %s", flaw)
		return nil
	}
	body, err := parse(strings.Join(part.lines, ""))
	if err != nil {
		at, message := start, ""
		var known yaml.Error
		if errors.As(err, &known) && known.GetToken() != nil {
			at, message = r.placeOf(known.GetToken()), known.GetMessage()
		} else {
			message, _, _ = strings.Cut(err.Error(), "\n")
		}
		asWritten := environment{masked: env.masked}
		message, _ = asWritten.fillMasked(fault.Clip(message), faults)
		if strings.Contains(message, "'\t'") {
			message += "; YAML is indented with spaces, not with tabs"
		}
		faults.add(at, "malformed YAML: %s", message)
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
	// addOnce reports repeated fields, all at once.
	file, err := parser.ParseBytes([]byte(source), 0, parser.AllowDuplicateMapKey())
	if err != nil || len(file.Docs) == 0 {
		return nil, err
	}
	return file.Docs[0].Body, nil
}

func (r *yamlReader) placeOf(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{r.env.file, r.before + 1, 1}
	}
	return position{r.env.file, r.before + max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

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
		return r.object(from.Values, at, from.IsFlowStyle, depth)
	case *ast.MappingValueNode:
		return r.object([]*ast.MappingValueNode{from}, at, false, depth)
	case *ast.SequenceNode:
		made := &node{kind: list, at: at}
		for _, value := range from.Values {
			item, err := r.read(value, depth+1)
			if err != nil {
				return nil, err
			}
			made.items = append(made.items, item)
		}
		return made, nil
	case *ast.AnchorNode:
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
	case *ast.AliasNode:
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

// tagged reads a value with a tag of YAML's own schema; others are faults.
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

// object reads a map: its own fields, then those that << merges.
func (r *yamlReader) object(values []*ast.MappingValueNode, at position, isFlow bool, depth int) (*node, error) {
	made := newObject(at)
	seen := map[string]position{}
	var merged []*node
	for i, pair := range values {
		at := r.placeOf(pair.Key.GetToken())
		if i == 0 && !isFlow {
			made.at = at // the parser's position of a block is its first colon
		}
		from := pair.Value
		if from == nil { // a key without a value
			from = ast.Null(pair.Key.GetToken())
		}
		value, err := r.read(from, depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		if name, ok := r.key(pair.Key, at); ok {
			made.addOnce(field{name, at, value}, seen, r.faults)
		}
	}
	for _, from := range merged {
		r.merge(made, from)
	}
	return made, nil
}

// key reads a key: an unquoted 1 is "1". Placeholders in keys stay unchanged.
func (r *yamlReader) key(from ast.MapKeyNode, at position) (string, bool) {
	asWritten, keys := *r.env, *r
	asWritten.lookup = nil
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

// scalar reads a value of one line. ${PORT} can be a number, "${PORT}" is text.
func (r *yamlReader) scalar(from ast.Node, at position) *node {
	t := from.GetToken()
	if _, ok := from.(*ast.NullNode); ok {
		made := &node{at: at}
		if t.Type == token.NullType { // explicit, as ~
			made.unquoted = t.Value
		}
		return made
	}
	before := len(*r.faults)
	filled, whole := r.env.fillMasked(t.Value, r.faults)
	if len(*r.faults) > before {
		return &node{kind: text, at: at, unset: true}
	}
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType || filled != t.Value && !whole {
		return newText(filled, at)
	}
	if r.env.lookup == nil && whole {
		return &node{kind: text, text: filled, unquoted: filled, at: at}
	}
	made, err := resolve(filled, at)
	if err != nil {
		r.faults.add(at, "%s", err)
	}
	return made
}

// jsonNumber matches a JSON number. The YAML parser reads some, such as 1e3 and long integers, as texts.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// resolve reads an unquoted text by YAML's core schema.
func resolve(plain string, at position) (*node, error) {
	made := &node{kind: text, text: plain, at: at, unquoted: plain}
	as := func(kind valueKind, literal string) (*node, error) {
		made.kind, made.text = kind, literal
		return made, nil
	}
	switch plain {
	case "", "~", "null", "Null", "NULL":
		return as(null, "")
	case "true", "True", "TRUE":
		return as(boolean, "true")
	case "false", "False", "FALSE":
		return as(boolean, "false")
	case ".inf", ".Inf", ".INF", "+.inf", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN":
		return made, fmt.Errorf("%s is no number that JSON can hold", plain)
	}
	if jsonNumber.MatchString(plain) {
		return as(number, plain)
	}
	if found := token.ToNumber(plain); found != nil { // in another form, such as 0x1F or 1_000
		switch value := found.Value.(type) {
		case int64:
			return as(number, strconv.FormatInt(value, 10))
		case uint64:
			return as(number, strconv.FormatUint(value, 10))
		case float64:
			if !math.IsInf(value, 0) && !math.IsNaN(value) {
				return as(number, strconv.FormatFloat(value, 'g', -1, 64))
			}
		}
	}
	return made, nil
}

func render(value *node, indent string) string {
	var b strings.Builder
	for _, f := range value.fields {
		b.WriteString(indent + renderText(f.name, indent) + ":" + renderBeside(f.value, indent))
	}
	for _, item := range value.items {
		if item.kind == object && len(item.fields) > 0 {
			b.WriteString(indent + "- " + strings.TrimPrefix(render(item, indent+"  "), indent+"  "))
			continue
		}
		b.WriteString(indent + "-" + renderBeside(item, indent))
	}
	return b.String()
}

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
	if plain, err := resolve(value, position{}); err == nil && plain.kind == text && plainText.MatchString(value) &&
		strings.TrimSpace(value) == value && !strings.HasSuffix(value, ":") {
		return value
	}
	return string(quote(value)) // JSON's quoting is valid in YAML
}
