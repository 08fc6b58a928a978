package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
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

// service is an API that serves on loopback.
type service struct {
	t           testing.TB
	url         string
	handler     http.Handler // what is at url
	log         *testbed.Lines
	sealer      *store.Sealer // of its tokens
	description description
}

// serve starts the API with options that change completes.
func serve(t testing.TB, change ...func(*api.Options)) *service {
	sealer, err := store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize))
	require.NoError(t, err)
	s := &service{t: t, log: &testbed.Lines{}, sealer: sealer}
	options := api.Options{
		Tokens: sealer, AdminKey: secret.New(adminKey),
		Logger: slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
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

// routes lists the routes that the router has, as "METHOD /path/{id}".
func (s *service) routes() map[string]bool {
	found := map[string]bool{}
	for _, route := range s.handler.(*echo.Echo).Routes() {
		if route.Method != "HEAD" {
			found[route.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(route.Path, "{$1}")] = true
		}
	}
	return found
}

// document reads what the service says of itself at a path.
func (s *service) document(path string) (found map[string]any) {
	s.t.Helper()
	require.NoError(s.t, json.Unmarshal(s.call("GET", path, "").is(200, "").body, &found))
	return found
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

// faked is a service over fakes.
type faked struct {
	*service
	store  *storeDouble
	engine *engineDouble
}

func start(t testing.TB, change ...func(*api.Options)) faked {
	keys, engine := &storeDouble{}, &engineDouble{}
	return faked{serve(t, append([]func(*api.Options){func(o *api.Options) {
		o.Keys, o.Store, o.Engine, o.Memory, o.NewID = keys, keys, engine, memoryDouble{}, func() string { return "made-1" }
	}}, change...)...), keys, engine}
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
