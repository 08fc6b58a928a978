package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger"
)

// entries returns the log lines about requests.
func (s faked) entries() []map[string]any {
	s.T.Helper()
	var found []map[string]any
	for line := range strings.Lines(s.Log.String()) {
		var entry map[string]any
		require.NoError(s.T, json.Unmarshal([]byte(line), &entry))
		if entry["msg"] == "http.request" && entry["route"] != "/openapi.json" {
			found = append(found, entry)
		}
	}
	return found
}

func TestEveryRequestIsOneLine(t *testing.T) {
	now := time.Unix(0, 0)
	s := start(t, func(o *api.Options) {
		o.Now = func() time.Time { now = now.Add(40 * time.Millisecond); return now }
	})
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "traceparent: 00-"+callersTrace+"-00f067aa0ba902b7-01")

	require.Len(t, s.entries(), 1)
	entry := s.entries()[0]
	require.Regexp(t, "^[A-Z2-7]{26}$", entry["request"])
	delete(entry, "request")
	delete(entry, "time")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "http.request", "method": "POST", "route": "/v1/apps/:appId/sessions/:sessionId/messages",
		"status": 200.0, "bytes": float64(len(apitest.NoMatch) + 1), "ms": 40.0, "trace": callersTrace, "appId": "clinic", "sessionId": "s1",
	}, entry)
}

func TestTheLogHoldsNoTextAndNoCredential(t *testing.T) {
	s := start(t)
	s.Call("POST", apitest.MessagesPath, `{"actor":"user","text":"planted","planted":1}`)
	s.Call("POST", apitest.MessagesPath+"?planted=1", apitest.HelloBody)
	s.Call("GET", "/planted", "")
	s.Call("PLANTED", "/v1/apps", "")
	s.Call("GET", "/v1/apps/planted.x", "")
	s.Call("GET", "/v1/apps", "", "Authorization: Bearer planted", "User-Agent: planted")
	require.Len(t, s.entries(), 6)
	require.NotContains(t, s.Log.String(), "planted")
	require.NotContains(t, s.Log.String(), "PLANTED")
	require.NotContains(t, s.Log.String(), apitest.AdminKey)
}

func TestAnInternalErrorIsFoundInTheLogByItsRequest(t *testing.T) {
	s := start(t)
	s.engine.err = errors.New("the cause")
	got := s.Call("POST", apitest.MessagesPath, apitest.HelloBody)
	entry := s.entries()[0]
	require.Equal(t, "ERROR", entry["level"])
	require.Equal(t, "the cause", entry["error"])
	got.Problem(500, "internal error; the log says more under request "+entry["request"].(string))
	require.NotContains(t, string(got.Body), "the cause")
}

func TestProbesAreLoggedForDebuggingOnly(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		s.Call("GET", path, "")
	}
	for _, entry := range s.entries() {
		require.Equal(t, "DEBUG", entry["level"], entry)
	}
}

func TestAPanicIsA500AndItsValueStaysHidden(t *testing.T) {
	s := start(t)
	s.engine.panics = "planted"
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Problem(500, "internal error")
	entry := s.entries()[0]
	require.Contains(t, entry["error"], "panic: string")
	require.Contains(t, entry["error"], "harness_test.go")
	require.NotContains(t, s.Log.String(), "planted")

	s.engine.panics = nil
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody).Is(200, apitest.NoMatch)
}

func TestAPanicOfTheRuntimeIsLoggedInItsWords(t *testing.T) {
	s := start(t)
	s.store.apps = []*repositories.App{nil} // no store returns that
	s.Call("GET", "/v1/apps/clinic", "").Problem(500)
	require.Contains(t, s.entries()[0]["error"], "nil pointer dereference")
}

func TestAnAbortedHandlerCutsTheConnection(t *testing.T) {
	s := start(t)
	s.engine.panics = http.ErrAbortHandler
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.URL+apitest.MessagesPath, strings.NewReader(apitest.HelloBody))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		response.Body.Close()
	}
	require.Error(t, err)
}

const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func traceOf(s faked, header string) string {
	s.engine.answer = json.RawMessage(apitest.NoMatch)
	s.Call("POST", apitest.MessagesPath, apitest.HelloBody, "traceparent: "+header).Is(200, "")
	return s.engine.last().Args[0].(trigger.Message).TraceParent
}

func TestAMessageCarriesTheCallersTraceWithASpanOfItsOwn(t *testing.T) {
	s := start(t)
	for _, flags := range []string{"00", "01"} {
		got := traceOf(s, "00-"+callersTrace+"-00f067aa0ba902b7-"+flags)
		require.Regexp(t, "^00-"+callersTrace+"-[0-9a-f]{16}-"+flags+"$", got)
		require.NotContains(t, got, "00f067aa0ba902b7")
	}
}

func TestWithoutAValidTraceOneIsBegun(t *testing.T) {
	s := start(t)
	seen := map[string]bool{}
	for _, header := range []string{"", "garbage", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "ff-" + callersTrace + "-00f067aa0ba902b7-01"} {
		got := traceOf(s, header)
		require.Regexp(t, "^00-[0-9a-f]{32}-[0-9a-f]{16}-01$", got)
		require.NotContains(t, got, callersTrace)
		seen[got] = true
	}
	require.Len(t, seen, 4)
}

// discarding is a client that ignores the answer.
type discarding struct {
	header http.Header
	status int
}

func (u *discarding) Header() http.Header { return u.header }

func (u *discarding) WriteHeader(status int) { u.status = status }

func (u *discarding) Write(text []byte) (int, error) { return len(text), nil }

// BenchmarkMessage measures a message without the engine and the connection.
func BenchmarkMessage(b *testing.B) {
	engine, keys := &engineDouble{}, &storeDouble{}
	engine.answer = json.RawMessage(`{"messageId":"m1","matches":[]}`)
	handler := api.New(api.Options{
		Store: keys, Keys: keys, Engine: engine, AdminKey: secret.New(apitest.AdminKey), Metrics: prometheus.NewRegistry(),
		Logger: slog.New(slog.NewJSONHandler(io.Discard, nil)),
	})
	const body = `{"messageId":"m1","actor":"user","text":"I would like to come in on Friday, please [[book-table day=Friday]]"}`
	b.ReportAllocs()
	for b.Loop() {
		engine.calls = engine.calls[:0]
		request := httptest.NewRequest(http.MethodPost, "/v1/apps/clinic/sessions/s1/messages", strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+apitest.AdminKey)
		request.Header.Set("Content-Type", "application/json")
		client := &discarding{header: http.Header{}}
		handler.ServeHTTP(client, request)
		require.Equal(b, http.StatusOK, client.status)
	}
}
