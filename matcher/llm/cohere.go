package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// cohere is a client of version 2 of Cohere's chat API. It also reads answers of version 1.
type cohere struct{ endpoint }

func newCohere(base endpoint, given Config) (provider, error) {
	to, _, err := parseBase(given.BaseURL)
	if err != nil {
		return nil, err
	}
	c := &cohere{base}
	c.wireForm, c.url = c, to.JoinPath("v2", "chat")
	c.sendKey("Authorization", "Bearer ")
	return c, nil
}

func (c *cohere) complete(ctx context.Context, request chatRequest) (completion, error) {
	answer, err := c.endpoint.complete(ctx, request)
	if len(answer.calls) == 0 {
		return answer, err
	}
	for name, alias := range cohereAliases(request) {
		for i := range answer.calls {
			if answer.calls[i].name == alias {
				answer.calls[i].name = name
			}
		}
	}
	return answer, err
}

// cohereAliases returns name → alias of the offered or called tools with a hyphen in their name, which Cohere
// refuses. Other names stay.
func cohereAliases(request chatRequest) map[string]string {
	_, names := calledTools(request.messages)
	names = slices.Grow(names, len(request.tools))
	for _, tool := range request.tools {
		names = append(names, tool.name)
	}
	if !slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "-") }) {
		return nil
	}
	aliases, taken := make(map[string]string, len(names)), make(map[string]bool, 2*len(names))
	for _, name := range names {
		taken[name] = true
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		base := strings.ReplaceAll(name, "-", "_")
		if base == name {
			continue
		}
		alias := base
		for i := 2; taken[alias]; i++ {
			alias = base[:min(len(base), 60)] + "_" + strconv.Itoa(i)
		}
		aliases[name], taken[alias] = alias, true
	}
	return aliases
}

// cohereSchemas is Cohere's subset of JSON Schema. Its documentation of structured outputs lists the unsupported
// keywords (bounds, lengths, allOf, oneOf, not) and the supported formats.
var cohereSchemas = schemaSubset{
	keywords: []string{
		"$defs", "$ref", "type", "format", "title", "description", "default", "enum", "const", "items", "anyOf",
		"properties", "additionalProperties", "required",
	},
	formats: []string{"date-time", "date", "time", "uuid"},
}

// The body of a request to chat. The content of a message is a text, or a list of blocks.
type (
	cohereMessage struct {
		ToolCallID string         `json:"tool_call_id,omitempty"`
		ToolCalls  []functionCall `json:"tool_calls,omitempty"`
		ToolPlan   string         `json:"tool_plan,omitempty"`
		Content    any            `json:"content,omitempty"`
		Role       string         `json:"role"`
	}
	cohereBlock struct {
		Text     string          `json:"text,omitempty"`
		Document *cohereDocument `json:"document,omitempty"`
		Type     string          `json:"type"`
	}
	cohereDocument struct {
		Data json.RawMessage `json:"data"`
	}
	cohereTool struct {
		Type     string       `json:"type"`
		Function functionTool `json:"function"`
	}
)

// write implements wireForm. It sends no tool_choice: Cohere's can only demand or forbid calls.
func (c *cohere) write(request chatRequest, _ []string) requestBody {
	aliases := cohereAliases(request)
	rules, sides := alternate(request.messages)
	rest := struct {
		Model    string          `json:"model"`
		Messages []cohereMessage `json:"messages"`
	}{Model: request.model}
	if rules != "" {
		rest.Messages = append(rest.Messages, cohereMessage{Role: roleSystem, Content: rules})
	}
	for _, one := range sides {
		var texts []cohereBlock // of the user; the clock has its own block
		for _, entry := range one.messages {
			switch {
			case entry.role == roleTool:
				document := cohereBlock{Type: "document", Document: &cohereDocument{resultDocument(entry.text)}}
				rest.Messages = append(rest.Messages, cohereMessage{Role: roleTool, ToolCallID: entry.callID, Content: []cohereBlock{document}})
			case !one.model:
				texts = append(texts, cohereBlock{Type: "text", Text: entry.text})
			case len(entry.calls) == 0:
				rest.Messages = append(rest.Messages, cohereMessage{Role: roleAssistant, Content: entry.text})
			default:
				// The model's text before its calls is its plan.
				message := cohereMessage{Role: roleAssistant, ToolPlan: cmp.Or(entry.calls[0].echo, strings.TrimSpace(entry.text))}
				for _, call := range entry.calls {
					message.ToolCalls = append(message.ToolCalls,
						newFunctionCall(call.id, cmp.Or(aliases[call.name], call.name), string(call.object())))
				}
				rest.Messages = append(rest.Messages, message)
			}
		}
		switch len(texts) {
		case 0:
		case 1:
			rest.Messages = append(rest.Messages, cohereMessage{Role: roleUser, Content: texts[0].Text})
		default:
			rest.Messages = append(rest.Messages, cohereMessage{Role: roleUser, Content: texts})
		}
	}

	// A tool's alias may depend on the names of others.
	tools := make([]json.RawMessage, len(request.tools))
	for i, tool := range request.tools {
		name, form := tool.name, "cohere"
		if alias, ok := aliases[name]; ok {
			name, form = alias, "cohere "+alias
		}
		tools[i] = tool.json(form, func(tool *chatTool) any {
			return cohereTool{"function", functionTool{name, tool.description, cohereSchemas.reduce(tool.schema)}}
		})
	}
	return requestBody{rest: rest, tools: tools}
}

