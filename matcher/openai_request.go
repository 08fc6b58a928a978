package matcher

import (
	"encoding/json"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// dialect renders a request for chat completions. Temperature and the like are left
// alone: reasoning models refuse them.
func dialect(request completionRequest) openai.ChatCompletionRequest {
	rendered := openai.ChatCompletionRequest{Model: request.Model}
	for _, one := range request.Messages {
		rendered.Messages = append(rendered.Messages, openai.ChatCompletionMessage{
			Role:       string(one.Role),
			Content:    one.Text,
			ToolCalls:  toolCalls(one.Calls),
			ToolCallID: one.CallID,
		})
	}
	for _, tool := range request.Tools {
		rendered.Tools = append(rendered.Tools, openai.Tool{
			Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{
				Name: tool.Name, Description: tool.Description, Parameters: tool.Schema,
			},
		})
	}
	if len(rendered.Tools) > 0 {
		// Both are refused in a request without tools.
		rendered.ToolChoice, rendered.ParallelToolCalls = "auto", true
	}
	return rendered
}

func toolCalls(calls []toolCall) []openai.ToolCall {
	var rendered []openai.ToolCall
	for _, call := range calls {
		rendered = append(rendered, openai.ToolCall{
			ID:       call.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: sentArguments(call.Arguments)},
		})
	}
	return rendered
}

// sentArguments renders the arguments of an earlier call. Many servers parse what they
// get back, and refuse the request over arguments that are not JSON.
func sentArguments(arguments string) string {
	if _, err := decodeStrict(arguments); err != nil {
		return encode(map[string]any{"unreadable": clip(arguments, mostResult)})
	}
	return arguments
}

// sentObject is sentArguments for providers that take objects alone. No arguments are
// an empty one.
func sentObject(arguments string) json.RawMessage {
	value, err := decodeStrict(arguments)
	switch value.(type) {
	case map[string]any:
		return json.RawMessage(arguments)
	case nil:
		if err == nil || strings.TrimSpace(arguments) == "" {
			return json.RawMessage("{}")
		}
	}
	return json.RawMessage(encode(map[string]any{"unreadable": clip(arguments, mostResult)}))
}
