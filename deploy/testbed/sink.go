package testbed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Serve has a handler listen until the end of the test, at an address or, if that is empty, at any.
func Serve(t TB, address string, handler http.Handler) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", cmp.Or(address, "127.0.0.1:0"))
	Must(t, "listen", err)
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(listener) }() // until it is closed
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + listener.Addr().String()
}

// Call is a request that an endpoint of a tool got.
type Call struct {
	Path           string
	ID             string // webhook-id
	IdempotencyKey string
	Authorization  string
	Body           string
	Nth            int // of its id on its path, from 1
}

// Sink is the endpoints of tools, and their token endpoint. It writes down what it gets.
type Sink struct {
	Answer func(out http.ResponseWriter, request *http.Request, call Call) // answers a call; nil: with 200
	Token  string                                                          // what the token endpoint, /token, gives out

	mu    sync.Mutex
	calls []Call
	times map[[2]string]int // by path and id
}

// ServeHTTP implements http.Handler.
func (s *Sink) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(request.Body, 8<<20)) // a caller that died sends no more
	out.Header().Set("Content-Type", "application/json")
	if request.URL.Path == "/token" {
		_, _ = io.WriteString(out, `{"access_token":`+strconv.Quote(s.Token)+`,"token_type":"bearer","expires_in":3600}`)
		return
	}
	call := s.Note(Call{
		Path: request.URL.Path, ID: request.Header.Get("webhook-id"), IdempotencyKey: request.Header.Get("Idempotency-Key"),
		Authorization: request.Header.Get("Authorization"), Body: string(body),
	})
	if s.Answer != nil {
		s.Answer(out, request, call)
		return
	}
	_ = json.NewEncoder(out).Encode(map[string]any{"ok": true}) // the caller may be gone
}

// Note writes a call down, and counts it.
func (s *Sink) Note(c Call) Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[[2]string]int{}
	}
	s.times[[2]string{c.Path, c.ID}]++
	c.Nth = s.times[[2]string{c.Path, c.ID}]
	s.calls = append(s.calls, c)
	return c
}

// Calls are those that came, in their order; those that got no answer as well.
func (s *Sink) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Completion is what a fake LLM with the API of OpenAI answers: a text, or calls of tools.
type Completion struct {
	Text  string
	Calls [][2]string // a name and its arguments
}

// CompletionEnd is the end of a completion that is streamed.
const CompletionEnd = "data: [DONE]\n\n"

// Write answers a request for a chat completion. A client that has gone needs no answer.
func (c Completion) Write(out http.ResponseWriter, streamed bool) {
	type object = map[string]any
	var calls []object
	message, finish := object{"role": "assistant", "content": c.Text}, "stop"
	for i, call := range c.Calls {
		calls = append(calls, object{"id": fmt.Sprint("call_", i), "type": "function", "function": object{"name": call[0], "arguments": call[1]}})
		message, finish = object{"role": "assistant", "content": nil, "tool_calls": calls}, "tool_calls"
	}
	if !streamed {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{
			"id": "c", "object": "chat.completion", "model": "fake",
			"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
			"usage":   object{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
		})
		return
	}
	out.Header().Set("Content-Type", "text/event-stream")
	send := func(delta object, finish any) {
		text, _ := json.Marshal(object{ // plain values always marshal
			"id": "c", "object": "chat.completion.chunk", "model": "fake",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		_, _ = fmt.Fprintf(out, "data: %s\n\n", text)
		_ = http.NewResponseController(out).Flush()
	}
	send(object{"role": "assistant", "content": ""}, nil)
	if len(calls) == 0 {
		send(object{"content": c.Text[:len(c.Text)/2]}, nil)
		send(object{"content": c.Text[len(c.Text)/2:]}, nil)
	}
	for i, call := range c.Calls { // the name, then its arguments
		send(object{"tool_calls": []object{{"index": i, "id": calls[i]["id"], "type": "function", "function": object{"name": call[0], "arguments": ""}}}}, nil)
		send(object{"tool_calls": []object{{"index": i, "function": object{"arguments": call[1]}}}}, nil)
	}
	send(object{}, finish)
	_, _ = io.WriteString(out, CompletionEnd)
}
