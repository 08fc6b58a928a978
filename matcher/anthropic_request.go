package matcher

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// anthropicTokens bounds an answer, which Anthropic wants bounded. It is far more than
// calls and a short text take, and leaves room for models that think first.
const anthropicTokens = 8192

// anthropicRequest renders a request for the Messages API. What it can find in its
// cache next time ends in three places: after the tools of the app, after the rules,
// and after the history. The clock comes after all of them.
func anthropicRequest(request completionRequest) anthropic.MessageNewParams {
	rules, parted := sides(request.Messages)
	rendered := anthropic.MessageNewParams{Model: request.Model, MaxTokens: anthropicTokens}
	if rules != "" {
		rendered.System = []anthropic.TextBlockParam{{Text: rules, CacheControl: anthropic.NewCacheControlEphemeralParam()}}
	}
	var last *anthropic.ContentBlockParamUnion
	for _, one := range parted {
		blocks := anthropicBlocks(one.Messages, last)
		last = &blocks[len(blocks)-1]
		if one.Model {
			rendered.Messages = append(rendered.Messages, anthropic.NewAssistantMessage(blocks...))
		} else {
			rendered.Messages = append(rendered.Messages, anthropic.NewUserMessage(blocks...))
		}
	}
	rendered.Tools, rendered.ToolChoice = anthropicTools(request)
	return rendered
}

// anthropicBlocks renders what one side says. What stands before the clock, here or at
// the end of what was said before, is marked for the cache.
func anthropicBlocks(said []message, before *anthropic.ContentBlockParamUnion) []anthropic.ContentBlockParamUnion {
	var blocks []anthropic.ContentBlockParamUnion
	for _, one := range said {
		if len(blocks) > 0 {
			before = &blocks[len(blocks)-1]
		}
		if one.Role == roleSystem && before != nil {
			*before.GetCacheControl() = anthropic.NewCacheControlEphemeralParam()
		}
		if one.Role == roleTool {
			blocks = append(blocks, anthropicResult(one))
			continue
		}
		for i, call := range one.Calls {
			blocks = append(blocks, anthropicThoughts(call)...)
			if i == 0 {
				blocks = append(blocks, anthropicText(one)...)
			}
			blocks = append(blocks, anthropic.NewToolUseBlock(call.ID, sentObject(call.Arguments), call.Name))
		}
		if len(one.Calls) == 0 {
			blocks = append(blocks, anthropicText(one)...)
		}
	}
	return blocks
}

func anthropicText(said message) []anthropic.ContentBlockParamUnion {
	if strings.TrimSpace(said.Text) == "" {
		return nil
	}
	return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(said.Text)}
}

func anthropicResult(result message) anthropic.ContentBlockParamUnion {
	block := anthropic.NewToolResultBlock(result.CallID, result.Text, result.Failed)
	if !result.Failed {
		block.OfToolResult.IsError = param.Opt[bool]{}
	}
	return block
}

// anthropicThoughts gives the model's thoughts before a call back as they came, which
// Anthropic asks for: they are signed.
func anthropicThoughts(call toolCall) []anthropic.ContentBlockParamUnion {
	var thoughts []json.RawMessage
	_ = json.Unmarshal([]byte("["+call.Echo+"]"), &thoughts) // as our own reader joined them
	blocks := make([]anthropic.ContentBlockParamUnion, len(thoughts))
	for i, thought := range thoughts {
		blocks[i] = param.Override[anthropic.ContentBlockParamUnion](thought)
	}
	return blocks
}

// anthropicTools renders the tools, those of the app before those of the session, which
// would otherwise keep the app's out of the cache of other sessions. A conversation
// with calls in it is refused without tools: where none is offered the ones that were
// called stand there, and none of them may be.
func anthropicTools(request completionRequest) ([]anthropic.ToolUnionParam, anthropic.ToolChoiceUnionParam) {
	offered := slices.Clone(request.Tools)
	if len(offered) == 0 {
		_, names := called(request.Messages)
		if len(names) == 0 {
			return nil, anthropic.ToolChoiceUnionParam{}
		}
		none := anthropic.NewToolChoiceNoneParam()
		return anthropicMentioned(names), anthropic.ToolChoiceUnionParam{OfNone: &none}
	}
	slices.SortStableFunc(offered, func(a, b toolDefinition) int { return cmp.Compare(passing(a), passing(b)) })
	rendered := make([]anthropic.ToolUnionParam, len(offered))
	for i, tool := range offered {
		rendered[i] = anthropicTool(tool)
		if !tool.Passing && (i+1 == len(offered) || offered[i+1].Passing) {
			rendered[i].OfTool.CacheControl = anthropic.NewCacheControlEphemeralParam()
		}
	}
	return rendered, anthropic.ToolChoiceUnionParam{OfAuto: &anthropic.ToolChoiceAutoParam{}}
}

func passing(tool toolDefinition) int {
	if tool.Passing {
		return 1
	}
	return 0
}

func anthropicTool(tool toolDefinition) anthropic.ToolUnionParam {
	schema := param.Override[anthropic.ToolInputSchemaParam](anthropicSchema(tool.Schema))
	rendered := anthropic.ToolUnionParamOfTool(schema, tool.Name)
	if tool.Description != "" {
		rendered.OfTool.Description = anthropic.String(tool.Description)
	}
	return rendered
}

func anthropicMentioned(names []string) []anthropic.ToolUnionParam {
	rendered := make([]anthropic.ToolUnionParam, len(names))
	for i, name := range names {
		rendered[i] = anthropicTool(toolDefinition{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return rendered
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
