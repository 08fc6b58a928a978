package worker_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/enginetest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// keysOf lists the keys of the app whose names begin so.
func (w *world) keysOf(kind string) []string {
	return slices.DeleteFunc(w.Server.Keys(), func(key string) bool { return !strings.Contains(key, "}:"+kind+":clinic") })
}

func TestRecordsOfDoneTriggersAreRemovedWithAllReferences(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond}, func(t *testing.T, w *world) {
		w.Calls.Answer(refuse)
		failed := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		w.Calls.Answer(down)
		pending := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			if e.TriggerID == pending.TriggerID {
				return down(e)
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		for range 250 { // more than one script removes
			w.Fire(trigger.Direct{Name: "book", Source: "ui"})
		}
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		w.Until("the records that are done are gone, with nobody reading", func() bool {
			return client.ZCard(t.Context(), k.Triggers("")).Val() == 2 && len(w.keysOf("trigger")) == 2
		})
		require.EqualValues(t, 2, client.ZCard(t.Context(), k.Triggers("s1")).Val())
		require.Len(t, w.Triggers(query.Triggers{}), 2)
		require.Equal(t, failed.TriggerID, w.Triggers(query.Triggers{State: "failed"})[0].TriggerID)

		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		w.Until("what was retried is done, and gone", func() bool { return len(w.Triggers(query.Triggers{})) == 1 })
		require.Equal(t, "pending", w.Triggers(query.Triggers{SessionID: "s1"})[0].State)
		require.Zero(t, client.ZCard(t.Context(), k.Over()).Val())
		require.Zero(t, client.HLen(t.Context(), k.Dead()).Val())
	})
}

func TestHistoryHasTheOutcomeOfATriggerWhoseRecordIsGone(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond}, func(t *testing.T, w *world) {
		w.Say("m1", "book")
		w.Until("its record is gone", func() bool { return len(w.keysOf("trigger")) == 0 })
		entries := w.History("s1")
		require.Equal(t, "published", entries[0].Triggers[0].Event.State)
		require.Equal(t, "delivered", entries[0].Triggers[0].Call.State)
	})
}

func TestMessagesThatLeaveTheHistoryWhileItIsRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 4 {
			w.Say(fmt.Sprint("m", i), "hello")
		}
		read := func(page query.Page, meanwhile func()) (ids []string, next string) {
			var once sync.Once
			_, reader := w.Replica(enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
				if cmd.Name() == "hmget" {
					once.Do(meanwhile)
				}
				return next(ctx, cmd)
			}})
			entries, next, err := reader.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: page})
			require.NoError(t, err)
			for _, entry := range entries {
				ids = append(ids, entry.MessageID)
			}
			return ids, next
		}
		client, turns := w.Server.Client(), keyspace.KeysOf("clinic").Turns("s1")
		ids, next := read(query.Page{Limit: 3}, func() { client.HDel(t.Context(), turns, "m:m0", "m:m1") })
		require.Equal(t, []string{"m2"}, ids)
		ids, next = read(query.Page{Limit: 3, After: next}, func() {})
		require.Equal(t, []string{"m3"}, ids)
		require.Empty(t, next)
		ids, _ = read(query.Page{Limit: 3}, func() { w.Close() })
		require.Empty(t, ids)
	})
}

func TestFailedTriggersAreRemovedWithTheirBodiesAndCount(t *testing.T) {
	keeping(t, store.Retention{Dead: time.Millisecond}, func(t *testing.T, w *world) {
		w.Calls.Answer(refuse)
		for range 3 {
			w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		}
		w.Calls.Answer(nil)
		done := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		w.Until("the failed ones are gone", func() bool { return len(w.keysOf("trigger")) == 1 && len(w.keysOf("effect")) == 0 })
		require.Equal(t, done.TriggerID, w.Triggers(query.Triggers{})[0].TriggerID)
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		require.Zero(t, client.Exists(t.Context(), k.InState("failed"), k.Dead()).Val())
	})
}

