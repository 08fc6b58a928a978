package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"earshot/matcher"
	"earshot/repositories/exactjson"
)

// openAI is a client of OpenAI's chat completions and of more or less compatible servers.
type openAI struct {
	endpoint
	// strict is set once the endpoint refused system messages within the conversation. OpenAI accepts them, and
	// caches best that way. Mistral and the chat templates of several open models want them first, and an
	// assistant's message between a tool's result and the user's next message.
	strict atomic.Bool
}

func newOpenAI(base endpoint, given Config) (provider, error) {
	to, err := url.Parse(strings.TrimRight(given.BaseURL, "/") + "/chat/completions")
	if err != nil {
		return nil, errBaseURL
	}
	o := &openAI{endpoint: base}
	o.wireForm, o.url, o.spare = o, to, []string{"stream"}
	o.sendKey("Authorization", "Bearer ")
	if strings.HasSuffix(to.Hostname(), ".azure.com") {
		o.sendKey("Api-Key", "")
	}
	return o, nil
}

// refusesOrder matches errors about the order of messages. Each names the role.
var refusesOrder = regexp.MustCompile(`(?i)unexpected role|system message must|roles must alternate|message_order|only the first message can be a system`)

// complete implements provider. A refused order costs one more request, once per process.
func (o *openAI) complete(ctx context.Context, request chatRequest) (completion, error) {
	if o.strict.Load() {
		request.messages = inOrder(request.messages)
	}
	answer, err := o.endpoint.complete(ctx, request)
	if refused, is := errors.AsType[*matcher.Unavailable](err); is && !o.strict.Load() && refusesOrder.MatchString(refused.Reason) {
		o.strict.Store(true)
		request.messages = inOrder(request.messages)
		return o.endpoint.complete(ctx, request)
	}
	return answer, err
}

// inOrder moves all system texts to the front, inserts an assistant's message between a tool and the user, and
// joins consecutive texts of one role, so that roles alternate, the user's first.
func inOrder(messages []chatMessage) []chatMessage {
	ordered := []chatMessage{{role: roleSystem}}
	for _, message := range messages {
		last := &ordered[len(ordered)-1]
		switch {
		case message.role == roleAssistant && len(ordered) == 1:
			ordered = append(ordered, chatMessage{role: roleUser, text: noBeginning}, message)
		case message.role == roleSystem:
			ordered[0].text = strings.TrimSpace(ordered[0].text + "\n\n" + message.text)
		case message.role == roleUser && last.role == roleTool:
			ordered = append(ordered, chatMessage{role: roleAssistant, text: "Done."}, message)
		case message.role == last.role && message.role != roleTool && len(last.calls)+len(message.calls) == 0:
			last.text += "\n\n" + message.text
		default:
			ordered = append(ordered, message)
		}
	}
	return ordered
}

// write implements wireForm. It sends no tool_choice and parallel_tool_calls, whose defaults fit and which some
// models refuse, and no temperature, which reasoning models refuse.
func (o *openAI) write(request chatRequest, without []string) requestBody {
	type message struct {
		Role       string         `json:"role"`
		Content    string         `json:"content,omitempty"`
		ToolCalls  []functionCall `json:"tool_calls,omitempty"`
		ToolCallID string         `json:"tool_call_id,omitempty"`
	}
	rest := struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
		Stream   any       `json:"stream,omitempty"`
	}{Model: request.model, Messages: make([]message, len(request.messages))}
	if !slices.Contains(without, "stream") {
		rest.Stream = false
	}
	count := 0
	for _, entry := range request.messages {
		count += len(entry.calls)
	}
	calls := make([]functionCall, 0, count) // of all messages
	for i, entry := range request.messages {
		rest.Messages[i] = message{Role: entry.role, Content: entry.text, ToolCallID: entry.callID}
		first := len(calls)
		for _, call := range entry.calls {
			calls = append(calls, newFunctionCall(call.id, call.name, call.readable()))
		}
		rest.Messages[i].ToolCalls = calls[first:len(calls):len(calls)]
	}

	tools := make([]json.RawMessage, len(request.tools))
	for i, tool := range request.tools {
		tools[i] = tool.json("openai", func(tool *chatTool) any {
			return map[string]any{"type": "function", "function": functionTool{tool.name, tool.description, tool.schema}}
		})
	}
	return requestBody{rest: rest, tools: tools}
}

// read implements wireForm. Some proxies spread one answer over several choices.
func (o *openAI) read(body []byte) (completion, error) {
	if found, ok := readPlain(body); ok {
		return found, nil
	}
	var answer struct {
		answerError
		Choices []struct {
			Message      *functionMessage `json:"message"`
			FinishReason anyText          `json:"finish_reason"`
		} `json:"choices"`
		Usage lenient[struct {
			Prompt     anyCount `json:"prompt_tokens"`
			Completion anyCount `json:"completion_tokens"`
			Details    struct {
				Cached anyCount `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		}] `json:"usage"`
	}
	if err := decodeAnswer(body, &answer); err != nil {
		return completion{}, err
	}
	counted := answer.Usage.value
	found := completion{usage: Usage{Prompt: int(counted.Prompt), Cached: int(counted.Details.Cached), Completion: int(counted.Completion)}}
	var reasons []anyText
	for _, choice := range answer.Choices {
		if choice.Message == nil {
			continue
		}
		if choice.Message.Refusal != "" {
			return found, errors.New("the model refused to answer")
		}
		calls, err := choice.Message.calls()
		if err != nil {
			return found, err
		}
		found.calls = append(found.calls, calls...)
		found.text = strings.TrimSpace(found.text + "\n" + string(choice.Message.Content))
		reasons = append(reasons, choice.FinishReason)
	}
	if len(reasons) == 0 {
		return found, errors.New("the answer has no choices")
	}
	for _, reason := range reasons {
		if err := checkFinish(reason); err != nil {
			return found, err
		}
	}
	return found, nil
}

// readPlain reads an answer in OpenAI's exact form with one finished choice, at a third of the cost of the lenient
// read; false for any other.
func readPlain(body []byte) (found completion, ok bool) {
	var answer struct {
		Error   any `json:"error"`
		Choices []struct {
			Message *struct {
				Content      string `json:"content"`
				Refusal      string `json:"refusal"`
				FunctionCall any    `json:"function_call"`
				ToolCalls    []struct {
					ID       string `json:"id"`
					Function struct {
						Name      string `json:"name"`
						Arguments string `json:"arguments"`
					} `json:"function"`
				} `json:"tool_calls"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Prompt     uint32 `json:"prompt_tokens"`
			Completion uint32 `json:"completion_tokens"`
			Details    struct {
				Cached uint32 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if exactjson.Unmarshal(body, &answer) != nil || answer.Error != nil || len(answer.Choices) != 1 || answer.Choices[0].Message == nil {
		return found, false
	}
	message, ended := answer.Choices[0].Message, answer.Choices[0].FinishReason
	if message.Refusal != "" || message.FunctionCall != nil || ended != "stop" && ended != "tool_calls" {
		return found, false
	}
	found.text, found.calls = strings.TrimSpace(message.Content), make([]toolCall, len(message.ToolCalls))
	for i, call := range message.ToolCalls {
		if call.Function.Name == "" || call.Function.Arguments == "" {
			return completion{}, false
		}
		found.calls[i] = toolCall{id: call.ID, name: call.Function.Name, arguments: call.Function.Arguments}
	}
	found.usage = Usage{Prompt: int(answer.Usage.Prompt), Cached: int(answer.Usage.Details.Cached), Completion: int(answer.Usage.Completion)}
	return found, true
}
