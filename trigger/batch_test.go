package trigger_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// TestEventsThatAreTakenAtOnceAreOneEntry looks into the ledger while the events of a
// decision are published.
func TestEventsThatAreTakenAtOnceAreOneEntry(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		keys := keyspace.KeysOf("clinic")
		var outboxes [][]string
		w.events.answers(func(effect.Effect) effect.Outcome {
			held, err := w.server.Client().LRange(context.Background(), keys.Outbox("s1"), 0, -1).Result()
			if err != nil || slices.ContainsFunc(w.server.Keys(), func(key string) bool { return strings.Contains(key, ":effect:") }) {
				t.Error("there are effects beside the outbox", err)
			}
			outboxes = append(outboxes, held)
			return effect.Outcome{Verdict: effect.Done}
		})
		answer, err := w.say("m1", "a; b")
		require.NoError(t, err)
		w.settled()
		require.Len(t, outboxes, 2)
		require.Len(t, outboxes[0], 1)
		require.Equal(t, outboxes[0], outboxes[1])
		require.NotContains(t, w.server.Keys(), keys.Outbox("s1"))
		for _, match := range answer.Matches {
			record, err := w.engine.Trigger(t.Context(), "clinic", match.TriggerID)
			require.NoError(t, err)
			require.Equal(t, "delivered", record.State)
			require.Equal(t, "published", record.Event.State)
			require.Len(t, record.Attempts, 1)
		}
		w.rest()
	})
}