func TestRetriedTriggerIsKeptWhileAnEffectIsPending(t *testing.T) {
	keeping(t, store.Retention{Dead: 300 * time.Millisecond}, func(t *testing.T, w *world) {
		w.Calls.Answer(refuse)
		failed := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		w.Calls.Answer(down)
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		attempts, _ := w.Calls.Count()
		w.Until("it is tried for longer than it would be kept", func() bool {
			made, _ := w.Calls.Count()
			record := w.Trigger(failed.TriggerID)
			return made > attempts+1 && len(record.Attempts) > 0 && time.Since(record.Time) > 2*time.Second
		})
		require.Equal(t, "pending", w.Triggers(query.Triggers{})[0].State)
	})
}

func TestDeletedAppLeavesNoDeadEffects(t *testing.T) {
	keeping(t, store.Retention{}, func(t *testing.T, w *world) {
		w.Calls.Answer(refuse)
		for range 120 {
			w.Fire(trigger.Direct{Name: "book", Source: "ui"})
		}
		w.Rest()
		require.Len(t, w.keysOf("effect"), 120)
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.Rest()
		require.Empty(t, w.keysOf("effect"))
		require.Empty(t, w.keysOf("trigger"))
		require.Zero(t, w.Server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Over()).Val())
	})
}

// configured are the keys of configuration, and of the service itself: due lanes are processed and removed when
// their leases end.
var configured = []string{"}:app:", "}:apps", "}:repos:clinic", "}:versions:clinic:", "}:versioned:clinic", "}:owed", "}:due"}

