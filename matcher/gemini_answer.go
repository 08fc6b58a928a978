package matcher

import (
	"encoding/json"
	"errors"
	"fmt"
)

// An answer of generateContent. Members may come in other types.
type (
	geminiAnswer struct {
		Error      json.RawMessage   `json:"error"`
		Candidates []geminiCandidate `json:"candidates"`
		Feedback   struct {
			BlockReason json.RawMessage `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage json.RawMessage `json:"usageMetadata"`
	}
	geminiCandidate struct {
		Content struct {
			Parts []geminiAnswerPart `json:"parts"`
		} `json:"content"`
		FinishReason json.RawMessage `json:"finishReason"`
	}
	geminiAnswerPart struct {
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

// readGemini reads an answer, of which the first candidate counts; its usage even where
// it is an error.
func readGemini(body []byte) (completion, error) {
	var answered geminiAnswer
	if err := decodeAnswer(body, &answered); err != nil {
		return completion{}, err
	}
	if text := errorText(answered.Error); text != "" {
		return completion{}, &serverError{text: text}
	}
	if len(answered.Candidates) == 0 {
		if reason := rawText(answered.Feedback.BlockReason); reason != "" {
			return completion{}, fmt.Errorf("the provider's content filter held the request back (%s)", clip(reason, maxFinish))
		}
		return completion{}, errors.New("the answer has no candidates")
	}
	chosen := answered.Candidates[0]
	answer, err := chosen.content()
	if err != nil {
		return completion{}, err
	}
	answer.Usage = geminiUsage(tokenCounts(answered.Usage))
	if err := finished(rawText(chosen.FinishReason), "STOP", "FINISH_REASON_UNSPECIFIED"); err != nil {
		return completion{Usage: answer.Usage}, err
	}
	return answer, nil
}

// content reads the parts: texts that are no thoughts, and calls with their signature.
func (c geminiCandidate) content() (answer completion, err error) {
	for _, part := range c.Content.Parts {
		if part.Call == nil {
			if !part.Thought {
				answer.Text += rawText(part.Text)
			}
			continue
		}
		call := toolCall{
			ID: rawText(part.Call.ID), Name: rawText(part.Call.Name),
			Arguments: argumentsText(part.Call.Args), Echo: rawText(part.Signature),
		}
		if call.Name == "" {
			return completion{}, errUnreadableCalls
		}
		answer.Calls = append(answer.Calls, call)
	}
	return answer, nil
}

// geminiUsage counts thoughts with what was written, as they are charged.
func geminiUsage(counts map[string]int) Usage {
	return Usage{
		Prompt:     counts["promptTokenCount"] + counts["toolUsePromptTokenCount"],
		Cached:     counts["cachedContentTokenCount"],
		Completion: counts["candidatesTokenCount"] + counts["thoughtsTokenCount"],
	}
}
