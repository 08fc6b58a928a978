package trigger_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

func limits(perApp, perSession int) string {
	return fmt.Sprintf(`{"settings":{"limits":{"messagesPerMinute":%d,"sessionMessagesPerMinute":%d}}}`, perApp, perSession)
}

func TestMessagesOverTheLimitAreRefusedAndNotStored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", limits(4, 2))
		_, other := w.Replica()
		say := func(engine *trigger.Engine, session, id string) error {
			_, err := w.SayOn(engine, session, id, "hello")
			return err
		}
		began := time.Now()
		require.NoError(t, say(w.Engine, "s1", "m1"))
		require.NoError(t, say(other, "s1", "m2"))
		require.NoError(t, say(w.Engine, "s1", "m1"), "a repeat is no new message")

		limited := &ledger.RateError{}
		trips, asked := w.Trips.Made(), len(w.Matcher.Asked)
		require.ErrorAs(t, say(w.Engine, "s1", "m3"), &limited)
		require.EqualValues(t, 1, w.Trips.Made()-trips, "a refusal costs one round trip")
		require.Len(t, w.Matcher.Asked, asked)
		require.Equal(t, "sessionMessagesPerMinute", limited.Limit)
		require.Greater(t, limited.RetryAfter, time.Minute-time.Since(began)-time.Second)
		require.LessOrEqual(t, limited.RetryAfter, time.Minute)

		require.NoError(t, say(other, "s2", "m4"))
		require.NoError(t, say(w.Engine, "s3", "m5"), "what was refused does not count")
		require.ErrorAs(t, say(other, "s4", "m6"), &limited)
		require.Equal(t, "messagesPerMinute", limited.Limit)
		entries := w.History("s1")
		require.Len(t, entries, 2)
	})
}

// endless has the present minute of the limits of a session, or of the app, never end: on a slow machine it would be over.
func (w *world) endless(session string) {
	w.T.Helper()
	client, rates := w.Server.Client(), keyspace.KeysOf("clinic").Rates(session)
	require.NoError(w.T, client.Persist(w.T.Context(), rates).Err())
	require.EqualValues(w.T, -1, client.TTL(w.T.Context(), rates).Val())
}

