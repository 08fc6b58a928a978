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

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// What the fault rig has found, and what could be told beforehand, each as a test that
// needs no kill.

// ice holds up all that a replica asks of Redis, as if the process were frozen.
type ice struct {
	passing
	mu     sync.Mutex
	thawed chan struct{} // nil while it is not frozen
}

func (i *ice) freeze() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.thawed = make(chan struct{})
}

func (i *ice) thaw() {
	i.mu.Lock()
	defer i.mu.Unlock()
	close(i.thawed)
	i.thawed = nil
}

func (i *ice) wait() {
	i.mu.Lock()
	thawed := i.thawed
	i.mu.Unlock()
	if thawed != nil {
		<-thawed
	}
}

func (i *ice) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		i.wait()
		return next(ctx, cmd)
	}
}

func (i *ice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		i.wait()
		return next(ctx, cmds)
	}
}

// TestAnswerOfAReplicaThatWasTakenForDeadIsTheOneThatAllGot freezes a replica between
// the decision and the answer, lets another give the answer, and thaws the first.
func TestAnswerOfAReplicaThatWasTakenForDeadIsTheOneThatAllGot(t *testing.T) {
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
				w.put("s1", "r", `{"tools":[{"name":"greet"}]}`)
				hold := &ice{}
				_, zombie := w.replica(hold)
				reached, release := make(chan struct{}), make(chan struct{})
				var events atomic.Int64
				w.events.answers(func(effect.Effect) effect.Outcome {
					if events.Add(1) == 1 {
						hold.freeze()
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
				answer, err := ask(w, w.engine)
				require.NoError(t, err)
				require.Contains(t, string(answer), `"state":"pending"`)
				again, err := ask(w, w.engine)
				require.NoError(t, err)
				require.Equal(t, string(answer), string(again))
				close(release)
				hold.thaw()
				require.Equal(t, string(answer), <-late)
				again, err = ask(w, w.engine)
				require.NoError(t, err)
				require.Equal(t, string(answer), string(again))
				w.rest()
				require.Len(t, w.events.payloads("tool.trigger.clinic.s1.greet"), 1)
			})
		})
	}
}

// between does something once, before the first pipeline that reads.
type between struct {
	passing
	once sync.Once
	do   func()
}

func (b *between) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		b.once.Do(b.do)
		return next(ctx, cmds)
	}
}

// TestRepeatOfADirectTriggerThatIsJustFiringGetsItsAnswer has a client repeat what
// another replica is about to commit: that the repository is gone is because of it.
func TestRepeatOfADirectTriggerThatIsJustFiringGetsItsAnswer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "choice", choice)
		direct := trigger.Direct{AppID: "clinic", SessionID: "s1", Name: "yes", Source: "ui", TriggerID: "t1"}
		var first json.RawMessage
		var fault error
		_, repeated := w.replica(&between{do: func() { first, fault = w.engine.Fire(context.Background(), direct) }})
		answer, err := repeated.Fire(t.Context(), direct)
		require.NoError(t, fault)
		require.NoError(t, err)
		require.Equal(t, string(first), string(answer))
		direct.TriggerID = "t2"
		_, err = repeated.Fire(t.Context(), direct)
		require.ErrorIs(t, err, trigger.ErrNotInScope)
	})
}

// stutter runs every script twice, as a client does that got no reply to the first run.
type stutter struct {
	passing
	meanwhile func()
}

func (s *stutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); err != nil || name != "eval" && name != "evalsha" {
			return err
		}
		if s.meanwhile != nil {
			s.meanwhile()
		}
		return next(ctx, cmd)
	}
}

// TestRegistrationThatHasFiredBeforeItsReplyCameIsNotMadeAgain lets a triggerOnce
// repository be registered and fire, and only then the registration be sent again.
func TestRegistrationThatHasFiredBeforeItsReplyCameIsNotMadeAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		fired := false
		definitions, _ := w.replica(&stutter{meanwhile: func() {
			answer, err := w.say("m1", "yes")
			require.NoError(t, err)
			fired = len(answer.Matches) == 1
			w.rest()
		}})
		repository, err := repositories.DecodeRepository(session("s1"), "choice", []byte(choice))
		require.NoError(t, err)
		_, err = definitions.PutRepository(t.Context(), repository)
		require.NoError(t, err)
		require.True(t, fired)
		_, err = w.store.Repository(t.Context(), session("s1"), "choice")
		require.ErrorIs(t, err, repositories.ErrNotFound)
		answer, err := w.say("m2", "yes")
		require.NoError(t, err)
		require.Empty(t, answer.Matches)
		w.rest()
		require.Equal(t, []string{"created", "deleted"}, w.events.changes("choice"))
		require.Len(t, w.events.payloads("tool.trigger.clinic.s1.yes"), 1)
	})
}

