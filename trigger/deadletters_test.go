package trigger_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

func TestDeadLettersAreRetriedAndPurgedByQuery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a","url":"http://x.example"},{"name":"b","url":"http://x.example"}]}`)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
		})
		for _, d := range []trigger.Direct{{SessionID: "s1", Name: "a"}, {SessionID: "s1", Name: "b"}, {SessionID: "s2", Name: "a"}, {Name: "a"}} {
			d.Source = "ui"
			w.Fire(d)
		}
		w.Rest()
		require.Equal(t, 4, w.failed(query.Triggers{}))
		require.Equal(t, 3, w.failed(query.Triggers{Name: "a"}))

		purged := testbed.Got(w.Engine.Purge(t.Context(), query.Triggers{AppID: "clinic", SessionID: "s1", Name: "a"}))(t)
		require.Equal(t, 1, purged)
		require.Equal(t, 3, w.failed(query.Triggers{}))

		w.Calls.Answer(nil)
		retried, err := w.Engine.RetryAll(t.Context(), query.Triggers{AppID: "clinic", Name: "a"}, "admin")
		require.NoError(t, err)
		require.Equal(t, 2, retried)
		w.Keeper.Wake("clinic")
		w.Rest()
		require.Equal(t, 1, w.failed(query.Triggers{}), "that of the other tool")

		purged = testbed.Got(w.Engine.Purge(t.Context(), query.Triggers{AppID: "clinic"}))(t)
		require.Equal(t, 1, purged)
		require.Zero(t, w.failed(query.Triggers{}))
		for _, key := range w.Server.Client().Keys(t.Context(), "*effect:clinic:*").Val() {
			t.Errorf("%s is left of what was purged", key)
		}
	})
}

func TestRetriedTriggersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 1) // one worker, so that what is due first begins first
		w.Keeper = w.Engine
		w.Run(w.Engine)
		w.Put("", "r", `{"tools":[{"name":"a","url":"http://x.example"}]}`)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
		})
		var fired []string
		for range 6 {
			match := w.Fire(trigger.Direct{Name: "a", Source: "ui"})
			fired = append(fired, match.TriggerID)
		}
		w.Rest()

		_, err := w.Engine.RetryAll(t.Context(), query.Triggers{AppID: "clinic"}, "admin")
		require.NoError(t, err)
		w.Rest()
		var retried []string
		for _, again := range w.Calls.Attempts[6:] {
			retried = append(retried, again.TriggerID)
		}
		require.Equal(t, fired, retried)
	})
}

// pausing is a world with a tool whose endpoint asks for a pause.
func pausing(t *testing.T, server *redistest.Server, pause time.Duration) *world {
	w := idleWorld(t, server, 0)
	w.Register(session(""), "r", `{"tools":[{"name":"a","url":"http://x.example"}]}`)
	w.Calls.Answer(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Retry, Status: 503, Error: "503 Service Unavailable", After: pause}
	})
	return w
}

func TestNextAttemptAtACallIsNotMadeBeforeRetryAfter(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := pausing(t, server, 20*time.Second)
		record := w.Trigger(w.Fire(trigger.Direct{Name: "a", Source: "ui"}).TriggerID)
		require.GreaterOrEqual(t, record.Next.Due.Sub(record.Attempts[1].Time), 20*time.Second-time.Millisecond, "Redis counts milliseconds")
	})
}

func TestNextAttemptAtACallIsMadeAtOnceOnRequestAndOneAtATime(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := pausing(t, server, time.Hour)
		id := w.Fire(trigger.Direct{Name: "a", Source: "ui"}).TriggerID
		before := w.Trigger(id)
		require.Equal(t, "pending", before.State)
		require.Equal(t, 2, before.Next.Number)
		require.Greater(t, before.Next.Due.Sub(before.Attempts[1].Time), 14*time.Minute, "it waits as it was asked to, until retryFor ends")
		require.WithinDuration(t, before.Attempts[1].Time.Add(15*time.Minute), *before.Call.Until, time.Second)

		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", id, "key-1"))
		after := w.Trigger(id)
		require.True(t, after.Next.Due.Before(*before.Next.Due), "it is due at once")
		require.Len(t, after.Attempts, 2, "no replica has made it yet")
		require.Equal(t, "key-1", after.Retries[0].By)

		begun, release := make(chan struct{}), make(chan struct{})
		w.Calls.Hang(func(context.Context) {
			close(begun)
			<-release
		})
		_, w.Keeper = w.Replica()
		w.Run(w.Keeper)
		_, third := w.Replica()
		w.Run(third)
		<-begun
		require.Equal(t, &query.NextAttempt{Number: 2, UnderWay: true}, w.Trigger(id).Next)
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", id, "key-2"), "it is under way")
		w.Keeper.Wake("clinic")
		third.Wake("clinic")
		require.Len(t, w.Trigger(id).Retries, 1, "nothing was made due by the second one")
		w.Calls.Answer(nil)
		close(release)
		w.Rest()
		done := w.Trigger(id)
		require.Equal(t, "delivered", done.State)
		require.Nil(t, done.Next)
		require.Nil(t, done.Call.Until)
		attempts, taken := w.Calls.Count()
		require.Equal(t, []int{3, 1}, []int{attempts, taken})
	})
}

// TestRecordAndNextAttemptAreOfOneMoment records the outcome of a call after its record was read, and before it is
// read when its next attempt is due.
func TestRecordAndNextAttemptAreOfOneMoment(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		for _, verdict := range []effect.Verdict{effect.Retry, effect.Done} {
			w := pausing(t, server, time.Hour)
			begun, release, fired := make(chan struct{}), make(chan struct{}), make(chan struct{})
			w.Calls.Answer(func(effect.Effect) effect.Outcome {
				close(begun)
				<-release
				return effect.Outcome{Verdict: verdict, Status: 203, After: time.Hour}
			})
			id := "of " + verdict.String()
			go func() {
				defer close(fired)
				_, err := w.TryFire(trigger.Direct{Name: "a", Source: "ui", TriggerID: id})
				assert.NoError(t, err)
			}()
			<-begun
			record := sync.OnceFunc(func() {
				close(release)
				<-fired
				w.Flushed()
			})
			_, reader := w.Replica(enginetest.Hook{Pipeline: func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
				if slices.ContainsFunc(cmds, func(cmd redis.Cmder) bool { return cmd.Name() == "zscore" }) {
					record()
				}
				return next(ctx, cmds)
			}})
			read := testbed.Got(reader.Trigger(t.Context(), "clinic", id))(t)
			require.Equal(t, 203, read.Call.Status)
			require.Equal(t, verdict == effect.Done, read.State == query.StateDelivered, read.State)
			if verdict == effect.Retry {
				require.Equal(t, 2, read.Next.Number)
			} else {
				require.Nil(t, read.Next)
			}
		}
	})
}

// failed counts the dead letters that a query finds.
func (w *world) failed(q query.Triggers) int {
	q.AppID, q.State, q.Page.Limit = "clinic", "failed", 100
	records, _, err := w.Engine.Triggers(w.T.Context(), q)
	require.NoError(w.T, err)
	return len(records)
}