func TestFloodOfOneSessionMeetsTheDefaults(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "r", `{"tools":[{"name":"book"}]}`)
		refusal := func(err error) string {
			limited := &ledger.RateError{}
			require.ErrorAs(t, err, &limited)
			require.Contains(t, err.Error(), "settings.limits."+limited.Limit)
			return fmt.Sprint(limited.Limit, " ", limited.Most)
		}
		fire := func(session string, frontEnd bool) error {
			_, err := w.TryFire(trigger.Direct{SessionID: session, Name: "book", Source: "ui", FrontEnd: frontEnd})
			return err
		}
		for i := range 60 {
			require.NoError(t, fire("s1", true))
			w.Say("", "hello")
			if i == 0 {
				w.endless("s1")
			}
		}
		_, err := w.TrySay("", "hello")
		require.Equal(t, "sessionMessagesPerMinute 120", refusal(err))
		require.Equal(t, "sessionMessagesPerMinute 120", refusal(fire("s1", true)), "a token's triggers count as messages")
		_, err = w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorAgent, Text: "hello"})
		require.NoError(t, err, "an agent's messages count to no user's limit")
		for range 60 {
			require.NoError(t, fire("s1", false), "triggers by a key are counted apart")
		}
		require.Equal(t, "sessionTriggersPerMinute 120", refusal(fire("s1", false)))
		require.NoError(t, fire("s2", true))
		require.NoError(t, fire("", false))
		w.Rest()
		require.Len(t, w.Triggers(query.Triggers{}), 122, "what was refused stores nothing")

		w.App("clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":null}}}`)
		w.Say("", "hello")
		require.Equal(t, "sessionTriggersPerMinute 120", refusal(fire("s1", true)), "one limit is off, and no other")
		w.App("clinic", `{"settings":{"limits":null}}`)
		require.NoError(t, fire("s1", true))
	})
}

func TestBytesOfASessionAreLimited(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "r", `{"tools":[{"name":"book","schema":[{"parameter":"note","type":"string"}]}]}`)
		long := strings.Repeat("x", 1_000_000)
		say := func(actor string) error {
			_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: actor, Text: long})
			return err
		}
		fire := func() error {
			_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"note": long}})
			return err
		}
		limited := &ledger.RateError{}
		require.NoError(t, say(matcher.ActorAgent))
		w.endless("")
		w.endless("s1")
		for range 2 {
			require.NoError(t, say(matcher.ActorAgent))
		}
		require.ErrorAs(t, say(matcher.ActorAgent), &limited, "agents' bytes are limited too")
		require.NoError(t, say(matcher.ActorUser), "agents' bytes count to no user's limit")
		require.NoError(t, fire())
		require.NoError(t, say(matcher.ActorUser))
		require.ErrorAs(t, say(matcher.ActorUser), &limited)
		require.ErrorAs(t, fire(), &limited)
		require.Equal(t, "bytesPerMinute", limited.Limit)
		require.Equal(t, 4_000_000, limited.Most)
		require.Len(t, w.Triggers(query.Triggers{}), 1)

		w.App("clinic", `{"settings":{"limits":{"bytesPerMinute":1000}}}`)
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s2", Actor: matcher.ActorUser, Text: long})
		require.ErrorAs(t, err, &limited, "other sessions have used up what the app may store")
		require.Equal(t, 100_000, limited.Most)
		w.App("clinic", `{"settings":{"limits":{"bytesPerMinute":null}}}`)
		require.NoError(t, say(matcher.ActorUser))
	})
}

func TestLimitAllowsMessagesAfterThePause(t *testing.T) {
	server := redistest.Mini(t)
	w := newWorld(t, server)
	w.App("clinic", limits(1, 0))
	w.Say("m1", "hello")
	_, err := w.TrySay("m2", "hello")
	limited := &ledger.RateError{}
	require.ErrorAs(t, err, &limited)
	require.NoError(t, server.Client().PExpire(t.Context(), keyspace.KeysOf("clinic").Rates(""), time.Millisecond).Err())
	w.Until("the minute is over", func() bool {
		return server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Rates("")).Val() == 0
	})
	w.Say("m2", "hello")
}

func TestLimitHoldsForMessagesAtTheSameTimeOnAllReplicas(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", limits(5, 0))
		_, other := w.Replica()
		var let atomic.Int32
		var posting sync.WaitGroup
		for i := range 40 {
			engine := []*trigger.Engine{w.Engine, other}[i%2]
			posting.Go(func() {
				if _, err := w.SayOn(engine, fmt.Sprintf("s%d", i%7), "", "hello"); err == nil {
					let.Add(1)
				}
			})
		}
		posting.Wait()
		require.EqualValues(t, 5, let.Load())
	})
}

func TestChangedLimitHoldsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", limits(1, 0))
		w.Say("m1", "hello")
		_, err := w.TrySay("m2", "hello")
		require.Error(t, err)
		w.App("clinic", limits(2, 0))
		w.Say("m2", "hello")
		w.App("clinic", `{}`)
		for range 5 {
			w.Say("", "hello")
		}
	})
}

// BenchmarkMessagesBesideAFlood shows what messages of one app cost, median and 99th
// percentile, alone and beside another app that posts a thousand times what its limit
// lets through. The flood comes at a fixed rate: one that took every cycle of the
// machine would measure the machine.
func BenchmarkMessagesBesideAFlood(b *testing.B) {
	for _, perSecond := range []int{0, 1000} {
		b.Run(fmt.Sprintf("flood=%d/s", perSecond), func(b *testing.B) { benchmarkFlood(b, perSecond) })
	}
}

func benchmarkFlood(b *testing.B, perSecond int) {
	w := newWorld(b, redistest.Run(b))
	w.App("flood", limits(60, 0))
	var refused atomic.Int64
	stop := w.flood(perSecond, &refused)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		// Each has its own session, so that no history grows with the run.
		_, err := w.SayOn(w.Engine, fmt.Sprintf("s%d", len(took)), "", "hello")
		require.NoError(b, err)
		took = append(took, time.Since(began))
	}
	stop()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64(refused.Load())/b.Elapsed().Seconds(), "refused/s")
}

// flood posts messages of another app until it is stopped.
func (w *world) flood(perSecond int, refused *atomic.Int64) (stop func()) {
	done := make(chan struct{})
	var flooding sync.WaitGroup
	if perSecond > 0 {
		flooding.Go(func() {
			ticks := time.NewTicker(time.Second / time.Duration(perSecond))
			defer ticks.Stop()
			for {
				select {
				case <-done:
					return
				case <-ticks.C:
				}
				flooding.Go(func() {
					_, err := w.Engine.Post(w.T.Context(), trigger.Message{AppID: "flood", SessionID: "s1", Actor: matcher.ActorUser, Text: "hello"})
					if err != nil {
						refused.Add(1)
					}
				})
			}
		})
	}
	return func() {
		close(done)
		flooding.Wait()
	}
}
