package delivery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

func TestEventsFollowInOrderWhenNATSIsBack(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"a"},{"name":"b"},{"name":"c","emitter":"calendar.request"}]}`)
		w.Events.Answer(down)
		for _, text := range []string{"a", "b", "c; a"} {
			answer, err := w.TrySay("", text)
			require.NoError(t, err, "a broker that is down is no error of the request")
			require.Equal(t, "pending", answer.Matches[0].Event.State)
		}
		require.Empty(t, w.Events.Subjects())
		w.Events.Answer(nil)
		w.Rest()
		const prefix = "tool.trigger.clinic.s1."
		require.Equal(t, []string{prefix + "a", prefix + "b", prefix + "c", "app.clinic.calendar.request", prefix + "a"}, w.Events.Subjects())
		records := w.Triggers(query.Triggers{})
		for _, record := range records {
			require.Equal(t, "delivered", record.State)
			require.Equal(t, "published", record.Event.State)
		}
	})
}

func TestEventsOfOneSessionDoNotHoldUpAnothers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a"}]}`)
		w.Events.Answer(func(e effect.Effect) effect.Outcome {
			if e.SessionID == "s1" {
				return down(e)
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		w.Say("", "a")
		answer := testbed.Got(w.SayOn(w.Engine, "s2", "", "a"))(t)
		require.Equal(t, "published", answer.Matches[0].Event.State)
	})
}

func TestCallThatFailsIsMadeAgainUnderTheSameId(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		var calls atomic.Int64
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			if calls.Add(1) < 3 {
				return effect.Outcome{Verdict: effect.Retry, Status: 503, Reason: effect.ReasonRequest, Error: "503 Service Unavailable"}
			}
			return effect.Outcome{Verdict: effect.Done, Status: 201, Result: json.RawMessage(`"booked"`)}
		})
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Equal(t, "pending", answer.Matches[0].Call.State)
		require.Equal(t, 503, answer.Matches[0].Call.Status)
		require.Empty(t, w.Events.Payloads("tool.result.clinic.s1.book"), "the call has not ended")
		w.Rest()

		ids := map[string]bool{}
		for _, attempt := range w.Calls.Attempts {
			ids[attempt.ID+attempt.TriggerID] = true
			require.Equal(t, "monday", attempt.Call.Values["day"])
		}
		require.Len(t, ids, 1)
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, &query.CallState{State: "delivered", Status: 201, Attempts: 3, Result: json.RawMessage(`"booked"`)}, record.Call)
		statuses := []int{}
		for _, attempt := range record.Attempts {
			if attempt.Effect == "call" {
				statuses = append(statuses, attempt.Status)
			}
		}
		require.Equal(t, []int{503, 503, 201}, statuses)
		require.Len(t, w.Events.Payloads("tool.result.clinic.s1.book"), 1)

		again := w.Say("m1", `book {"day":"monday"}`)
		require.Equal(t, "pending", again.Matches[0].Call.State, "a repeat gets the answer of then, to the letter")
	})
}

func TestCallThatCannotSucceedFails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonAuth, Error: "no token: invalid_client"}
		})
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Equal(t, "failed", answer.Matches[0].Call.State)
		w.Rest()
		result := w.Events.Payloads("tool.result.clinic.s1.book")[0]
		require.Equal(t, false, result["ok"])
		require.Equal(t, "auth", result["reason"])
		require.Equal(t, "no token: invalid_client", result["error"])

		failed := w.Triggers(query.Triggers{State: "failed"})
		require.Len(t, failed, 1)

		w.Calls.Answer(nil)
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed[0].TriggerID, "key-1"))
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", failed[0].TriggerID, "key-2"), "it is under way")
		w.Keeper.Wake("clinic")
		w.Rest()
		record := w.Trigger(failed[0].TriggerID)
		require.Equal(t, "delivered", record.State)
		require.Len(t, record.Retries, 1)
		require.Equal(t, "key-1", record.Retries[0].By)
		require.False(t, record.Retries[0].Time.Before(record.Time))
		results := w.Events.Payloads("tool.result.clinic.s1.book")
		require.Len(t, results, 2)
		require.NotEqual(t, results[0]["id"], results[1]["id"], "it is another result")
	})
}

