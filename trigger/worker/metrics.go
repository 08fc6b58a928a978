package worker

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"earshot/trigger/effect"
	"earshot/trigger/state"
)

// Metrics are the Prometheus metrics of an engine, as a collector. The contract fixes their names.
type Metrics struct {
	prometheus.Collector
	Messages     *prometheus.CounterVec // by outcome
	Effects      *prometheus.CounterVec // by kind and outcome
	Triggers     *prometheus.CounterVec // by state
	MatchSeconds prometheus.Histogram
	// Behind counts direct read-only triggers by how their records were written: behind the answer, before it
	// (the queue was full), not at all as their session had ended (dropped), or not at all for a failure
	// (lost). BehindWaiting is the number answered but not written and published.
	Behind *prometheus.CounterVec
	// Webhooks counts deliveries to the webhooks of apps by outcome, and disabled webhooks.
	Webhooks      *prometheus.CounterVec
	BehindWaiting prometheus.Gauge

	oldestSeconds, due, dead, redisFull, shardsAway prometheus.Gauge
	unknown                                         prometheus.Counter
}

// NewMetrics returns unregistered metrics. Its counters exist from the start: Prometheus sees no increase in a
// counter that begins with 1.
func NewMetrics() *Metrics {
	registry := prometheus.NewRegistry()
	in := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return in.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &Metrics{
		Collector: registry,
		Messages:  counter("earshot_messages_total", "Messages by outcome: matched, rejected or unmatched. Attempts without a decision are undecided (the model is down) or error.", "outcome"),
		Effects:   counter("earshot_effects_total", "Attempts at events, calls and answers, by outcome: done, retry or dead (failed for good).", "kind", "outcome"),
		Triggers:  counter("earshot_triggers_total", "Triggers by the state that they came to: confirming, settling, due (at once, or released), cancelled or duplicate.", "state"),
		MatchSeconds: in.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_match_seconds", Help: "Time to match a message.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		Webhooks:      counter("earshot_webhook_deliveries_total", "Attempts to send events to webhooks, by outcome: delivered, retry, failed for good, or gone (the stream has dropped the event). disabled counts webhooks that were disabled.", "outcome"),
		Behind:        counter("earshot_behind_total", "Triggers of read-only tools, by outcome of their records. written: after the answer. before: before it, as the queue was full. dropped: the session or the app had ended. lost: the process ended first.", "outcome"),
		BehindWaiting: gauge("earshot_behind_waiting", "Triggers of read-only tools that are answered but not yet written and published. From 10,000 on, they are written before their answers."),
		oldestSeconds: gauge("earshot_effects_oldest_seconds", "How long the oldest pending effect has waited for an attempt that is due. A retried effect counts from its next attempt."),
		due:           gauge("earshot_effects_due", "Messages and effects of all replicas that are pending."),
		dead:          gauge("earshot_dead", "Failed triggers, of all apps."),
		redisFull:     gauge("earshot_redis_full", "1 while Redis is at its maxmemory and takes nothing new, else 0."),
		shardsAway:    gauge("earshot_redis_shards_away", "Masters of Redis that hold data and take no writes, without those that are full. Requests of their apps are answered 503."),
		unknown: in.NewCounter(prometheus.CounterOpts{
			Name: "earshot_unknown_entries_total", Help: "Entries in Redis of a kind that this version does not know, each counted once by a process. They stay; earshot verify lists them.",
		}),
	}
	for _, outcome := range []string{"matched", "rejected", "unmatched", "undecided", "error"} {
		m.Messages.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"delivered", "retry", "failed", "gone", "disabled"} {
		m.Webhooks.WithLabelValues(outcome)
	}
	for _, outcome := range []string{"written", "before", "dropped", "lost"} {
		m.Behind.WithLabelValues(outcome)
	}
	for _, to := range []string{"due", string(state.Confirming), string(state.Settling), string(state.Cancelled), string(state.Duplicate)} {
		m.Triggers.WithLabelValues(to)
	}
	for _, kind := range []effect.Kind{effect.KindEvent, effect.KindCall, effect.KindAnswer} {
		for _, verdict := range []effect.Verdict{effect.Done, effect.Retry, effect.Dead} {
			m.Effects.WithLabelValues(string(kind), verdict.String())
		}
	}
	return m
}
