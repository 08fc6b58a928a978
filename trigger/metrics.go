package trigger

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"earshot/repositories/panics"
	"earshot/repositories/tracing"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/state"
)

// Metrics are the Prometheus metrics of an Engine. The contract fixes their names.
type Metrics struct {
	messages      *prometheus.CounterVec
	effects       *prometheus.CounterVec
	triggers      *prometheus.CounterVec
	matchSeconds  prometheus.Histogram
	oldestSeconds prometheus.Gauge
	due           prometheus.Gauge
	dead          prometheus.Gauge
	redisFull     prometheus.Gauge
	shardsAway    prometheus.Gauge
	unknown       prometheus.Counter
}

// outcomes are what comes of messages, and of tries that decided nothing.
var outcomes = []string{"matched", "rejected", "unmatched", "undecided", "error"}

// moves are the states that a trigger is counted in.
var moves = []string{"due", string(state.Confirming), string(state.Settling), string(state.Cancelled), string(state.Duplicate)}

// NewMetrics returns metrics that are not registered yet. Its counters are there before
// anything is counted: Prometheus sees no increase in one that begins with 1.
func NewMetrics() *Metrics {
	m := newMetrics()
	for _, outcome := range outcomes {
		m.messages.WithLabelValues(outcome)
	}
	for _, move := range moves {
		m.triggers.WithLabelValues(move)
	}
	for _, kind := range []effect.Kind{effect.KindEvent, effect.KindCall, effect.KindAnswer} {
		for _, verdict := range []effect.Verdict{effect.Done, effect.Retry, effect.Dead} {
			m.effects.WithLabelValues(string(kind), verdict.String())
		}
	}
	return m
}

func newMetrics() *Metrics {
	return &Metrics{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_messages_total", Help: "Messages by what came of them.",
		}, []string{"outcome"}),
		effects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_effects_total", Help: "Attempts at effects by what came of them.",
		}, []string{"kind", "outcome"}),
		triggers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_triggers_total", Help: "Triggers by the states that they came to.",
		}, []string{"state"}),
		matchSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_match_seconds", Help: "Time to match a message.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		oldestSeconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "earshot_effects_oldest_seconds", Help: "For how long the oldest due effect has been due.",
		}),
		due: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "earshot_effects_due", Help: "What all replicas owe, waiting or being worked on: messages and effects.",
		}),
		dead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "earshot_dead", Help: "Triggers that are listed as failed, of all apps.",
		}),
		unknown: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "earshot_unknown_entries_total", Help: "Entries of the ledger of no kind that this version knows, each counted once a process: they are left alone.",
		}),
		redisFull: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "earshot_redis_full", Help: "1 while Redis is at its maxmemory and takes nothing new, else 0.",
		}),
		shardsAway: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "earshot_redis_shards_away", Help: "Masters of Redis that hold something and take no writes, full ones aside.",
		}),
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.messages.Collect(out)
	m.effects.Collect(out)
	m.triggers.Collect(out)
	m.matchSeconds.Collect(out)
	m.oldestSeconds.Collect(out)
	m.due.Collect(out)
	m.dead.Collect(out)
	m.redisFull.Collect(out)
	m.shardsAway.Collect(out)
	m.unknown.Collect(out)
}

// full notes whether Redis has no room.
func (m *Metrics) full(full bool) {
	m.redisFull.Set(0)
	if full {
		m.redisFull.Set(1)
	}
}

// moved counts the triggers of a plan that is committed, by the states that they have come to.
func (m *Metrics) moved(p *plan) {
	for _, firing := range p.firings {
		to := "due"
		if !firing.due() {
			to = firing.move.State
		}
		m.triggers.WithLabelValues(to).Inc()
	}
}

// backlog records how much work all partitions hold, and for how long the oldest has been
// due.
func (m *Metrics) backlog(found ledger.Due) {
	m.oldestSeconds.Set(found.Oldest.Seconds())
	m.due.Set(found.Backlog.Owed)
	m.dead.Set(found.Backlog.Dead)
}

// logDecision writes the one line that a decided message gets.
func (c *core) logDecision(t *turn, p *plan, stage string, took time.Duration) {
	outcome := "unmatched"
	switch {
	case len(p.answer.Matches) > 0:
		outcome = "matched"
	case len(p.answer.Rejected) > 0:
		outcome = "rejected"
	}
	c.metrics.messages.WithLabelValues(outcome).Inc()
	attributes := []any{
		"app", p.App, "session", p.Session, "message", p.Message, "outcome", outcome, "stage", stage,
		"tools", toolsOf(p.answer), "ms", took.Milliseconds(), "trace", tracing.IDOf(t.message.TraceParent),
	}
	if c.logTexts {
		attributes = append(attributes, "text", t.message.Text)
	}
	c.log.Info("message.decided", attributes...)
}

func toolsOf(answer Answer) []string {
	names := []string{}
	for _, match := range answer.Matches {
		names = append(names, match.Name)
	}
	return names
}

// logAttempt writes the one line that an attempt at an effect gets. Values and
// results are not in it. While events do not get out, or calls are not even tried, it is held back
// for all but the first: there are as many as there are effects, every few seconds.
func (c *core) logAttempt(a attempt, took time.Duration) {
	outcome := a.outcome.Verdict.String()
	c.metrics.effects.WithLabelValues(string(a.Kind), outcome).Inc()
	attributes := []any{
		"app", a.AppID, "session", a.SessionID, "effect", a.ID, "kind", string(a.Kind), "trigger", a.TriggerID,
		"attempt", a.Attempt, "outcome", outcome, "ms", took.Milliseconds(), "trace", tracing.IDOf(a.TraceParent),
	}
	if a.Event != nil {
		attributes = append(attributes, "subject", a.Event.Subject)
	}
	if a.outcome.Verdict == effect.Done {
		c.log.Info("effect.attempted", attributes...)
		c.troubles.Over(c.life, goesOutWith(a), "effects.again", "kind", string(a.Kind))
		return
	}
	attributes = append(attributes, "status", a.outcome.Status, "reason", string(a.outcome.Reason),
		"error", a.outcome.Error, "next", a.pause.String())
	if !heldUp(a) {
		c.log.Warn("effect.attempted", attributes...)
		return
	}
	c.troubles.Trouble(c.life, goesOutWith(a), fmt.Sprint(a.outcome.Deferred), "effect.attempted", attributes...)
}

// goesOutWith names what an effect gets out or is held up with: all events go to one NATS.
func goesOutWith(a attempt) string {
	if a.Event != nil {
		return string(a.Kind)
	}
	return string(a.Kind) + " " + a.AppID
}

// heldUp reports whether an effect was not tried, or is an event that got no further than others.
func heldUp(a attempt) bool {
	return a.outcome.Verdict == effect.Retry && (a.outcome.Deferred || a.Event != nil && !a.outcome.Forbidden)
}

// logPanic writes where a panic came from. Its value is left out, since it may hold
// what a user said.
func (c *core) logPanic(event string, fault any) {
	panics.Caught(c.log, event, "", fault)
}
