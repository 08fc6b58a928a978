package llm

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// anthropic is a client of Anthropic's Messages API.
type anthropic struct{ endpoint }

func newAnthropic(base endpoint, given Config) (provider, error) {
	to, _, err := parseBase(given.BaseURL)
	if err != nil {
		return nil, err
	}
	a := &anthropic{base}
	a.wireForm, a.url, a.spare = a, to.JoinPath("v1", "messages"), []string{"cache_control", "tool_choice"}
	a.header.Set("Anthropic-Version", "2023-06-01")
	a.sendKey("X-Api-Key", "")
	return a, nil
}

// maxTokens bounds an answer; Anthropic requires a bound. It is far above the size of calls and a short text, and
// leaves room for models that think first.
const maxTokens = 8192

// The body of a request to the Messages API.
type (
	anthropicRequest struct {
		MaxTokens  int                `json:"max_tokens"`
		Model      string             `json:"model"`
		ToolChoice *anthropicMark     `json:"tool_choice,omitempty"`
		System     []*anthropicBlock  `json:"system,omitempty"`
		Messages   []anthropicMessage `json:"messages"`
	}
	anthropicMessage struct {
		Content []*anthropicBlock `json:"content"`
		Role    string            `json:"role"`
	}
	anthropicBlock struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		// Of a call.
		ID    string          `json:"id,omitempty"`
		Name  string          `json:"name,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
		// Of a result.
		ToolUseID string            `json:"tool_use_id,omitempty"`
		IsError   bool              `json:"is_error,omitempty"`
		Content   []*anthropicBlock `json:"content,omitempty"`

		CacheControl *anthropicMark  `json:"cache_control,omitempty"`
		thought      json.RawMessage // a thinking block from the model, sent as is
	}
	anthropicTool struct {
		InputSchema json.RawMessage `json:"input_schema"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
	}
	anthropicMark struct {
		Type string `json:"type"`
	}
)

func (b anthropicBlock) MarshalJSON() ([]byte, error) {
	if b.thought != nil {
		return b.thought, nil
	}
	type plain anthropicBlock
	return json.Marshal(plain(b))
}

