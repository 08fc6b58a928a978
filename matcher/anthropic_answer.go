package matcher

import (
	"encoding/json"
	"errors"
	"strings"
)

// anthropicAnswer is an answer of the Messages API. A block stays as it came, since
// thoughts go back to the model as they are.
type anthropicAnswer struct {
	Error      json.RawMessage   `json:"error"`
	Content    []json.RawMessage `json:"content"`
	StopReason json.RawMessage   `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

// anthropicAnswerBlock is what a block of any type can hold that is read.
type anthropicAnswerBlock struct {
	Type  string          `json:"type"`
	Text  json.RawMessage `json:"text"`
	ID    json.RawMessage `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// readAnthropic reads an answer; its usage even where it is an error.
func readAnthropic(body []byte) (completion, error) {
	var answered anthropicAnswer
	if err := decodeAnswer(body, &answered); err != nil {
		return completion{}, err
	}
	if text := errorText(answered.Error); text != "" {
		return completion{}, &serverError{text: text}
	}
	if answered.Content == nil {
		return completion{}, errors.New("the answer has no content")
	}
	answer, err := answered.content()
	if err != nil {
		return completion{}, err
	}
	answer.Usage = anthropicUsage(tokenCounts(answered.Usage))
	if err := finished(rawText(answered.StopReason), "end_turn", "stop_sequence", "tool_use"); err != nil {
		return completion{Usage: answer.Usage}, err
	}
	return answer, nil
}

// content reads the blocks: texts, and calls with the thoughts that stand before them.
func (a anthropicAnswer) content() (answer completion, err error) {
	var thoughts []string
	for _, raw := range a.Content {
		var block anthropicAnswerBlock
		if json.Unmarshal(raw, &block) != nil || block.Type == "tool_use" && block.Name == "" {
			return completion{}, errUnreadableCalls
		}
		switch block.Type {
		case "text":
			answer.Text += rawText(block.Text)
		case "thinking", "redacted_thinking":
			thoughts = append(thoughts, string(raw))
		case "tool_use":
			answer.Calls = append(answer.Calls, toolCall{
				ID: rawText(block.ID), Name: block.Name, Arguments: string(block.Input), Echo: strings.Join(thoughts, ","),
			})
			thoughts = nil
		}
	}
	return answer, nil
}

// anthropicUsage counts what was written to the cache and read from it with the rest:
// Anthropic counts them apart.
func anthropicUsage(counts map[string]int) Usage {
	return Usage{
		Prompt:     counts["input_tokens"] + counts["cache_creation_input_tokens"] + counts["cache_read_input_tokens"],
		Cached:     counts["cache_read_input_tokens"],
		Completion: counts["output_tokens"],
	}
}
