package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/trigger"
)

// entries reads the lines of the log about requests.
func (s faked) entries() []map[string]any {
	s.t.Helper()
	var found []map[string]any
	for line := range strings.Lines(s.log.String()) {
		var entry map[string]any
		require.NoError(s.t, json.Unmarshal([]byte(line), &entry))
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
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello, "traceparent: 00-"+callersTrace+"-00f067aa0ba902b7-01")

	require.Len(t, s.entries(), 1)
	entry := s.entries()[0]
	require.Regexp(t, "^[0-9a-f]{16}$", entry["request"])
	delete(entry, "request")
	delete(entry, "time")
	require.Equal(t, map[string]any{
		"level": "INFO", "msg": "http.request", "method": "POST", "route": "/v1/apps/:appId/sessions/:sessionId/messages",
		"status": 200.0, "bytes": float64(len(noMatch) + 1), "ms": 40.0, "trace": callersTrace, "appId": "clinic", "sessionId": "s1",
	}, entry)
}

func TestTheLogHoldsNoTextAndNoCredential(t *testing.T) {
	s := start(t)
	s.call("POST", messagesPath, `{"actor":"user","text":"planted","planted":1}`)
	s.call("POST", messagesPath+"?planted=1", hello)
	s.call("GET", "/planted", "")
	s.call("PLANTED", "/v1/apps", "")
	s.call("GET", "/v1/apps/planted.x", "")
	s.call("GET", "/v1/apps", "", "Authorization: Bearer planted", "User-Agent: planted")
	require.Len(t, s.entries(), 6)
	require.NotContains(t, s.log.String(), "planted")
	require.NotContains(t, s.log.String(), "PLANTED")
	require.NotContains(t, s.log.String(), adminKey)
}

func TestAnInternalErrorIsFoundInTheLogByItsRequest(t *testing.T) {
	s := start(t)
	s.engine.err = errors.New("the cause")
	got := s.call("POST", messagesPath, hello)
	entry := s.entries()[0]
	require.Equal(t, "ERROR", entry["level"])
	require.Equal(t, "the cause", entry["error"])
	got.problem(500, "request "+entry["request"].(string))
}

func TestProbesAreLoggedForDebuggingOnly(t *testing.T) {
	s := start(t)
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		s.call("GET", path, "")
	}
	for _, entry := range s.entries() {
		require.Equal(t, "DEBUG", entry["level"], entry)
	}
}

func TestAPanicIsA500AndItsValueStaysHidden(t *testing.T) {
	s := start(t)
	s.engine.panics = "planted"
	s.call("POST", messagesPath, hello).problem(500, "internal error")
	entry := s.entries()[0]
	require.Contains(t, entry["error"], "panic: string")
	require.Contains(t, entry["error"], "doubles_test.go")
	require.NotContains(t, s.log.String(), "planted")

	s.engine.panics = nil
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello).is(200, noMatch)
}

func TestAPanicOfTheRuntimeIsLoggedInItsWords(t *testing.T) {
	s := start(t)
	s.store.apps = nil // the double indexes it
	s.call("GET", "/v1/apps/clinic", "").problem(500)
	require.Contains(t, s.entries()[0]["error"], "index out of range")
}

func TestAnAbortedHandlerCutsTheConnection(t *testing.T) {
	s := start(t)
	s.engine.panics = http.ErrAbortHandler
	request, err := http.NewRequestWithContext(t.Context(), "POST", s.url+messagesPath, strings.NewReader(hello))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		response.Body.Close()
	}
	require.Error(t, err)
}

const callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func traceOf(s faked, header string) string {
	s.engine.answer = json.RawMessage(noMatch)
	s.call("POST", messagesPath, hello, "traceparent: "+header).is(200, "")
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
