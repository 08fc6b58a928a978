package matcher

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// anthropicTokens bounds an answer, which Anthropic wants bounded. It is far more than
// calls and a short text take, and leaves room for models that think first.
const anthropicTokens = 8192

// The body of a request to the Messages API.
type (
	anthropicRequest struct {
		MaxTokens  int                `json:"max_tokens"`
		Messages   []anthropicMessage `json:"messages"`
		Model      string             `json:"model"`
		System     []*anthropicBlock  `json:"system,omitempty"`
		ToolChoice *anthropicChoice   `json:"tool_choice,omitempty"`
		Tools      []anthropicTool    `json:"tools,omitempty"`
	}
	anthropicMessage struct {
		Content []*anthropicBlock `json:"content"`
		Role    role              `json:"role"`
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

		CacheControl *anthropicCache `json:"cache_control,omitempty"`
		// thought is a block that the model wrote, which stands for itself.
		thought json.RawMessage
	}
	anthropicTool struct {
		InputSchema  json.RawMessage `json:"input_schema"`
		Name         string          `json:"name"`
		Description  string          `json:"description,omitempty"`
		CacheControl *anthropicCache `json:"cache_control,omitempty"`
	}
	anthropicCache struct {
		Type string `json:"type"`
	}
	anthropicChoice struct {
		Type string `json:"type"`
	}
)

// anthropicCached marks the end of what the provider can find in its cache next time.
var anthropicCached = &anthropicCache{Type: "ephemeral"}

// MarshalJSON implements json.Marshaler.
func (b anthropicBlock) MarshalJSON() ([]byte, error) {
	if b.thought != nil {
		return b.thought, nil
	}
	type plain anthropicBlock
	return json.Marshal(plain(b))
}

// newAnthropicRequest renders a request for the Messages API. What it can find in its
// cache next time ends in three places: after the tools of the app, after the rules,
// and after the history. The clock comes after all of them.
func newAnthropicRequest(request completionRequest) anthropicRequest {
	rules, parted := sides(request.Messages)
	rendered := anthropicRequest{Model: request.Model, MaxTokens: anthropicTokens}
	if rules != "" {
		rendered.System = []*anthropicBlock{{Type: "text", Text: rules, CacheControl: anthropicCached}}
	}
	var last *anthropicBlock
	for _, one := range parted {
		message := anthropicMessage{Role: roleUser, Content: anthropicBlocks(one.Messages, last)}
		if one.Model {
			message.Role = roleAssistant
		}
		last = message.Content[len(message.Content)-1]
		rendered.Messages = append(rendered.Messages, message)
	}
	rendered.Tools, rendered.ToolChoice = anthropicTools(request)
	return rendered
}

// anthropicBlocks renders what one side says. What stands before the clock, here or at
// the end of what was said before, is marked for the cache.
func anthropicBlocks(said []message, before *anthropicBlock) []*anthropicBlock {
	var blocks []*anthropicBlock
	for _, one := range said {
		if len(blocks) > 0 {
			before = blocks[len(blocks)-1]
		}
		if one.Role == roleSystem && before != nil {
			before.CacheControl = anthropicCached
		}
		if one.Role == roleTool {
			blocks = append(blocks, &anthropicBlock{
				Type: "tool_result", ToolUseID: one.CallID, IsError: one.Failed, Content: anthropicText(one),
			})
			continue
		}
		for i, call := range one.Calls {
			blocks = append(blocks, anthropicThoughts(call)...)
			if i == 0 {
				blocks = append(blocks, anthropicText(one)...)
			}
			blocks = append(blocks, &anthropicBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: sentObject(call.Arguments)})
		}
		if len(one.Calls) == 0 {
			blocks = append(blocks, anthropicText(one)...)
		}
	}
	return blocks
}

// anthropicText renders a text; a blank one is refused and says nothing.
func anthropicText(said message) []*anthropicBlock {
	if strings.TrimSpace(said.Text) == "" {
		return nil
	}
	return []*anthropicBlock{{Type: "text", Text: said.Text}}
}

// anthropicThoughts gives the model's thoughts before a call back as they came, which
// Anthropic asks for: they are signed.
func anthropicThoughts(call toolCall) []*anthropicBlock {
	var thoughts []json.RawMessage
	_ = json.Unmarshal([]byte("["+call.Echo+"]"), &thoughts) // as our own reader joined them
	blocks := make([]*anthropicBlock, len(thoughts))
	for i, thought := range thoughts {
		blocks[i] = &anthropicBlock{thought: thought}
	}
	return blocks
}

// anthropicTools renders the tools, those of the app before those of the session, which
// would otherwise keep the app's out of the cache of other sessions. A conversation
// with calls in it is refused without tools: where none is offered the ones that were
// called stand there, and none of them may be.
func anthropicTools(request completionRequest) ([]anthropicTool, *anthropicChoice) {
	offered := slices.Clone(request.Tools)
	if len(offered) == 0 {
		return anthropicMentioned(request.Messages)
	}
	slices.SortStableFunc(offered, func(a, b toolDefinition) int { return cmp.Compare(passing(a), passing(b)) })
	rendered := make([]anthropicTool, len(offered))
	for i, tool := range offered {
		rendered[i] = anthropicTool{Name: tool.Name, Description: tool.Description, InputSchema: anthropicSchema(tool.Schema)}
		if !tool.Passing && (i+1 == len(offered) || offered[i+1].Passing) {
			rendered[i].CacheControl = anthropicCached
		}
	}
	return rendered, &anthropicChoice{Type: "auto"}
}

func passing(tool toolDefinition) int {
	if tool.Passing {
		return 1
	}
	return 0
}

// anthropicMentioned renders the tools that were called, of which none may be.
func anthropicMentioned(messages []message) ([]anthropicTool, *anthropicChoice) {
	_, names := callsByID(messages)
	if len(names) == 0 {
		return nil, nil
	}
	rendered := make([]anthropicTool, len(names))
	for i, name := range names {
		rendered[i] = anthropicTool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}
	}
	return rendered, &anthropicChoice{Type: "none"}
}

// anthropicSchema leaves out what Anthropic refuses at the top of a schema. Everything
// else of JSON Schema is taken without strict mode.
func anthropicSchema(schema json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(schema, &object) != nil {
		return schema
	}
	before := len(object)
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		delete(object, keyword)
	}
	if len(object) == before {
		return schema // byte for byte, for the cache
	}
	reduced, _ := json.Marshal(object)
	return reduced
}
