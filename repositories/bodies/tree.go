package bodies

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
)

const (
	// maxNesting bounds the nesting of a definition.
	maxNesting = 64
	// maxValues bounds the values of a body. Each costs some hundred bytes, and a megabyte can have half a million.
	// A thousand tools of ten parameters have fifty thousand.
	maxValues = 100_000
)

var errManyValues = errors.New("too many values")

// treeReader reads one JSON value token by token, to detect repeated fields. Numbers stay as written.
type treeReader struct {
	body    []byte
	altered bool // the decoder replaces characters of some texts
	decoder *json.Decoder
	faults  fault.List
	at      []any // current place: names and indices
	values  int
}

// readTokens reads a body. If it is not JSON, there is one fault and no tree. If it has too many values, cut is the
// place where the reading ended.
func readTokens(body []byte) (tree any, faults fault.List, cut string) {
	flaw := exactjson.TextFlaw(body)
	if !utf8.Valid(body) {
		return nil, fault.List{{Detail: "the body " + flaw, Meant: fault.Meant{Code: fault.Malformed}}}, ""
	}
	r := &treeReader{body: body, altered: flaw != "", decoder: json.NewDecoder(bytes.NewReader(body))}
	r.decoder.UseNumber()
	tree, err := r.value()
	if errors.Is(err, errManyValues) {
		r.faults = slices.Insert(r.faults, 0, fault.Fault{Detail: fmt.Sprintf("is made of more than %d values; what comes after them was not looked at", maxValues)})
		return tree, r.faults, fault.Point(r.at...) + "/"
	}
	if err == nil {
		if _, err = r.decoder.Token(); errors.Is(err, io.EOF) {
			return tree, r.faults, ""
		}
		err = cmp.Or(err, errors.New("text follows the value"))
	}
	return nil, fault.List{{Detail: malformed(body, r.decoder.InputOffset(), err), Meant: fault.Meant{Code: fault.Malformed}}}, ""
}

func (r *treeReader) value() (any, error) {
	if len(r.at) > maxNesting {
		return nil, fmt.Errorf("it is nested more than %d deep", maxNesting)
	}
	if r.values++; r.values > maxValues {
		return nil, errManyValues
	}
	read, flaw, err := r.token()
	if err != nil {
		return nil, err
	}
	if flaw != "" {
		r.fault("%s", flaw)
	}
	switch read {
	case json.Delim('{'):
		return r.object()
	case json.Delim('['):
		return r.list()
	}
	if number, ok := read.(json.Number); ok {
		if detail := exactjson.NumberFlaw(number); detail != "" {
			r.fault("%s", detail)
			return json.Number("0"), nil
		}
	}
	return read, nil
}

// token reads a token, and tells the flaw of a text that the decoder alters.
func (r *treeReader) token() (read json.Token, flaw string, err error) {
	before := r.decoder.InputOffset()
	read, err = r.decoder.Token()
	if r.altered {
		flaw = exactjson.TextFlaw(r.body[before:r.decoder.InputOffset()])
	}
	return read, flaw, err
}

func (r *treeReader) object() (any, error) {
	object := map[string]any{}
	var again []string // names that are given more than once
	r.at = append(r.at, "")
	for r.decoder.More() {
		read, flaw, err := r.token()
		if err != nil {
			return nil, err
		}
		name, _ := read.(string)
		r.at[len(r.at)-1] = name
		if flaw != "" {
			r.fault("%s", flaw)
		}
		value, err := r.value()
		if err != nil {
			return object, err
		}
		if _, twice := object[name]; twice && !slices.Contains(again, name) {
			r.fault("is given more than once")
			again = append(again, name)
		}
		object[name] = value
	}
	r.at = r.at[:len(r.at)-1]
	_, err := r.decoder.Token()
	return object, err
}

func (r *treeReader) list() (any, error) {
	list := []any{}
	r.at = append(r.at, 0)
	for r.decoder.More() {
		value, err := r.value()
		if err != nil {
			return list, err
		}
		list = append(list, value)
		r.at[len(r.at)-1] = len(list)
	}
	r.at = r.at[:len(r.at)-1]
	_, err := r.decoder.Token()
	return list, err
}

// fault records one at the current place, or counts it if enough are listed.
func (r *treeReader) fault(format string, args ...any) {
	if r.faults.Full() {
		r.faults.Skip(1)
		return
	}
	r.faults.Add(fault.Point(r.at...), format, args...)
}

// malformed describes where a body stops being JSON, in an editor's line and column; the token decoder's position
// differs.
func malformed(body []byte, offset int64, err error) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "the body is empty; a JSON object is wanted"
	}
	var whole any
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(body, &whole)); ok {
		offset, err = syntax.Offset-1, syntax
	}
	before := string(body[:min(max(offset, 0), int64(len(body)))])
	line, column := 1+strings.Count(before, "\n"), len(before)-strings.LastIndex(before, "\n")
	return fmt.Sprintf("malformed JSON at line %d, column %d: %s", line, column, fault.Clip(err.Error()))
}

// readFlawless reads a body that treeReader would accept: JSON in UTF-8 without repeated fields, within all limits. It takes
// half of the time. If ok is false, the body may still be valid.
func readFlawless(body []byte) (tree any, ok bool) {
	fields, values, depth := 0, 1, 0 // outside of texts, JSON has a colon for each field
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			for i++; i < len(body) && body[i] != '"'; i++ {
				if body[i] == '\\' {
					i++
				}
			}
		case ':':
			fields++
		case ',':
			values++
		case '{', '[':
			values++
			if depth++; depth > maxNesting {
				return nil, false
			}
		case '}', ']':
			depth--
		}
	}
	if values > maxValues || exactjson.TextFlaw(body) != "" {
		return nil, false
	}
	tree, err := exactjson.Decode(body)
	if err != nil {
		return nil, false
	}
	kept, ok := keptFields(tree)
	return tree, ok && kept == fields // fewer if one was repeated
}

// keptFields counts the fields of all objects; ok is false if a number is not usable.
func keptFields(tree any) (fields int, ok bool) {
	ok = true
	add := func(member any) {
		more, fine := keptFields(member)
		fields, ok = fields+more, ok && fine
	}
	switch value := tree.(type) {
	case map[string]any:
		fields = len(value)
		for _, member := range value {
			add(member)
		}
	case []any:
		for _, member := range value {
			add(member)
		}
	case json.Number:
		ok = exactjson.NumberFlaw(value) == ""
	}
	return fields, ok
}
