package httpcall_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// rig is a caller with its dependencies.
type rig struct {
	*httpcall.Caller
	t     *testing.T
	apps  effecttest.Apps
	clock *testbed.Clock
	log   *testbed.Lines
	kept  *store.Store // see store
}

// newRig returns a caller for the app "clinic" that may call loopback.
func newRig(t *testing.T, change ...func(*httpcall.Options)) *rig {
	t.Helper()
	r := &rig{t: t, apps: effecttest.Apps{"clinic": {ID: "clinic"}}, clock: testbed.NewClock(time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)), log: &testbed.Lines{}}
	options := httpcall.Options{
		Apps: r.apps, Policy: policy(t, "allow"), Now: r.clock.Now,
		Jitter: func(pause time.Duration) time.Duration { return pause },
		Logger: slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, alter := range change {
		alter(&options)
	}
	r.Caller = httpcall.New(options)
	t.Cleanup(r.CloseIdleConnections)
	return r
}

// call delivers a call of the app "clinic".
func (r *rig) call(url string, request *repositories.Request, values map[string]any) effect.Outcome {
	return r.Deliver(r.t.Context(), effectOf(url, request, values))
}

// sent makes a call that must be delivered, and returns the request at the endpoint.
func (r *rig) sent(e *endpoint, url string, request *repositories.Request, values map[string]any) seen {
	r.t.Helper()
	before := len(e.requests())
	outcome := r.call(url, request, values)
	require.Equal(r.t, effect.Done, outcome.Verdict, outcome.Error)
	return e.requests()[before]
}

func effectOf(url string, request *repositories.Request, values map[string]any) effect.Effect {
	return effecttest.Call(&effect.Call{URL: url, Request: request, Values: values, Event: json.RawMessage(`{"id":"t1"}`)})
}

func policy(t *testing.T, text string) guard.Policy {
	t.Helper()
	parsed, err := guard.ParsePolicy(text)
	require.NoError(t, err)
	return parsed
}

func credential(text string) secret.Secret { return secret.New(text) }

// seen is a request at an endpoint.
type seen struct {
	method, uri string
	header      http.Header
	body        string
}

// endpoint is a real HTTP server that records its requests.
type endpoint struct {
	*httptest.Server
	mu   sync.Mutex
	seen []seen
}

// newEndpoint returns an endpoint with a handler; 200 without one.
func newEndpoint(t *testing.T, answer http.HandlerFunc) *endpoint {
	t.Helper()
	e := &endpoint{}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		e.mu.Lock()
		e.seen = append(e.seen, seen{r.Method, r.RequestURI, r.Header.Clone(), string(body)})
		e.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *endpoint) requests() []seen {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]seen(nil), e.seen...)
}

func (e *endpoint) only(t *testing.T) seen {
	t.Helper()
	all := e.requests()
	require.Len(t, all, 1)
	return all[0]
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func basicOf(s seen) (user, password string, ok bool) {
	return (&http.Request{Header: s.header}).BasicAuth()
}

// saysJSON answers like says with the JSON type, which token endpoints require.
func saysJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		says(status, body)(w, r)
	}
}

// issuer is a token endpoint that returns tok-1, tok-2 and so on.
type issuer struct {
	*endpoint
	life    int // seconds; 0: no expires_in
	refresh bool
	answer  http.HandlerFunc // instead of a token
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{life: 3600}
	i.endpoint = newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		answer := i.answer
		i.mu.Unlock()
		if answer != nil {
			answer(w, r)
			return
		}
		i.issue(w)
	})
	return i
}

// answers changes the answer, even during requests.
func (i *issuer) answers(answer http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = answer
}

func (i *issuer) issue(w http.ResponseWriter) {
	n := len(i.requests())
	token := map[string]any{"access_token": fmt.Sprintf("tok-%d", n), "token_type": "bearer"}
	if i.life != 0 {
		token["expires_in"] = i.life
	}
	if i.refresh {
		token["refresh_token"] = fmt.Sprintf("refresh-%d", n)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(token)
}

// form returns the form of the n-th token request, counted from 0.
func (i *issuer) form(n int) url.Values {
	form, err := url.ParseQuery(i.requests()[n].body)
	if err != nil {
		panic(err)
	}
	return form
}

// accepts answers 401 to all but these tokens.
func accepts(tokens ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(tokens, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}
}
