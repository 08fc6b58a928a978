package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories"
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
		o.Now = func() time.Time { now = now.Add(40 * time.Millisecond); return now } // the sign-in reads it as well
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
		"status": 200.0, "bytes": float64(len(apitest.NoMatch) + 1), "ms": 80.0, "trace": callersTrace, "appId": "clinic", "sessionId": "s1",
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
	return s.engine.posted().TraceParent
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

func check(name string, err error) api.Check {
	return api.Check{Name: name, Ready: func(context.Context) error { return err }}
}

func TestReadyzNamesWhatIsDownAndHidesWhere(t *testing.T) {
	broken := errors.New("dial tcp 10.0.0.7:6379: refused")
	cases := map[string][]api.Check{
		"":            {check("redis", nil), check("nats", nil)},
		"redis":       {check("redis", broken), check("nats", nil)},
		"redis, nats": {check("redis", broken), check("nats", broken)},
	}
	for down, checks := range cases {
		s := start(t, func(o *api.Options) { o.Ready = checks })
		got := s.Call("GET", "/readyz", "")
		if down == "" {
			got.Is(200, `{"status":"ready"}`)
			continue
		}
		got.Problem(503, "no answer from "+down)
		require.NotContains(t, string(got.Body), "10.0.0.7")
		require.Contains(t, s.Log.String(), "10.0.0.7")
	}
}

// full is an error with a public text.
type full struct{ error }

func (full) Public() string { return "is full" }

func TestReadyzSaysWhatIsWrongWithAServiceThatAnswers(t *testing.T) {
	wrong := full{errors.New("10.0.0.7 has 8 of 8 bytes")}
	for want, checks := range map[string][]api.Check{
		"not ready: nats is full":                       {check("redis", nil), check("nats", fmt.Errorf("look: %w", wrong))},
		"not ready: no answer from redis; nats is full": {check("nats", wrong), check("redis", errors.New("refused"))},
	} {
		s := start(t, func(o *api.Options) { o.Ready = checks })
		got := s.Call("GET", "/readyz", "")
		got.Problem(503, want)
		require.NotContains(t, string(got.Body), "10.0.0.7")
	}
}

// spoken is an error with the service's own text.
type spoken struct{ error }

func (spoken) Public() string { return "answers NOREPLICAS" }

func (spoken) Detail() string { return "NOREPLICAS Not enough good replicas to write." }

func TestReadyzWithAPartAwayIsReadyAndNamesItWhereAsked(t *testing.T) {
	silent, wordy := api.Part{Name: "shard of slot 7", Err: errors.New("10.0.0.7:6379: refused")}, api.Part{Name: "shard of slot 9", Err: spoken{errors.New("10.0.0.9")}}
	var found error
	s := start(t, func(o *api.Options) {
		o.Ready = []api.Check{{Name: "redis", Ready: func(context.Context) error { return found }}, check("nats", nil)}
	})
	found = &api.Unavailable{Parts: []api.Part{silent, wordy}}
	s.Call("GET", "/readyz", "").Is(200, `{"status":"ready"}`)
	s.Call("GET", "/readyz?verbose=false", "").Is(200, `{"status":"ready"}`)
	got := s.Call("GET", "/readyz?verbose", "").Is(200, `{"status":"ready","services":[{"name":"redis","state":"partly","away":[
		{"name":"shard of slot 7","says":"no answer"},{"name":"shard of slot 9","says":"NOREPLICAS Not enough good replicas to write."}]},{"name":"nats","state":"ready"}]}`)
	require.NotContains(t, string(got.Body), "10.0.0")

	found = &api.Unavailable{Parts: []api.Part{silent, wordy}, All: true}
	s.Call("GET", "/readyz", "").Problem(503, "not ready: redis answers NOREPLICAS")
	got = s.Call("GET", "/readyz?verbose", "")
	got.Problem(503, "not ready: redis answers NOREPLICAS")
	require.Contains(t, string(got.Body), `"services":[{"name":"redis","state":"away","says":"NOREPLICAS Not enough good replicas to write.","away":[{"name":"shard of slot 7"`)

	found = &api.Unavailable{Parts: []api.Part{{Err: errors.New("10.0.0.7")}}, All: true}
	s.Call("GET", "/readyz", "").Problem(503, "not ready: no answer from redis")
	require.Contains(t, string(s.Call("GET", "/readyz?verbose", "").Body), `{"name":"redis","state":"away","says":"no answer"}`)
}

// TestReadinessIsLoggedWhereItChanges probes for more than a minute of an outage.
func TestReadinessIsLoggedWhereItChanges(t *testing.T) {
	var found error
	s := start(t, func(o *api.Options) {
		o.Ready = []api.Check{{Name: "redis", Ready: func(context.Context) error { return found }}}
	})
	for i := range 40 {
		found = fmt.Errorf("read tcp 10.0.0.1:%d->10.0.0.7:6379: refused", 40000+i)
		s.Call("GET", "/readyz", "")
	}
	for range 40 {
		found = spoken{errors.New("10.0.0.7:6379: NOREPLICAS")}
		s.Call("GET", "/readyz", "")
	}
	require.Equal(t, 2, strings.Count(s.Log.String(), `"WARN","msg":"ready.failed"`))
	require.NotContains(t, s.Log.String(), `"ERROR"`, "nor is a probe an error of its own each time")
	found = nil
	s.Call("GET", "/readyz", "")
	s.Call("GET", "/readyz", "")
	require.Equal(t, 1, strings.Count(s.Log.String(), "ready.again"))
	require.Regexp(t, `ready\.again.*held\W+78\b`, s.Log.String())
}

func TestReadyzGivesEveryCheckADeadline(t *testing.T) {
	s := start(t, func(o *api.Options) {
		o.Ready = []api.Check{{Name: "redis", Ready: func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			if !bounded {
				return errors.New("no deadline")
			}
			return nil
		}}}
	})
	s.Call("GET", "/readyz", "").Is(200, "")
}

func TestHealthzIsWellWhateverIsDown(t *testing.T) {
	s := start(t, func(o *api.Options) { o.Ready = []api.Check{check("redis", errors.New("down"))} })
	s.Call("GET", "/healthz", "").Is(200, `{"status":"alive"}`)
}

func TestMetricsShowTheRegistryAndCountRequests(t *testing.T) {
	registry := prometheus.NewRegistry()
	prometheus.WrapRegistererWith(nil, registry).MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "earshot_dead", Help: "Dead letters."}, func() float64 { return 7 }))
	s := start(t, func(o *api.Options) { o.Metrics = registry })
	s.Call("GET", "/v1/apps/clinic.x", "")
	s.Call("GET", "/v1/apps/clinic.y", "")
	s.Call("BREW", "/made-up", "")
	shown := string(s.Call("GET", "/metrics", "").Is(200, "").Body)
	for _, line := range []string{
		"earshot_dead 7",
		`earshot_http_requests_total{method="GET",route="/v1/apps/:appId",status="400"} 2`,
		`earshot_http_requests_total{method="other",route="unknown",status="404"} 1`,
	} {
		require.Contains(t, shown, line+"\n")
	}
}

func TestTwoHandlersShareOneRegistry(t *testing.T) {
	registry := prometheus.NewRegistry()
	one := start(t, func(o *api.Options) { o.Metrics = registry })
	two := start(t, func(o *api.Options) { o.Metrics = registry })
	one.Call("GET", "/v1/apps", "")
	two.Call("GET", "/v1/apps", "")
	require.Contains(t, string(one.Call("GET", "/metrics", "").Body), `earshot_http_requests_total{method="GET",route="/v1/apps",status="200"} 2`)
}
