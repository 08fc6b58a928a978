// Package llmtest is a scripted OpenAI-compatible server for tests: it answers chat completions by script, over
// real HTTP, and records the requests.
//
//	server := llmtest.New(t)
//	server.Queue(llmtest.Call("book", `{"day":"2026-12-01"}`))
//	// llm.Options{BaseURL: server.URL(), Key: …}
//	// … post a message …
//	require.Equal(t, "tomorrow please", server.Requests()[0].Last().Content)
package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"earshot/repositories/lists"
)

// Server is the scripted endpoint. It is safe for concurrent use.
type Server struct {
	t      testing.TB
	server *httptest.Server
	done   chan struct{} // closed when the test ends

	mu       sync.Mutex
	queue    []Reply
	handler  func(Request) Reply
	requests []Request
}

// New starts a server that stops with the test. A request without a scripted reply fails the test and gets a 500.
func New(t testing.TB) *Server {
	s := &Server{t: t, done: make(chan struct{})}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.done)
		s.server.Close()
	})
	return s
}

// URL returns the base URL with the version.
func (s *Server) URL() string { return s.server.URL + "/v1" }

// Queue adds replies for the next requests, in order.
func (s *Server) Queue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Handle sets the handler of every request without a queued reply.
func (s *Server) Handle(handler func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count returns the number of requests so far.
func (s *Server) Count() int { return len(s.Requests()) }

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client went away
	}
	request, err := decode(r, body)
	if err != nil {
		s.t.Errorf("llmtest: %s %s is no chat completion: %v\n%s", r.Method, r.URL, err, body)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.next(request).write(w, r, s.done)
}

func (s *Server) next(request Request) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, request)
	handler := s.handler
	if len(s.queue) > 0 {
		reply := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		return reply
	}
	s.mu.Unlock()
	if handler == nil {
		s.t.Errorf("llmtest: nothing is scripted for request %d", s.Count())
		return Status(http.StatusInternalServerError, nil, "nothing is scripted")
	}
	return handler(request)
}

// Request is a chat completion as received.
type Request struct {
	Model      string    `json:"model"`
	Messages   []Message `json:"messages"`
	Tools      []Tool    `json:"-"`
	ToolChoice string    `json:"tool_choice"`         // empty if the request has none
	Parallel   *bool     `json:"parallel_tool_calls"` // parallel_tool_calls, nil if the request has none

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

// ToolCall is a call in the history of a request.
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

// Last returns the last message, to which the model responds.
func (r Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// ToolNames returns the names of the offered tools, in order.
func (r Request) ToolNames() []string {
	return lists.Map(r.Tools, func(tool Tool) string { return tool.Name })
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

// Reply is a scripted answer.
type Reply struct {
	status int
	header http.Header
	body   string
	hang   bool
}

// Call answers with one tool call, whose arguments are sent as given.
func Call(name, arguments string) Reply { return Calls([2]string{name, arguments}) }

// Calls answers with several tool calls, each a name and its arguments.
func Calls(calls ...[2]string) Reply {
	rendered := make([]map[string]any, len(calls))
	for i, call := range calls {
		rendered[i] = map[string]any{
			"id": fmt.Sprintf("call_%d", i+1), "type": "function",
			"function": map[string]string{"name": call[0], "arguments": call[1]},
		}
	}
	return Answer(map[string]any{"role": "assistant", "content": nil, "tool_calls": rendered}, "tool_calls")
}

// Text answers with text and no call.
func Text(text string) Reply {
	return Answer(map[string]any{"role": "assistant", "content": text}, "stop")
}

// Answer answers with any message and finish_reason.
func Answer(message any, finish string) Reply {
	body, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "model": "scripted",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage": map[string]any{
			"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
			"prompt_tokens_details": map[string]int{"cached_tokens": 64},
		},
	})
	if err != nil {
		panic(fmt.Sprintf("llmtest: the message cannot be marshalled: %v", err))
	}
	return Raw(string(body))
}

// Raw answers 200 with a raw body.
func Raw(body string) Reply { return Status(http.StatusOK, nil, body) }

// Status answers with a status, headers (nil for none) and a raw body.
func Status(code int, header http.Header, body string) Reply {
	return Reply{status: code, header: header, body: body}
}

// Hang does not answer until the client goes away or the test ends.
func Hang() Reply { return Reply{hang: true} }

func (reply Reply) write(w http.ResponseWriter, r *http.Request, done <-chan struct{}) {
	if reply.hang {
		select {
		case <-r.Context().Done():
		case <-done:
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	for name, values := range reply.header {
		w.Header()[name] = values
	}
	w.WriteHeader(reply.status)
	_, _ = w.Write([]byte(reply.body)) // the test checks for a client that went away
}
