package worker_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// TestMetricsCountPendingAndFailedEffects follows both numbers through all changes: a failure, a retry, a
// purge, and the deletion of an app.
func TestMetricsCountPendingAndFailedEffects(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		gauges := w.gauges()
		shows := func(due, dead float64, what string) {
			t.Helper()
			w.Until(what, func() bool {
				return gauges("earshot_effects_due") == due && gauges("earshot_dead") == dead
			})
		}
		w.App("other", "{}")
		w.Put("", "r", `{"tools":[{"name":"late","url":"http://late.example"},{"name":"a","url":"http://x.example"},{"name":"b","url":"http://x.example"}]}`)
		shows(0, 0, "nothing has happened")

		w.Calls.Answer(func(delivery effect.Effect) effect.Outcome {
			if delivery.Call.URL == "http://late.example" {
				return down(delivery)
			}
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404"}
		})
		w.Fire(trigger.Direct{Name: "late", Source: "ui"})
		shows(1, 0, "a call is tried again and again")

		var failed []string
		for _, name := range []string{"a", "a", "b"} {
			match := w.Fire(trigger.Direct{Name: name, Source: "ui"})
			failed = append(failed, match.TriggerID)
		}
		shows(1, 3, "three have failed")
		w.Calls.Answer(func(delivery effect.Effect) effect.Outcome {
			if delivery.TriggerID == failed[0] {
				return effect.Outcome{Verdict: effect.Done, Status: 200}
			}
			return down(delivery)
		})
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed[0], "admin"))
		w.Keeper.Wake("clinic")
		shows(1, 2, "one was retried")
		_, err := w.Engine.Purge(t.Context(), query.Triggers{AppID: "clinic", Name: "b"})
		require.NoError(t, err)
		shows(1, 1, "one was purged")
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.Until("the failed ones of an app go with it", func() bool { return gauges("earshot_dead") == 0 })
	})
}

// TestMetricsCountEventsBehindOthers has events wait in their outboxes.
func TestMetricsCountEventsBehindOthers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a"}]}`)
		gauges := w.gauges()
		w.Events.Answer(down)
		for i := range 12 {
			w.Fire(trigger.Direct{SessionID: fmt.Sprint("s", i%2), Name: "a"})
		}
		w.Until("all of them are owed", func() bool { return gauges("earshot_effects_due") == 12 })
		w.Events.Answer(nil)
		w.Until("nothing is", func() bool { return gauges("earshot_effects_due") == 0 })
	})
}

// gauges runs another replica and reads its gauges.
func (w *world) gauges() (gauge func(name string) float64) {
	registry := prometheus.NewRegistry()
	w.Metrics = worker.NewMetrics()
	registry.MustRegister(w.Metrics)
	_, engine := w.Replica()
	w.Metrics = nil
	w.Run(engine)
	return func(name string) float64 {
		families, err := registry.Gather()
		require.NoError(w.T, err)
		for _, family := range families {
			if family.GetName() == name {
				return family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
}
