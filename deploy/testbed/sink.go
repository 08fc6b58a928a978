package testbed

import (
	"cmp"
	"encoding/json"
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
	if err != nil {
		t.Fatal(err)
	}
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
	// Answer answers a call. Without it each is answered with 200.
	Answer func(out http.ResponseWriter, request *http.Request, call Call)
	// Token is what the token endpoint, /token, gives out.
	Token string

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
