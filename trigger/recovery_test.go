package trigger_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// Faults found by the fault rig or foreseen, each as a test that needs no kill.

// TestAnswerOfAReplicaConsideredDeadIsTheSame freezes a replica between the decision and the
// answer, has another give the answer, and thaws the first.
func TestAnswerOfAReplicaConsideredDeadIsTheSame(t *testing.T) {
	ask := map[string]func(*world, *trigger.Engine) (json.RawMessage, error){
		"message": func(w *world, engine *trigger.Engine) (json.RawMessage, error) {
			return engine.Post(context.Background(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: "user", Text: "greet"})
		},
		"direct": func(w *world, engine *trigger.Engine) (json.RawMessage, error) {
			return engine.Fire(context.Background(), trigger.Direct{AppID: "clinic", SessionID: "s1", TriggerID: "t1", Name: "greet", Source: "ui"})
		},
	}
	for name, ask := range ask {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Put("s1", "r", `{"tools":[{"name":"greet"}]}`)
				hold := &enginetest.Ice{}
				w.Lease = 3 * time.Second // after which it is considered dead
				_, zombie := w.Replica(hold.Hook())
				reached, release := make(chan struct{}), make(chan struct{})
				var events atomic.Int64
				w.Events.Answer(func(effect.Effect) effect.Outcome {
					if events.Add(1) == 1 {
						hold.Freeze()
						close(reached)
						<-release
					}
					return effect.Outcome{Verdict: effect.Done}
				})
				late := make(chan string, 1)
				go func() {
					answer, err := ask(w, zombie)
					if err != nil {
						t.Error(err)
					}
					late <- string(answer)
				}()
				<-reached
				answer := testbed.Got(ask(w, w.Engine))(t)
				require.Contains(t, string(answer), `"state":"pending"`)
				again, err := ask(w, w.Engine)
				require.NoError(t, err)
				require.Equal(t, string(answer), string(again))
				close(release)
				hold.Thaw()
				require.Equal(t, string(answer), <-late)
				again = testbed.Got(ask(w, w.Engine))(t)
				require.Equal(t, string(answer), string(again))
				w.Rest()
				require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.greet"), 1)
			})
		})
	}
}

// TestRepeatOfADirectTriggerThatIsJustFiringGetsItsAnswer has a client repeat a request that another replica is
// about to commit, which removes the repository.
func TestRepeatOfADirectTriggerThatIsJustFiringGetsItsAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "choice", choice)
		direct := trigger.Direct{AppID: "clinic", SessionID: "s1", Name: "yes", Source: "ui", TriggerID: "t1"}
		var first json.RawMessage
		var fault error
		var once sync.Once // before the first pipeline that reads
		_, repeated := w.Replica(enginetest.Hook{Pipeline: func(ctx context.Context, cmds []redis.Cmder, next redis.ProcessPipelineHook) error {
			once.Do(func() { first, fault = w.Engine.Fire(context.Background(), direct) })
			return next(ctx, cmds)
		}})
		answer, err := repeated.Fire(t.Context(), direct)
		require.NoError(t, fault)
		require.NoError(t, err)
		require.Equal(t, string(first), string(answer))
		direct.TriggerID = "t2"
		_, err = repeated.Fire(t.Context(), direct)
		require.ErrorIs(t, err, trigger.ErrNotInScope)
	})
}

// stutter runs every script twice, like a client that lost the first reply.
func stutter(meanwhile func()) enginetest.Hook {
	return enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); err != nil || name != "eval" && name != "evalsha" {
			return err
		}
		meanwhile()
		return next(ctx, cmd)
	}}
}

// TestFiredRegistrationIsNotRepeated lets a triggerOnce
// repository be registered and fire, and only then the registration be sent again.
func TestFiredRegistrationIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		fired := false
		definitions, _ := w.Replica(stutter(func() {
			answer := w.Say("m1", "yes")
			fired = len(answer.Matches) == 1
			w.Rest()
		}))
		repository := testbed.Got(repositories.DecodeRepository(session("s1"), "choice", []byte(choice)))(t)
		_, err := definitions.PutRepository(t.Context(), repository)
		require.NoError(t, err)
		require.True(t, fired)
		_, err = w.Store.Repository(t.Context(), session("s1"), "choice")
		require.ErrorIs(t, err, repositories.ErrNotFound)
		answer := w.Say("m2", "yes")
		require.Empty(t, answer.Matches)
		w.Rest()
		require.Equal(t, []string{"created", "deleted"}, w.Events.Changes("choice"))
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.yes"), 1)
	})
}