// resultDocument writes the result of a call as a document: an object as is, anything else as a member of one.
func resultDocument(result string) json.RawMessage {
	value, err := decodeJSON(result)
	if object, ok := value.(map[string]any); ok && len(object) > 0 {
		return json.RawMessage(result)
	}
	if err != nil {
		value = result
	}
	return json.RawMessage(encodeJSON(map[string]any{"result": value}))
}

// cohereAnswer is an answer of either version. Version 2 has a message; version 1 has the text and the calls at the
// top level, and its counts under meta.
type cohereAnswer struct {
	answerError
	Message      json.RawMessage `json:"message"`
	FinishReason anyText         `json:"finish_reason"`
	Usage        cohereUsage     `json:"usage"`

	Text      *anyText       `json:"text"`
	ToolCalls *functionCalls `json:"tool_calls"`
	Meta      cohereUsage    `json:"meta"`
}

type (
	cohereUsage = lenient[struct {
		Tokens cohereTokens `json:"tokens"`
		Billed cohereTokens `json:"billed_units"`
		Cached anyCount     `json:"cached_tokens"`
	}]
	cohereTokens struct {
		Input  anyCount `json:"input_tokens"`
		Output anyCount `json:"output_tokens"`
	}
)

// read implements wireForm. If the message is a text, it describes an error.
func (c *cohere) read(body []byte) (completion, error) {
	var answer cohereAnswer
	if err := decodeAnswer(body, &answer); err != nil {
		return completion{}, err
	}
	var words anyText
	_ = words.UnmarshalJSON(answer.Message) // accepts any JSON
	var message struct {
		functionMessage
		Plan anyText `json:"tool_plan"`
	}
	switch {
	case words != "":
		return completion{}, serverError(words)
	case len(answer.Message) > 0 && string(answer.Message) != "null":
		err := json.Unmarshal(answer.Message, &message)
		if errors.Is(err, errUnreadableCalls) {
			return completion{}, err
		}
		if err != nil {
			return completion{}, errors.New("the answer has no message that can be read")
		}
	case answer.Text == nil && answer.ToolCalls == nil:
		return completion{}, errors.New("the answer has no message")
	default:
		if answer.Text != nil {
			message.Content = *answer.Text
		}
		if answer.ToolCalls != nil {
			message.ToolCalls = *answer.ToolCalls
		}
	}

	// Billed counts replace missing ones.
	counted := cmp.Or(answer.Usage, answer.Meta).value
	found := completion{text: string(message.Content), usage: Usage{
		Prompt: int(cmp.Or(counted.Tokens.Input, counted.Billed.Input)), Cached: int(counted.Cached),
		Completion: int(cmp.Or(counted.Tokens.Output, counted.Billed.Output)),
	}}
	var err error
	if found.calls, err = message.calls(); err != nil {
		return found, err
	}
	if len(found.calls) > 0 {
		found.calls[0].echo = string(message.Plan)
	}
	return found, checkFinish(answer.FinishReason, "COMPLETE", "STOP_SEQUENCE", "TOOL_CALL")
}
