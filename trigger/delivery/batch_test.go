package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// TestPublishedEventsOfADecisionAreOneEntry reads the ledger while the events of a decision are published.
func TestPublishedEventsOfADecisionAreOneEntry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		keys := keyspace.KeysOf("clinic")
		var outboxes [][]string
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			held, err := w.Server.Client().LRange(context.Background(), keys.Outbox("s1"), 0, -1).Result()
			if err != nil || slices.ContainsFunc(w.Server.Keys(), func(key string) bool { return strings.Contains(key, ":effect:") }) {
				t.Error("there are effects beside the outbox", err)
			}
			outboxes = append(outboxes, held)
			return effect.Outcome{Verdict: effect.Done}
		})
		answer := w.Say("m1", "a; b")
		w.Flushed()
		require.Len(t, outboxes, 2)
		require.Len(t, outboxes[0], 1)
		require.Equal(t, outboxes[0], outboxes[1])
		require.NotContains(t, w.Server.Keys(), keys.Outbox("s1"))
		for _, match := range answer.Matches {
			record := w.Trigger(match.TriggerID)
			require.Equal(t, "delivered", record.State)
			require.Equal(t, "published", record.Event.State)
			require.Len(t, record.Attempts, 1)
		}
		w.Rest()
	})
}

// TestACallIsWrittenTogetherWithTheEvents reads the ledger while a call is made, and counts the round trips of decisions
// with a call. On a busy machine a call may take so long that its events are written before it: one of many decisions
// must cost two.
func TestACallIsWrittenTogetherWithTheEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "r", `{"tools":[{"name":"a","url":"https://example.org/a"}]}`)
		var effects []string
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			effects = slices.DeleteFunc(w.Server.Keys(), func(key string) bool { return !strings.Contains(key, ":effect:") })
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		w.Fire(trigger.Direct{Name: "a", Source: "ui", TriggerID: "t0"})
		require.Len(t, effects, 1, "the call: its event is in a batch")
		w.Rest()

		w.Calls.Answer(nil)
		for n := range 500 {
			id, before := fmt.Sprint("t", n+1), w.Trips.Made()
			match := w.Fire(trigger.Direct{Name: "a", Source: "ui", TriggerID: id})
			if w.Trips.Made()-before > 2 {
				w.Rest()
				continue
			}
			require.Equal(t, "published", match.Event.State)
			require.JSONEq(t, `{"ok":true}`, string(match.Call.Result))
			record := w.Trigger(id)
			require.Equal(t, "delivered", record.State)
			require.Len(t, record.Attempts, 2)
			require.Equal(t, match, w.Fire(trigger.Direct{Name: "a", Source: "ui", TriggerID: id}))
			require.Len(t, w.Events.Payloads("tool.result.clinic._.a"), n+2)
			w.Rest()
			return
		}
		t.Error("each decision costs more than the round trip that decides, and the one that has all outcomes")
	})
}

// TestAnswerDoesNotWaitForItsSettlement freezes Redis once the event is published.
func TestAnswerDoesNotWaitForItsSettlement(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"a"}]}`)
		w.Unhurried()
		hold := &enginetest.Ice{}
		_, w.Engine = w.Replica(hold.Hook())
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			hold.Freeze()
			return effect.Outcome{Verdict: effect.Done}
		})
		answer := w.Say("m1", "a")
		require.Equal(t, "published", answer.Matches[0].Event.State)
		owed := testbed.Got(w.Server.Client().LLen(t.Context(), keyspace.KeysOf("clinic").Outbox("s1")).Result())(t)
		require.EqualValues(t, 1, owed, "it is owed until it is written down")
		w.Events.Answer(nil)
		hold.Thaw()
		again := w.Say("m1", "a")
		require.Equal(t, answer, again)
		w.Rest()
	})
}

// mute makes the first replica lose the connection whenever it writes a settlement, before Redis reads it,
// until the end of the test: then it stops without waiting for it. It counts the losses.
func (w *world) mute(t *testing.T) *atomic.Int64 {
	var times atomic.Int64
	var ended atomic.Bool
	_, w.Engine = w.Replica(enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if ended.Load() || !enginetest.RunsScript(cmd, `"state":"published"`) {
			return next(ctx, cmd)
		}
		times.Add(1)
		err := &net.OpError{Op: "write", Err: errors.New("broken pipe")}
		cmd.SetErr(err)
		return err
	}})
	t.Cleanup(func() { ended.Store(true) })
	return &times
}

// TestUnsettledEventsAreDeliveredAgainUnderTheSameIds has a replica answer and never record the
// outcome, like one that dies behind its answer.
func TestUnsettledEventsAreDeliveredAgainUnderTheSameIds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		times := w.mute(t)
		answer := w.Say("m1", "a; b")
		w.Until("it is tried", func() bool { return times.Load() > 0 })
		_, w.Engine = w.Replica()
		w.Lapse(keyspace.LaneOutboxes, "s1")
		w.Rest()
		ids := map[string]int{}
		for _, attempt := range w.Events.Attempts {
			if strings.HasPrefix(attempt.Event.Subject, "tool.trigger.") {
				ids[attempt.ID]++
			}
		}
		require.Len(t, ids, 2)
		for id, times := range ids {
			require.Equal(t, 2, times, id)
		}
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, "delivered", record.State)
		require.Len(t, record.Attempts, 1, "the first one is not known of")
		again := w.Say("m1", "a; b")
		require.Equal(t, answer, again)
	})
}

// TestTriggersWithoutASessionDoNotWaitForEachOther blocks the event of one trigger while another is fired.
func TestTriggersWithoutASessionDoNotWaitForEachOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		w.Unhurried()
		held, release := make(chan struct{}), make(chan struct{})
		w.Events.Answer(func(e effect.Effect) effect.Outcome {
			if strings.HasSuffix(e.Event.Subject, ".a") {
				close(held)
				<-release
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		first := make(chan error, 1)
		go func() {
			_, err := w.TryFire(trigger.Direct{Name: "a", Source: "ui"})
			first <- err
		}()
		<-held
		match := w.Fire(trigger.Direct{Name: "b", Source: "ui"})
		require.Equal(t, "published", match.Event.State)
		close(release)
		require.NoError(t, <-first)
		w.Rest()
	})
}

// TestBatchIsPublishedAfterItsSessionIsClosed closes a session whose event the
// broker does not take yet.
func TestBatchIsPublishedAfterItsSessionIsClosed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a"}]}`)
		times := w.mute(t)
		w.Say("m1", "a")
		w.Until("it is tried", func() bool { return times.Load() > 0 })
		w.Close()
		w.Lapse(keyspace.LaneOutboxes, "s1")
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.a"), 2, "the second is dropped by its id")
	})
}

