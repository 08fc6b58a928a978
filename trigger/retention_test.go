package trigger_test

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

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// keeping is a world whose replicas keep no more than that.
func keeping(t *testing.T, keep store.Retention, test func(t *testing.T, w *world)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 0)
		w.keep, w.lease = keep, time.Minute
		w.store, w.engine = w.replica()
		w.keeper = w.engine
		w.run(w.engine)
		w.put("", "r", `{"tools":[{"name":"book","url":"http://x.example"}]}`)
		test(t, w)
	})
}

func refuse(effect.Effect) effect.Outcome {
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
}

// holding lists the keys of the app whose names begin so.
func (w *world) holding(kind string) []string {
	return slices.DeleteFunc(w.server.Keys(), func(key string) bool { return !strings.Contains(key, "}:"+kind+":clinic") })
}

func TestRecordsOfWhatIsDoneGoWithEverythingThatNamesThem(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond}, func(t *testing.T, w *world) {
		w.calls.answers(refuse)
		failed, err := w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		require.NoError(t, err)
		w.calls.answers(down)
		pending, err := w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		require.NoError(t, err)
		w.calls.answers(func(e effect.Effect) effect.Outcome {
			if e.TriggerID == pending.TriggerID {
				return down(e)
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		for range 250 { // more than one script removes
			_, err := w.fire(trigger.Direct{Name: "book", Source: "ui"})
			require.NoError(t, err)
		}
		client, k := w.server.Client(), keyspace.KeysOf("clinic")
		w.until("the records that are done are gone, with nobody reading", func() bool {
			return client.ZCard(t.Context(), k.Triggers("")).Val() == 2 && len(w.holding("trigger")) == 2
		})
		require.EqualValues(t, 2, client.ZCard(t.Context(), k.Triggers("s1")).Val())
		require.Len(t, w.records(query.Triggers{}), 2)
		require.Equal(t, failed.TriggerID, w.records(query.Triggers{State: "failed"})[0].TriggerID)

		require.NoError(t, w.engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		w.until("what was retried is done, and gone", func() bool { return len(w.records(query.Triggers{})) == 1 })
		require.Equal(t, "pending", w.records(query.Triggers{SessionID: "s1"})[0].State)
		require.Zero(t, client.ZCard(t.Context(), k.Over()).Val())
		require.Zero(t, client.HLen(t.Context(), k.Dead()).Val())
	})
}

func TestHistoryTellsWhatCameOfATriggerWhoseRecordIsGone(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond}, func(t *testing.T, w *world) {
		_, err := w.say("m1", "book")
		require.NoError(t, err)
		w.until("its record is gone", func() bool { return len(w.holding("trigger")) == 0 })
		entries, _, err := w.engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{Limit: 10}})
		require.NoError(t, err)
		require.Equal(t, "published", entries[0].Triggers[0].Event.State)
		require.Equal(t, "delivered", entries[0].Triggers[0].Call.State)
	})
}

// once runs something before the first command of that name.
type once struct {
	passing
	command string
	run     sync.Once
	do      func()
}

func (o *once) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == o.command {
			o.run.Do(o.do)
		}
		return next(ctx, cmd)
	}
}

func TestMessagesThatLeaveTheHistoryWhileItIsRead(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 4 {
			_, err := w.say(fmt.Sprint("m", i), "hello")
			require.NoError(t, err)
		}
		read := func(page query.Page, meanwhile func()) (ids []string, next string) {
			_, reader := w.replica(&once{command: "hmget", do: meanwhile})
			entries, next, err := reader.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: page})
			require.NoError(t, err)
			for _, entry := range entries {
				ids = append(ids, entry.MessageID)
			}
			return ids, next
		}
		client, turns := w.server.Client(), keyspace.KeysOf("clinic").Turns("s1")
		ids, next := read(query.Page{Limit: 3}, func() { client.HDel(t.Context(), turns, "m:m0", "m:m1") })
		require.Equal(t, []string{"m2"}, ids)
		ids, next = read(query.Page{Limit: 3, After: next}, func() {})
		require.Equal(t, []string{"m3"}, ids)
		require.Empty(t, next)
		ids, _ = read(query.Page{Limit: 3}, func() { require.NoError(t, w.store.CloseSession(t.Context(), "clinic", "s1")) })
		require.Empty(t, ids)
	})
}

func TestWhatHasFailedGoesWithItsBodiesAndItsCount(t *testing.T) {
	keeping(t, store.Retention{Dead: time.Millisecond}, func(t *testing.T, w *world) {
		w.calls.answers(refuse)
		for range 3 {
			_, err := w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
			require.NoError(t, err)
		}
		w.calls.answers(nil)
		done, err := w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		require.NoError(t, err)
		w.until("the failed ones are gone", func() bool { return len(w.holding("trigger")) == 1 && len(w.holding("effect")) == 0 })
		require.Equal(t, done.TriggerID, w.records(query.Triggers{})[0].TriggerID)
		client, k := w.server.Client(), keyspace.KeysOf("clinic")
		require.Zero(t, client.Exists(t.Context(), k.InState("failed"), k.Dead()).Val())
	})
}

