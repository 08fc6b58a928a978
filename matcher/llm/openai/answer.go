package openai

import (
	"encoding/json"
	"errors"

	"earshot/matcher/llm/provider"
)

// The shapes in which compatible servers answer. Raw members come in several types.
type (
	jsonAnswer struct {
		Error   json.RawMessage `json:"error"`
		Choices []jsonChoice    `json:"choices"`
		Usage   json.RawMessage `json:"usage"`
	}
	jsonChoice struct {
		Message      *provider.RawMessage `json:"message"`
		FinishReason json.RawMessage      `json:"finish_reason"`
	}
)

// The one shape that go-openai is given.
type (
	plainAnswer struct {
		Choices []plainChoice  `json:"choices"`
		Usage   map[string]any `json:"usage,omitempty"`
	}
	plainChoice struct {
		Message      plainMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	}
	plainMessage struct {
		Role      string      `json:"role"`
		Content   string      `json:"content"`
		ToolCalls []plainCall `json:"tool_calls,omitempty"`
	}
	plainCall struct {
		ID       string        `json:"id"`
		Type     string        `json:"type"`
		Function plainFunction `json:"function"`
	}
	plainFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
)

// normalise rewrites an answer into the shape that go-openai decodes: arguments as a
// string that holds what came, digit for digit; content as a text; no nulls. Members
// that nobody reads are dropped, whatever their type.
func normalise(body []byte) ([]byte, error) {
	var raw jsonAnswer
	if err := provider.Decode(body, &raw); err != nil {
		return nil, err
	}
	if text := provider.ErrorText(raw.Error); text != "" {
		return nil, &provider.ServerError{Text: text}
	}
	plain := plainAnswer{Usage: tokens(raw.Usage)}
	for _, choice := range raw.Choices {
		if choice.Message == nil {
			continue
		}
		if refusal := provider.RawText(choice.Message.Refusal); refusal != "" {
			return nil, errors.New("the model refused to answer")
		}
		calls, err := choice.Message.Calls()
		if err != nil {
			return nil, err
		}
		plain.Choices = append(plain.Choices, choice.plain(calls))
	}
	if len(plain.Choices) == 0 {
		return nil, errors.New("the answer has no choices")
	}
	return json.Marshal(plain)
}

func (c jsonChoice) plain(calls []provider.Call) plainChoice {
	plain := plainChoice{
		FinishReason: provider.RawText(c.FinishReason),
		Message:      plainMessage{Role: string(provider.Assistant), Content: provider.RawText(c.Message.Content)},
	}
	for _, call := range calls {
		plain.Message.ToolCalls = append(plain.Message.ToolCalls, plainCall{
			ID: call.ID, Type: "function", Function: plainFunction{Name: call.Name, Arguments: call.Arguments},
		})
	}
	return plain
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
		"prompt_tokens":         provider.TokenCount(counted.Prompt),
		"completion_tokens":     provider.TokenCount(counted.Completion),
		"prompt_tokens_details": map[string]int{"cached_tokens": provider.TokenCount(details.Cached)},
	}
}
