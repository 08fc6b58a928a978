package testbed

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
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

// Proxy stands before a server. It can swallow replies: it closes the connection instead of the answer.
type Proxy struct {
	Loss, Lost atomic.Int64 // reads from the server that are swallowed, of a thousand, and that were
	Addr       string       // where it listens

	server string
	mu     sync.Mutex
	dice   *rand.Rand
}

// NewProxy starts a proxy of the server at an address. The seed chooses what it swallows.
func NewProxy(t TB, server string, seed int64) *Proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, "listen", err)
	t.Cleanup(func() { _ = listener.Close() })
	p := &Proxy{Addr: listener.Addr().String(), server: server, dice: rand.New(rand.NewPCG(uint64(seed), 1))}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			go p.serve(client)
		}
	}()
	return p
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return // the server is down, and so is its connection
	}
	defer server.Close()
	go func() {
		defer server.Close()
		_, _ = io.Copy(server, client) // ends with either side
	}()
	buffer := make([]byte, 64<<10)
	for {
		n, err := server.Read(buffer)
		if err != nil || p.swallows() {
			return
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func (p *Proxy) swallows() bool {
	loss := p.Loss.Load()
	if loss == 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dice.Int64N(1000) >= loss {
		return false
	}
	p.Lost.Add(1)
	return true
}

// Ports are below those of outgoing connections (from 32768 on Linux, 49152 elsewhere), which could take one before the server.
const (
	lowest, highest = 10_000, 32_767
	attempts        = 1_000
)

// reserved is the folder with a file for each port. A lock on the file reserves the port among the tests of all packages.
var reserved = filepath.Join(os.TempDir(), "earshot-test-ports")

// Ports returns different ports of 127.0.0.1 that are free. No other test gets one of them before this one ends.
func Ports(t TB, count int) (ports []int) {
	t.Helper()
	Must(t, "make the folder of ports", os.MkdirAll(reserved, 0o777))
	for range attempts {
		port := lowest + rand.IntN(highest-lowest+1)
		file, err := os.OpenFile(filepath.Join(reserved, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o666)
		Must(t, "open the file of a port", err)
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			err = nobodyListens(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		}
		if err != nil { // another has it
			_ = file.Close()
			continue
		}
		t.Cleanup(func() { _ = file.Close() })
		if ports = append(ports, port); len(ports) == count {
			return ports
		}
	}
	t.Fatalf("found only %d of %d free ports from %d to %d", len(ports), count, lowest, highest)
	return nil
}

// nobodyListens connects, and does not listen: a process started at that moment would inherit the listener until it executes.
func nobodyListens(address string) error {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	switch {
	case err == nil:
		return errors.Join(conn.Close(), errors.New("somebody listens at "+address))
	case errors.Is(err, syscall.ECONNREFUSED):
		return nil
	default:
		return err
	}
}

// Address returns a free port as 127.0.0.1:port.
func Address(t TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Ports(t, 1)[0]))
}
