package repositories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// mostDepth bounds how deep a definition may be nested.
const mostDepth = 64

// treeReader reads one JSON value into maps, lists and scalars, token by token, so
// that it sees what a decoder into a map would silently swallow: a field that is
// given twice. Numbers stay as they are written.
type treeReader struct {
	decoder *json.Decoder
	faults  Faults
}

// readTree reads a body. Where the body is no JSON there is one fault and no tree.
func readTree(body []byte) (any, Faults) {
	r := &treeReader{decoder: json.NewDecoder(bytes.NewReader(body))}
	r.decoder.UseNumber()
	tree, err := r.value(nil)
	if err == nil {
		_, err = r.decoder.Token()
		if err == nil {
			err = errors.New("there is more after the value")
		} else if errors.Is(err, io.EOF) {
			return tree, r.faults
		}
	}
	return nil, Faults{{Detail: malformed(body, r.decoder.InputOffset(), err)}}
}

func (r *treeReader) value(at []any) (any, error) {
	if len(at) > mostDepth {
		return nil, fmt.Errorf("it is nested more than %d deep", mostDepth)
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		return r.object(at)
	case json.Delim('['):
		return r.list(at)
	}
	if number, ok := token.(json.Number); ok {
		if detail := numberFlaw(number); detail != "" {
			r.faults.Add(Point(at...), "%s", detail)
			return json.Number("0"), nil
		}
	}
	return token, nil
}

func (r *treeReader) object(at []any) (any, error) {
	object := map[string]any{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		place := append(at[:len(at):len(at)], name)
		value, err := r.value(place)
		if err != nil {
			return nil, err
		}
		if _, twice := object[name]; twice {
			r.faults.Add(Point(place...), "is given more than once")
		}
		object[name] = value
	}
	_, err := r.decoder.Token()
	return object, err
}

func (r *treeReader) list(at []any) (any, error) {
	list := []any{}
	for r.decoder.More() {
		value, err := r.value(append(at[:len(at):len(at)], len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := r.decoder.Token()
	return list, err
}

// malformed says where a body stops being JSON, as an editor counts. A decoder of
// tokens counts differently from one error to the next, so the other one is asked.
func malformed(body []byte, offset int64, err error) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "the body is empty; a JSON object is wanted"
	}
	var syntax *json.SyntaxError
	var whole any
	if errors.As(json.Unmarshal(body, &whole), &syntax) {
		offset, err = syntax.Offset-1, syntax
	}
	before := string(body[:min(max(offset, 0), int64(len(body)))])
	line := 1 + strings.Count(before, "\n")
	column := len(before) - strings.LastIndex(before, "\n")
	return fmt.Sprintf("malformed JSON at line %d, column %d: %s", line, column, clip(err.Error()))
}
