package openai

import (
	"encoding/json"

	"github.com/sashabaranov/go-openai"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
)

// newRequest renders a request for chat completions but for its tools, which sender adds.
// Temperature and the like are left alone: reasoning models refuse them.
func newRequest(request provider.Request) openai.ChatCompletionRequest {
	rendered := openai.ChatCompletionRequest{Model: request.Model, Messages: make([]openai.ChatCompletionMessage, len(request.Messages))}
	for i, one := range request.Messages {
		rendered.Messages[i] = openai.ChatCompletionMessage{
			Role:       string(one.Role),
			Content:    one.Text,
			ToolCalls:  toolCalls(one.Calls),
			ToolCallID: one.CallID,
		}
	}
	return rendered
}

// toolsOf renders the tools. That the model chooses among them, and may call several, is
// the default, which some models refuse to be told.
func toolsOf(tools []*provider.Tool) []json.RawMessage {
	rendered := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		rendered[i] = tool.Written("openai", func(tool *provider.Tool) any {
			return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
				Name: tool.Name, Description: tool.Description, Parameters: tool.Schema,
			}}
		})
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
