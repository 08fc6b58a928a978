package stage

import (
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"sync"
)

// Call is a request that an endpoint got.
type Call struct{ Path, ID, Authorization, Body string }

// Sink are the endpoints of all tools. They answer 200, or as they are told.
type Sink struct {
	// Addr is their host and port.
	Addr string

	server *http.Server
	mu     sync.Mutex
	calls  []Call
	told   map[string]int
}

func listen(addr string) (*Sink, error) {
	listener, err := net.Listen("tcp", cmp.Or(addr, "127.0.0.1:0"))
	if err != nil {
		return nil, err
	}
	s := &Sink{Addr: listener.Addr().String(), told: map[string]int{}}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(listener) }() // until it is closed
	return s, nil
}

// Answer has a path answer with a status from now on; 0 is no answer at all.
func (s *Sink) Answer(path string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told[path] = status
}

// Calls are those that came, in their order; those that got no answer as well.
func (s *Sink) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// ServeHTTP takes a call.
func (s *Sink) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(request.Body, 1<<20)) // a caller that died sends no more
	out.Header().Set("Content-Type", "application/json")
	if request.URL.Path == "/token" {
		_ = json.NewEncoder(out).Encode(map[string]any{"access_token": "token-of-the-stage", "token_type": "bearer", "expires_in": 3600})
		return
	}
	status := s.note(Call{request.URL.Path, request.Header.Get("webhook-id"), request.Header.Get("Authorization"), string(body)})
	if status == 0 {
		<-request.Context().Done()
		return
	}
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(map[string]any{"status": status}) // the caller may be gone
}

func (s *Sink) note(c Call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	if status, told := s.told[c.Path]; told {
		return status
	}
	return http.StatusOK
}
