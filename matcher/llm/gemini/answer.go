package gemini

import (
	"encoding/json"
	"errors"
	"fmt"

	"earshot/matcher/llm/provider"
	"earshot/matcher/text"
)

// An answer of generateContent. Members may come in other types.
type (
	jsonAnswer struct {
		Error      json.RawMessage `json:"error"`
		Candidates []jsonCandidate `json:"candidates"`
		Feedback   struct {
			BlockReason json.RawMessage `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage json.RawMessage `json:"usageMetadata"`
	}
	jsonCandidate struct {
		Content struct {
			Parts []jsonAnswerPart `json:"parts"`
		} `json:"content"`
		FinishReason json.RawMessage `json:"finishReason"`
	}
	jsonAnswerPart struct {
		Text      json.RawMessage `json:"text"`
		Thought   bool            `json:"thought"`
		Signature json.RawMessage `json:"thoughtSignature"`
		Call      *struct {
			ID   json.RawMessage `json:"id"`
			Name json.RawMessage `json:"name"`
			Args json.RawMessage `json:"args"`
		} `json:"functionCall"`
	}
)

// readAnswer reads an answer, of which the first candidate counts; its usage even where
// it is an error.
func readAnswer(body []byte) (provider.Completion, error) {
	var answered jsonAnswer
	if err := provider.Decode(body, &answered); err != nil {
		return provider.Completion{}, err
	}
	if text := provider.ErrorText(answered.Error); text != "" {
		return provider.Completion{}, &provider.ServerError{Text: text}
	}
	if len(answered.Candidates) == 0 {
		if reason := provider.RawText(answered.Feedback.BlockReason); reason != "" {
			return provider.Completion{}, fmt.Errorf("the provider's content filter held the request back (%s)", text.Clip(reason, provider.MaxFinish))
		}
		return provider.Completion{}, errors.New("the answer has no candidates")
	}
	chosen := answered.Candidates[0]
	answer, err := chosen.content()
	if err != nil {
		return provider.Completion{}, err
	}
	answer.Usage = usageOf(provider.TokenCounts(answered.Usage))
	if err := provider.CheckFinishReason(provider.RawText(chosen.FinishReason), "STOP", "FINISH_REASON_UNSPECIFIED"); err != nil {
		return provider.Completion{Usage: answer.Usage}, err
	}
	return answer, nil
}

// content reads the parts: texts that are no thoughts, and calls with their signature.
func (c jsonCandidate) content() (answer provider.Completion, err error) {
	for _, part := range c.Content.Parts {
		if part.Call == nil {
			if !part.Thought {
				answer.Text += provider.RawText(part.Text)
			}
			continue
		}
		call := provider.Call{
			ID: provider.RawText(part.Call.ID), Name: provider.RawText(part.Call.Name),
			Arguments: provider.ArgumentsText(part.Call.Args), Echo: provider.RawText(part.Signature),
		}
		if call.Name == "" {
			return provider.Completion{}, provider.ErrUnreadableCalls
		}
		answer.Calls = append(answer.Calls, call)
	}
	return answer, nil
}

// usageOf counts thoughts with what was written, as they are charged.
func usageOf(counts map[string]int) provider.Usage {
	return provider.Usage{
		Prompt:     counts["promptTokenCount"] + counts["toolUsePromptTokenCount"],
		Cached:     counts["cachedContentTokenCount"],
		Completion: counts["candidatesTokenCount"] + counts["thoughtsTokenCount"],
	}
}
