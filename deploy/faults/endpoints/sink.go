// Package endpoints is the outside world that replicas of the service talk to, as scripts: the
// endpoints of tools, an MCP server, and a model. All write down what they got, and look for
// credentials where none belongs.
package endpoints

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Call is a request that arrived, for a tool.
type Call struct {
	Path           string
	ID             string // webhook-id
	IdempotencyKey string
	Body           string
	// Done says that an MCP server has carried it out. It is false for what the server refused,
	// or never answered.
	Done bool
}

// Sink is the endpoints of all tools, and their token endpoint. What it does with a
// call is said by its path:
//
//	/ok     200, and repeats the Authorization that it was sent
//	/busy   503 the first time, then 200
//	/dead   404 the first time, then 200
//	/hang   no answer the first time, then 200
//	/drip   200, and a body that never ends, byte by byte
//	/giga   200, and a body of a gigabyte
//	/token  an access token
//	/mcp/…  MCP servers (see Remote)
type Sink struct {
	// Remote is the MCP server.
	Remote *Remote

	secrets func(place, text string)
	token   string

	mu    sync.Mutex
	calls []Call
	seen  map[string]bool // id and path
}

// NewSink returns a Sink that gives out a token. It shows every body that it gets to secrets.
func NewSink(token string, secrets func(place, text string)) *Sink {
	s := &Sink{secrets: secrets, token: token, seen: map[string]bool{}}
	s.Remote = newRemote(s)
	return s
}

// ServeHTTP takes a call.
func (s *Sink) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body := ReadAll(request.Body)
	if request.URL.Path == "/token" {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{"access_token": s.token, "token_type": "bearer", "expires_in": 3600})
		return
	}
	s.secrets("the body of a call", body)
	if strings.HasPrefix(request.URL.Path, RemotePath) {
		s.Remote.serve(out, request, body)
		return
	}
	first := s.note(Call{
		Path: request.URL.Path, ID: request.Header.Get("webhook-id"),
		IdempotencyKey: request.Header.Get("Idempotency-Key"), Body: body,
	})
	s.behave(out, request, first)
}

// note logs a call and reports whether it is the first of its id on its path.
func (s *Sink) note(c Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	before := s.seen[c.ID+" "+c.Path]
	s.seen[c.ID+" "+c.Path] = true
	return !before
}

// times counts the calls of an id that have arrived.
func (s *Sink) times(id string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.calls {
		if one.ID == id {
			n++
		}
	}
	return n
}

// done notes that the calls of an id, which had arrived, were carried out.
func (s *Sink) done(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.calls {
		s.calls[i].Done = s.calls[i].Done || s.calls[i].ID == id
	}
}

func (s *Sink) behave(out http.ResponseWriter, request *http.Request, first bool) {
	switch {
	case request.URL.Path == "/drip":
		pour(out, request, 1, 200*time.Millisecond)
	case request.URL.Path == "/giga":
		pour(out, request, 1<<20, 0)
	case first && request.URL.Path == "/busy":
		http.Error(out, "busy", http.StatusServiceUnavailable)
	case first && request.URL.Path == "/dead":
		http.Error(out, "no such thing", http.StatusNotFound)
	case first && request.URL.Path == "/hang":
		<-request.Context().Done()
	default:
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{"ok": true, "you sent": request.Header.Get("Authorization")})
	}
}

// pour writes pieces of a body until a gigabyte is written or nobody reads any more.
func pour(out http.ResponseWriter, request *http.Request, size int, pause time.Duration) {
	piece, flusher := []byte(strings.Repeat("x", size)), http.NewResponseController(out)
	for written := 0; written < 1<<30 && request.Context().Err() == nil; written += size {
		if _, err := out.Write(piece); err != nil || flusher.Flush() != nil {
			return
		}
		if pause > 0 {
			time.Sleep(pause)
		}
	}
}

// All are the calls that arrived, oldest first.
func (s *Sink) All() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// ReadAll reads a body of ours, up to what none of them reaches.
func ReadAll(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 8<<20)) // a sender that died sends no more
	return string(text)
}
