package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api"
)

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