// TestAnswerDoesNotWaitForWhatIsWrittenDown freezes Redis once the event is published.
func TestAnswerDoesNotWaitForWhatIsWrittenDown(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"a"}]}`)
		w.unhurried()
		hold := &ice{}
		_, w.engine = w.replica(hold)
		w.events.answers(func(effect.Effect) effect.Outcome {
			hold.freeze()
			return effect.Outcome{Verdict: effect.Done}
		})
		answer, err := w.say("m1", "a")
		require.NoError(t, err)
		require.Equal(t, "published", answer.Matches[0].Event.State)
		owed, err := w.server.Client().LLen(t.Context(), keyspace.KeysOf("clinic").Outbox("s1")).Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, owed, "it is owed until it is written down")
		w.events.answers(nil)
		hold.thaw()
		again, err := w.say("m1", "a")
		require.NoError(t, err)
		require.Equal(t, answer, again)
		w.rest()
	})
}

// severed loses the connection whenever a settlement is written, before Redis reads it,
// until the end of the test: the replica stops without waiting for it then.
type severed struct {
	passing
	times atomic.Int64
	ended atomic.Bool
}

func (s *severed) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if s.ended.Load() || !strings.HasPrefix(cmd.Name(), "eval") || !strings.Contains(cmd.String(), `"state":"published"`) {
			return next(ctx, cmd)
		}
		s.times.Add(1)
		err := &net.OpError{Op: "write", Err: errors.New("broken pipe")}
		cmd.SetErr(err)
		return err
	}
}

// TestWhatWasAnsweredAndNotWrittenDownIsDeliveredUnderTheSameIds has a replica answer, and
// never write what came of it, as one that dies behind its answer.
func TestWhatWasAnsweredAndNotWrittenDownIsDeliveredUnderTheSameIds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		mute := &severed{}
		_, w.engine = w.replica(mute)
		t.Cleanup(func() { mute.ended.Store(true) })
		answer, err := w.say("m1", "a; b")
		require.NoError(t, err)
		w.until("it is tried", func() bool { return mute.times.Load() > 0 })
		_, w.engine = w.replica()
		w.lapse(keyspace.LaneOutboxes, "s1")
		w.rest()
		ids := map[string]int{}
		for _, attempt := range w.events.attempts {
			if strings.HasPrefix(attempt.Event.Subject, "tool.trigger.") {
				ids[attempt.ID]++
			}
		}
		require.Len(t, ids, 2)
		for id, times := range ids {
			require.Equal(t, 2, times, id)
		}
		record, err := w.engine.Trigger(t.Context(), "clinic", answer.Matches[0].TriggerID)
		require.NoError(t, err)
		require.Equal(t, "delivered", record.State)
		require.Len(t, record.Attempts, 1, "the first one is not known of")
		again, err := w.say("m1", "a; b")
		require.NoError(t, err)
		require.Equal(t, answer, again)
	})
}

// TestTriggersWithoutASessionDoNotWaitForEachOther holds up the event of one while another
// is fired.
func TestTriggersWithoutASessionDoNotWaitForEachOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "r", `{"tools":[{"name":"a"},{"name":"b"}]}`)
		w.unhurried()
		held, release := make(chan struct{}), make(chan struct{})
		w.events.answers(func(e effect.Effect) effect.Outcome {
			if strings.HasSuffix(e.Event.Subject, ".a") {
				close(held)
				<-release
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		first := make(chan error, 1)
		go func() {
			_, err := w.fire(trigger.Direct{Name: "a", Source: "ui"})
			first <- err
		}()
		<-held
		match, err := w.fire(trigger.Direct{Name: "b", Source: "ui"})
		require.NoError(t, err)
		require.Equal(t, "published", match.Event.State)
		close(release)
		require.NoError(t, <-first)
		w.rest()
	})
}

// TestSessionThatIsClosedBehindABatchStillHasItPublished closes a session whose event the
// broker does not take yet.
func TestSessionThatIsClosedBehindABatchStillHasItPublished(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "r", `{"tools":[{"name":"a"}]}`)
		mute := &severed{}
		_, w.engine = w.replica(mute)
		t.Cleanup(func() { mute.ended.Store(true) })
		_, err := w.say("m1", "a")
		require.NoError(t, err)
		w.until("it is tried", func() bool { return mute.times.Load() > 0 })
		require.NoError(t, w.store.CloseSession(t.Context(), "clinic", "s1"))
		w.lapse(keyspace.LaneOutboxes, "s1")
		w.rest()
		require.Len(t, w.events.payloads("tool.trigger.clinic.s1.a"), 2, "the second is dropped by its id")
	})
}

// TestDirectTriggerOfAToolThatIsKnownAsksRedisOnce counts round trips, and changes what is
// known meanwhile.
func TestDirectTriggerOfAToolThatIsKnownAsksRedisOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		named := func(tool string) string {
			return `{"tools":[{"name":"` + tool + `","schema":[{"parameter":"day","type":"string","required":true}]}]}`
		}
		w.put("", "r", named("a"))
		fire := func(session, tool string) (query.Match, error) {
			return w.fire(trigger.Direct{SessionID: session, Name: tool, Source: "ui", TriggerID: session + tool, Values: map[string]any{"day": "monday"}})
		}
		_, err := fire("s0", "a") // the scripts are loaded now, and the app is cached
		require.NoError(t, err)
		w.settled()
		trips := w.trips.Made()
		_, err = fire("s1", "a")
		require.NoError(t, err)
		w.settled()
		require.EqualValues(t, 3, w.trips.Made()-trips, "one decides, one is behind the answer, one is of settled")

		w.put("s1", "own", named("a"))
		match, err := w.fire(trigger.Direct{SessionID: "s1", Name: "a", Source: "ui", Values: map[string]any{"day": "monday"}})
		require.NoError(t, err)
		require.Equal(t, "own", match.RepositoryID, "the session's tool wins")
		w.put("", "r", named("b"))
		_, err = fire("s2", "a")
		require.ErrorIs(t, err, trigger.ErrNotInScope)
		_, err = fire("s2", "b")
		require.NoError(t, err)
		again, err := fire("s1", "a")
		require.NoError(t, err, "it was fired before the tool went")
		require.Equal(t, "r", again.RepositoryID)
		require.NoError(t, w.store.DeleteApp(t.Context(), "clinic"))
		_, err = fire("s3", "b")
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

// stuck holds up the settlements of an app, as a shard does that does not answer.
type stuck struct {
	passing
	app      string
	released chan struct{}
}

func (s *stuck) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if text := cmd.String(); strings.Contains(text, `"state":"published"`) && strings.Contains(text, ":outbox:"+s.app+":") {
			<-s.released
		}
		return next(ctx, cmd)
	}
}

// TestShardThatIsAwayHoldsUpNoOther has what came of one app's events hang on its way to a
// shard, and asks for those of another app.
func TestShardThatIsAwayHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, redistest.RunCluster(t).Server)
	held := &stuck{app: "clinic", released: make(chan struct{})}
	_, w.engine = w.replica(held)
	w.app("shop", "{}")
	require.NotEqual(t, keyspace.PartitionOf("clinic"), keyspace.PartitionOf("shop"))
	for _, app := range []string{"clinic", "shop"} {
		repository, err := repositories.DecodeRepository(repositories.Scope{AppID: app}, "r", []byte(`{"tools":[{"name":"a"}]}`))
		require.NoError(t, err)
		_, err = w.store.PutRepository(t.Context(), repository)
		require.NoError(t, err)
	}
	_, err := w.say("m1", "a")
	require.NoError(t, err)
	raw, err := w.engine.Fire(t.Context(), trigger.Direct{AppID: "shop", Name: "a", Source: "ui", TriggerID: "t1"})
	require.NoError(t, err)
	require.Contains(t, string(raw), `"published"`)
	record, err := w.engine.Trigger(t.Context(), "shop", "t1")
	require.NoError(t, err)
	require.Equal(t, "delivered", record.State)
	close(held.released)
	w.rest()
}
