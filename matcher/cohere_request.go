package matcher

import (
	"cmp"
	"encoding/json"
	"strings"

	cohere "github.com/cohere-ai/cohere-go/v2"
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

// cohereRequest renders a request for chat. There is no choice of tools to send:
// Cohere's is to demand calls or to forbid them. The clock is a block of its own before
// the user's text.
func cohereRequest(request completionRequest, names cohereNames) *cohere.V2ChatRequest {
	rules, parted := sides(request.Messages)
	rendered := &cohere.V2ChatRequest{Model: request.Model}
	if rules != "" {
		rendered.Messages = append(rendered.Messages, &cohere.ChatMessageV2{
			System: &cohere.SystemMessageV2{Content: &cohere.SystemMessageV2Content{String: rules}},
		})
	}
	for _, one := range parted {
		if one.Model {
			rendered.Messages = append(rendered.Messages, cohereAssistant(one.Messages, names)...)
		} else {
			rendered.Messages = append(rendered.Messages, cohereUser(one.Messages)...)
		}
	}
	for _, tool := range request.Tools {
		rendered.Tools = append(rendered.Tools, &cohere.ToolV2{
			Type: cohere.String("function"),
			Function: &cohere.ToolV2Function{
				Name: names.to[tool.Name], Description: optional(tool.Description),
				Parameters: rawMembers(cohereSchemas.reduce(tool.Schema)),
			},
		})
	}
	return rendered
}

// cohereUser renders what the user's side says: the results of tools, each as a message
// of its own, and then the texts.
func cohereUser(said []message) []*cohere.ChatMessageV2 {
	var rendered []*cohere.ChatMessageV2
	var texts []*cohere.Content
	for _, one := range said {
		if one.Role == roleTool {
			rendered = append(rendered, &cohere.ChatMessageV2{Tool: cohereResult(one)})
			continue
		}
		texts = append(texts, &cohere.Content{Text: &cohere.ChatTextContent{Text: one.Text}})
	}
	content := &cohere.UserMessageV2Content{ContentList: texts}
	switch len(texts) {
	case 0:
		return rendered
	case 1:
		content = &cohere.UserMessageV2Content{String: texts[0].Text.Text}
	}
	return append(rendered, &cohere.ChatMessageV2{User: &cohere.UserMessageV2{Content: content}})
}

// cohereResult renders a result as a document: an object as it is, anything else as the
// member of one.
func cohereResult(result message) *cohere.ToolMessageV2 {
	var data map[string]any
	switch value, err := decodeStrict(result.Text); value := value.(type) {
	case map[string]any:
		data = rawMembers(json.RawMessage(result.Text))
	default:
		data = map[string]any{"result": value}
		if err != nil {
			data["result"] = result.Text
		}
	}
	if len(data) == 0 {
		data = map[string]any{"result": map[string]any{}}
	}
	return &cohere.ToolMessageV2{
		ToolCallId: result.CallID,
		Content: &cohere.ToolMessageV2Content{ToolContentList: []*cohere.ToolContent{
			{Document: &cohere.DocumentContent{Document: &cohere.Document{Data: data}}},
		}},
	}
}

// cohereAssistant renders what the model said. What it wrote beside calls is its plan.
func cohereAssistant(said []message, names cohereNames) []*cohere.ChatMessageV2 {
	rendered := make([]*cohere.ChatMessageV2, len(said))
	for i, one := range said {
		assistant := &cohere.AssistantMessage{}
		for _, call := range one.Calls {
			assistant.ToolCalls = append(assistant.ToolCalls, &cohere.ToolCallV2{
				Id: cohere.String(call.ID), Type: cohere.String("function"),
				Function: &cohere.ToolCallV2Function{
					Name: cohere.String(names.to[call.Name]), Arguments: cohere.String(string(sentObject(call.Arguments))),
				},
			})
		}
		if len(one.Calls) > 0 {
			assistant.ToolPlan = optional(cmp.Or(one.Calls[0].Echo, strings.TrimSpace(one.Text)))
		} else {
			assistant.Content = &cohere.AssistantMessageV2Content{String: one.Text}
		}
		rendered[i] = &cohere.ChatMessageV2{Assistant: assistant}
	}
	return rendered
}

// optional returns nil for a text that says nothing, which the SDK leaves out.
func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// rawMembers parts an object into its members, each as it is written.
func rawMembers(object json.RawMessage) map[string]any {
	var raw map[string]json.RawMessage
	_ = json.Unmarshal(object, &raw) // an object, or no members
	members := make(map[string]any, len(raw))
	for name, member := range raw {
		members[name] = member
	}
	return members
}