// TestEveryScriptMayRunTwice does with a replica whose every script runs twice what
// else is done with one.
func TestEveryScriptMayRunTwice(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		store, engine := w.replica(&stutter{})
		_, worker := w.replica(&stutter{})
		w.run(worker)
		for id, body := range map[string]string{"booking": booking, "choice": choice, "bad": `{"tools":[{"name":"bad","url":"http://x.example"}]}`} {
			repository, err := repositories.DecodeRepository(session("s1"), id, []byte(body))
			require.NoError(t, err)
			_, err = store.PutRepository(t.Context(), repository)
			require.NoError(t, err)
		}
		for id, text := range map[string]string{"m1": `book {"day":"monday"}`, "m2": "yes; no", "m3": "yes"} {
			_, err := w.sayOn(engine, "s1", id, text)
			require.NoError(t, err)
		}
		w.calls.answers(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest}
		})
		raw, err := engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", TriggerID: "t1", Name: "bad", Source: "ui"})
		require.NoError(t, err)
		require.Contains(t, string(raw), `"failed"`)
		w.rest()
		w.calls.answers(nil)
		require.NoError(t, engine.Retry(t.Context(), "clinic", "t1", "admin"))
		w.rest()
		record, err := engine.Trigger(t.Context(), "clinic", "t1")
		require.NoError(t, err)
		require.Equal(t, "delivered", record.State)
		require.Len(t, w.events.payloads("tool.trigger.clinic.s1.book"), 1)
		require.Len(t, append(w.events.payloads("tool.trigger.clinic.s1.yes"), w.events.payloads("tool.trigger.clinic.s1.no")...), 1)
		require.Len(t, w.events.payloads("tool.result.clinic.s1.bad"), 2, "its failure and, after the retry, its success")
		_, calls := w.calls.count()
		require.Equal(t, 2, calls)
		require.NoError(t, store.DeleteRepository(t.Context(), session("s1"), "booking"))
		require.NoError(t, store.CloseSession(t.Context(), "clinic", "s1"))
		w.rest()
	})
}

// TestEventIsPublishedHoweverManyWorkersDieOverIt lets attempt after attempt lose its
// lease without an outcome: an event is never given up.
func TestEventIsPublishedHoweverManyWorkersDieOverIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "r", `{"tools":[{"name":"greet"}]}`)
		client, keys := w.server.Client(), keyspace.KeysOf("clinic")
		var tries atomic.Int64
		w.events.answers(func(e effect.Effect) effect.Outcome {
			switch n := tries.Add(1); {
			case n == 1:
				return down(e) // from now on workers deliver it
			case n <= 9:
				client.HDel(context.Background(), keys.Holders(), "s1")
				w.lapse(keyspace.LaneOutboxes, "s1")
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		answer, err := w.say("m1", "greet")
		require.NoError(t, err)
		w.rest()
		require.EqualValues(t, 10, tries.Load())
		record, err := w.engine.Trigger(t.Context(), "clinic", answer.Matches[0].TriggerID)
		require.NoError(t, err)
		require.Equal(t, "delivered", record.State)
		require.Equal(t, "published", record.Event.State)
	})
}

// TestSessionDoesNotExpireUnderAMessage lets the time of a session pass while a message
// of it is matched.
func TestSessionDoesNotExpireUnderAMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "booking", booking)
		w.matcher.intercept(func(matcher.Request) error {
			w.expired("s1")
			return w.store.ExpireSession(context.Background(), "clinic/s1")
		})
		answer, err := w.say("m1", `book {"day":"monday"}`)
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		w.rest()
		w.expired("s1")
		require.NoError(t, w.store.ExpireSession(t.Context(), "clinic/s1"))
		w.until("the session is gone when it is idle again", func() bool {
			items, _, err := w.store.Repositories(context.Background(), session("s1"), "", 10)
			return err == nil && len(items) == 0
		})
		w.rest()
	})
}

// TestSessionEndsWhenItWasToldTo lets the time be over that was put of a session, while it is
// in use: by messages, direct triggers and repositories.
func TestSessionEndsWhenItWasToldTo(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1", ExpiresIn: repositories.Duration(time.Minute)})
		require.NoError(t, err)
		w.put("s1", "booking", booking)
		_, err = w.say("m1", `book {"day":"monday"}`)
		require.NoError(t, err)
		_, err = w.fire(trigger.Direct{SessionID: "s1", Name: "book", Values: map[string]any{"day": "monday"}, Source: query.SourceUI})
		require.NoError(t, err)
		client, keys := w.server.Client(), keyspace.KeysOf("clinic")
		ends, err := client.ZScore(t.Context(), keys.Idle(), "clinic/s1").Result()
		require.NoError(t, err)
		began, err := client.HGet(t.Context(), keys.Turns("s1"), "since").Float64()
		require.NoError(t, err)
		require.InDelta(t, began+time.Minute.Seconds()*1000, ends, 1, "no use has put it off")

		_, err = w.store.Session(t.Context(), "clinic", "s1")
		require.NoError(t, err)
		require.NoError(t, client.HSet(t.Context(), keys.Turns("s1"), "expires", 1).Err())
		require.NoError(t, client.ZAdd(t.Context(), keys.Idle(), redis.Z{Score: 1, Member: "clinic/s1"}).Err())
		w.until("the session is gone", func() bool {
			_, err := w.store.Session(context.Background(), "clinic", "s1")
			return errors.Is(err, repositories.ErrNotFound)
		})
		_, err = w.store.PutSession(t.Context(), &repositories.Session{AppID: "clinic", ID: "s1"})
		require.NoError(t, err)
		require.Empty(t, client.HGet(t.Context(), keys.Turns("s1"), "expires").Val())
		w.rest()
	})
}
