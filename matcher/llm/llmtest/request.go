package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Request is a chat completion as it arrived.
type Request struct {
	Model    string    `json:"model"`
	Messages []Message `json:"messages"`
	Tools    []Tool    `json:"-"`
	// ToolChoice is empty where the request has none.
	ToolChoice string `json:"tool_choice"`
	// Parallel is parallel_tool_calls, nil where the request has none.
	Parallel *bool `json:"parallel_tool_calls"`

	Header http.Header `json:"-"`
	Body   []byte      `json:"-"`
}

// Message is one message of a request.
type Message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// ToolCall is a call that stands in the history of a request.
type ToolCall struct {
	ID       string `json:"id"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// Tool is a tool that a request offers.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Last returns the last message, which is what the model is to act on.
func (r Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// ToolNames returns the names of the tools on offer, in their order.
func (r Request) ToolNames() []string {
	names := make([]string, len(r.Tools))
	for i, tool := range r.Tools {
		names[i] = tool.Name
	}
	return names
}

func decode(r *http.Request, body []byte) (Request, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/chat/completions") {
		return Request{}, fmt.Errorf("want POST …/chat/completions")
	}
	var parsed struct {
		Request
		Tools []struct {
			Function Tool `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &parsed); err != nil {
		return Request{}, err
	}
	request := parsed.Request
	for _, tool := range parsed.Tools {
		request.Tools = append(request.Tools, tool.Function)
	}
	if len(request.Messages) == 0 {
		return Request{}, fmt.Errorf("it has no messages")
	}
	request.Header, request.Body = r.Header.Clone(), body
	return request, nil
}
