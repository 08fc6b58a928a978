// Package exactjson reads and writes JSON whose numbers keep their digits: 9007199254740993
// does not pass through a float, and 1.0 equals 1 without being rounded to it.
package exactjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Encode writes a value as JSON for events, records and answers. Unlike json.Marshal it
// leaves & < > as they are: nothing of that is put into a page, and a text of them would
// be six times as long as what was said.
func Encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// EncodeOrNull writes a value that came out of JSON; null is what is written for another
// that JSON has no form of.
func EncodeOrNull(value any) []byte {
	text, err := Encode(value)
	if err != nil {
		return []byte("null")
	}
	return text
}

// Unmarshal is json.Unmarshal that keeps numbers as written.
func Unmarshal(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// ErrMore is the error of a text that goes on behind its value.
var ErrMore = errors.New("not JSON: there is more after the value")

// Decode reads one JSON value and keeps its numbers as written.
func Decode(raw []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, ErrMore
	}
	return value, nil
}

// Object writes a JSON object whose fields keep the order in which they were
// added; a Go map would sort them.
type Object struct{ text bytes.Buffer }

// Add writes a field behind the others.
func (o *Object) Add(name string, value any) error {
	key, err := Encode(name)
	if err != nil {
		return err
	}
	field, err := Encode(value)
	if err != nil {
		return err
	}
	if o.text.Len() > 0 {
		o.text.WriteByte(',')
	}
	o.text.Write(key)
	o.text.WriteByte(':')
	o.text.Write(field)
	return nil
}

// JSON returns the object.
func (o *Object) JSON() json.RawMessage {
	return json.RawMessage("{" + o.text.String() + "}")
}

// Keys returns the keys of a JSON object in the order in which they stand.
func Keys(raw []byte) ([]string, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	var keys []string
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		keys = append(keys, name)
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