// TestEveryScriptMayRunTwice repeats the usual operations on a replica whose every script runs twice.
func TestEveryScriptMayRunTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		store, engine := w.Replica(stutter(func() {}))
		_, worker := w.Replica(stutter(func() {}))
		w.Run(worker)
		for id, body := range map[string]string{"booking": booking, "choice": choice, "bad": `{"tools":[{"name":"bad","url":"http://x.example"}]}`} {
			repository := testbed.Got(repositories.DecodeRepository(session("s1"), id, []byte(body)))(t)
			_, err := store.PutRepository(t.Context(), repository)
			require.NoError(t, err)
		}
		for id, text := range map[string]string{"m1": `book {"day":"monday"}`, "m2": "yes; no", "m3": "yes"} {
			_, err := w.SayOn(engine, "s1", id, text)
			require.NoError(t, err)
		}
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest}
		})
		raw := testbed.Got(engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", TriggerID: "t1", Name: "bad", Source: "ui"}))(t)
		require.Contains(t, string(raw), `"failed"`)
		w.Rest()
		w.Calls.Answer(nil)
		require.NoError(t, engine.Retry(t.Context(), "clinic", "t1", "admin"))
		w.Rest()
		record := testbed.Got(engine.Trigger(t.Context(), "clinic", "t1"))(t)
		require.Equal(t, "delivered", record.State)
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
		require.Len(t, append(w.Events.Payloads("tool.trigger.clinic.s1.yes"), w.Events.Payloads("tool.trigger.clinic.s1.no")...), 1)
		require.Len(t, w.Events.Payloads("tool.result.clinic.s1.bad"), 2, "its failure and, after the retry, its success")
		_, calls := w.Calls.Count()
		require.Equal(t, 2, calls)
		require.NoError(t, store.DeleteRepository(t.Context(), session("s1"), "booking"))
		require.NoError(t, store.CloseSession(t.Context(), "clinic", "s1"))
		w.Rest()
	})
}

// TestEventIsPublishedHoweverManyWorkersDieOverIt lets attempt after attempt lose its
// lease without an outcome: an event is never given up.
func TestEventIsPublishedHoweverManyWorkersDieOverIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"greet"}]}`)
		client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
		var tries atomic.Int64
		w.Events.Answer(func(e effect.Effect) effect.Outcome {
			switch n := tries.Add(1); {
			case n == 1:
				return down(e) // from now on workers deliver it
			case n <= 9:
				client.HDel(context.Background(), keys.Holders(), "s1")
				w.Lapse(keyspace.LaneOutboxes, "s1")
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		answer := w.Say("m1", "greet")
		w.Rest()
		require.EqualValues(t, 10, tries.Load())
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, "delivered", record.State)
		require.Equal(t, "published", record.Event.State)
	})
}

// TestSessionDoesNotExpireUnderAMessage lets the time of a session pass while a message
// of it is matched.
func TestSessionDoesNotExpireUnderAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			w.Expire("s1")
			return w.Store.ExpireSession(context.Background(), "clinic/s1")
		})
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		w.Rest()
		w.Expire("s1")
		require.NoError(t, w.Store.ExpireSession(t.Context(), "clinic/s1"))
		w.Until("the session is gone when it is idle again", func() bool {
			items, _, err := w.Store.Repositories(context.Background(), session("s1"), "", 10)
			return err == nil && len(items) == 0
		})
		w.Rest()
	})
}

// TestSessionEndsAtItsOwnTime ends the configured time of a session in use: by messages, direct triggers and
// repositories.
func TestSessionEndsAtItsOwnTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1", ExpiresIn: repositories.Duration(time.Minute)})
		require.NoError(t, err)
		w.Put("s1", "booking", booking)
		w.Say("m1", `book {"day":"monday"}`)
		w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Values: map[string]any{"day": "monday"}, Source: query.SourceUI})
		client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
		ends := testbed.Got(client.ZScore(t.Context(), keys.Idle(), "clinic/s1").Result())(t)
		began := testbed.Got(client.HGet(t.Context(), keys.Turns("s1"), "since").Float64())(t)
		require.InDelta(t, began+time.Minute.Seconds()*1000, ends, 1, "no use has put it off")

		_, err = w.Store.Session(t.Context(), "clinic", "s1")
		require.NoError(t, err)
		require.NoError(t, client.HSet(t.Context(), keys.Turns("s1"), "expires", 1).Err())
		require.NoError(t, client.ZAdd(t.Context(), keys.Idle(), redis.Z{Score: 1, Member: "clinic/s1"}).Err())
		w.Until("the session is gone", func() bool {
			_, err := w.Store.Session(context.Background(), "clinic", "s1")
			return errors.Is(err, repositories.ErrNotFound)
		})
		_, err = w.Store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1"})
		require.NoError(t, err)
		require.Empty(t, client.HGet(t.Context(), keys.Turns("s1"), "expires").Val())
		w.Rest()
	})
}
