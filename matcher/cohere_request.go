package matcher

import (
	"cmp"
	"encoding/json"
	"strings"
)

// cohereSchemas is what Cohere takes of JSON Schema: its documentation of structured
// outputs names what is not supported (bounds, lengths, allOf, oneOf, not) and the
// formats that are.
var cohereSchemas = schemaSubset{
	keywords: []string{
		"$defs", "$ref", "type", "format", "title", "description", "default", "enum", "const", "items", "anyOf",
		"properties", "additionalProperties", "required",
	},
	formats: []string{"date-time", "date", "time", "uuid"},
}

// The body of a request to chat. A message's content is a text, or a list of blocks.
type (
	cohereRequest struct {
		Model    string          `json:"model"`
		Messages []cohereMessage `json:"messages"`
		Tools    []cohereTool    `json:"tools,omitempty"`
		Stream   bool            `json:"stream"`
	}
	cohereMessage struct {
		ToolCallID string       `json:"tool_call_id,omitempty"`
		ToolCalls  []cohereCall `json:"tool_calls,omitempty"`
		ToolPlan   string       `json:"tool_plan,omitempty"`
		Content    any          `json:"content,omitempty"`
		Role       role         `json:"role"`
	}
	cohereBlock struct {
		Text     string          `json:"text,omitempty"`
		Document *cohereDocument `json:"document,omitempty"`
		Type     string          `json:"type"`
	}
	cohereDocument struct {
		Data json.RawMessage `json:"data"`
	}
	cohereCall struct {
		ID       string         `json:"id"`
		Type     string         `json:"type"`
		Function cohereFunction `json:"function"`
	}
	cohereFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	cohereTool struct {
		Type     string           `json:"type"`
		Function cohereDefinition `json:"function"`
	}
	cohereDefinition struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// newCohereRequest renders a request for chat. There is no choice of tools to send:
// Cohere's is to demand calls or to forbid them. The clock is a block of its own before
// the user's text.
func newCohereRequest(request completionRequest, names cohereNames) cohereRequest {
	rules, parted := sides(request.Messages)
	rendered := cohereRequest{Model: request.Model}
	if rules != "" {
		rendered.Messages = append(rendered.Messages, cohereMessage{Role: roleSystem, Content: rules})
	}
	for _, one := range parted {
		if one.Model {
			rendered.Messages = append(rendered.Messages, cohereAssistant(one.Messages, names)...)
		} else {
			rendered.Messages = append(rendered.Messages, cohereUser(one.Messages)...)
		}
	}
	for _, tool := range request.Tools {
		rendered.Tools = append(rendered.Tools, cohereTool{Type: "function", Function: cohereDefinition{
			Name: names.to[tool.Name], Description: tool.Description, Parameters: cohereSchemas.reduce(tool.Schema),
		}})
	}
	return rendered
}

// cohereUser renders what the user's side says: the results of tools, each as a message
// of its own, and then the texts.
func cohereUser(said []message) []cohereMessage {
	var rendered []cohereMessage
	var texts []cohereBlock
	for _, one := range said {
		if one.Role == roleTool {
			document := cohereBlock{Type: "document", Document: &cohereDocument{Data: cohereResult(one.Text)}}
			rendered = append(rendered, cohereMessage{Role: roleTool, ToolCallID: one.CallID, Content: []cohereBlock{document}})
			continue
		}
		texts = append(texts, cohereBlock{Type: "text", Text: one.Text})
	}
	switch len(texts) {
	case 0:
		return rendered
	case 1:
		return append(rendered, cohereMessage{Role: roleUser, Content: texts[0].Text})
	default:
		return append(rendered, cohereMessage{Role: roleUser, Content: texts})
	}
}

// cohereResult renders a result as a document: an object as it is, anything else as the
// member of one.
func cohereResult(result string) json.RawMessage {
	value, err := decodeStrict(result)
	if object, is := value.(map[string]any); is && len(object) > 0 {
		return json.RawMessage(result)
	}
	if err != nil {
		value = result
	}
	return json.RawMessage(encode(map[string]any{"result": value}))
}

// cohereAssistant renders what the model said. What it wrote beside calls is its plan.
func cohereAssistant(said []message, names cohereNames) []cohereMessage {
	rendered := make([]cohereMessage, len(said))
	for i, one := range said {
		rendered[i].Role = roleAssistant
		for _, call := range one.Calls {
			rendered[i].ToolCalls = append(rendered[i].ToolCalls, cohereCall{
				ID: call.ID, Type: "function",
				Function: cohereFunction{Name: names.to[call.Name], Arguments: string(sentObject(call.Arguments))},
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
