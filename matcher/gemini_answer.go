package matcher

import (
	"encoding/json"
	"errors"
	"fmt"
)

// The shapes of an answer of generateContent. Members may come in other types.
type (
	rawGemini struct {
		Error      json.RawMessage      `json:"error"`
		Candidates []rawGeminiCandidate `json:"candidates"`
		Feedback   struct {
			BlockReason json.RawMessage `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage json.RawMessage `json:"usageMetadata"`
	}
	rawGeminiCandidate struct {
		Content struct {
			Parts []rawGeminiPart `json:"parts"`
		} `json:"content"`
		FinishReason json.RawMessage `json:"finishReason"`
	}
	rawGeminiPart struct {
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

// The one shape that the SDK is given.
type (
	plainGemini struct {
		Candidates []plainCandidate `json:"candidates"`
		Usage      map[string]int   `json:"usageMetadata"`
	}
	plainCandidate struct {
		Content      plainContent `json:"content"`
		FinishReason string       `json:"finishReason"`
	}
	plainContent struct {
		Role  string      `json:"role"`
		Parts []plainPart `json:"parts"`
	}
	plainPart struct {
		Text      string           `json:"text,omitempty"`
		Signature []byte           `json:"thoughtSignature,omitempty"`
		Call      *plainGeminiCall `json:"functionCall,omitempty"`
	}
	plainGeminiCall struct {
		ID   string         `json:"id,omitempty"`
		Name string         `json:"name"`
		Args map[string]any `json:"args,omitempty"`
	}
)

// normaliseGemini rewrites an answer into the shape that the SDK decodes: its first
// candidate, without thoughts, with arguments that keep their digits.
func normaliseGemini(body []byte) ([]byte, error) {
	var raw rawGemini
	if err := decodeAnswer(body, &raw); err != nil {
		return nil, err
	}
	if text := errorText(raw.Error); text != "" {
		return nil, &serverError{text: text}
	}
	if len(raw.Candidates) == 0 {
		if reason := rawText(raw.Feedback.BlockReason); reason != "" {
			return nil, fmt.Errorf("the provider's content filter held the request back (%s)", clip(reason, mostFinish))
		}
		return nil, errors.New("the answer has no candidates")
	}
	first := raw.Candidates[0]
	plain := plainCandidate{FinishReason: rawText(first.FinishReason), Content: plainContent{Role: "model"}}
	for _, part := range first.Content.Parts {
		read, readable := part.plain()
		if !readable {
			return nil, errors.New("the answer's tool calls cannot be read")
		}
		plain.Content.Parts = append(plain.Content.Parts, read)
	}
	return json.Marshal(plainGemini{Candidates: []plainCandidate{plain}, Usage: tokenCounts(raw.Usage)})
}

// plain reads a part; a thought has nothing to say.
func (p rawGeminiPart) plain() (part plainPart, readable bool) {
	part.Signature = []byte(rawText(p.Signature))
	if p.Call == nil {
		if !p.Thought {
			part.Text = rawText(p.Text)
		}
		return part, true
	}
	part.Call = &plainGeminiCall{ID: rawText(p.Call.ID), Name: rawText(p.Call.Name)}
	if len(p.Call.Args) > 0 {
		part.Call.Args = exact(json.RawMessage(rawFunction{Arguments: p.Call.Args}.given()))
	}
	return part, part.Call.Name != ""
}