// write implements wireForm. It sets three cache breakpoints: after the app's tools, after the rules and after the
// history. The clock follows all of them.
func (a *anthropic) write(request chatRequest, without []string) requestBody {
	ends := &anthropicMark{"ephemeral"}
	if slices.Contains(without, "cache_control") {
		ends = nil
	}
	rules, sides := alternate(request.messages)
	rest := anthropicRequest{Model: request.model, MaxTokens: maxTokens}
	if rules != "" {
		rest.System = []*anthropicBlock{{Type: "text", Text: rules, CacheControl: ends}}
	}
	var last *anthropicBlock
	for _, side := range sides {
		message := anthropicMessage{Role: roleUser}
		if side.model {
			message.Role = roleAssistant
		}
		for _, entry := range side.messages {
			if entry.role == roleSystem && last != nil { // the clock
				last.CacheControl = ends
			}
			message.Content = append(message.Content, anthropicBlocks(entry)...)
			last = message.Content[len(message.Content)-1]
		}
		rest.Messages = append(rest.Messages, message)
	}

	// Anthropic refuses a conversation with calls but no tools. If none is offered, the called tools are listed and
	// tool_choice forbids calls.
	if len(request.tools) == 0 {
		var tools []json.RawMessage
		_, names := calledTools(request.messages)
		for _, name := range names {
			tool, _ := json.Marshal(anthropicTool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
			tools = append(tools, tool)
		}
		if len(tools) > 0 && !slices.Contains(without, "tool_choice") {
			rest.ToolChoice = &anthropicMark{"none"}
		}
		return requestBody{rest: rest, tools: tools}
	}

	// A session's tools come last, so that other sessions find the app's tools in the cache.
	tools := make([]json.RawMessage, 0, len(request.tools))
	for _, sessionScoped := range []bool{false, true} {
		for _, tool := range request.tools {
			if tool.sessionScoped == sessionScoped {
				tools = append(tools, tool.json("anthropic", newAnthropicTool))
			}
		}
		if n := len(tools); n > 0 && ends != nil && !sessionScoped {
			tools[n-1] = slices.Concat(tools[n-1][:len(tools[n-1])-1], []byte(`,"cache_control":{"type":"ephemeral"}}`))
		}
	}
	return requestBody{rest: rest, tools: tools}
}

// anthropicBlocks writes a message. Thoughts before a call are sent back unchanged, as Anthropic demands: they are
// signed. Blank texts are left out, because Anthropic refuses them.
func anthropicBlocks(message chatMessage) []*anthropicBlock {
	var written []*anthropicBlock
	if strings.TrimSpace(message.text) != "" {
		written = []*anthropicBlock{{Type: "text", Text: message.text}}
	}
	if message.role == roleTool {
		return []*anthropicBlock{{Type: "tool_result", ToolUseID: message.callID, IsError: message.failed, Content: written}}
	}
	if len(message.calls) == 0 {
		return written
	}
	var blocks []*anthropicBlock
	for i, call := range message.calls {
		var thoughts []json.RawMessage
		_ = json.Unmarshal([]byte("["+call.echo+"]"), &thoughts) // read joined them
		for _, raw := range thoughts {
			blocks = append(blocks, &anthropicBlock{thought: raw})
		}
		if i == 0 {
			blocks = append(blocks, written...)
		}
		blocks = append(blocks, &anthropicBlock{Type: "tool_use", ID: call.id, Name: call.name, Input: call.object()})
	}
	return blocks
}

// newAnthropicTool leaves out the keywords that Anthropic refuses at the top level of a schema. Without strict mode
// it accepts all others.
func newAnthropicTool(tool *chatTool) any {
	written := anthropicTool{Name: tool.name, Description: tool.description, InputSchema: tool.schema}
	var schema map[string]json.RawMessage
	if json.Unmarshal(tool.schema, &schema) != nil {
		return written
	}
	before := len(schema)
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		delete(schema, keyword)
	}
	if len(schema) < before { // else unchanged bytes, for the cache
		written.InputSchema, _ = json.Marshal(schema)
	}
	return written
}

// read implements wireForm. It reads texts, and calls with the thoughts before them. A block is kept as received,
// because thoughts are sent back unchanged.
func (a *anthropic) read(body []byte) (completion, error) {
	var answer struct {
		answerError
		Content    []json.RawMessage `json:"content"`
		StopReason anyText           `json:"stop_reason"`
		Usage      lenient[struct {
			Input      anyCount `json:"input_tokens"`
			CacheWrite anyCount `json:"cache_creation_input_tokens"`
			CacheRead  anyCount `json:"cache_read_input_tokens"`
			Output     anyCount `json:"output_tokens"`
		}] `json:"usage"`
	}
	if err := decodeAnswer(body, &answer); err != nil {
		return completion{}, err
	}
	if answer.Content == nil {
		return completion{}, errors.New("the answer has no content")
	}
	// Anthropic counts cached tokens separately.
	counted := answer.Usage.value
	found := completion{usage: Usage{
		Prompt: int(counted.Input + counted.CacheWrite + counted.CacheRead), Cached: int(counted.CacheRead), Completion: int(counted.Output),
	}}
	var thoughts []string
	for _, raw := range answer.Content {
		var block struct {
			Type  string          `json:"type"`
			Text  anyText         `json:"text"`
			ID    anyText         `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(raw, &block) != nil || block.Type == "tool_use" && block.Name == "" {
			return found, errUnreadableCalls
		}
		switch block.Type {
		case "text":
			found.text += string(block.Text)
		case "thinking", "redacted_thinking":
			thoughts = append(thoughts, string(raw))
		case "tool_use":
			found.calls = append(found.calls, toolCall{
				id: string(block.ID), name: block.Name, arguments: string(block.Input), echo: strings.Join(thoughts, ","),
			})
			thoughts = nil
		}
	}
	return found, checkFinish(answer.StopReason, "end_turn", "stop_sequence", "tool_use")
}