func TestCallIsGivenUpWhenItsTimeIsOver(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"slow","url":"http://x.example","request":{"retryFor":"60ms"}}]}`)
		w.Calls.Answer(down)
		answer := w.Say("", "slow")
		w.Rest()
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, "failed", record.Call.State)
		require.Equal(t, 2, record.Call.Attempts)
		calls := attemptsAt(record, "call")
		require.Greater(t, calls[1].Time.Sub(calls[0].Time), 40*time.Millisecond, "the last one begins as the time ends")
		require.Len(t, w.Events.Payloads("tool.result.clinic.s1.slow"), 1)
	})
}

func TestUnsentCallIsNoAttempt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		var calls atomic.Int64
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			switch calls.Add(1) {
			case 1, 4:
				return effect.OutcomeOf(effect.Deferral(0, "host x.example is closed off"))
			case 2, 5:
				return effect.Outcome{Verdict: effect.Retry, Status: 503, Reason: effect.ReasonRequest, Error: "503"}
			case 3:
				return effect.OutcomeOf(effect.Deferral(0, "host x.example has no room"))
			}
			return effect.Outcome{Verdict: effect.Done, Status: 201}
		})
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Zero(t, answer.Matches[0].Call.Attempts)
		require.Equal(t, "host x.example is closed off", answer.Matches[0].Call.Error, "it says what it waits for")
		w.Rest()
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, 3, record.Call.Attempts, "as many as the endpoint has seen")
		var numbers []int
		for _, made := range attemptsAt(record, "call") {
			numbers = append(numbers, made.Number)
		}
		require.Equal(t, []int{1, 2, 3}, numbers)
	})
}

func TestCallThatIsHeldUpEndsWithItsTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"slow","url":"http://x.example","request":{"retryFor":"60ms"}}]}`)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.OutcomeOf(effect.Deferral(time.Hour, "host x.example is closed off"))
		})
		answer := w.Say("", "slow")
		require.Equal(t, "pending", answer.Matches[0].Call.State)
		w.Rest()
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.Equal(t, "failed", record.Call.State)
		require.Zero(t, record.Call.Attempts)
		require.Equal(t, "host x.example is closed off; no attempt was possible until retryFor was over", record.Call.Error)
		require.Len(t, w.Events.Payloads("tool.result.clinic.s1.slow"), 1)
	})
}

// attemptsAt returns the attempts at one effect of a trigger.
func attemptsAt(record query.Record, part string) (made []query.Attempt) {
	for _, one := range record.Attempts {
		if one.Effect == part {
			made = append(made, one)
		}
	}
	return made
}

func TestSlowCallHoldsUpNoEvents(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"slow","url":"http://x.example"},{"name":"quick"}]}`)
		release := make(chan struct{})
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			<-release
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		slow := w.saying("", "slow")
		w.Until("the slow tool's event is out", func() bool { return len(w.Events.Subjects()) == 1 })
		answer := w.Say("", "quick")
		require.Equal(t, "published", answer.Matches[0].Event.State)
		close(release)
		require.Equal(t, "delivered", (<-slow).Matches[0].Call.State)
		w.Rest()
		require.Equal(t, []string{"tool.trigger.clinic.s1.slow", "tool.trigger.clinic.s1.quick", "tool.result.clinic.s1.slow"}, w.Events.Subjects())
	})
}

// TestMessageOfADeadReplicaIsContinued lets a replica die while it matches: another takes the
// turn when the lease has ended.
func TestMessageOfADeadReplicaIsContinued(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		stuck, grave := make(chan struct{}), make(chan struct{})
		var asked atomic.Int64
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			if asked.Add(1) == 1 {
				close(stuck)
				<-grave // the process is dead: nothing of it comes back
			}
			return nil
		})
		_, doomed := w.Replica()
		t.Cleanup(func() { close(grave) })
		ctx, leave := context.WithCancel(t.Context())
		go doomed.Post(ctx, trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: "user", Text: `book {"day":"monday"}`}) //nolint:errcheck // dies
		<-stuck
		leave()
		died, stop := context.WithCancel(context.Background())
		stop()
		_ = doomed.Stop(died) // ends its heartbeat as well
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
	})
}

// TestEffectThatCrashesItsWorkersIsGivenUp makes every attempt lose its lease without an outcome, like a process
// that dies in it.
func TestEffectThatCrashesItsWorkersIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"bad","url":"http://x.example"}]}`)
		client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			client.HSet(context.Background(), keys.Effect(e.ID), "token", "", "until", 0)
			w.Lapse(keyspace.LaneCalls, e.ID)
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		w.Say("m1", "bad")
		w.Rest()
		attempts, _ := w.Calls.Count()
		require.Equal(t, 5, attempts)
		result := w.Events.Payloads("tool.result.clinic.s1.bad")
		require.NotEmpty(t, result, "before it the first attempt may say that it succeeded: it does not know that its outcome was lost")
		require.Contains(t, result[len(result)-1]["error"], "crashed_worker")
	})
}

func TestDelivererThatPanicsIsTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"bad","url":"http://x.example"}]}`)
		var calls atomic.Int64
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			if calls.Add(1) == 1 {
				panic("a fault of ours")
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		answer := w.Say("m1", "bad")
		require.Equal(t, "pending", answer.Matches[0].Call.State)
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.result.clinic.s1.bad"), 1)
	})
}

func TestEffectsSurviveARestartOfRedis(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Server.Kill()
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		w.Server.Start()
		w.Until("the service heals by itself", func() bool {
			answer, err := w.TrySay("m2", `book {"day":"monday"}`)
			return err == nil && len(answer.Matches) == 1
		})
	})
}

func TestSessionThatIsClosedWhileAMessageIsMatched(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			return w.Store.CloseSession(context.Background(), "clinic", "s1")
		})
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, trigger.ErrClosed)
		w.Rest()
		require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.book"))
		require.Equal(t, []string{"created", "deleted"}, w.Events.Changes("booking"))
		history := w.History("s1")
		require.Empty(t, history)
	})
}

// TestSessionThatIsClosedEndsAMatchThatTakesLong: the next renewal of the lease notices it.
func TestSessionThatIsClosedEndsAMatchThatTakesLong(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		for _, matched := range []bool{true, false} {
			w.Matcher.Intercept(func(ctx context.Context, _ matcher.Request) error {
				if err := w.Store.CloseSession(context.Background(), "clinic", "s1"); err != nil {
					return err
				}
				<-ctx.Done()
				if matched {
					return nil
				}
				return ctx.Err()
			})
			_, err := w.TrySay("m1", `book {"day":"monday"}`)
			require.ErrorIs(t, err, trigger.ErrClosed)
		}
		w.Rest()
		require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.book"))
		require.Empty(t, w.History("s1"), "it is not stored again")
	})
}

// TestMessageLostByRedisMustBeSentAgain removes an accepted message, as a failover loses unreplicated
// data.
func TestMessageLostByRedisMustBeSentAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		keys := keyspace.KeysOf("clinic")
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			w.Matcher.Intercept(nil)
			return w.Server.Client().Del(context.Background(), keys.Turns("s1"), keys.Order("s1"), keys.Lane(keyspace.LaneTurns), keys.PendingCount()).Err()
		})
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorIs(t, err, keyspace.ErrUnavailable)
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
	})
}

func TestIdleSessionExpires(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.TTL = 300 * time.Millisecond
		store, engine := w.Replica()
		w.Run(engine)
		scope := repositories.Scope{AppID: "clinic", SessionID: "s9"}
		repository := testbed.Got(repositories.DecodeRepository(scope, "r", []byte(`{"tools":[{"name":"a"}]}`)))(t)
		_, err := store.PutRepository(t.Context(), repository)
		require.NoError(t, err)
		w.Until("its repositories are gone", func() bool {
			items, _, err := store.Repositories(t.Context(), scope, "", 10)
			return err == nil && len(items) == 0
		})
		w.Rest()
		require.Equal(t, []string{"created", "deleted"}, w.Events.Changes("r"))
	})
}

func TestManyMessagesOfOneSessionAreAllPublished(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("s1", "r", `{"tools":[{"name":"a"}]}`)
		const n = 40
		states := make(chan string, n)
		for i := range n {
			go func() {
				answer, err := w.TrySay(fmt.Sprintf("m%d", i), "a")
				if err != nil || len(answer.Matches) != 1 {
					states <- fmt.Sprint(err, answer)
					return
				}
				states <- answer.Matches[0].Event.State
			}()
		}
		for range n {
			require.Contains(t, []string{"published", "pending"}, <-states)
		}
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.a"), n)
		_, tried := w.Events.Count()
		require.Equal(t, n+1, tried, "each is published once, and the registration")
	})
}

func TestAttemptsRecordRequestAndResponse(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		long, tries := strings.Repeat("x", 2000), 0
		var tried atomic.Value // the id of the call
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			tried.Store(e.ID)
			tries++
			outcome := effect.Outcome{
				Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "500", Result: json.RawMessage(`"` + long + `"`),
				Sent: &effect.Sent{Method: "POST", URL: "http://x.example", Bytes: 7, Body: "{}"},
			}
			if tries == 8 {
				outcome.Verdict = effect.Dead
			}
			return outcome
		})
		answer := w.Say("m1", `book {"day":"monday"}`)
		var calls []query.Attempt
		w.Until("the call has failed", func() bool {
			record := w.Trigger(answer.Matches[0].TriggerID)
			if calls = attemptsAt(record, "call"); record.Call.State == "pending" {
				w.Lapse(keyspace.LaneCalls, tried.Load().(string)) // nobody waits for the pauses
				w.Keeper.Wake("clinic")
			}
			return record.Call.State == "failed"
		})
		require.Len(t, calls, 8)
		for i, made := range calls {
			if i >= 5 && i < 7 { // the first and the last are enough to see what is wrong
				require.Nil(t, made.Request)
				continue
			}
			require.Equal(t, &effect.Sent{Method: "POST", URL: "http://x.example", Bytes: 7, Body: "{}"}, made.Request)
			require.Equal(t, `"`+long[:511]+"…", made.Response)
		}
	})
}
