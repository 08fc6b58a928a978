package matcher

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
)

// normalise rewrites an answer into the shape that go-openai decodes: arguments as a
// string that holds what came, digit for digit; content as a text; no nulls. Members
// that nobody reads are dropped, whatever their type.
func normalise(body []byte) ([]byte, error) {
	var raw rawAnswer
	if err := decodeAnswer(body, &raw); err != nil {
		return nil, err
	}
	if text := errorText(raw.Error); text != "" {
		return nil, &serverError{text: text}
	}
	plain := plainAnswer{Usage: tokens(raw.Usage)}
	for _, choice := range raw.Choices {
		if choice.Message == nil {
			continue
		}
		if refusal := rawText(choice.Message.Refusal); refusal != "" {
			return nil, errors.New("the model refused to answer")
		}
		calls, readable := choice.Message.calls()
		if !readable {
			return nil, errors.New("the answer's tool calls cannot be read")
		}
		plain.Choices = append(plain.Choices, choice.plain(calls))
	}
	if len(plain.Choices) == 0 {
		return nil, errors.New("the answer has no choices")
	}
	return json.Marshal(plain)
}

func (c rawChoice) plain(calls []plainCall) plainChoice {
	return plainChoice{
		FinishReason: rawText(c.FinishReason),
		Message: plainMessage{
			Role:      string(roleAssistant),
			Content:   rawText(c.Message.Content),
			ToolCalls: calls,
		},
	}
}

// calls reads a list of calls, or one alone.
func (m *rawMessage) calls() (plain []plainCall, readable bool) {
	calls, readable := m.given()
	for _, call := range calls {
		function := call.rawFunction
		if call.Function != nil {
			function = *call.Function
		}
		name := rawText(function.Name)
		readable = readable && name != ""
		plain = append(plain, plainCall{
			ID: rawText(call.ID), Type: "function",
			Function: plainFunction{Name: name, Arguments: function.given()},
		})
	}
	return plain, readable
}

func (m *rawMessage) given() (calls []rawCall, readable bool) {
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

// given returns the arguments as text, whether they came as a string or as JSON.
func (f rawFunction) given() string {
	raw := f.Arguments
	if len(raw) == 0 {
		raw = f.Parameters
	}
	var written string
	if json.Unmarshal(raw, &written) == nil {
		return written
	}
	return string(raw)
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

// tokens keeps the counts.
func tokens(raw json.RawMessage) map[string]any {
	var counted struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
		Details    json.RawMessage `json:"prompt_tokens_details"`
	}
	var details struct {
		Cached json.RawMessage `json:"cached_tokens"`
	}
	_ = json.Unmarshal(raw, &counted) // no count is zero
	_ = json.Unmarshal(counted.Details, &details)
	return map[string]any{
		"prompt_tokens":         tokenCount(counted.Prompt),
		"completion_tokens":     tokenCount(counted.Completion),
		"prompt_tokens_details": map[string]int{"cached_tokens": tokenCount(details.Cached)},
	}
}

// tokenCount reads a count that may be written as a fraction. What is none is zero.
func tokenCount(raw json.RawMessage) int {
	var n float64
	_ = json.Unmarshal(raw, &n)
	return int(min(max(0, n), math.MaxInt32))
}
