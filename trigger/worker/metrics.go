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
	// Behind counts direct triggers that change nothing, by how their records were written: behind the
	// answer, before it (the queue was full), not at all as their session has ended (dropped), or not at
	// all for a failure (lost). BehindWaiting are those that are answered and not written and published.
	Behind *prometheus.CounterVec
	// Webhooks counts deliveries to the webhooks of apps by what came of them, and webhooks that were disabled.
	Webhooks      *prometheus.CounterVec
	BehindWaiting prometheus.Gauge

	oldestSeconds, due, dead, redisFull, shardsAway prometheus.Gauge
	unknown                                         prometheus.Counter
}

// NewMetrics returns metrics that are not registered yet. Its counters exist before anything is
// counted: Prometheus sees no increase in one that begins with 1.
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
		Messages:  counter("earshot_messages_total", "Messages by what came of them.", "outcome"),
		Effects:   counter("earshot_effects_total", "Attempts at effects by what came of them.", "kind", "outcome"),
		Triggers:  counter("earshot_triggers_total", "Triggers by the states that they came to.", "state"),
		MatchSeconds: in.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_match_seconds", Help: "Time to match a message.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		Webhooks:      counter("earshot_webhook_deliveries_total", "Attempts to send events to webhooks by what came of them; disabled counts webhooks that were ended.", "outcome"),
		Behind:        counter("earshot_behind_total", "Triggers of tools that change nothing, by how their records were written.", "outcome"),
		BehindWaiting: gauge("earshot_behind_waiting", "Triggers that are answered and are still to be written and published."),
		oldestSeconds: gauge("earshot_effects_oldest_seconds", "For how long the oldest due effect has been due."),
		due:           gauge("earshot_effects_due", "What all replicas owe, waiting or being worked on: messages and effects."),
		dead:          gauge("earshot_dead", "Triggers that are listed as failed, of all apps."),
		redisFull:     gauge("earshot_redis_full", "1 while Redis is at its maxmemory and takes nothing new, else 0."),
		shardsAway:    gauge("earshot_redis_shards_away", "Masters of Redis that hold something and take no writes, full ones aside."),
		unknown: in.NewCounter(prometheus.CounterOpts{
			Name: "earshot_unknown_entries_total", Help: "Entries of the ledger of no kind that this version knows, each counted once a process: they are left alone.",
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
