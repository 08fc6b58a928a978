package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// received is a request as an endpoint got it.
type received struct {
	Method, URI string
	Header      http.Header
	Body        string
}

// endpoint is an HTTP endpoint outside of the program that keeps what it was sent.
type endpoint struct {
	*httptest.Server
	mu     sync.Mutex
	got    []received
	status int // of a sink, where not 200
}

// newEndpoint starts an endpoint that answers with handle, called after the request was
// kept; the body is at the handler's disposal as in any other.
func newEndpoint(t *testing.T, handle func(w http.ResponseWriter, r received)) *endpoint {
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		one := received{r.Method, r.RequestURI, r.Header.Clone(), string(body)}
		e.mu.Lock()
		e.got = append(e.got, one)
		e.mu.Unlock()
		handle(w, one)
	}))
	t.Cleanup(e.Close)
	return e
}

// newSink starts an endpoint that takes everything, as long as it is not told to answer
// otherwise.
func newSink(t *testing.T) *endpoint {
	var e *endpoint
	e = newEndpoint(t, func(w http.ResponseWriter, _ received) {
		e.mu.Lock()
		defer e.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(e.status, http.StatusOK))
		_, _ = io.WriteString(w, `{"ok":true}`)
	})
	return e
}

// answer sets the status of a sink's answers from now on.
func (e *endpoint) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

// lastPassword is that of basic authentication in the last request.
func (e *endpoint) lastPassword() string {
	list := e.requests()
	_, password, _ := (&http.Request{Header: list[len(list)-1].Header}).BasicAuth()
	return password
}

// newIssuer starts a token endpoint that gives a token of the given beginning, another
// for each request.
func newIssuer(t *testing.T, token string) *endpoint {
	var issued int
	var mu sync.Mutex
	return newEndpoint(t, func(w http.ResponseWriter, _ received) {
		mu.Lock()
		issued++
		number := issued
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"access_token":"%s-%d","token_type":"Bearer","expires_in":3600}`, token, number)
	})
}

// requests lists what the endpoint was sent so far.
func (e *endpoint) requests() []received {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]received(nil), e.got...)
}

// form reads a body that is form encoded, as RFC 6749 asks for in token requests.
func (r received) form(t *testing.T) url.Values {
	require.Equal(t, "application/x-www-form-urlencoded", r.Header.Get("Content-Type"))
	fields, err := url.ParseQuery(r.Body)
	require.NoError(t, err)
	return fields
}