func TestOnlyConfigurationStaysForEver(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond, Dead: time.Millisecond, Explain: time.Millisecond}, func(t *testing.T, w *world) {
		w.Register(session("s1"), "own", `{"options":{"triggerOnce":true},"tools":[{"name":"once"},{"name":"lacks","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
		for _, text := range []string{"hello", "book", "lacks", "once", "book; lacks"} {
			w.Say("", text)
		}
		w.Agent("", "hello")
		w.Calls.Answer(refuse)
		w.Fire(trigger.Direct{SessionID: "s2", Name: "book", Source: "ui", FrontEnd: true})
		w.Fire(trigger.Direct{Name: "book", Source: "task", TriggerID: "t1"})
		w.Rest()
		client := w.Server.Client()
		w.Expire("s1")
		w.Expire("s2")
		var keys []string
		defer func() { t.Log("kept without an end:", keys) }()
		w.Until("all else is gone, or will be", func() bool {
			for _, session := range []string{"s1", "s2"} {
				if client.Exists(t.Context(), keyspace.KeysOf("clinic").Turns(session)).Val() == 1 {
					w.Expire(session) // a write that was on its way may have used it again
				}
			}
			keys = slices.DeleteFunc(w.Server.Keys(), func(key string) bool {
				known := slices.ContainsFunc(configured, func(name string) bool { return strings.Contains(key, name) })
				return known || client.TTL(t.Context(), key).Val() != -1
			})
			return len(keys) == 0
		})
		require.False(t, slices.Contains(w.Server.Keys(), keyspace.KeysOf("clinic").Repos("s1")))
	})
}

// TestUserOfAnEndedSessionIsForgotten expires the marks of closed sessions, which are kept for days: one
// session has begun anew meanwhile, without naming its user.
func TestUserOfAnEndedSessionIsForgotten(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		for _, id := range []string{"s1", "s2", "s3"} {
			_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: id, Actor: matcher.ActorUser, Text: "hello", User: "ada"})
			require.NoError(t, err)
		}
		w.Expire("s1")
		require.NoError(t, w.Store.CloseSession(t.Context(), "clinic", "s2"))
		w.Until("both have ended", func() bool { return client.ZCard(t.Context(), k.Ended()).Val() == 2 })
		mark := client.PTTL(t.Context(), k.Closed("s1")).Val()
		ends := client.ZScore(t.Context(), k.Ended(), "clinic/s1/ada").Val()
		require.InDelta(t, float64(time.Now().Add(mark-time.Minute).UnixMilli()), ends, 10_000, "it is looked at before the mark goes")
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s2", Actor: matcher.ActorUser, Text: "again"})
		require.NoError(t, err)

		due := func(id string) {
			require.NoError(t, client.ZAdd(t.Context(), k.Ended(), redis.Z{Score: 1, Member: "clinic/" + id + "/ada"}).Err())
		}
		due("s1")
		w.Until("it is looked at again when its mark goes", func() bool {
			return client.ZScore(t.Context(), k.Ended(), "clinic/s1/ada").Val() > ends
		})
		require.Len(t, client.ZRange(t.Context(), k.Users(), 0, -1).Val(), 3)
		require.NoError(t, client.Del(t.Context(), k.Closed("s1"), k.Closed("s2")).Err())
		due("s1")
		due("s2")
		w.Until("none is to be looked at any more", func() bool { return client.Exists(t.Context(), k.Ended()).Val() == 0 })
		require.Equal(t, []string{keyspace.OfUser("ada", "s2"), keyspace.OfUser("ada", "s3")}, client.ZRange(t.Context(), k.Users(), 0, -1).Val())
		again, err := w.Store.Session(t.Context(), "clinic", "s2")
		require.NoError(t, err)
		require.Equal(t, "ada", again.User)
	})
}

func TestKeysThatHaveExpiredAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		client, k := w.Server.Client(), keyspace.KeysOf("clinic")
		stays, _, err := w.Store.CreateKey(t.Context(), "clinic", store.NewKey{})
		require.NoError(t, err)
		for range 120 { // more than one script removes
			_, _, err := w.Store.CreateKey(t.Context(), "clinic", store.NewKey{Lifetime: time.Hour})
			require.NoError(t, err)
		}
		require.EqualValues(t, 121, client.HLen(t.Context(), k.AppKeys()).Val())
		listed := client.ZRange(t.Context(), keyspace.KeyEnds(k), 0, -1).Val()
		require.Len(t, listed, 120)
		for _, member := range listed { // the hour is over
			require.NoError(t, client.ZAdd(t.Context(), keyspace.KeyEnds(k), redis.Z{Score: 1, Member: member}).Err())
		}
		w.Until("they are gone", func() bool { return client.HLen(t.Context(), k.AppKeys()).Val() == 1 })
		require.True(t, client.HExists(t.Context(), k.AppKeys(), stays.ID).Val())
		require.Zero(t, client.Exists(t.Context(), keyspace.KeyEnds(k)).Val())
	})
}

func TestOldMessagesLeaveTheHistory(t *testing.T) {
	keeping(t, store.Retention{Messages: 3}, func(t *testing.T, w *world) {
		for i := range 5 {
			w.Say(fmt.Sprint("m", i), "hello")
		}
		shown := func(after string, limit int) (ids []string, next string) {
			entries, next, err := w.Engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{After: after, Limit: limit}})
			require.NoError(t, err)
			for _, entry := range entries {
				ids = append(ids, entry.MessageID)
			}
			return ids, next
		}
		ids, _ := shown("", 10)
		require.Equal(t, []string{"m2", "m3", "m4"}, ids)
		for _, field := range w.Server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Turns("s1")).Val() {
			require.NotRegexp(t, `^.:m[01]$`, field)
		}

		ids, next := shown("", 1)
		require.Equal(t, []string{"m2"}, ids)
		w.Say("m5", "hello")
		ids, next = shown(next, 1)
		require.Equal(t, []string{"m3"}, ids, "nothing is left out although the history is trimmed below the cursor")
		for _, id := range []string{"m6", "m7", "m8"} {
			w.Say(id, "hello")
		}
		ids, _ = shown(next, 10)
		require.Equal(t, []string{"m6", "m7", "m8"}, ids, "what the cursor names is gone: all that is there came later")
		_, _, err := w.Engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s2", Page: query.Page{After: next, Limit: 1}})
		require.ErrorIs(t, err, query.ErrCursor)
	})
}

func TestMessageInProgressStaysInTheHistory(t *testing.T) {
	keeping(t, store.Retention{Messages: 1}, func(t *testing.T, w *world) {
		release, reached := make(chan struct{}), make(chan struct{})
		w.Matcher.Intercept(func(_ context.Context, r matcher.Request) error {
			if r.Text == "wait" {
				close(reached)
				<-release
			}
			return nil
		})
		answered := make(chan error)
		go func() {
			_, err := w.TrySay("m1", "wait")
			answered <- err
		}()
		<-reached
		for _, id := range []string{"m2", "m3"} {
			w.Say(id, "hello")
		}
		close(release)
		require.NoError(t, <-answered)
		w.Say("m4", "hello")
		entries := w.History("s1")
		require.Len(t, entries, 1)
	})
}
