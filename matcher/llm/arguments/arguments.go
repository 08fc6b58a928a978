// Package arguments reads what a model wrote as the arguments of a call.
package arguments

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"earshot/matcher/text"
)

// maxWraps bounds how many times arguments may be encoded as a string inside a string.
const maxWraps = 3

var errNoObject = errors.New("the arguments are not a JSON object")

// Read parses what a model wrote as a call's arguments. An empty text means no arguments.
// Text that is not strict JSON is repaired if only one reading is possible: a Markdown
// fence, a doubly encoded object, an object alone in a list, and what relax takes. Anything
// else is an error, above all a text that was cut short: the part that is lost cannot be
// known. Numbers are json.Number, digit for digit.
func Read(text string) (arguments map[string]any, repaired bool, err error) {
	for range maxWraps {
		value, mended, err := ReadValue(text)
		if err != nil {
			return nil, false, err
		}
		repaired = repaired || mended
		if list, is := value.([]any); is && len(list) == 1 {
			value, repaired = list[0], true
		}
		switch value := value.(type) {
		case nil:
			return map[string]any{}, repaired, nil
		case map[string]any:
			return value, repaired, nil
		case string:
			text, repaired = value, true
		default:
			return nil, false, errNoObject
		}
	}
	return nil, false, errNoObject
}

// ReadValue reads one JSON value, strictly or else relaxed. Blank text is null.
func ReadValue(text string) (value any, repaired bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, false, nil
	}
	if value, err := Decode(text); err == nil || errors.Is(err, errDoubled) {
		return value, false, err
	}
	relaxed, err := relax(unfence(text))
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errNoObject, err)
	}
	value, err = Decode(relaxed)
	return value, true, err
}

var fence = regexp.MustCompile("(?s)^```[A-Za-z_]*\\s*(.*?)\\s*```$")

// unfence removes the Markdown fence around a text.
func unfence(text string) string {
	if inner := fence.FindStringSubmatch(text); inner != nil {
		return inner[1]
	}
	return text
}

// Encode converts a value back to text, for arguments that were read out of a larger text.
func Encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "{}"
	}
	return string(text)
}

// maxUnreadable bounds what is sent back of arguments that cannot be read, in bytes.
const maxUnreadable = 2 << 10

// Text renders the arguments of an earlier call. Many servers parse what they
// get back, and refuse the request over arguments that are not JSON.
func Text(arguments string) string {
	if _, err := Decode(arguments); err != nil {
		return Encode(map[string]any{"unreadable": text.Clip(arguments, maxUnreadable)})
	}
	return arguments
}

// Object is Text for providers that accept only objects. No arguments become an empty
// object.
func Object(arguments string) json.RawMessage {
	value, err := Decode(arguments)
	switch value.(type) {
	case map[string]any:
		return json.RawMessage(arguments)
	case nil:
		if err == nil || strings.TrimSpace(arguments) == "" {
			return json.RawMessage("{}")
		}
	}
	return json.RawMessage(Encode(map[string]any{"unreadable": text.Clip(arguments, maxUnreadable)}))
}
