package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ServerError is an error in the body of an answer with a good status, as some proxies send
// it.
type ServerError struct{ Text string }

// Error is the server's own text.
func (e *ServerError) Error() string { return e.Text }

// ErrUnreadableCalls means that an answer has calls that cannot be read, for example
// without a name.
var ErrUnreadableCalls = errors.New("the answer's tool calls cannot be read")

// RawMessage is a message with tool calls in the JSON of OpenAI, of compatible servers and
// of Cohere. Members of type json.RawMessage come in several JSON types.
type (
	RawMessage struct {
		Content      json.RawMessage `json:"content"`
		Refusal      json.RawMessage `json:"refusal"`
		ToolCalls    json.RawMessage `json:"tool_calls"`
		FunctionCall *rawFunction    `json:"function_call"` // before there were tools
	}
	rawCall struct {
		ID       json.RawMessage `json:"id"`
		Function *rawFunction    `json:"function"`
		rawFunction
	}
	rawFunction struct {
		Name       json.RawMessage `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"` // Cohere's word
	}
)

// Calls reads a list of calls, or a single one.
func (m *RawMessage) Calls() ([]Call, error) {
	raw, readable := m.rawCalls()
	if !readable {
		return nil, ErrUnreadableCalls
	}
	var calls []Call
	for _, one := range raw {
		function := one.rawFunction
		if one.Function != nil {
			function = *one.Function
		}
		name := RawText(function.Name)
		if name == "" {
			return nil, ErrUnreadableCalls
		}
		arguments := function.Arguments
		if len(arguments) == 0 {
			arguments = function.Parameters
		}
		calls = append(calls, Call{ID: RawText(one.ID), Name: name, Arguments: ArgumentsText(arguments)})
	}
	return calls, nil
}

func (m *RawMessage) rawCalls() (calls []rawCall, readable bool) {
	var lone rawCall
	switch {
	case len(m.ToolCalls) == 0 && m.FunctionCall != nil:
		return []rawCall{{Function: m.FunctionCall}}, true
	case len(m.ToolCalls) == 0 || json.Unmarshal(m.ToolCalls, &calls) == nil:
		return calls, true
	case json.Unmarshal(m.ToolCalls, &lone) == nil:
		return []rawCall{lone}, true
	default:
		return nil, false
	}
}

// ArgumentsText returns arguments as text, digit for digit, whether they came as a
// string or as JSON.
func ArgumentsText(raw json.RawMessage) string {
	if text, plain := plainText(raw); plain {
		return text
	}
	var written string
	if json.Unmarshal(raw, &written) == nil {
		return written
	}
	return string(raw)
}

// Decode reads the JSON of an answer into a provider's shape.
func Decode(body []byte, into any) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	switch err := json.Unmarshal(body, into); {
	case len(body) == 0:
		return errors.New("the answer is empty")
	case err != nil && body[0] == '<':
		return errors.New("the answer is HTML, not JSON: check the base URL")
	case err != nil:
		return errors.New("the answer is not the JSON of a completion, or only a part of it")
	default:
		return nil
	}
}

// ErrorText reads an error that is a text, or an object with a message.
func ErrorText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var object struct {
		Message json.RawMessage `json:"message"`
		Code    any             `json:"code"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return ""
	}
	if json.Unmarshal(object.Message, &text) == nil && text != "" {
		return text
	}
	if object.Code != nil {
		return fmt.Sprint(object.Code)
	}
	return ""
}

// RawText reads a text that may come as a number, as null, or as a list of parts, leaving
// out parts that are reasoning.
func RawText(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	if text, plain := plainText(raw); plain {
		return text
	}
	var written string
	if json.Unmarshal(raw, &written) == nil {
		return written
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	var parts []struct {
		Type string          `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var texts []string
	for _, part := range parts {
		if part.Type == "text" || part.Type == "" {
			texts = append(texts, RawText(part.Text))
		}
	}
	return strings.Join(texts, "")
}

// plainText returns what a JSON string says that has nothing escaped.
func plainText(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		return "", false
	}
	return string(raw[1 : len(raw)-1]), true
}

// TokenCount reads a count that may be written as a fraction. Anything that is not a number
// counts as zero.
func TokenCount(raw json.RawMessage) int {
	if n, err := strconv.ParseInt(string(raw), 10, 32); err == nil {
		return int(max(0, n))
	}
	var n float64
	_ = json.Unmarshal(raw, &n)
	return int(min(max(0, n), math.MaxInt32))
}

// TokenCounts reads the token counts of an answer's usage, by their names.
func TokenCounts(raw json.RawMessage) map[string]int {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // no usage, no counts
	counts := map[string]int{}
	for name, member := range members {
		if n := TokenCount(member); n > 0 {
			counts[name] = n
		}
	}
	return counts
}
