package matcher

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// serverError is an error that came with a good status, as proxies send it.
type serverError struct{ text string }

func (e *serverError) Error() string { return e.text }

var errUnreadableCalls = errors.New("the answer's tool calls cannot be read")

// rawMessage is a message with calls as OpenAI, all that is compatible with it, and
// Cohere write it. Raw members come in several types.
type (
	rawMessage struct {
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

// calls reads a list of calls, or one alone.
func (m *rawMessage) calls() ([]toolCall, error) {
	raw, readable := m.rawCalls()
	if !readable {
		return nil, errUnreadableCalls
	}
	var calls []toolCall
	for _, one := range raw {
		function := one.rawFunction
		if one.Function != nil {
			function = *one.Function
		}
		name := rawText(function.Name)
		if name == "" {
			return nil, errUnreadableCalls
		}
		arguments := function.Arguments
		if len(arguments) == 0 {
			arguments = function.Parameters
		}
		calls = append(calls, toolCall{ID: rawText(one.ID), Name: name, Arguments: argumentsText(arguments)})
	}
	return calls, nil
}

func (m *rawMessage) rawCalls() (calls []rawCall, readable bool) {
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

// argumentsText returns arguments as text, digit for digit, whether they came as a
// string or as JSON.
func argumentsText(raw json.RawMessage) string {
	var written string
	if json.Unmarshal(raw, &written) == nil {
		return written
	}
	return string(raw)
}

// decodeAnswer reads the JSON of an answer into a provider's shape.
func decodeAnswer(body []byte, into any) error {
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

// errorText reads an error that is a text, or an object with a message.
func errorText(raw json.RawMessage) string {
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

// rawText reads a text that may come as a number, as null, or as a list of parts of
// which some are reasoning.
func rawText(raw json.RawMessage) string {
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
			texts = append(texts, rawText(part.Text))
		}
	}
	return strings.Join(texts, "")
}

// tokenCount reads a count that may be written as a fraction. What is none is zero.
func tokenCount(raw json.RawMessage) int {
	var n float64
	_ = json.Unmarshal(raw, &n)
	return int(min(max(0, n), math.MaxInt32))
}

// tokenCounts keeps the counts of an answer's usage.
func tokenCounts(raw json.RawMessage) map[string]int {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // no usage, no counts
	counts := map[string]int{}
	for name, member := range members {
		if n := tokenCount(member); n > 0 {
			counts[name] = n
		}
	}
	return counts
}
