package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories/exactjson"
)

// Limits on arguments.
const (
	maxWraps      = 3       // times that they may be encoded as a string inside a string
	maxDepth      = 64      // nesting depth of a value
	maxUnreadable = 2 << 10 // bytes of unreadable arguments that are sent back
	maxQuoted     = 100     // and that an error quotes
)

var (
	errNoObject = errors.New("the arguments are not a JSON object")
	// errDoubled is the error for an object with two values for one member. RFC 8259 leaves open which one counts,
	// so the meaning is uncertain.
	errDoubled = errors.New("a member is given twice, with different values")
)

// ReadArguments parses a model's arguments of a call. An empty text means no arguments. Text that is not strict
// JSON is repaired if only one reading is possible: a Markdown fence, a doubly encoded object, an object alone in a
// list, and the cases of relax. Anything else is an error, above all truncated text, whose lost part is unknown.
// Numbers are json.Number with all their digits.
func ReadArguments(text string) (arguments map[string]any, repaired bool, err error) {
	for range maxWraps {
		value, relaxed, err := readValue(text)
		if err != nil {
			return nil, false, err
		}
		repaired = repaired || relaxed
		if list, ok := value.([]any); ok && len(list) == 1 {
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

var fence = regexp.MustCompile("(?s)^```[A-Za-z_]*\\s*(.*?)\\s*```$")

// readValue reads one JSON value, strictly or else relaxed. Blank text is null.
func readValue(text string) (value any, repaired bool, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, false, nil
	}
	if value, err := decodeJSON(text); err == nil || errors.Is(err, errDoubled) {
		return value, false, err
	}
	if fenced := fence.FindStringSubmatch(text); fenced != nil {
		text = fenced[1]
	}
	relaxed, err := relax(text)
	if err != nil {
		return nil, false, fmt.Errorf("%w: %w", errNoObject, err)
	}
	if value, err = decodeJSON(relaxed); err != nil && !errors.Is(err, errDoubled) {
		err = fmt.Errorf("%w: %w", errNoObject, err)
	}
	return value, true, err
}

// unreadableDetail describes unreadable arguments to people. The user did nothing wrong, so it says what helps.
func unreadableDetail(tool, arguments string, err error) string {
	return fmt.Sprintf("the model called %s with %s, and %s; send the words again, or name another model in settings.llm.tools",
		tool, text.Clip(arguments, maxQuoted), err)
}

// decodeJSON decodes a text that is exactly one JSON value. Numbers stay json.Number.
func decodeJSON(text string) (any, error) {
	if value, err := exactjson.Decode([]byte(text)); err == nil && membersIn(value, maxDepth) == strings.Count(text, ":") {
		return value, nil // no member name is repeated
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	value, err := decodeValue(decoder, maxDepth)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("the text ends before the value does")
	}
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// membersIn counts the members of all objects in a value. It is negative if the value nests too deep.
func membersIn(value any, depth int) (n int) {
	if depth == 0 {
		return math.MinInt32
	}
	switch value := value.(type) {
	case map[string]any:
		n = len(value)
		for _, member := range value {
			n += membersIn(member, depth-1)
		}
	case []any:
		for _, element := range value {
			n += membersIn(element, depth-1)
		}
	}
	return n
}

func decodeValue(decoder *json.Decoder, depth int) (value any, err error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		return nil, errors.New("the value nests too deep")
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			member, err := decodeValue(decoder, depth-1)
			if err != nil {
				return nil, err
			}
			name := key.(string) // the decoder accepts no other key
			if earlier, twice := object[name]; twice && !reflect.DeepEqual(earlier, member) {
				return nil, fmt.Errorf("%w: %s", errDoubled, text.Clip(name, 80))
			}
			object[name] = member
		}
		value = object
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			element, err := decodeValue(decoder, depth-1)
			if err != nil {
				return nil, err
			}
			list = append(list, element)
		}
		value = list
	default:
		return token, nil
	}
	_, err = decoder.Token() // the closing bracket
	return value, err
}