func TestRetriedTriggerIsKeptForAsLongAsItOwes(t *testing.T) {
	keeping(t, store.Retention{Dead: 300 * time.Millisecond}, func(t *testing.T, w *world) {
		w.calls.answers(refuse)
		failed, err := w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui"})
		require.NoError(t, err)
		w.calls.answers(down)
		require.NoError(t, w.engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		require.NoError(t, w.engine.Retry(t.Context(), "clinic", failed.TriggerID, "admin"))
		attempts, _ := w.calls.count()
		w.until("it is tried for longer than it would be kept", func() bool {
			made, _ := w.calls.count()
			record, err := w.engine.Trigger(t.Context(), "clinic", failed.TriggerID)
			require.NoError(t, err)
			return made > attempts+1 && len(record.Attempts) > 0 && time.Since(record.Time) > 2*time.Second
		})
		require.Equal(t, "pending", w.records(query.Triggers{})[0].State)
	})
}

func TestDeletedAppLeavesNoDeadEffects(t *testing.T) {
	keeping(t, store.Retention{}, func(t *testing.T, w *world) {
		w.calls.answers(refuse)
		for range 120 {
			_, err := w.fire(trigger.Direct{Name: "book", Source: "ui"})
			require.NoError(t, err)
		}
		w.rest()
		require.Len(t, w.holding("effect"), 120)
		require.NoError(t, w.store.DeleteApp(t.Context(), "clinic"))
		w.rest()
		require.Empty(t, w.holding("effect"))
		require.Empty(t, w.holding("trigger"))
		require.Zero(t, w.server.Client().Exists(t.Context(), keyspace.KeysOf("clinic").Over()).Val())
	})
}

// configured are the keys of what somebody has configured, and of the service itself: the
// lanes that are due are looked at, and taken out, when their leases end.
var configured = []string{"}:app:", "}:apps", "}:repos:clinic", "}:owed", "}:due"}

func TestNothingStaysForEverButWhatSomebodyConfigured(t *testing.T) {
	keeping(t, store.Retention{Done: time.Millisecond, Dead: time.Millisecond, Explain: time.Millisecond}, func(t *testing.T, w *world) {
		w.register("s1", "own", `{"options":{"triggerOnce":true},"tools":[{"name":"once"},{"name":"lacks","schema":[{"parameter":"day","type":"string","required":true}]}]}`)
		for _, text := range []string{"hello", "book", "lacks", "once", "book; lacks"} {
			_, err := w.say("", text)
			require.NoError(t, err)
		}
		_, err := w.engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorAgent, Text: "hello"})
		require.NoError(t, err)
		w.calls.answers(refuse)
		_, err = w.fire(trigger.Direct{SessionID: "s2", Name: "book", Source: "ui", FrontEnd: true})
		require.NoError(t, err)
		_, err = w.fire(trigger.Direct{Name: "book", Source: "task", TriggerID: "t1"})
		require.NoError(t, err)
		w.rest()
		client := w.server.Client()
		w.expired("s1")
		w.expired("s2")
		var left []string
		defer func() { t.Log("kept without an end:", left) }()
		w.until("all else is gone, or will be", func() bool {
			for _, session := range []string{"s1", "s2"} {
				if client.Exists(t.Context(), keyspace.KeysOf("clinic").Turns(session)).Val() == 1 {
					w.expired(session) // a write that was on its way may have used it again
				}
			}
			left = slices.DeleteFunc(w.server.Keys(), func(key string) bool {
				known := slices.ContainsFunc(configured, func(name string) bool { return strings.Contains(key, name) })
				return known || client.TTL(t.Context(), key).Val() != -1
			})
			return len(left) == 0
		})
		require.False(t, slices.Contains(w.server.Keys(), keyspace.KeysOf("clinic").Repos("s1")))
	})
}

func TestOldMessagesLeaveTheHistory(t *testing.T) {
	keeping(t, store.Retention{Messages: 3}, func(t *testing.T, w *world) {
		for i := range 5 {
			_, err := w.say(fmt.Sprint("m", i), "hello")
			require.NoError(t, err)
		}
		shown := func(after string, limit int) (ids []string, next string) {
			entries, next, err := w.engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{After: after, Limit: limit}})
			require.NoError(t, err)
			for _, entry := range entries {
				ids = append(ids, entry.MessageID)
			}
			return ids, next
		}
		ids, _ := shown("", 10)
		require.Equal(t, []string{"m2", "m3", "m4"}, ids)
		for _, field := range w.server.Client().HKeys(t.Context(), keyspace.KeysOf("clinic").Turns("s1")).Val() {
			require.NotRegexp(t, `^.:m[01]$`, field)
		}

		ids, next := shown("", 1)
		require.Equal(t, []string{"m2"}, ids)
		_, err := w.say("m5", "hello")
		require.NoError(t, err)
		ids, next = shown(next, 1)
		require.Equal(t, []string{"m3"}, ids, "nothing is left out although the history is trimmed below the cursor")
		for _, id := range []string{"m6", "m7", "m8"} {
			_, err := w.say(id, "hello")
			require.NoError(t, err)
		}
		ids, _ = shown(next, 10)
		require.Equal(t, []string{"m6", "m7", "m8"}, ids, "what the cursor names is gone: all that is there came later")
		_, _, err = w.engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s2", Page: query.Page{After: next, Limit: 1}})
		require.ErrorIs(t, err, query.ErrCursor)
	})
}

func TestMessageUnderWayStaysInTheHistory(t *testing.T) {
	keeping(t, store.Retention{Messages: 1}, func(t *testing.T, w *world) {
		held, reached := make(chan struct{}), make(chan struct{})
		w.matcher.intercept(func(r matcher.Request) error {
			if r.Text == "wait" {
				close(reached)
				<-held
			}
			return nil
		})
		answered := make(chan error)
		go func() {
			_, err := w.say("m1", "wait")
			answered <- err
		}()
		<-reached
		for _, id := range []string{"m2", "m3"} {
			_, err := w.say(id, "hello")
			require.NoError(t, err)
		}
		close(held)
		require.NoError(t, <-answered)
		_, err := w.say("m4", "hello")
		require.NoError(t, err)
		entries, _, err := w.engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{Limit: 10}})
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
}
