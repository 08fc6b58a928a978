// Package llmtest is a scripted OpenAI-compatible server for tests: it answers chat
// completions as it was told to, over real HTTP, and keeps what it was asked.
//
//	server := llmtest.New(t)
//	server.Queue(llmtest.Call("book", `{"day":"2026-12-01"}`))
//	// llm.Options{BaseURL: server.URL(), Key: …}
//	// … post a message …
//	require.Equal(t, "tomorrow please", server.Requests()[0].Last().Content)
package llmtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
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

// New starts a server that stops with the test. A request for which nothing is
// scripted fails the test and is answered with 500.
func New(t testing.TB) *Server {
	s := &Server{t: t, done: make(chan struct{})}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.done)
		s.server.Close()
	})
	return s
}

// URL is the base URL to configure, with the version in it.
func (s *Server) URL() string { return s.server.URL + "/v1" }

// Queue adds replies for the next requests, in their order.
func (s *Server) Queue(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, replies...)
}

// Handle sets what answers every request for which no reply is queued.
func (s *Server) Handle(handler func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler = handler
}

// Requests returns what the server was asked so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Count returns how often the server was asked.
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

// next records the request and picks its reply.
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
