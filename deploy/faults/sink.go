package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// call is a request that the sink got.
type call struct {
	path           string
	id             string // webhook-id
	idempotencyKey string
	body           string
}

// sink is the endpoints of all tools, and their token endpoint. What it does with a
// call is said by its path:
//
//	/ok     200, and repeats the Authorization that it was sent
//	/busy   503 the first time, then 200
//	/dead   404 the first time, then 200
//	/hang   no answer the first time, then 200
//	/drip   200, and a body that never ends, byte by byte
//	/giga   200, and a body of a gigabyte
//	/token  an access token
type sink struct {
	secrets func(place, text string)
	token   string

	mu    sync.Mutex
	calls []call
	seen  map[string]bool // id and path
}

func newSink(token string, secrets func(place, text string)) *sink {
	return &sink{secrets: secrets, token: token, seen: map[string]bool{}}
}

// ServeHTTP takes a call.
func (s *sink) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body := readAll(request.Body)
	if request.URL.Path == "/token" {
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(object{"access_token": s.token, "token_type": "bearer", "expires_in": 3600})
		return
	}
	s.secrets("the body of a call", body)
	first := s.note(call{
		path: request.URL.Path, id: request.Header.Get("webhook-id"),
		idempotencyKey: request.Header.Get("Idempotency-Key"), body: body,
	})
	s.behave(out, request, first)
}

// note logs a call and reports whether it is the first of its id on its path.
func (s *sink) note(c call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	before := s.seen[c.id+" "+c.path]
	s.seen[c.id+" "+c.path] = true
	return !before
}

func (s *sink) behave(out http.ResponseWriter, request *http.Request, first bool) {
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

func (s *sink) all() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

// readAll reads a body of ours, up to what none of them reaches.
func readAll(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 8<<20)) // a sender that died sends no more
	return string(text)
}