// TestDirectTriggerOfACachedToolTakesOneRoundTrip counts round trips, also after changes of the cached state.
func TestDirectTriggerOfACachedToolTakesOneRoundTrip(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		named := func(tool string) string {
			return `{"tools":[{"name":"` + tool + `","schema":[{"parameter":"day","type":"string","required":true}]}]}`
		}
		w.Put("", "r", named("a"))
		fire := func(session, tool string) (query.Match, error) {
			return w.TryFire(trigger.Direct{SessionID: session, Name: tool, Source: "ui", TriggerID: session + tool, Values: map[string]any{"day": "monday"}})
		}
		_, err := fire("s0", "a") // the scripts are loaded now, and the app is cached
		require.NoError(t, err)
		w.Flushed()
		trips := w.Trips.Made()
		_, err = fire("s1", "a")
		require.NoError(t, err)
		w.Flushed()
		require.EqualValues(t, 3, w.Trips.Made()-trips, "one decides, one is behind the answer, one is of settled")

		w.Put("s1", "own", named("a"))
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "a", Source: "ui", Values: map[string]any{"day": "monday"}})
		require.Equal(t, "own", match.RepositoryID, "the session's tool wins")
		w.Put("", "r", named("b"))
		_, err = fire("s2", "a")
		require.ErrorIs(t, err, trigger.ErrNotInScope)
		_, err = fire("s2", "b")
		require.NoError(t, err)
		again, err := fire("s1", "a")
		require.NoError(t, err, "it was fired before the tool went")
		require.Equal(t, "r", again.RepositoryID)
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		_, err = fire("s3", "b")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

// TestTriggersOfASessionInTurnCostNoMore counts the round trips of triggers that a client sends one after the other,
// each while the result of the one before is published. On a busy machine some wait too short for that: one of many
// rounds must cost two for each.
func TestTriggersOfASessionInTurnCostNoMore(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.App("clinic", `{"settings":{"limits":{"sessionTriggersPerMinute":0}}}`)
		w.Put("", "r", `{"tools":[{"name":"a","url":"https://example.org/a"}]}`)
		fire := func() { w.Fire(trigger.Direct{SessionID: "s1", Name: "a", Source: "ui"}) }
		fire()
		w.Rest()
		w.Events.Answer(func(e effect.Effect) effect.Outcome {
			if strings.HasPrefix(e.Event.Subject, "tool.result.") {
				<-time.After(5 * time.Millisecond) // the next trigger waits five times as long
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		const inTurn = 5
		trips := func() int {
			before := w.Trips.Made()
			for range inTurn {
				fire()
			}
			w.Rest()
			return int(w.Trips.Made() - before)
		}
		least := trips()
		for rounds := 0; least > 2*inTurn && rounds < 50; rounds++ {
			least = min(least, trips())
		}
		require.Equal(t, 2*inTurn, least, "one decides, one settles")
	})
}

// TestUnavailableShardDelaysNoOther blocks the settlements of one app on their way to a shard, and reads those
// of another app.
func TestUnavailableShardDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.RunCluster(t).Server)
	released := make(chan struct{}) // until then the settlements of the clinic are held up, as by a shard that does not answer
	var hangs atomic.Bool
	_, w.Engine = w.Replica(enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if text := enginetest.Sent(cmd); strings.Contains(text, `"state":"published"`) && strings.Contains(text, ":outbox:clinic:") {
			hangs.Store(true)
			<-released
		}
		return next(ctx, cmd)
	}})
	w.App("shop", "{}")
	require.NotEqual(t, keyspace.PartitionOf("clinic"), keyspace.PartitionOf("shop"))
	for _, app := range []string{"clinic", "shop"} {
		repository := testbed.Got(repositories.DecodeRepository(repositories.Scope{AppID: app}, "r", []byte(`{"tools":[{"name":"a"}]}`)))(t)
		_, err := w.Store.PutRepository(t.Context(), repository)
		require.NoError(t, err)
	}
	w.Say("m1", "a")
	w.Until("the clinic's settlement hangs", hangs.Load)
	raw := testbed.Got(w.Engine.Fire(t.Context(), trigger.Direct{AppID: "shop", Name: "a", Source: "ui", TriggerID: "t1"}))(t)
	require.Contains(t, string(raw), `"published"`)
	record := testbed.Got(w.Engine.Trigger(t.Context(), "shop", "t1"))(t)
	require.Equal(t, "delivered", record.State)
	close(released)
	w.Rest()
}
