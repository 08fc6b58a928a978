package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/auth"
	"earshot/api/server"
	"earshot/deploy/testbed"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

const adminKey = "correct-horse-battery-staple"

// service is a running API over doubles.
type service struct {
	t           testing.TB
	store       *storeDouble
	engine      *engineDouble
	url         string
	handler     http.Handler // what is at url
	log         *testbed.Lines
	description description
}

// start runs the API on loopback; change may alter its options.
func start(t testing.TB, change ...func(*api.Options)) *service {
	s := &service{t: t, store: &storeDouble{}, engine: &engineDouble{}, log: &testbed.Lines{}}
	sealer, err := store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize))
	require.NoError(t, err)
	options := api.Options{
		Keys: s.store, Tokens: sealer,
		Store: s.store, Engine: s.engine, Memory: memoryDouble{}, AdminKey: secret.New(adminKey),
		Logger: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		NewID:  func() string { return "made-1" },
	}
	for _, alter := range change {
		alter(&options)
	}
	s.handler = api.New(options)
	serving := httptest.NewUnstartedServer(s.handler)
	serving.Listener = server.Listener{Listener: serving.Listener, Within: options.WriteTime}
	serving.Start()
	t.Cleanup(serving.Close)
	s.url = serving.URL
	s.description = describe(t, serving.URL)
	return s
}

// answer is what came back.
type answer struct {
	t testing.TB
	*http.Response
	body []byte
}

// call sends a request with the admin key and checks that the answer is one that the
// description of the API foresees. Headers are given as "Name: value" and override.
func (s *service) call(method, path, body string, headers ...string) answer {
	s.t.Helper()
	got := s.ask(method, path, body, headers...)
	path, _, _ = strings.Cut(path, "?")
	s.description.foresees(s.t, method, path, got)
	if len(got.body) > 0 && strings.Contains(got.Header.Get("Content-Type"), "json") {
		require.True(s.t, bytes.HasSuffix(got.body, []byte("}\n")), "a line of a terminal ends: %s", got.body)
	}
	return got
}

// ask is call for answers that the route does not give but for a double's sake.
func (s *service) ask(method, path, body string, headers ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
	return s.send(request)
}

func (s *service) send(request *http.Request) answer {
	s.t.Helper()
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return answer{s.t, response, body}
}

// is checks the status and, where it is not empty, the JSON of an answer.
func (a answer) is(status int, body string) answer {
	a.t.Helper()
	require.Equal(a.t, status, a.StatusCode, string(a.body))
	if body != "" {
		require.JSONEq(a.t, body, string(a.body))
	}
	return a
}

// problem checks that the answer is a problem of that status whose detail has all the
// words, and returns its faults by pointer.
func (a answer) problem(status int, words ...string) map[string]string {
	a.t.Helper()
	require.Equal(a.t, status, a.StatusCode, string(a.body))
	require.Equal(a.t, "application/problem+json", a.Header.Get("Content-Type"))
	var problem struct {
		Type, Title, Detail string
		Status              int
		Errors              fault.List
	}
	require.NoError(a.t, json.Unmarshal(a.body, &problem))
	require.Equal(a.t, status, problem.Status)
	for _, word := range words {
		require.Contains(a.t, problem.Detail, word)
	}
	faults := map[string]string{}
	for _, fault := range problem.Errors {
		faults[fault.Pointer] += fault.Detail
	}
	return faults
}

// keysOf knows the keys of a real store, and makes none.
type keysOf struct {
	auth.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*store.Store)(nil)}

// quietEvents are a stream on which nothing happens, and which is over at once.
type quietEvents struct{}

func (quietEvents) Now(context.Context) (uint64, error) { return 0, nil }

func (quietEvents) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	over := make(chan effect.Published)
	close(over)
	return over, nil
}
