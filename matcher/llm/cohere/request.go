package cohere

import (
	"cmp"
	"encoding/json"
	"strings"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
)

// schemaSubset is what Cohere takes of JSON Schema: its documentation of structured
// outputs names what is not supported (bounds, lengths, allOf, oneOf, not) and the
// formats that are.
var schemaSubset = provider.Subset{
	Keywords: []string{
		"$defs", "$ref", "type", "format", "title", "description", "default", "enum", "const", "items", "anyOf",
		"properties", "additionalProperties", "required",
	},
	Formats: []string{"date-time", "date", "time", "uuid"},
}

// The body of a request to chat. A message's content is a text, or a list of blocks.
type (
	jsonRequest struct {
		Model    string        `json:"model"`
		Messages []jsonMessage `json:"messages"`
	}
	jsonMessage struct {
		ToolCallID string        `json:"tool_call_id,omitempty"`
		ToolCalls  []jsonCall    `json:"tool_calls,omitempty"`
		ToolPlan   string        `json:"tool_plan,omitempty"`
		Content    any           `json:"content,omitempty"`
		Role       provider.Role `json:"role"`
	}
	jsonBlock struct {
		Text     string        `json:"text,omitempty"`
		Document *jsonDocument `json:"document,omitempty"`
		Type     string        `json:"type"`
	}
	jsonDocument struct {
		Data json.RawMessage `json:"data"`
	}
	jsonCall struct {
		ID       string       `json:"id"`
		Type     string       `json:"type"`
		Function jsonFunction `json:"function"`
	}
	jsonFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	jsonTool struct {
		Type     string         `json:"type"`
		Function jsonDefinition `json:"function"`
	}
	jsonDefinition struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// newBody renders a request for chat. There is no choice of tools to send:
// Cohere's is to demand calls or to forbid them. The clock is a block of its own before
// the user's text.
func newBody(request provider.Request, names toolNames) provider.Body {
	rules, parted := provider.Alternate(request.Messages)
	rendered := jsonRequest{Model: request.Model}
	if rules != "" {
		rendered.Messages = append(rendered.Messages, jsonMessage{Role: provider.System, Content: rules})
	}
	for _, one := range parted {
		if one.Model {
			rendered.Messages = append(rendered.Messages, assistantMessages(one.Messages, names)...)
		} else {
			rendered.Messages = append(rendered.Messages, userMessages(one.Messages)...)
		}
	}
	return provider.Body{Model: request.Model, Rest: rendered, Tools: toolsOf(request.Tools, names)}
}

// toolsOf renders the tools. What Cohere calls one may depend on what others are called.
func toolsOf(tools []*provider.Tool, names toolNames) []json.RawMessage {
	rendered := make([]json.RawMessage, len(tools))
	for i, tool := range tools {
		name, form := names.to[tool.Name], "cohere"
		if name != tool.Name {
			form += " " + name
		}
		rendered[i] = tool.Written(form, func(tool *provider.Tool) any {
			return jsonTool{Type: "function", Function: jsonDefinition{
				Name: name, Description: tool.Description, Parameters: schemaSubset.Reduce(tool.Schema),
			}}
		})
	}
	return rendered
}

// userMessages renders what the user's side says: the results of tools, each as a message
// of its own, and then the texts.
func userMessages(said []provider.Message) []jsonMessage {
	var rendered []jsonMessage
	var texts []jsonBlock
	for _, one := range said {
		if one.Role == provider.ToolResult {
			document := jsonBlock{Type: "document", Document: &jsonDocument{Data: resultDocument(one.Text)}}
			rendered = append(rendered, jsonMessage{Role: provider.ToolResult, ToolCallID: one.CallID, Content: []jsonBlock{document}})
			continue
		}
		texts = append(texts, jsonBlock{Type: "text", Text: one.Text})
	}
	switch len(texts) {
	case 0:
		return rendered
	case 1:
		return append(rendered, jsonMessage{Role: provider.User, Content: texts[0].Text})
	default:
		return append(rendered, jsonMessage{Role: provider.User, Content: texts})
	}
}

// resultDocument renders a result as a document: an object as it is, anything else as the
// member of one.
func resultDocument(result string) json.RawMessage {
	value, err := arguments.Decode(result)
	if object, is := value.(map[string]any); is && len(object) > 0 {
		return json.RawMessage(result)
	}
	if err != nil {
		value = result
	}
	return json.RawMessage(arguments.Encode(map[string]any{"result": value}))
}

// assistantMessages renders what the model said. What it wrote beside calls is its plan.
func assistantMessages(said []provider.Message, names toolNames) []jsonMessage {
	rendered := make([]jsonMessage, len(said))
	for i, one := range said {
		rendered[i].Role = provider.Assistant
		for _, call := range one.Calls {
			rendered[i].ToolCalls = append(rendered[i].ToolCalls, jsonCall{
				ID: call.ID, Type: "function",
				Function: jsonFunction{Name: names.to[call.Name], Arguments: string(arguments.Object(call.Arguments))},
			})
		}
		if len(one.Calls) > 0 {
			rendered[i].ToolPlan = cmp.Or(one.Calls[0].Echo, strings.TrimSpace(one.Text))
		} else {
			rendered[i].Content = one.Text
		}
	}
	return rendered
}
