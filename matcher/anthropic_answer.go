package matcher

import (
	"encoding/json"
	"errors"
)

// rawMessages is an answer of the Messages API. Blocks stay as they came.
type rawMessages struct {
	Error      json.RawMessage   `json:"error"`
	Content    []json.RawMessage `json:"content"`
	StopReason json.RawMessage   `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

// plainMessages is what the SDK is given.
type plainMessages struct {
	Type       string            `json:"type"`
	Role       string            `json:"role"`
	Content    []json.RawMessage `json:"content"`
	StopReason string            `json:"stop_reason"`
	Usage      map[string]int    `json:"usage"`
}

// normaliseAnthropic checks an answer's shape, and drops what nobody reads.
func normaliseAnthropic(body []byte) ([]byte, error) {
	var raw rawMessages
	if err := decodeAnswer(body, &raw); err != nil {
		return nil, err
	}
	if text := errorText(raw.Error); text != "" {
		return nil, &serverError{text: text}
	}
	if raw.Content == nil {
		return nil, errors.New("the answer has no content")
	}
	for _, block := range raw.Content {
		if !readableBlock(block) {
			return nil, errors.New("the answer's tool calls cannot be read")
		}
	}
	return json.Marshal(plainMessages{
		Type: "message", Role: string(roleAssistant), Content: raw.Content,
		StopReason: rawText(raw.StopReason), Usage: tokenCounts(raw.Usage),
	})
}

// readableBlock reports whether a block is an object, and one that calls names a tool.
func readableBlock(block json.RawMessage) bool {
	var read struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	return json.Unmarshal(block, &read) == nil && (read.Type != "tool_use" || read.Name != "")
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
