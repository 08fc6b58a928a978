package trigger_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/redistest"
	"earshot/trigger"
)

func limits(perApp, perSession int) string {
	return fmt.Sprintf(`{"settings":{"limits":{"messagesPerMinute":%d,"sessionMessagesPerMinute":%d}}}`, perApp, perSession)
}

func TestMessagesOverTheLimitAreRefusedAndNotStored(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("clinic", limits(4, 2))
		_, other := w.replica()
		say := func(engine *trigger.Engine, session, id string) error {
			_, err := w.sayOn(engine, session, id, "hello")
			return err
		}
		require.NoError(t, say(w.engine, "s1", "m1"))
		require.NoError(t, say(other, "s1", "m2"))
		require.NoError(t, say(w.engine, "s1", "m1"), "a repeat is no new message")

		limited := &trigger.RateError{}
		trips, asked := w.trips.made.Load(), len(w.matcher.asked)
		require.ErrorAs(t, say(w.engine, "s1", "m3"), &limited)
		require.EqualValues(t, 1, w.trips.made.Load()-trips, "a refusal costs one round trip")
		require.Len(t, w.matcher.asked, asked)
		require.Equal(t, "sessionMessagesPerMinute", limited.Limit)
		require.Greater(t, limited.RetryAfter, 50*time.Second)
		require.LessOrEqual(t, limited.RetryAfter, time.Minute)

		require.NoError(t, say(other, "s2", "m4"))
		require.NoError(t, say(w.engine, "s3", "m5"), "what was refused does not count")
		require.ErrorAs(t, say(other, "s4", "m6"), &limited)
		require.Equal(t, "messagesPerMinute", limited.Limit)
		entries, _, err := w.engine.History(t.Context(), "clinic", "s1", trigger.Page{Limit: 10})
		require.NoError(t, err)
		require.Len(t, entries, 2)
	})
}

func TestThereIsRoomAgainAfterThePause(t *testing.T) {
	server := redistest.Mini(t)
	w := newWorld(t, server)
	w.app("clinic", limits(1, 0))
	_, err := w.say("m1", "hello")
	require.NoError(t, err)
	_, err = w.say("m2", "hello")
	limited := &trigger.RateError{}
	require.ErrorAs(t, err, &limited)
	require.NoError(t, server.Client().PExpire(t.Context(), repositories.KeysOf("clinic").Rate(""), time.Millisecond).Err())
	w.until("the minute is over", func() bool {
		return server.Client().Exists(t.Context(), repositories.KeysOf("clinic").Rate("")).Val() == 0
	})
	_, err = w.say("m2", "hello")
	require.NoError(t, err)
}

func TestLimitHoldsForMessagesAtTheSameTimeOnAllReplicas(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.app("clinic", limits(5, 0))
		_, other := w.replica()
		var let atomic.Int32
		var posting sync.WaitGroup
		for i := range 40 {
			engine := []*trigger.Engine{w.engine, other}[i%2]
			posting.Go(func() {
				if _, err := w.sayOn(engine, fmt.Sprintf("s%d", i%7), "", "hello"); err == nil {
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
		w.app("clinic", limits(1, 0))
		_, err := w.say("m1", "hello")
		require.NoError(t, err)
		_, err = w.say("m2", "hello")
		require.Error(t, err)
		w.app("clinic", limits(2, 0))
		_, err = w.say("m2", "hello")
		require.NoError(t, err)
		w.app("clinic", `{}`)
		for range 5 {
			_, err = w.say("", "hello")
			require.NoError(t, err)
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
	w.app("flood", limits(60, 0))
	var refused atomic.Int64
	stop := w.flood(perSecond, &refused)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		// A session of its own for each, so that no history grows with the run.
		_, err := w.sayOn(w.engine, fmt.Sprintf("s%d", len(took)), "", "hello")
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
					_, err := w.engine.Post(w.t.Context(), trigger.Message{AppID: "flood", SessionID: "s1", Actor: matcher.ActorUser, Text: "hello"})
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
