package matcher

import (
	"cmp"
	"encoding/json"
	"errors"
)

// cohereAnswer is an answer of Cohere's chat. Version 2 has a message; version 1 has the
// text and the calls without one, and its counts under meta.
type cohereAnswer struct {
	Error        json.RawMessage `json:"error"`
	Message      json.RawMessage `json:"message"`
	FinishReason json.RawMessage `json:"finish_reason"`
	Usage        json.RawMessage `json:"usage"`

	Text      json.RawMessage `json:"text"`
	ToolCalls json.RawMessage `json:"tool_calls"`
	Meta      json.RawMessage `json:"meta"`
}

// cohereCounts are an answer's tokens, of either version.
type cohereCounts struct {
	Tokens json.RawMessage `json:"tokens"`
	Billed json.RawMessage `json:"billed_units"`
	Cached json.RawMessage `json:"cached_tokens"`
}

// readCohere reads an answer of either version; its usage even where it is an error.
func readCohere(body []byte) (completion, error) {
	var answered cohereAnswer
	if err := decodeAnswer(body, &answered); err != nil {
		return completion{}, err
	}
	if text := errorText(answered.Error); text != "" {
		return completion{}, &serverError{text: text}
	}
	said, plan, err := answered.said()
	if err != nil {
		return completion{}, err
	}
	answer := completion{Text: rawText(said.Content), Usage: answered.usage()}
	if answer.Calls, err = said.calls(); err != nil {
		return completion{}, err
	}
	if err := finished(rawText(answered.FinishReason), "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL"); err != nil {
		return completion{Usage: answer.Usage}, err
	}
	if len(answer.Calls) > 0 {
		answer.Calls[0].Echo = plan
	}
	return answer, nil
}

// said returns what the model said, and its plan, which is not for the user. A message
// that is a text is an error's.
func (a cohereAnswer) said() (said rawMessage, plan string, err error) {
	var message struct {
		rawMessage
		Plan json.RawMessage `json:"tool_plan"`
	}
	switch text := rawText(a.Message); {
	case text != "":
		return said, "", &serverError{text: text}
	case given(a.Message) && json.Unmarshal(a.Message, &message) != nil:
		return said, "", errors.New("the answer has no message that can be read")
	case given(a.Message):
		return message.rawMessage, rawText(message.Plan), nil
	case !given(a.Text) && !given(a.ToolCalls):
		return said, "", errors.New("the answer has no message")
	default:
		return rawMessage{Content: a.Text, ToolCalls: a.ToolCalls}, "", nil
	}
}

// given reports whether a member is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// usage counts the tokens of either version. What was billed stands in for what was
// not counted.
func (a cohereAnswer) usage() Usage {
	var counts cohereCounts
	for _, counted := range []json.RawMessage{a.Meta, a.Usage} {
		_ = json.Unmarshal(counted, &counts) // no usage, no counts
	}
	usage := Usage{Cached: tokenCount(counts.Cached)}
	for _, counted := range []json.RawMessage{counts.Billed, counts.Tokens} {
		tokens := tokenCounts(counted)
		usage.Prompt = cmp.Or(tokens["input_tokens"], usage.Prompt)
		usage.Completion = cmp.Or(tokens["output_tokens"], usage.Completion)
	}
	return usage
}
