package openai

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

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

// answer is a completion, with why each part of it ends.
type answer struct {
	provider.Completion
	reasons []string
}

// empty is the answer that go-openai reads.
var empty = []byte("{}")

// normalise reads an answer for the exchange of the context: arguments as a string that
// holds what came, digit for digit; content as a text; no nulls. Members that nobody reads
// are dropped, whatever their type.
func normalise(ctx context.Context, body []byte) ([]byte, error) {
	one := ctx.Value(asked{}).(*exchange)
	var err error
	one.answer, err = read(body)
	return empty, err
}

func read(body []byte) (answer, error) {
	var raw jsonAnswer
	if err := provider.Decode(body, &raw); err != nil {
		return answer{}, err
	}
	if text := provider.ErrorText(raw.Error); text != "" {
		return answer{}, &provider.ServerError{Text: text}
	}
	var found answer
	for _, choice := range raw.Choices {
		// Some proxies spread the parts of one answer over several choices.
		if choice.Message == nil {
			continue
		}
		if refusal := provider.RawText(choice.Message.Refusal); refusal != "" {
			return answer{}, errors.New("the model refused to answer")
		}
		calls, err := choice.Message.Calls()
		if err != nil {
			return answer{}, err
		}
		found.Calls = append(found.Calls, calls...)
		found.Text = strings.TrimSpace(found.Text + "\n" + provider.RawText(choice.Message.Content))
		found.reasons = append(found.reasons, provider.RawText(choice.FinishReason))
	}
	if len(found.reasons) == 0 {
		return answer{}, errors.New("the answer has no choices")
	}
	found.Usage = tokens(raw.Usage)
	return found, nil
}

// tokens reads the counts.
func tokens(raw json.RawMessage) provider.Usage {
	var counted struct {
		Prompt     json.RawMessage `json:"prompt_tokens"`
		Completion json.RawMessage `json:"completion_tokens"`
		Details    json.RawMessage `json:"prompt_tokens_details"`
	}
	var details struct {
		Cached json.RawMessage `json:"cached_tokens"`
	}
	_ = json.Unmarshal(raw, &counted) // no count is zero
	if len(counted.Details) > 0 {
		_ = json.Unmarshal(counted.Details, &details)
	}
	return provider.Usage{
		Prompt: provider.TokenCount(counted.Prompt), Completion: provider.TokenCount(counted.Completion), Cached: provider.TokenCount(details.Cached),
	}
}