// relax rewrites near-JSON as JSON, token by token: strings in other quotes or with raw line breaks, keys without
// quotes, Python's True, False and None, a trailing comma, surplus closing brackets. It completes nothing:
// decodeJSON still refuses truncated text, an invalid number or a string that ends twice. General repairers
// complete such texts, and thus invent values.
func relax(written string) (string, error) {
	r, depth, begun := relaxer{rest: written}, 0, false
	for {
		r.rest = strings.TrimLeft(r.rest, " \t\r\n\ufeff\u00a0")
		if r.rest == "" {
			return r.out.String(), nil
		}
		if begun && depth == 0 { // a whole object or list was read
			if strings.Trim(r.rest, "}]; \t\r\n") != "" {
				return "", fmt.Errorf("something follows the value: %s", text.Clip(r.rest, 40))
			}
			return r.out.String(), nil
		}
		first, size := utf8.DecodeRuneInString(r.rest)
		closing, opens := quotePairs[first]
		var err error
		switch {
		case opens:
			err = r.quoted(r.rest[size:], closing)
		case !strings.ContainsRune("{}[],:", first):
			err = r.bare()
		case first == ',' && trailingComma.MatchString(r.rest):
			r.rest = r.rest[size:]
		default:
			if first == '{' || first == '[' {
				begun = true
				depth++
			} else if first == '}' || first == ']' {
				depth--
			}
			r.out.WriteRune(first)
			r.rest = r.rest[size:]
		}
		if err != nil {
			return "", err
		}
	}
}

type relaxer struct {
	rest string
	out  strings.Builder
}

var (
	// quotePairs maps opening to closing quotes.
	quotePairs    = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’'}
	trailingComma = regexp.MustCompile(`^,[ \t\r\n]*[}\]]`)
	bareWord      = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$-]*`)
	bareNumber    = regexp.MustCompile(`^-?[0-9][0-9eE.+-]*`)
	keyFollows    = regexp.MustCompile(`^\s*:`)
	literals      = map[string]string{"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
)

// quoted copies a string up to its closing quote, escaping quotes and control characters as JSON requires. \' is
// not a JSON escape and can only mean the quote.
func (r *relaxer) quoted(written string, closing rune) error {
	r.out.WriteByte('"')
	escaped := false
	for i, c := range written {
		switch {
		case escaped:
			if c != '\'' {
				r.out.WriteByte('\\')
			}
			r.out.WriteRune(c)
			escaped = false
		case c == closing:
			r.out.WriteByte('"')
			r.rest = written[i+utf8.RuneLen(c):]
			return nil
		case c == '\\':
			escaped = true
		case c == '"' || c < ' ':
			fmt.Fprintf(&r.out, `\u%04x`, c) // RFC 8259, section 7
		default:
			r.out.WriteRune(c)
		}
	}
	return errors.New("a string does not end")
}

// bare copies an unquoted token: a key, a literal, or a number, which decodeJSON checks.
func (r *relaxer) bare() error {
	if number := bareNumber.FindString(r.rest); number != "" {
		r.out.WriteString(number + " ")
		r.rest = r.rest[len(number):]
		return nil
	}
	word := bareWord.FindString(r.rest)
	after := r.rest[len(word):]
	literal, known := literals[word]
	switch {
	case word == "":
		return fmt.Errorf("unexpected text: %s", text.Clip(r.rest, 40))
	case keyFollows.MatchString(after):
		r.out.WriteString(encodeJSON(word))
	case known:
		r.out.WriteString(literal + " ")
	default:
		return fmt.Errorf("a text without quotes: %s", text.Clip(word, 40))
	}
	r.rest = after
	return nil
}

func encodeJSON(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		return "{}"
	}
	return string(written)
}

// readable returns the arguments of an earlier call as JSON. Many servers parse them and refuse the request if they
// are not JSON; invalid ones are wrapped in an object.
func (c toolCall) readable() string {
	if c.ours {
		return c.arguments
	}
	if _, err := decodeJSON(c.arguments); err != nil {
		return unreadable(c.arguments)
	}
	return c.arguments
}

// object is readable for providers that accept only objects. No arguments become an empty object.
func (c toolCall) object() json.RawMessage {
	if c.ours {
		return json.RawMessage(c.arguments)
	}
	value, err := decodeJSON(c.arguments)
	if _, ok := value.(map[string]any); ok {
		return json.RawMessage(c.arguments)
	}
	if value == nil && (err == nil || strings.TrimSpace(c.arguments) == "") {
		return json.RawMessage("{}")
	}
	return json.RawMessage(unreadable(c.arguments))
}

func unreadable(arguments string) string {
	return encodeJSON(map[string]any{"unreadable": text.Clip(arguments, maxUnreadable)})
}
