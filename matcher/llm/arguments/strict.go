package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"earshot/matcher/text"
)

// maxDepth bounds how deep a value may nest.
const maxDepth = 64

// errDoubled is the error for an object that gives one member two values. It is
// well-formed, and RFC 8259 leaves open which value holds, so that no reading is certain.
var errDoubled = errors.New("a member is given twice, with different values")

// Decode decodes a text that is one JSON value and nothing else. Numbers stay
// json.Number.
func Decode(text string) (any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, err := decodeValue(decoder, maxDepth)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

func decodeValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, unexpected(err)
	}
	switch {
	case depth == 0:
		return nil, errors.New("the value nests too deep")
	case token == json.Delim('{'):
		return decodeObject(decoder, depth-1)
	case token == json.Delim('['):
		return decodeList(decoder, depth-1)
	default:
		return token, nil
	}
}

func decodeObject(decoder *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		name := key.(string) // the decoder takes nothing else for a key
		if earlier, twice := object[name]; twice && !reflect.DeepEqual(earlier, value) {
			return nil, fmt.Errorf("%w: %s", errDoubled, text.Clip(name, 80))
		}
		object[name] = value
	}
	_, err := decoder.Token()
	return object, unexpected(err)
}

func decodeList(decoder *json.Decoder, depth int) (any, error) {
	list := []any{}
	for decoder.More() {
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := decoder.Token()
	return list, unexpected(err)
}

// unexpected describes a premature end of the text to the model that wrote it.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the text ends before the value does")
	}
	return err
}
