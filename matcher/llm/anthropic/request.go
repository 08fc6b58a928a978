package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"earshot/matcher/llm/arguments"
	"earshot/matcher/llm/provider"
)

// maxTokens bounds an answer, which Anthropic wants bounded. It is far more than
// calls and a short text take, and leaves room for models that think first.
const maxTokens = 8192

// The body of a request to the Messages API.
type (
	jsonRequest struct {
		MaxTokens  int           `json:"max_tokens"`
		Model      string        `json:"model"`
		ToolChoice *jsonChoice   `json:"tool_choice,omitempty"`
		System     []*jsonBlock  `json:"system,omitempty"`
		Messages   []jsonMessage `json:"messages"`
	}
	jsonMessage struct {
		Content []*jsonBlock  `json:"content"`
		Role    provider.Role `json:"role"`
	}
	jsonBlock struct {
		Type string `json:"type"`
		Text string `json:"text,omitempty"`
		// Of a call.
		ID    string          `json:"id,omitempty"`
		Name  string          `json:"name,omitempty"`
		Input json.RawMessage `json:"input,omitempty"`
		// Of a result.
		ToolUseID string       `json:"tool_use_id,omitempty"`
		IsError   bool         `json:"is_error,omitempty"`
		Content   []*jsonBlock `json:"content,omitempty"`

		CacheControl *jsonCache `json:"cache_control,omitempty"`
		// thought is a block that the model wrote, which stands for itself.
		thought json.RawMessage
	}
	jsonTool struct {
		InputSchema json.RawMessage `json:"input_schema"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
	}
	jsonCache struct {
		Type string `json:"type"`
	}
	jsonChoice struct {
		Type string `json:"type"`
	}
)

// ephemeral marks the end of what the provider can find in its cache next time.
var ephemeral = &jsonCache{Type: "ephemeral"}

// cacheMark is how it stands in a request.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// MarshalJSON implements json.Marshaler.
func (b jsonBlock) MarshalJSON() ([]byte, error) {
	if b.thought != nil {
		return b.thought, nil
	}
	type plain jsonBlock
	return json.Marshal(plain(b))
}

// newBody renders a request for the Messages API. What it can find in its
// cache next time ends in three places: after the tools of the app, after the rules,
// and after the history. The clock comes after all of them.
func newBody(request provider.Request) provider.Body {
	rules, parted := provider.Alternate(request.Messages)
	rendered := jsonRequest{Model: request.Model, MaxTokens: maxTokens}
	if rules != "" {
		rendered.System = []*jsonBlock{{Type: "text", Text: rules, CacheControl: ephemeral}}
	}
	var last *jsonBlock
	for _, one := range parted {
		message := jsonMessage{Role: provider.User, Content: blocksOf(one.Messages, last)}
		if one.Model {
			message.Role = provider.Assistant
		}
		last = message.Content[len(message.Content)-1]
		rendered.Messages = append(rendered.Messages, message)
	}
	tools, choice := toolsOf(request)
	rendered.ToolChoice = choice
	return provider.Body{Model: request.Model, Rest: rendered, Tools: tools}
}

// blocksOf renders what one side says. What stands before the clock, here or at
// the end of what was said before, is marked for the cache.
func blocksOf(said []provider.Message, before *jsonBlock) []*jsonBlock {
	var blocks []*jsonBlock
	for _, one := range said {
		if len(blocks) > 0 {
			before = blocks[len(blocks)-1]
		}
		if one.Role == provider.System && before != nil {
			before.CacheControl = ephemeral
		}
		if one.Role == provider.ToolResult {
			blocks = append(blocks, &jsonBlock{
				Type: "tool_result", ToolUseID: one.CallID, IsError: one.Failed, Content: textOf(one),
			})
			continue
		}
		for i, call := range one.Calls {
			blocks = append(blocks, thoughtsOf(call)...)
			if i == 0 {
				blocks = append(blocks, textOf(one)...)
			}
			blocks = append(blocks, &jsonBlock{Type: "tool_use", ID: call.ID, Name: call.Name, Input: arguments.Object(call.Arguments)})
		}
		if len(one.Calls) == 0 {
			blocks = append(blocks, textOf(one)...)
		}
	}
	return blocks
}

// textOf renders a text; a blank one is refused and says nothing.
func textOf(said provider.Message) []*jsonBlock {
	if strings.TrimSpace(said.Text) == "" {
		return nil
	}
	return []*jsonBlock{{Type: "text", Text: said.Text}}
}

// thoughtsOf gives the model's thoughts before a call back as they came, which
// Anthropic asks for: they are signed.
func thoughtsOf(call provider.Call) []*jsonBlock {
	var thoughts []json.RawMessage
	_ = json.Unmarshal([]byte("["+call.Echo+"]"), &thoughts) // as our own reader joined them
	blocks := make([]*jsonBlock, len(thoughts))
	for i, thought := range thoughts {
		blocks[i] = &jsonBlock{thought: thought}
	}
	return blocks
}

// toolsOf renders the tools, those of the app before those of the session, which
// would otherwise keep the app's out of the cache of other sessions. A conversation
// with calls in it is refused without tools: where none is offered the ones that were
// called stand there, and none of them may be.
func toolsOf(request provider.Request) ([]json.RawMessage, *jsonChoice) {
	offered := slices.Clone(request.Tools)
	if len(offered) == 0 {
		return mentioned(request.Messages)
	}
	slices.SortStableFunc(offered, func(a, b *provider.Tool) int { return cmp.Compare(sessionLast(a), sessionLast(b)) })
	rendered := make([]json.RawMessage, len(offered))
	for i, tool := range offered {
		rendered[i] = tool.Written("anthropic", definitionOf)
		if !tool.SessionScoped && (i+1 == len(offered) || offered[i+1].SessionScoped) {
			rendered[i] = slices.Concat(rendered[i][:len(rendered[i])-1], []byte(cacheMark), []byte("}"))
		}
	}
	return rendered, nil
}

func definitionOf(tool *provider.Tool) any {
	return jsonTool{Name: tool.Name, Description: tool.Description, InputSchema: inputSchema(tool.Schema)}
}

// sessionLast sorts the tools of a session after the others.
func sessionLast(tool *provider.Tool) int {
	if tool.SessionScoped {
		return 1
	}
	return 0
}

// mentioned renders the tools that were called, of which none may be.
func mentioned(messages []provider.Message) ([]json.RawMessage, *jsonChoice) {
	_, names := provider.CallsByID(messages)
	if len(names) == 0 {
		return nil, nil
	}
	rendered := make([]json.RawMessage, len(names))
	for i, name := range names {
		rendered[i], _ = json.Marshal(jsonTool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return rendered, &jsonChoice{Type: "none"}
}

// inputSchema leaves out what Anthropic refuses at the top of a schema. Everything
// else of JSON Schema is taken without strict mode.
func inputSchema(schema json.RawMessage) json.RawMessage {
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
