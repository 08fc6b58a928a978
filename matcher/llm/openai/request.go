package openai

import (
	"github.com/sashabaranov/go-openai"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
)

// newRequest renders a request for chat completions. Temperature and the like are left
// alone: reasoning models refuse them.
func newRequest(request provider.Request) openai.ChatCompletionRequest {
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

func toolCalls(calls []provider.Call) []openai.ToolCall {
	var rendered []openai.ToolCall
	for _, call := range calls {
		rendered = append(rendered, openai.ToolCall{
			ID:       call.ID,
			Type:     openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: call.Name, Arguments: arguments.Text(call.Arguments)},
		})
	}
	return rendered
}
