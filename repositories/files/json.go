package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"earshot/repositories/fault"
)

// maxDepth bounds the nesting of values; the later decoders allow less.
const maxDepth = 100

// jsonReader reads a JSON file token by token. The YAML parser does not read all of JSON, and gives other
// positions.
type jsonReader struct {
	decoder *json.Decoder
	source  string
	at      *cursor
	env     *environment
	faults  *Faults
}

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
		offset, err = syntax.Offset-1, syntax // Unmarshal has the more accurate position
	}
	faults.add(newCursor(env.file).to(source, int(max(offset, 0))), "malformed JSON: %s", fault.Clip(err.Error()))
	return nil
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
	case string:
		before := len(*r.faults)
		filled := placeholder.ReplaceAllStringFunc(value, func(found string) string { return r.env.value(marked{found, at}, r.faults) })
		return &node{kind: text, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case json.Number:
		return &node{kind: number, text: value.String(), at: at}, nil
	case bool:
		return &node{kind: boolean, text: fmt.Sprint(value), at: at}, nil
	case nil:
		return &node{at: at}, nil
	}

	made := &node{kind: list, at: at}
	if token == json.Delim('{') {
		made.kind = object
	}
	seen := map[string]position{}
	for r.decoder.More() {
		var key field
		if made.kind == object {
			if token, key.at, err = r.next(); err != nil {
				return nil, err
			}
			key.name, _ = token.(string)
		}
		if key.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if made.kind == object {
			made.addOnce(key, seen, r.faults)
		} else {
			made.items = append(made.items, key.value)
		}
	}
	_, err = r.decoder.Token()
	return made, err
}

func (r *jsonReader) next() (json.Token, position, error) {
	start := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil {
		return nil, position{}, err
	}
	start += len(r.source[start:]) - len(strings.TrimLeft(r.source[start:], " \t\r\n,:"))
	return token, r.at.to(r.source, start), nil
}
