package matcher

import (
	"encoding/json"
	"errors"
)

// rawCohere is an answer of Cohere's chat. Version 2 has a message; version 1 has the
// text and the calls without one, and its counts under meta.
type rawCohere struct {
	Error        json.RawMessage `json:"error"`
	Message      json.RawMessage `json:"message"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`

	Text      json.RawMessage `json:"text"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Meta      json.RawMessage `json:"meta"`
}

type rawCounts struct {
	Tokens json.RawMessage `json:"tokens"`
	Billed json.RawMessage `json:"billed_units"`
	Cached json.RawMessage `json:"cached_tokens"`
}

// The one shape that the SDK is given.
type (
	plainCohere struct {
		FinishReason string             `json:"finish_reason"`
		Message      plainCohereMessage `json:"message"`
		Usage        map[string]any     `json:"usage"`
	}
	plainCohereMessage struct {
		Role      string              `json:"role"`
		ToolPlan  string              `json:"tool_plan,omitempty"`
		Content   []map[string]string `json:"content,omitempty"`
		ToolCalls []plainCall         `json:"tool_calls,omitempty"`
	}
)

// normaliseCohere rewrites an answer of either version into version 2's shape.
func normaliseCohere(body []byte) ([]byte, error) {
	var raw rawCohere
	if err := decodeAnswer(body, &raw); err != nil {
		return nil, err
	}
	if text := errorText(raw.Error); text != "" {
		return nil, &serverError{text: text}
	}
	said, plan, err := raw.said()
	if err != nil {
		return nil, err
	}
	calls, readable := said.calls()
	if !readable {
		return nil, errors.New("the answer's tool calls cannot be read")
	}
	plain := plainCohere{FinishReason: rawText(raw.FinishReason), Usage: raw.counts()}
	plain.Message = plainCohereMessage{Role: string(roleAssistant), ToolPlan: plan, ToolCalls: calls}
	if text := rawText(said.Content); text != "" {
		plain.Message.Content = []map[string]string{{"type": "text", "text": text}}
	}
	return json.Marshal(plain)
}

// said returns what the model said, and its plan, which is not for the user. A message
// that is a text is an error's.
func (r rawCohere) said() (said rawMessage, plan string, err error) {
	var message struct {
		rawMessage
		Plan json.RawMessage `json:"tool_plan"`
	}
	switch text := rawText(r.Message); {
	case text != "":
		return said, "", &serverError{text: text}
	case given(r.Message) && json.Unmarshal(r.Message, &message) != nil:
		return said, "", errors.New("the answer has no message that can be read")
	case given(r.Message):
		return message.rawMessage, rawText(message.Plan), nil
	case !given(r.Text) && !given(r.ToolCalls):
		return said, "", errors.New("the answer has no message")
	default:
		return rawMessage{Content: r.Text, ToolCalls: r.ToolCalls}, "", nil
	}
}

// given reports whether a member is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// counts renders the tokens of either version. What was billed stands in for what was
// not counted.
func (r rawCohere) counts() map[string]any {
	var counts rawCounts
	for _, counted := range []json.RawMessage{r.Meta, r.Usage} {
		_ = json.Unmarshal(counted, &counts) // no usage, no counts
	}
	tokens := map[string]int{"input_tokens": 0, "output_tokens": 0}
	for _, counted := range []json.RawMessage{counts.Billed, counts.Tokens} {
		for name, n := range tokenCounts(counted) {
			tokens[name] = n
		}
	}
	return map[string]any{"tokens": tokens, "cached_tokens": tokenCount(counts.Cached)}
}
