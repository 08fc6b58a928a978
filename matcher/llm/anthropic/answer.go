package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"earshot/matcher/llm/provider"
)

// jsonAnswer is an answer of the Messages API. A block stays as it came, since
// thoughts go back to the model as they are.
type jsonAnswer struct {
	Error      json.RawMessage   `json:"error"`
	Content    []json.RawMessage `json:"content"`
	StopReason json.RawMessage   `json:"stop_reason"`
	Usage      json.RawMessage   `json:"usage"`
}

// jsonAnswerBlock is what a block of any type can hold that is read.
type jsonAnswerBlock struct {
	Type  string          `json:"type"`
	Text  json.RawMessage `json:"text"`
	ID    json.RawMessage `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// readAnswer reads an answer; its usage even where it is an error.
func readAnswer(body []byte) (provider.Completion, error) {
	var answered jsonAnswer
	if err := provider.Decode(body, &answered); err != nil {
		return provider.Completion{}, err
	}
	if text := provider.ErrorText(answered.Error); text != "" {
		return provider.Completion{}, &provider.ServerError{Text: text}
	}
	if answered.Content == nil {
		return provider.Completion{}, errors.New("the answer has no content")
	}
	answer, err := answered.content()
	if err != nil {
		return provider.Completion{}, err
	}
	answer.Usage = usageOf(provider.TokenCounts(answered.Usage))
	if err := provider.CheckFinishReason(provider.RawText(answered.StopReason), "end_turn", "stop_sequence", "tool_use"); err != nil {
		return provider.Completion{Usage: answer.Usage}, err
	}
	return answer, nil
}

// content reads the blocks: texts, and calls with the thoughts that stand before them.
func (a jsonAnswer) content() (answer provider.Completion, err error) {
	var thoughts []string
	for _, raw := range a.Content {
		var block jsonAnswerBlock
		if json.Unmarshal(raw, &block) != nil || block.Type == "tool_use" && block.Name == "" {
			return provider.Completion{}, provider.ErrUnreadableCalls
		}
		switch block.Type {
		case "text":
			answer.Text += provider.RawText(block.Text)
		case "thinking", "redacted_thinking":
			thoughts = append(thoughts, string(raw))
		case "tool_use":
			answer.Calls = append(answer.Calls, provider.Call{
				ID: provider.RawText(block.ID), Name: block.Name, Arguments: string(block.Input), Echo: strings.Join(thoughts, ","),
			})
			thoughts = nil
		}
	}
	return answer, nil
}

// usageOf counts what was written to the cache and read from it with the rest:
// Anthropic counts them apart.
func usageOf(counts map[string]int) provider.Usage {
	return provider.Usage{
		Prompt:     counts["input_tokens"] + counts["cache_creation_input_tokens"] + counts["cache_read_input_tokens"],
		Cached:     counts["cache_read_input_tokens"],
		Completion: counts["output_tokens"],
	}
}
