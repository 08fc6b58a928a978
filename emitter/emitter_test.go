package emitter_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

const subject = "tool.trigger.clinic.s1.book"

func TestEventThatIsTooLargeIsDeadAndSaysTheSizes(t *testing.T) {
	s := natstest.Run(t, func(o *server.Options) { o.MaxPayload = 4096 })
	e := connect(t, s.URL(), emitter.Options{})
	effecttest.Ended(t, e.Deliver(t.Context(), sized("e1", 3000)), effect.Done, "")
	got := e.Deliver(t.Context(), sized("e2", 5000))
	effecttest.Ended(t, got, effect.Dead, "")
	require.Regexp(t, `has 5\d\d\d bytes with its headers, and the NATS server's max_payload is 4096: raise it`, got.Error)

	config := s.StreamConfig(emitter.Stream)
	config.MaxMsgSize = 1000
	s.UpdateStream(config)
	effecttest.Ended(t, e.Deliver(t.Context(), sized("e3", 2000)), effect.Dead, "", "max_msg_size")
}

func TestEffectThatCanNeverBePublishedIsDead(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	for name, delivery := range map[string]effect.Effect{
		"a call":             {ID: "c", Kind: effect.KindCall, Call: &effect.Call{URL: "http://127.0.0.1"}},
		"no event":           {ID: "e", Kind: effect.KindEvent},
		"no id":              event("", subject),
		"no subject":         event("e", ""),
		"foreign subject":    event("e", "orders.new"),
		"unknown kind":       event("e", "tool.other.clinic.s1.book"),
		"wildcard":           event("e", "tool.trigger.*.s1.book"),
		"tail wildcard":      event("e", "tool.trigger.>"),
		"empty token":        event("e", "tool.trigger..s1.book"),
		"space":              event("e", "tool.trigger.clinic.s1.bo ok"),
		"line break":         event("e", "tool.trigger.clinic.s1.book\r\nPUB x 0"),
		"app of three":       event("e", "app.clinic.calendar"),
		"app of five":        event("e", "app.clinic.calendar.request.now"),
		"kind without scope": event("e", "tool.trigger"),
	} {
		t.Run(name, func(t *testing.T) {
			effecttest.Ended(t, e.Deliver(t.Context(), delivery), effect.Dead, "", " ")
		})
	}
	require.Empty(t, ids(s))
}

func TestHeaderValuesAreEscapedAsCloudEventsAsks(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	effect := event("e1", subject)
	effect.Event.Source = "/apps/Zoë \"50%\"\r\nce-id: forged"
	require.Equal(t, done, e.Deliver(t.Context(), effect))

	header := s.Stored(emitter.Stream, ">")[0].Header
	require.Equal(t, "/apps/Zo%C3%AB%20%2250%25%22%0D%0Ace-id:%20forged", header.Get("ce-source"))
	require.Equal(t, []string{"event-e1"}, header["ce-id"])
	require.NotContains(t, header, "traceparent", "an effect without a trace")
}

func TestClosedEmitterDefersDeliveries(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.Equal(t, done, e.Deliver(t.Context(), event("e1", subject)))
	e.Close()
	e.Close()

	got := e.Deliver(t.Context(), event("e2", subject))
	effecttest.Ended(t, got, effect.Retry, "", "the emitter is closed")
	require.True(t, got.Deferred)
	require.Error(t, e.Ready(t.Context()))
}

func TestCloseWaitsForDeliveriesUnderWay(t *testing.T) {
	s := natstest.Run(t)
	e := connect(t, s.URL(), emitter.Options{})
	require.NoError(t, e.Ready(t.Context()))
	var deliveries sync.WaitGroup
	outcomes := make(chan effect.Outcome, 64)
	for i := range cap(outcomes) {
		deliveries.Go(func() { outcomes <- e.Deliver(t.Context(), event(string(rune('A'+i)), subject)) })
	}
	first := <-outcomes
	e.Close()
	deliveries.Wait()
	close(outcomes)

	stored := map[bool]int{first.Verdict == effect.Done: 1}
	for got := range outcomes {
		stored[got.Verdict == effect.Done]++
		require.True(t, got.Verdict == effect.Done || got.Deferred, "one that was begun is done: %s", got.Error)
	}
	require.Len(t, ids(s), stored[true])
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for text, options := range map[string]emitter.Options{
		"MaxAge of 1ms is too short": {MaxAge: time.Millisecond},
		"MaxBytes of -1":             {MaxBytes: -1},
		"6 replicas":                 {Replicas: 6},
		"-1 replicas":                {Replicas: -1},
		"Timeout of -1s":             {Timeout: -time.Second},
	} {
		_, err := emitter.Connect("nats://127.0.0.1:1", options)
		require.ErrorContains(t, err, text)
	}
}

// sized makes an event of a size.
func sized(id string, size int) effect.Effect {
	delivery := event(id, subject)
	delivery.Event.Data = json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
	return delivery
}

// BenchmarkDeliver measures sequential deliveries to a server in the same process.
func BenchmarkDeliver(b *testing.B) {
	s := natstest.Run(b)
	e, err := emitter.Connect(s.URL(), emitter.Options{})
	require.NoError(b, err)
	b.Cleanup(e.Close)
	for i := 0; b.Loop(); i++ {
		delivery := sized(strconv.Itoa(i), 1000)
		if got := e.Deliver(b.Context(), delivery); got.Verdict != effect.Done {
			b.Fatal(got.Error)
		}
	}
}
