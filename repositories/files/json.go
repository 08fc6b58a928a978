package files

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"earshot/repositories/fault"
)

// maxDepth bounds how deep values may be nested; the decoders behind allow less.
const maxDepth = 100

// jsonReader reads a JSON file token by token: YAML would read most of it as well, but
// not all, and the places of its tokens are those of another language.
type jsonReader struct {
	decoder *json.Decoder
	source  string
	at      cursor
	env     *environment
	faults  *Faults
}

// readJSON returns the value of a JSON file, or nil if there is none.
func readJSON(source string, env *environment, faults *Faults) *node {
	r := &jsonReader{decoder: json.NewDecoder(strings.NewReader(source)), source: source, at: newCursor(env.file), env: env, faults: faults}
	r.decoder.UseNumber()
	value, err := r.value(0)
	if err == nil {
		if _, err = r.decoder.Token(); errors.Is(err, io.EOF) {
			return value
		}
		err = errors.New("there is more after the value")
	}
	offset := r.decoder.InputOffset()
	var syntax *json.SyntaxError
	var whole any
	if errors.As(json.Unmarshal([]byte(source), &whole), &syntax) {
		offset, err = syntax.Offset-1, syntax // the other decoder knows better where
	}
	start := newCursor(env.file)
	faults.add(start.to(source, int(max(offset, 0))), "malformed JSON: %s", fault.Clip(err.Error()))
	return nil
}

// next returns the next token and where it begins.
func (r *jsonReader) next() (json.Token, position, error) {
	token, err := r.decoder.Token()
	if err != nil {
		return nil, position{}, err
	}
	end := int(r.decoder.InputOffset())
	return token, r.at.to(r.source, end-tokenLength(token, r.source[:end])), nil
}

// tokenLength measures a token backwards from its end; a text may be written longer
// than it reads.
func tokenLength(token json.Token, before string) int {
	switch value := token.(type) {
	case string:
		end := len(before) - 1
		for i := end - 1; i >= 0; i-- {
			escapes := len(before[:i]) - len(strings.TrimRight(before[:i], `\`))
			if before[i] == '"' && escapes%2 == 0 {
				return len(before) - i
			}
		}
	case json.Number:
		return len(value)
	case bool:
		if !value {
			return len("false")
		}
		return len("true")
	case nil:
		return len("null")
	}
	return 1
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	token, at, err := r.next()
	if err != nil {
		return nil, err
	}
	switch value := token.(type) {
	case json.Delim:
		if value == '{' {
			return r.object(at, depth)
		}
		return r.list(at, depth)
	case string:
		before := len(*r.faults)
		filled := r.env.fill(value, at, r.faults)
		return &node{kind: text, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case json.Number:
		return &node{kind: number, text: value.String(), at: at}, nil
	case bool:
		return &node{kind: boolean, text: map[bool]string{true: "true", false: "false"}[value], at: at}, nil
	default:
		return &node{at: at}, nil
	}
}

func (r *jsonReader) object(at position, depth int) (*node, error) {
	made := newObject(at)
	seen := map[string]position{}
	for r.decoder.More() {
		token, at, err := r.next()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		value, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		addField(made, name, at, value, seen, r.faults)
	}
	_, err := r.decoder.Token()
	return made, err
}

func (r *jsonReader) list(at position, depth int) (*node, error) {
	made := &node{kind: list, at: at}
	for r.decoder.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		made.items = append(made.items, item)
	}
	_, err := r.decoder.Token()
	return made, err
}

// addField adds a field, or names it as given twice.
func addField(to *node, name string, at position, value *node, seen map[string]position, faults *Faults) {
	if first, twice := seen[name]; twice {
		faults.add(at, "%q is given twice in one map, first on line %d", fault.Clip(name), first.line)
		return
	}
	seen[name] = at
	to.add(name, at, value)
}

// cursor turns byte offsets, which only grow, into positions.
type cursor struct {
	position
	offset int
}

func newCursor(file string) cursor { return cursor{position: position{file, 1, 1}} }

func (c *cursor) to(source string, offset int) position {
	offset = min(max(offset, c.offset), len(source))
	passed := source[c.offset:offset]
	if lines := strings.Count(passed, "\n"); lines > 0 {
		c.line += lines
		c.column = 1
		passed = passed[strings.LastIndexByte(passed, '\n')+1:]
	}
	c.column += utf8.RuneCountInString(passed)
	c.offset = offset
	return c.position
}
