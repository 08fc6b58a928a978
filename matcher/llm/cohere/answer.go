package cohere

import (
	"cmp"
	"encoding/json"
	"errors"

	"earshot/matcher/llm/provider"
)

// jsonAnswer is an answer of Cohere's chat. Version 2 has a message; version 1 has the
// text and the calls without one, and its counts under meta.
type jsonAnswer struct {
	Error        json.RawMessage `json:"error"`
	Message      json.RawMessage `json:"message"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`

	Text      json.RawMessage `json:"text"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Meta      json.RawMessage `json:"meta"`
}

// jsonCounts are an answer's tokens, of either version.
type jsonCounts struct {
	Tokens json.RawMessage `json:"tokens"`
	Billed json.RawMessage `json:"billed_units"`
	Cached json.RawMessage `json:"cached_tokens"`
}

// readAnswer reads an answer of either version; its usage even where it is an error.
func readAnswer(body []byte) (provider.Completion, error) {
	var answered jsonAnswer
	if err := provider.Decode(body, &answered); err != nil {
		return provider.Completion{}, err
	}
	if text := provider.ErrorText(answered.Error); text != "" {
		return provider.Completion{}, &provider.ServerError{Text: text}
	}
	said, plan, err := answered.said()
	if err != nil {
		return provider.Completion{}, err
	}
	answer := provider.Completion{Text: provider.RawText(said.Content), Usage: answered.usage()}
	if answer.Calls, err = said.Calls(); err != nil {
		return provider.Completion{}, err
	}
	if err := provider.CheckFinishReason(provider.RawText(answered.FinishReason), "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL"); err != nil {
		return provider.Completion{Usage: answer.Usage}, err
	}
	if len(answer.Calls) > 0 {
		answer.Calls[0].Echo = plan
	}
	return answer, nil
}

// said returns what the model said, and its plan, which is not for the user. A message
// that is a text is an error's.
func (a jsonAnswer) said() (said provider.RawMessage, plan string, err error) {
	var message struct {
		provider.RawMessage
		Plan json.RawMessage `json:"tool_plan"`
	}
	switch text := provider.RawText(a.Message); {
	case text != "":
		return said, "", &provider.ServerError{Text: text}
	case present(a.Message) && json.Unmarshal(a.Message, &message) != nil:
		return said, "", errors.New("the answer has no message that can be read")
	case present(a.Message):
		return message.RawMessage, provider.RawText(message.Plan), nil
	case !present(a.Text) && !present(a.ToolCalls):
		return said, "", errors.New("the answer has no message")
	default:
		return provider.RawMessage{Content: a.Text, ToolCalls: a.ToolCalls}, "", nil
	}
}

// present reports whether a member is there and not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// usage counts the tokens of either version. What was billed stands in for what was
// not counted.
func (a jsonAnswer) usage() provider.Usage {
	var counts jsonCounts
	for _, counted := range []json.RawMessage{a.Meta, a.Usage} {
		_ = json.Unmarshal(counted, &counts) // no usage, no counts
	}
	usage := provider.Usage{Cached: provider.TokenCount(counts.Cached)}
	for _, counted := range []json.RawMessage{counts.Billed, counts.Tokens} {
		tokens := provider.TokenCounts(counted)
		usage.Prompt = cmp.Or(tokens["input_tokens"], usage.Prompt)
		usage.Completion = cmp.Or(tokens["output_tokens"], usage.Completion)
	}
	return usage
}
