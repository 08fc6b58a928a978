// Package langchain converts tools between Earshot and langchaingo. As a module of its own it keeps langchaingo out of the client.
package langchain

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/tools"

	earshot "earshot/deploy/clients/go"
)

var _ tools.Tool = (*earshot.AgentTool)(nil)

// Tools are for an agent of langchaingo. Its model writes the values as a JSON object, as the descriptions say.
func Tools(of []*earshot.AgentTool) []tools.Tool {
	list := make([]tools.Tool, len(of))
	for i, tool := range of {
		list[i] = tool
	}
	return list
}

// Definitions are for llms.WithTools, with JSON Schemas as maps, since the providers of Google take nothing else.
func Definitions(of []*earshot.AgentTool) []llms.Tool {
	list := make([]llms.Tool, len(of))
	for i, tool := range of {
		function := tool.Function().Function
		var parameters map[string]any
		_ = json.Unmarshal(tool.Schema(), &parameters) // the service made it
		list[i] = llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name: function.Name, Description: function.Description, Parameters: parameters,
		}}
	}
	return list
}

// Respond fires the calls of a model, and returns the next messages of the conversation: the calls and their results, if any.
func Respond(ctx context.Context, of []*earshot.AgentTool, choice *llms.ContentChoice) ([]llms.MessageContent, error) {
	if len(choice.ToolCalls) == 0 {
		return nil, nil
	}
	said := llms.MessageContent{Role: llms.ChatMessageTypeAI}
	if choice.Content != "" {
		said.Parts = append(said.Parts, llms.TextContent{Text: choice.Content})
	}
	messages := []llms.MessageContent{said}
	for _, call := range choice.ToolCalls {
		messages[0].Parts = append(messages[0].Parts, call)
		if call.FunctionCall == nil {
			continue
		}
		result, err := earshot.CallTool(ctx, of, call.FunctionCall.Name, call.FunctionCall.Arguments)
		if err != nil {
			return nil, err
		}
		messages = append(messages, llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
			llms.ToolCallResponse{ToolCallID: call.ID, Name: call.FunctionCall.Name, Content: result},
		}})
	}
	return messages, nil
}

// FromDefinitions makes tools of Earshot from those for llms.WithTools. Each fires an event; set url, emitter and the rest on it.
func FromDefinitions(of []llms.Tool) []earshot.Tool {
	var list []earshot.Tool
	for _, tool := range of {
		if tool.Function != nil {
			list = append(list, earshot.NewTool(earshot.Function{
				Name: tool.Function.Name, Description: tool.Function.Description, Parameters: tool.Function.Parameters,
			}))
		}
	}
	return list
}

// FromTool is a tool of Earshot that this program answers in time; see Handlers. Its parameter is the input of tools.Tool.
func FromTool(tool tools.Tool, within time.Duration) earshot.Tool {
	made := earshot.NewTool(earshot.Function{Name: tool.Name(), Description: tool.Description(), Parameters: map[string]any{
		"type": "object", "required": []string{"input"}, "properties": map[string]any{"input": map[string]any{"type": "string"}},
	}})
	made.Answer = &earshot.AnswerWithin{Within: earshot.Duration(within)}
	return made
}

// Handlers call tools for [earshot.App.Serve]. A tool of FromTool gets its input, any other all values as a JSON object.
func Handlers(of ...tools.Tool) map[string]earshot.Handler {
	handlers := map[string]earshot.Handler{}
	for _, tool := range of {
		handlers[tool.Name()] = func(ctx context.Context, values earshot.Values, _ earshot.Payload) (any, error) {
			input, single := values["input"].(string)
			if !single || len(values) != 1 {
				text, err := json.Marshal(values)
				if err != nil {
					return nil, fmt.Errorf("langchain: %w", err)
				}
				input = string(text)
			}
			return tool.Call(ctx, input)
		}
	}
	return handlers
}
