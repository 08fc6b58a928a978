package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
)

// provider asks models with tool calling. It sends a request once and does not judge the answer. Its error is a
// *matcher.Unavailable, or the context's.
type provider interface {
	complete(ctx context.Context, request chatRequest) (completion, error)
}

// Roles of the messages of a conversation.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
	roleTool      = "tool" // the result of a call
)

// chatRequest is a request to a model in a neutral form, which each provider encodes.
type chatRequest struct {
	model    string
	messages []chatMessage
	// tools may be called any number of times; without any, the model can only answer with text.
	tools []*chatTool
	wire  *wire // records the exchange; nil for none
}

// chatMessage is one message of the conversation that the model sees.
type chatMessage struct {
	role   string
	text   string
	calls  []toolCall // of the assistant
	callID string     // the call that a message of roleTool answers; failed means that the call failed
	failed bool
}

// toolCall is a model's tool call. Its arguments should be a JSON object.
type toolCall struct {
	id        string
	name      string
	arguments string
	ours      bool   // we have written the arguments: a JSON object
	echo      string // opaque data from the provider, sent back unchanged
}

// chatTool is a tool in the form that models see. Its name and its top-level properties' names are valid for every
// provider. It is made once for many requests and never modified.
type chatTool struct {
	name          string
	description   string
	schema        json.RawMessage
	sessionScoped bool     // true for a session's own tool, which other sessions do not offer
	shown         []string // the sorted property names; names maps aliases among them to parameters
	names         map[string]string

	written sync.Map // form → json.RawMessage
}

// json returns the tool as JSON, encoded once per form. A form names everything else that the encoding depends on;
// there must be few forms.
func (t *chatTool) json(form string, write func(*chatTool) any) json.RawMessage {
	known, ok := t.written.Load(form)
	if !ok {
		text, _ := json.Marshal(write(t)) // our own schema and texts
		known, _ = t.written.LoadOrStore(form, json.RawMessage(text))
	}
	return known.(json.RawMessage)
}

func (t *chatTool) parameter(alias string) string { return cmp.Or(t.names[alias], alias) }

// showsAll reports whether models see all of the values, under the names that they have.
func (t *chatTool) showsAll(values map[string]any) bool {
	count := 0
	for _, name := range t.shown {
		if _, is := values[name]; is && t.names[name] == "" {
			count++
		}
	}
	return count == len(values)
}

type completion struct {
	text  string
	calls []toolCall
	usage Usage
}

// Usage counts the tokens of one request, as far as the provider reports them.
type Usage struct {
	Prompt     int // the whole request
	Cached     int // the part of Prompt from the provider's cache, which is cheaper
	Completion int
}

// chatSide is a run of consecutive messages of one side of a conversation.
type chatSide struct {
	model    bool // the model's side, else the user's
	messages []chatMessage
}

// noBeginning stands for the user's words before the history, if it begins with the model: nothing, or truncated
// messages.
const noBeginning = "(The conversation begins here.)"

// alternate splits messages into the rules and the sides of the conversation. Providers other than OpenAI take the
// rules separately and require alternating sides, the user's first. Later system texts and tool results are on the
// user's side. Blank texts are left out, because some providers refuse them.
func alternate(messages []chatMessage) (rules string, sides []chatSide) {
	if len(messages) > 0 && messages[0].role == roleSystem {
		rules, messages = messages[0].text, messages[1:]
	}
	for _, message := range messages {
		if message.role != roleTool && len(message.calls) == 0 && strings.TrimSpace(message.text) == "" {
			continue
		}
		model := message.role == roleAssistant
		if len(sides) == 0 && model {
			sides = append(sides, chatSide{messages: []chatMessage{{role: roleUser, text: noBeginning}}})
		}
		if last := len(sides) - 1; last >= 0 && sides[last].model == model {
			sides[last].messages = append(sides[last].messages, message)
			continue
		}
		sides = append(sides, chatSide{model: model, messages: []chatMessage{message}})
	}
	return rules, sides
}

func calledTools(messages []chatMessage) (byID map[string]string, names []string) {
	byID, seen := map[string]string{}, map[string]bool{}
	for _, message := range messages {
		for _, call := range message.calls {
			byID[call.id] = call.name
			if !seen[call.name] {
				names = append(names, call.name)
			}
			seen[call.name] = true
		}
	}
	return byID, names
}

// functionTool is a tool in OpenAI's form, which Cohere shares.
type functionTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// functionCall is a call in OpenAI's form, which Cohere shares.
type functionCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func newFunctionCall(id, name, arguments string) functionCall {
	call := functionCall{ID: id, Type: "function"}
	call.Function.Name, call.Function.Arguments = name, arguments
	return call
}

// schemaSubset is the part of JSON Schema that a provider accepts: keywords, and values of format.
type schemaSubset struct {
	keywords []string
	formats  []string
}

// inDescriptions are keywords that a model can obey when a description states them.
var inDescriptions = []string{
	"const", "default", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength",
	"maximum", "minItems", "minLength", "minimum", "multipleOf", "pattern", "uniqueItems",
}

// reduce reduces a schema to the subset. Omitted rules are added to the description where words can express them;
// arguments are always checked against the whole schema. Numbers keep their digits.
func (s schemaSubset) reduce(schema json.RawMessage) json.RawMessage {
	value, err := decodeJSON(string(schema))
	if err != nil {
		return schema // our own schema, which was compiled
	}
	return json.RawMessage(encodeJSON(s.reduced(value)))
}

func (s schemaSubset) reduced(value any) any {
	object, ok := value.(map[string]any)
	if !ok {
		return value // true or false
	}
	kept, words := map[string]any{}, []string{}
	_, refers := object["$ref"]
	for _, keyword := range slices.Sorted(maps.Keys(object)) {
		switch inner := object[keyword]; {
		case refers && !strings.HasPrefix(keyword, "$"):
			// Providers that accept a reference refuse other keywords beside it.
		case s.takes(keyword, inner):
			kept[keyword] = s.inner(keyword, inner)
		case slices.Contains(inDescriptions, keyword):
			rule, ok := inner.(string)
			if !ok {
				rule = encodeJSON(inner)
			}
			words = append(words, keyword+" "+rule)
		}
	}
	if len(words) > 0 {
		text, _ := kept["description"].(string)
		kept["description"] = strings.TrimSpace(text + " (" + strings.Join(words, ", ") + ")")
	}
	return kept
}

func (s schemaSubset) takes(keyword string, value any) bool {
	switch keyword {
	case "format":
		name, _ := value.(string)
		return slices.Contains(s.formats, name)
	case "enum":
		list, _ := value.([]any)
		return !slices.ContainsFunc(list, func(one any) bool {
			_, text := one.(string)
			_, number := one.(json.Number)
			return !text && !number
		})
	default:
		return slices.Contains(s.keywords, keyword)
	}
}

// inner reduces the schemas within a keyword's value.
func (s schemaSubset) inner(keyword string, value any) any {
	switch keyword {
	case "items", "additionalProperties", "not":
		return s.reduced(value)
	case "properties", "$defs":
		named, _ := value.(map[string]any)
		for name, one := range named {
			named[name] = s.reduced(one)
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		list, _ := value.([]any)
		for i, one := range list {
			list[i] = s.reduced(one)
		}
	}
	return value
}
