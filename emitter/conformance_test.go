package emitter_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/repositories/version"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// broker is what the conformance suite needs of NATS, a server or a cluster.
type broker interface {
	URL() string
	Stop()
	Start()
	Stored(stream, filter string) []*jetstream.RawStreamMsg
	StreamConfig(stream string) jetstream.StreamConfig
	UpdateStream(config jetstream.StreamConfig)
	DeleteStream(stream string)
}

var done = effect.Outcome{Verdict: effect.Done}

func TestConformanceOfOneServer(t *testing.T) {
	conformance(t, emitter.Options{}, func(t *testing.T) broker { return natstest.Run(t) })
}

func TestConformanceOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster of three takes seconds to start")
	}
	options := emitter.Options{Replicas: 3, Timeout: 5 * time.Second}
	conformance(t, options, func(t *testing.T) broker { return natstest.RunCluster(t) })
}

// conformance is the suite for every NATS that Earshot runs on. start gives each test its own broker.
func conformance(t *testing.T, options emitter.Options, start func(*testing.T) broker) {
	for name, rule := range map[string]func(*testing.T, emitter.Options, broker){
		"an event is stored once with its headers":        storedOnce,
		"a repeat is done and not stored":                 repeatDropped,
		"events are stored in the order of deliveries":    orderKept,
		"simultaneous deliveries of one effect store one": simultaneous,
		"the stream is what the promise rests on":         streamConfigured,
		"a stream that was changed is repaired":           streamRepaired,
		"a stream that was deleted is made again":         streamRecreated,
		"an event waits while NATS is down":               outage,
		"a repeat over a restart of NATS is not stored":   repeatOverRestart,
		"every kind of subject is taken by the stream":    everySubject,
		"it delivers as all that deliver":                 conforms,
	} {
		t.Run(name, func(t *testing.T) { rule(t, options, start(t)) })
	}
}

func storedOnce(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	effect := event("e1", "tool.trigger.clinic.s1.book")
	effect.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

	deliver(t, e, effect)

	stored := nats.Stored(emitter.Stream, ">")
	require.Len(t, stored, 1)
	require.Equal(t, "tool.trigger.clinic.s1.book", stored[0].Subject)
	require.JSONEq(t, `{"n":"e1"}`, string(stored[0].Data))
	for name, value := range map[string]string{
		"Nats-Msg-Id":       "e1",
		"ce-specversion":    "1.0",
		"ce-id":             "event-e1",
		"ce-type":           "earshot.tool.trigger",
		"ce-source":         "/apps/clinic/sessions/s1",
		"ce-time":           "2026-12-01T08:30:00.000000123Z",
		"content-type":      "application/json",
		"ce-earshotversion": version.Current().Version,
		"traceparent":       effect.TraceParent,
	} {
		require.Equal(t, []string{value}, stored[0].Header[name], name)
	}
}

func repeatDropped(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	effect := event("e1", "tool.trigger.clinic.s1.book")
	for range 3 {
		deliver(t, e, effect)
		effect.Attempt++
	}
	require.Len(t, nats.Stored(emitter.Stream, ">"), 1)
}

func orderKept(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	var want []string
	for i := range 50 {
		id := fmt.Sprintf("e%d", i)
		want = append(want, id)
		deliver(t, e, event(id, "tool.trigger.clinic.s1.book"))
	}
	require.Equal(t, want, ids(nats))
}

func simultaneous(t *testing.T, options emitter.Options, nats broker) {
	var all sync.WaitGroup
	for range 3 {
		e := connect(t, nats.URL(), options)
		for range 8 {
			all.Go(func() {
				e.Deliver(t.Context(), event("e1", "tool.trigger.clinic.s1.book"))
			})
		}
	}
	all.Wait()
	require.Equal(t, []string{"e1"}, ids(nats))
}

func streamConfigured(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	require.NoError(t, e.Ready(t.Context()))

	config := nats.StreamConfig("EARSHOT")
	require.Equal(t, []string{
		"tool.trigger.>", "tool.result.>", "tool.rejected.>", "tool.notmatching.>", "tool.changed.>",
		"tool.confirm.>", "tool.cancelled.>", "tool.duplicate.>", "tool.webhook.>", "app.*.*.*", "chat.message.*.*", "chat.failed.*.*",
	}, config.Subjects)
	require.Equal(t, jetstream.LimitsPolicy, config.Retention)
	require.Equal(t, jetstream.FileStorage, config.Storage)
	require.Equal(t, jetstream.DiscardNew, config.Discard)
	require.Equal(t, 10*time.Minute, config.Duplicates)
	require.Equal(t, 7*24*time.Hour, config.MaxAge)
	require.Equal(t, max(1, options.Replicas), config.Replicas)
}

