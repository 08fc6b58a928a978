package httpcall

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// breaking is a server that answers requests for /warm together, and resets the connection of all others, once it
// has read and counted them.
type breaking struct {
	warm sync.WaitGroup
	mu   sync.Mutex
	hits map[string]int // by method and attempt
}

func (b *breaking) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if r.URL.Path == "/warm" {
		b.warm.Done()
		b.warm.Wait() // so that each has a connection
		return
	}
	b.mu.Lock()
	b.hits[r.Method+" "+r.Header.Get("Earshot-Attempt")]++
	b.mu.Unlock()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	if plain, is := connection.(*net.TCPConn); is {
		_ = plain.SetLinger(0)
	}
	connection.Close()
}

// counted returns the hits, by method and attempt.
func (b *breaking) counted() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.hits)
}

// warmUp makes several connections idle.
func (b *breaking) warmUp(count int, send func()) {
	b.mu.Lock()
	b.hits = map[string]int{}
	b.mu.Unlock()
	b.warm.Add(count)
	var sent sync.WaitGroup
	for range count {
		sent.Go(send)
	}
	sent.Wait()
}

func TestAttemptSendsOneRequestOverWarmConnections(t *testing.T) {
	server := &breaking{}
	e := httptest.NewServer(server)
	defer e.Close()
	allowed, err := guard.ParsePolicy("allow")
	require.NoError(t, err)
	caller := New(Options{Apps: effecttest.Apps{"clinic": {ID: "clinic"}}, Policy: allowed, BreakAfter: 100, Logger: slog.New(slog.DiscardHandler)})
	defer caller.CloseIdleConnections()
	deliver := func(path, method string, attempt int) effect.Outcome {
		call := effecttest.Call(&effect.Call{URL: e.URL + path, Request: &repositories.Request{Method: method}, Event: []byte(`{}`)})
		call.Attempt = attempt
		return caller.Deliver(t.Context(), call)
	}
	server.warmUp(6, func() { deliver("/warm", "POST", 1) })
	hits := map[string]int{}
	for i, method := range []string{"POST", "GET", "PUT", "DELETE"} {
		outcome := deliver("/breaks", method, i+1)
		require.Equal(t, effect.Retry, outcome.Verdict)
		require.True(t, outcome.Reached)
		require.Regexp(t, `: it (closed the connection|broke the connection off)$`, outcome.Error)
		hits[method+" "+string(rune('1'+i))] = 1
	}
	require.Equal(t, hits, server.counted(), "one request for each attempt")
}

func TestRequestIsSentOnceOverTLS(t *testing.T) {
	server := &breaking{}
	e := httptest.NewTLSServer(server)
	defer e.Close()
	client := clientOf(newSingleSendTransport(e.Client().Transport.(*http.Transport)))
	defer client.CloseIdleConnections()
	server.warmUp(4, func() {
		response, err := client.Get(e.URL + "/warm")
		if err == nil {
			_ = response.Body.Close()
		}
	})
	_, err := client.Get(e.URL + "/breaks")
	require.Error(t, err)
	require.Equal(t, map[string]int{"GET ": 1}, server.counted())
}

// stale is a connection that the server closes while it is idle: nothing is written to it any more.
type stale struct {
	net.Conn
	closed *atomic.Bool
}

func (s stale) Write(from []byte) (int, error) {
	if s.closed.Load() {
		return 0, syscall.EPIPE
	}
	return s.Conn.Write(from)
}

func TestConnectionClosedWhileIdleIsNotNoticed(t *testing.T) {
	server := &breaking{}
	e := httptest.NewServer(server)
	defer e.Close()
	var closed *atomic.Bool
	dialer, dialed := &net.Dialer{}, 0
	client := clientOf(newSingleSendTransport(&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, network, address)
		dialed, closed = dialed+1, &atomic.Bool{}
		return stale{connection, closed}, err
	}}))
	defer client.CloseIdleConnections()
	post := func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/warm", strings.NewReader("{}"))
		require.NoError(t, err)
		request.Header.Set("Idempotency-Key", "k")
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
	}
	server.warmUp(1, post)
	server.warmUp(1, post)
	require.Equal(t, 1, dialed, "the connection is used again")
	closed.Store(true)
	server.warmUp(1, post)
	require.Equal(t, 2, dialed, "over a fresh connection, at once")
}
