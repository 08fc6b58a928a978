// Package apitest runs the API for tests, and checks every answer against the description of the API.
package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/api/server"
	"earshot/deploy/testbed"
	"earshot/repositories/fault"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// AdminKey is the key that every request has unless it names another.
const AdminKey = "correct-horse-battery-staple"

// Service is an API that serves on loopback.
type Service struct {
	T           testing.TB
	URL         string
	Handler     http.Handler // what serves at URL
	Log         *testbed.Lines
	Sealer      *store.Sealer // makes its tokens
	Description Description
}

// Serve starts the API with options that change completes.
func Serve(t testing.TB, change ...func(*api.Options)) *Service {
	sealer := testbed.Got(store.NewSealer(bytes.Repeat([]byte("k"), store.KeySize)))(t)
	s := &Service{T: t, Log: &testbed.Lines{}, Sealer: sealer}
	options := api.Options{
		Tokens: sealer, Memory: memory{}, AdminKey: secret.New(AdminKey),
		Logger: slog.New(slog.NewJSONHandler(s.Log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, alter := range change {
		alter(&options)
	}
	s.Handler = api.New(options)
	serving := httptest.NewUnstartedServer(s.Handler)
	serving.Listener = server.Listener{Listener: serving.Listener, Within: options.WriteTime}
	serving.Start()
	t.Cleanup(serving.Close)
	s.URL = serving.URL
	s.Description = describe(t, serving.URL)
	return s
}

// Routes lists the routes of the router, as "METHOD /path/{id}".
func (s *Service) Routes() map[string]bool {
	found := map[string]bool{}
	for _, route := range s.Handler.(*echo.Echo).Routes() {
		if route.Method != "HEAD" {
			path := strings.Replace(route.Path, "*", ":path", 1)
			found[route.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(path, "{$1}")] = true
		}
	}
	return found
}

// Document reads the JSON document at a path.
func (s *Service) Document(path string) (found map[string]any) {
	require.NoError(s.T, json.Unmarshal(s.Call("GET", path, "").Is(200, "").Body, &found))
	return found
}

// Call sends a request with the admin key and checks the answer by the description. A header, "Name: value", overrides.
func (s *Service) Call(method, path, body string, headers ...string) Answer {
	got := s.Ask(method, path, body, headers...)
	path, _, _ = strings.Cut(path, "?")
	s.Description.foresees(s.T, method, path, got)
	if len(got.Body) > 0 && strings.Contains(got.Header.Get("Content-Type"), "json") {
		require.True(s.T, bytes.HasSuffix(got.Body, []byte("}\n")), "a line of a terminal ends: %s", got.Body)
	}
	return got
}

// Ask is Call for answers that the description need not have.
func (s *Service) Ask(method, path, body string, headers ...string) Answer {
	request := testbed.Got(http.NewRequestWithContext(s.T.Context(), method, s.URL+path, strings.NewReader(body)))(s.T)
	request.Header.Set("Authorization", "Bearer "+AdminKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	SetHeaders(request, headers...)
	return s.Send(request)
}

// SetHeaders sets headers, "Name: value", of a request. One without a value is removed.
func SetHeaders(request *http.Request, headers ...string) {
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		if value == "" {
			request.Header.Del(name)
		}
	}
}

// Send sends a request as it is; any goroutine may call it.
func (s *Service) Send(request *http.Request) Answer {
	response := testbed.Got(http.DefaultTransport.RoundTrip(request))(s.T)
	defer response.Body.Close()
	body := testbed.Got(io.ReadAll(response.Body))(s.T)
	return Answer{s.T, response, body}
}

// Post sends a body with a credential; any goroutine may call it.
func (s *Service) Post(path, body, credential string) Answer {
	request := testbed.Got(http.NewRequest(http.MethodPost, s.URL+path, strings.NewReader(body)))(s.T)
	request.Header.Set("Authorization", "Bearer "+credential)
	return s.Send(request)
}

// Answer is a response with its body.
type Answer struct {
	T testing.TB
	*http.Response
	Body []byte
}

// Is checks the status and, unless it is empty, the JSON of an answer.
func (a Answer) Is(status int, body string) Answer {
	require.Equal(a.T, status, a.StatusCode, string(a.Body))
	if body != "" {
		require.JSONEq(a.T, body, string(a.Body))
	}
	return a
}

// Problem checks for a problem of that status with all the words in its detail, and returns its faults by pointer.
func (a Answer) Problem(status int, words ...string) map[string]string {
	require.Equal(a.T, status, a.StatusCode, string(a.Body))
	require.Equal(a.T, "application/problem+json", a.Header.Get("Content-Type"))
	var problem struct {
		Type, Title, Detail string
		Status              int
		Errors              fault.List
	}
	require.NoError(a.T, json.Unmarshal(a.Body, &problem))
	require.Equal(a.T, status, problem.Status)
	for _, word := range words {
		require.Contains(a.T, problem.Detail, word)
	}
	faults := map[string]string{}
	for _, fault := range problem.Errors {
		faults[fault.Pointer] += fault.Detail
	}
	return faults
}

// Made is a new key or token.
type Made struct {
	KeyID, Key, Token string
	Expires           time.Time `json:"expiresAt"`
	LastUsed          time.Time
	Scopes            []string
	Name              string
}

// Made reads the key or token of an answer.
func (a Answer) Made() (m Made) {
	a.Is(201, "")
	require.NoError(a.T, json.Unmarshal(a.Body, &m))
	return m
}

// Bearer is the header with a credential.
func Bearer(text string) string { return "Authorization: Bearer " + text }