func streamRepaired(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	require.NoError(t, e.Ready(t.Context()))
	good := nats.StreamConfig(emitter.Stream)
	bad := good
	bad.Discard, bad.Duplicates, bad.Subjects = jetstream.DiscardOld, time.Minute, []string{"tool.>"}
	bad.Description = "the operator's own words"
	nats.UpdateStream(bad)

	require.NoError(t, e.Ready(t.Context()))
	good.Description = bad.Description
	require.Equal(t, good, nats.StreamConfig(emitter.Stream))
}

func streamRecreated(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	deliver(t, e, event("e1", "tool.trigger.clinic.s1.book"))
	nats.DeleteStream(emitter.Stream)

	deliver(t, e, event("e2", "tool.trigger.clinic.s1.book"))
	require.Equal(t, []string{"e2"}, ids(nats))
}

func outage(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	deliver(t, e, event("e1", "tool.trigger.clinic.s1.book"))
	nats.Stop()
	until(t, func() bool { return e.Ready(t.Context()) != nil })

	for range 3 {
		got := e.Deliver(t.Context(), event("e2", "tool.trigger.clinic.s1.book"))
		effecttest.Ended(t, got, effect.Retry, "", "NATS is not connected")
		require.True(t, got.Deferred, "nothing was sent, so it does not count as an attempt")
	}

	nats.Start()
	deliver(t, e, event("e2", "tool.trigger.clinic.s1.book"))
	require.Equal(t, []string{"e1", "e2"}, ids(nats))
}

func repeatOverRestart(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	delivery := event("e1", "tool.trigger.clinic.s1.book")
	deliver(t, e, delivery)
	nats.Stop()
	nats.Start()
	deliver(t, e, delivery)
	require.Equal(t, []string{"e1"}, ids(nats))
}

func everySubject(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	for i, subject := range []string{
		"tool.trigger.clinic.s1.book", "tool.trigger.clinic._.book", "tool.result.clinic.s1.book",
		"tool.rejected.clinic.s1.book", "tool.notmatching.clinic.s1", "tool.changed.clinic.booking",
		"tool.confirm.clinic.s1.book", "tool.cancelled.clinic.s1.book", "tool.duplicate.clinic.s1.book",
		"app.clinic.calendar.request", "chat.message.clinic.s1", "chat.failed.clinic.s1",
	} {
		deliver(t, e, event(fmt.Sprintf("e%d", i), subject))
		require.Len(t, nats.Stored(emitter.Stream, subject), 1, subject)
	}
}

func conforms(t *testing.T, options emitter.Options, nats broker) {
	e := connect(t, nats.URL(), options)
	until(t, func() bool { return e.Ready(t.Context()) == nil })
	effecttest.Conformance(t, e, event("e1", "tool.trigger.clinic.s1.book"), func() int { return len(ids(nats)) }, nil)
}

func event(id, subject string) effect.Effect {
	return effect.Effect{
		ID: id, Kind: effect.KindEvent, AppID: "clinic", SessionID: "s1", TriggerID: "t1", Attempt: 1,
		Event: &effect.Event{
			Subject: subject,
			ID:      "event-" + id,
			Type:    "earshot.tool.trigger",
			Source:  "/apps/clinic/sessions/s1",
			Time:    time.Date(2026, 12, 1, 8, 30, 0, 123, time.UTC),
			Data:    json.RawMessage(fmt.Sprintf(`{"n":%q}`, id)),
		},
	}
}

// ids returns the ids of all stored events in order.
func ids(nats broker) []string {
	var out []string
	for _, message := range nats.Stored(emitter.Stream, ">") {
		out = append(out, message.Header.Get("Nats-Msg-Id"))
	}
	return out
}

// connect returns a connected emitter.
func connect(t testing.TB, url string, options emitter.Options) *emitter.Emitter {
	t.Helper()
	e, err := emitter.Connect(url, options)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// deliver retries until the event is done, as the ledger would: a busy cluster may ask for a retry at any time.
func deliver(t *testing.T, e *emitter.Emitter, delivery effect.Effect) {
	t.Helper()
	until(t, func() bool {
		got := e.Deliver(t.Context(), delivery)
		if got.Verdict != effect.Retry {
			require.Equal(t, done, got, delivery.Event.Subject)
		}
		return got.Verdict == effect.Done
	})
}

// until retries until what is true, as the ledger would, but sooner.
func until(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, time.Minute, 10*time.Millisecond)
}
