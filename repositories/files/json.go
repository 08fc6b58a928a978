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
	cursor  *cursor
	env     *environment
	faults  *Faults
}

func readJSON(source string, env *environment, faults *Faults) *node {
	r := &jsonReader{decoder: json.NewDecoder(strings.NewReader(source)), source: source, cursor: newCursor(env.file), env: env, faults: faults}
	r.decoder.UseNumber()
	value, err := r.value(0)
	if err == nil {
		if _, err = r.decoder.Token(); errors.Is(err, io.EOF) {
			return value
		}
		err = errors.New("there is more after the value")
	}
	offset := r.decoder.InputOffset()
	var discarded any
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal([]byte(source), &discarded)); ok {
		offset, err = syntax.Offset-1, syntax // Unmarshal has the more accurate position
	}
	faults.add(newCursor(env.file).advance(source, int(max(offset, 0))), "malformed JSON: %s", fault.Clip(err.Error()))
	return nil
}

func (r *jsonReader) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errors.New("it is nested too deep")
	}
	token, at, err := r.nextToken()
	if err != nil {
		return nil, err
	}
	switch value := token.(type) {
	case string:
		before := len(*r.faults)
		filled := placeholder.ReplaceAllStringFunc(value, func(found string) string { return r.env.value(maskedVariable{found, at}, r.faults) })
		return &node{kind: textValue, text: filled, at: at, unset: len(*r.faults) > before}, nil
	case json.Number:
		return &node{kind: numberValue, text: value.String(), at: at}, nil
	case bool:
		return &node{kind: booleanValue, text: fmt.Sprint(value), at: at}, nil
	case nil:
		return &node{at: at}, nil
	}

	result := &node{kind: listValue, at: at}
	if token == json.Delim('{') {
		result.kind = objectValue
	}
	seen := map[string]position{}
	for r.decoder.More() {
		var key field
		if result.kind == objectValue {
			if token, key.at, err = r.nextToken(); err != nil {
				return nil, err
			}
			key.name, _ = token.(string)
		}
		if key.value, err = r.value(depth + 1); err != nil {
			return nil, err
		}
		if result.kind == objectValue {
			result.addOnce(key, seen, r.faults)
		} else {
			result.items = append(result.items, key.value)
		}
	}
	_, err = r.decoder.Token()
	return result, err
}

func (r *jsonReader) nextToken() (json.Token, position, error) {
	start := int(r.decoder.InputOffset())
	token, err := r.decoder.Token()
	if err != nil {
		return nil, position{}, err
	}
	start += len(r.source[start:]) - len(strings.TrimLeft(r.source[start:], " \t\r\n,:"))
	return token, r.cursor.advance(r.source, start), nil
}
