package trigger_test

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// TestMetricsCountWhatIsOwedAndWhatHasFailed follows both numbers through all that
// changes them: a failure, a retry, a purge, and an app that goes.
func TestMetricsCountWhatIsOwedAndWhatHasFailed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gauges := w.watch()
		shows := func(due, dead float64, what string) {
			t.Helper()
			w.until(what, func() bool {
				return gauges("earshot_effects_due") == due && gauges("earshot_dead") == dead
			})
		}
		w.app("other", "{}")
		w.put("", "r", `{"tools":[{"name":"late","url":"http://late.example"},{"name":"a","url":"http://x.example"},{"name":"b","url":"http://x.example"}]}`)
		shows(0, 0, "nothing has happened")

		w.calls.answers(func(delivery effect.Effect) effect.Outcome {
			if delivery.Call.URL == "http://late.example" {
				return down(delivery)
			}
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404"}
		})
		_, err := w.fire(trigger.Direct{Name: "late", Source: "ui"})
		require.NoError(t, err)
		shows(1, 0, "a call is tried again and again")

		var failed []string
		for _, name := range []string{"a", "a", "b"} {
			match, err := w.fire(trigger.Direct{Name: name, Source: "ui"})
			require.NoError(t, err)
			failed = append(failed, match.TriggerID)
		}
		shows(1, 3, "three have failed")
		w.calls.answers(func(delivery effect.Effect) effect.Outcome {
			if delivery.TriggerID == failed[0] {
				return effect.Outcome{Verdict: effect.Done, Status: 200}
			}
			return down(delivery)
		})
		require.NoError(t, w.engine.Retry(t.Context(), "clinic", failed[0], "admin"))
		w.keeper.Wake("clinic")
		shows(1, 2, "one was retried")
		_, err = w.engine.Purge(t.Context(), query.Triggers{AppID: "clinic", Name: "b"})
		require.NoError(t, err)
		shows(1, 1, "one was purged")
		require.NoError(t, w.store.DeleteApp(t.Context(), "clinic"))
		w.until("the failed ones of an app go with it", func() bool { return gauges("earshot_dead") == 0 })
	})
}

// watch runs another replica and reads its gauges.
func (w *world) watch() (gauge func(name string) float64) {
	metrics, registry := worker.NewMetrics(), prometheus.NewRegistry()
	registry.MustRegister(metrics)
	client := w.server.Connect(redis.UniversalOptions{ContextTimeoutEnabled: true})
	engine, err := trigger.NewEngine(trigger.Options{
		DB:    &keyspace.DB{UniversalClient: client, Embedded: w.server.Embedded()},
		Store: w.store, Matcher: w.matcher, Events: w.events, Calls: w.calls, Metrics: metrics, Poll: 20 * time.Millisecond,
	})
	require.NoError(w.t, err)
	w.t.Cleanup(func() {
		_ = engine.Stop(context.Background())
		_ = client.Close()
	})
	w.run(engine)
	return func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(w.t, err)
		for _, family := range families {
			if family.GetName() == name {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
}
