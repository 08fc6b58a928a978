package httpcall

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"earshot/httpcall/mcpclient"
)

// way is how the requests of one call reach an MCP server: to addresses that may be reached,
// with the headers and the credentials of its source.
type way struct {
	caller     *Caller
	base       http.RoundTripper
	credential credentials
	header     http.Header
	fault      error // of the headers
	repeatable bool
	// calling says that the request of the call itself is on its way.
	calling atomic.Bool

	mu     sync.Mutex
	tokens []string // that were sent
}

func (c *Caller) wayTo(call *preparedCall) *way {
	w := &way{caller: c, base: c.client.Transport, credential: call.credential, header: http.Header{}, repeatable: call.repeatable}
	if !call.repeatable {
		w.base = c.unpooled.Transport
	}
	w.header.Set("User-Agent", c.userAgent)
	w.fault = setToolHeaders(w.header, call.own)
	return w
}

func (w *way) server(call *preparedCall) mcpclient.Server {
	return mcpclient.Server{Key: sessionKey(call), URL: call.target.String(), Send: w}
}

// redact has the tokens that were sent masked.
func (w *way) redact(in *redactor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, token := range w.tokens {
		in.add(token)
	}
}

// RoundTrip sends one request; after a 401 to a token once more with a new one, unless it is a
// call that must not be made twice.
func (w *way) RoundTrip(request *http.Request) (*http.Response, error) {
	if w.fault != nil {
		return nil, w.fault
	}
	authorization, response, err := w.send(request)
	if err != nil || response.StatusCode != http.StatusUnauthorized || w.credential.grant == nil {
		return response, err
	}
	w.caller.tokens.drop(w.credential.grant, bearerOf(authorization))
	if w.calling.Load() && !w.repeatable || request.Body != nil && request.GetBody == nil {
		return response, nil
	}
	_, _ = io.CopyN(io.Discard, response.Body, redactionMargin)
	response.Body.Close()
	_, response, err = w.send(request)
	return response, err
}

// send sends the request, with a body of its own, and says how it was authorized.
func (w *way) send(request *http.Request) (authorization string, response *http.Response, err error) {
	next := request.Clone(request.Context())
	if request.GetBody != nil {
		if next.Body, err = request.GetBody(); err != nil {
			return "", nil, err
		}
	}
	for name, values := range w.header {
		if next.Header.Get(name) == "" {
			next.Header[name] = values
		}
	}
	if authorization, err = w.authorization(request); err != nil {
		return "", nil, err
	}
	if authorization != "" {
		next.Header.Set("Authorization", authorization)
	}
	response, err = w.base.RoundTrip(next)
	return authorization, response, err
}

func (w *way) authorization(request *http.Request) (string, error) {
	if w.credential.grant == nil {
		return w.credential.fixed, nil
	}
	// The token request is none of the call, so the trace of the call does not see it.
	token, err := w.caller.tokens.get(withoutTrace(request.Context()), w.credential.grant)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tokens = append(w.tokens, token)
	return bearerPrefix + token, nil
}

// withoutTrace returns a context that ends with ctx, without its values.
func withoutTrace(ctx context.Context) context.Context { return endOf{ctx} }

type endOf struct{ context.Context }

// Value implements context.Context.
func (endOf) Value(any) any { return nil }
