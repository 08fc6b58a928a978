package trigger_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const shop = `{"tools":[
  {"name":"refund","description":"Refund an order","confirm":"always","url":"https://shop.example/refund","schema":[{"parameter":"order","type":"string","required":true}]},
  {"name":"address","confirm":"once","schema":[{"parameter":"street","type":"string"}]},
  {"name":"lamp","settle":"30s","cancelOnNext":true},
  {"name":"mail","settle":"30s"},
  {"name":"careful","confirm":"always","settle":"30s"},
  {"name":"order","url":"https://shop.example/order","dedupe":{"by":["id","amount"],"within":"10m"},
   "schema":[{"parameter":"id","type":"string"},{"parameter":"amount","type":"number"},{"parameter":"note","type":"string"}]},
  {"name":"alarm","dedupe":{"within":"10m","scope":"app"}},
  {"name":"guarded","confirm":"always","dedupe":{"within":"10m"}}]}`

// timeOver ends the time of a held trigger, and has it processed.
func (w *world) timeOver(triggerID string) {
	w.T.Helper()
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	require.NoError(w.T, client.HSet(w.T.Context(), keys.Trigger(triggerID), "due", 1).Err())
	require.NoError(w.T, client.ZAddXX(w.T.Context(), keys.Lane(keyspace.LaneHeld), redis.Z{Score: 1, Member: triggerID}).Err())
	require.NoError(w.T, client.ZAdd(w.T.Context(), keys.Due(), redis.Z{Score: 1, Member: string(keyspace.LaneHeld) + "/clinic"}).Err())
	w.Keeper.Wake("clinic")
}

func TestConfirmedTriggerTakesEffect(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		asked := w.One("m1", `refund {"order":"A1"}`)
		require.Equal(t, []string{query.StateConfirming, query.StateConfirming, query.StateConfirming}, []string{asked.State, asked.Event.State, asked.Call.State})
		require.NotEmpty(t, asked.Digest)
		explained := testbed.Got(w.Engine.Explain(t.Context(), "clinic", "s1", "m1"))(t)
		require.Contains(t, explained.Calls[0].Why, "no effect until it is confirmed")
		require.Contains(t, asked.Question, "A1")
		require.Equal(t, query.StateConfirming, w.Trigger(asked.TriggerID).State)
		listed := w.Triggers(query.Triggers{State: query.StateConfirming})
		require.Len(t, listed, 1)
		require.Equal(t, []string{"tool.confirm.clinic.s1.refund"}, w.Events.Subjects(), "and no other effect")
		told := w.Events.Payloads("tool.confirm.clinic.s1.refund")[0]
		require.Equal(t, []any{asked.TriggerID, asked.Digest, asked.Question, map[string]any{"order": "A1"}}, []any{told["triggerId"], told["digest"], told["question"], told["values"]})

		_, err := w.Engine.Confirm(t.Context(), "clinic", asked.TriggerID, "another", "key-1")
		require.ErrorIs(t, err, trigger.ErrDigest)
		record := testbed.Got(w.Engine.Confirm(t.Context(), "clinic", asked.TriggerID, asked.Digest, "key-1"))(t)
		require.Equal(t, []any{query.StateDelivered, query.StatePublished, query.StateDelivered}, []any{record.State, record.Event.State, record.Call.State})
		require.Equal(t, []string{"confirm", "key-1"}, []string{string(record.Moves[0].Action), record.Moves[0].By}, "who has said yes")
		client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
		require.Equal(t, []any{nil, nil}, client.HMGet(t.Context(), keys.Trigger(asked.TriggerID), "held", "due").Val(), "nothing is held any more")
		require.Zero(t, client.Exists(t.Context(), keys.Lane(keyspace.LaneHeld)).Val())
		w.Rest()
		require.Equal(t, []string{"tool.confirm.clinic.s1.refund", "tool.trigger.clinic.s1.refund", "tool.result.clinic.s1.refund"}, w.Events.Subjects())
		again, err := w.Engine.Confirm(t.Context(), "clinic", asked.TriggerID, asked.Digest, "key-2")
		require.NoError(t, err, "a client that lost the answer asks again")
		require.True(t, again.Repeated)
		require.Equal(t, []any{query.StateDelivered, 1}, []any{again.State, len(again.Moves)})
		require.ErrorIs(t, errOf(w.Engine.Confirm(t.Context(), "clinic", asked.TriggerID, "another", "key-1")), trigger.ErrDigest)
		for _, late := range []error{
			errOf(w.Engine.Deny(t.Context(), "clinic", asked.TriggerID, "", "key-1")),
			errOf(w.Engine.Cancel(t.Context(), "clinic", asked.TriggerID, "key-1")),
		} {
			require.ErrorIs(t, late, query.ErrEnded)
		}
		_, err = w.Engine.Confirm(t.Context(), "clinic", "none", asked.Digest, "key-1")
		require.ErrorIs(t, err, query.ErrNotFound)
		w.Rest()
	})
}

func TestOnlyFiredTriggersCountAsFired(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		fired := func() (list []string) {
			_, err := w.Keeper.Usage(t.Context(), "clinic") // which writes its counts
			require.NoError(t, err)
			used := testbed.Got(w.Engine.Usage(t.Context(), "clinic"))(t)
			for _, one := range used {
				list = append(list, fmt.Sprint(one.Name, " ", one.Fired))
			}
			return list
		}
		denied, confirmed := w.One("m1", `refund {"order":"A1"}`), w.One("m2", `refund {"order":"A2"}`)
		require.NoError(t, errOf(w.Engine.Deny(t.Context(), "clinic", denied.TriggerID, "", "key-1")))
		w.One("m3", `order {"id":"A1","amount":3}`)
		require.Equal(t, query.StateDuplicate, w.One("m4", `order {"id":"A1","amount":3}`).State)
		cancelled, settled := w.One("m5", `mail {}`), w.One("m6", `mail {}`)
		require.NoError(t, errOf(w.Engine.Cancel(t.Context(), "clinic", cancelled.TriggerID, "key-1")))
		require.Equal(t, []string{"order 1"}, fired())

		require.NoError(t, errOf(w.Engine.Confirm(t.Context(), "clinic", confirmed.TriggerID, confirmed.Digest, "key-1")))
		w.timeOver(settled.TriggerID)
		w.UntilState(settled.TriggerID, query.StateDelivered)
		require.Equal(t, []string{"mail 1", "order 1", "refund 1"}, fired(), "what was waited for counts when it takes effect")
	})
}

func errOf(_ query.Record, err error) error { return err }

func TestPlainWordsAnswerTheLastQuestion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		first := w.One("m1", `refund {"order":"A1"}`)
		before := len(w.Matcher.Asked)
		yes := w.One("m2", "Yes, please!")
		require.Equal(t, first.TriggerID, yes.TriggerID)
		require.Equal(t, []string{query.StateDelivered, query.StatePublished, query.StateDelivered}, []string{yes.State, yes.Event.State, yes.Call.State})
		require.Len(t, w.Matcher.Asked, before, "no model is asked")
		explained := testbed.Got(w.Engine.Explain(t.Context(), "clinic", "s1", "m2"))(t)
		require.Equal(t, "fired", string(explained.Calls[0].Verdict))

		second := w.One("m3", `refund {"order":"A2"}`)
		no := w.One("m4", "nein danke")
		require.Equal(t, []string{second.TriggerID, query.StateCancelled}, []string{no.TriggerID, no.State})
		w.Rest()
		told := w.Events.Payloads("tool.cancelled.clinic.s1.refund")
		require.Len(t, told, 1)
		require.Equal(t, []any{second.TriggerID, "deny", "m3"}, []any{told[0]["triggerId"], told[0]["reason"], told[0]["messageId"]})
		record := w.Trigger(second.TriggerID)
		require.Len(t, record.Moves, 1)
		require.Equal(t, []string{"deny", "message m4"}, []string{string(record.Moves[0].Action), record.Moves[0].By})
		w.Say("m5", "yes")
		require.Len(t, w.Matcher.Asked, before+2, "nothing is asked any more: it is a message like any other")
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.refund"), 1)
	})
}

func TestYesAnswersTheLastQuestion(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		asked := w.One("m1", `refund {"order":"A1"}`)
		for i, said := range []string{"hm, wait", "yes, and send a mail"} {
			w.Say(fmt.Sprint("w", i), said)
			require.Equal(t, query.StateConfirming, w.Trigger(asked.TriggerID).State, "anything else leaves it confirming")
		}
		w.Agent("a1", "Shall I call you a taxi?")
		w.Say("m2", "yes")
		require.Equal(t, query.StateConfirming, w.Trigger(asked.TriggerID).State, "that was for the taxi")

		again := w.One("m3", `refund {"order":"A2"}`)
		w.Agent("a2", again.Question)
		require.Equal(t, again.TriggerID, w.One("m4", "ja").TriggerID, "an agent may word the question")
		require.Equal(t, query.StateConfirming, w.Trigger(asked.TriggerID).State)
	})
}

func TestChatAsksTheQuestionItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		w.Put("s1", "shop", shop)
		asked := w.Say("m1", `refund {"order":"A1"}`)
		require.Equal(t, asJSON(t, asked.Matches[0].Question), string(asked.Reply))
		require.Empty(t, w.Matcher.Replies)
		done := w.Say("m2", "yes")
		require.JSONEq(t, `"done: refund"`, string(done.Reply))
		require.JSONEq(t, `{"ok":true}`, string(w.Matcher.Replies[0][0].Result), "it is written with the result in hand")
	})
}

// TestResultOfAHeldTriggerIsInTheHistoryOfItsMessage lets triggers go in all ways, and looks at what the matcher is
// shown of the message that set them off.
func TestResultOfAHeldTriggerIsInTheHistoryOfItsMessage(t *testing.T) {
	for name, letGo := range map[string]func(w *world, asked query.Match){
		"by a key": func(w *world, asked query.Match) {
			_, err := w.Engine.Confirm(w.T.Context(), "clinic", asked.TriggerID, asked.Digest, "key-1")
			require.NoError(w.T, err)
		},
		"in words":    func(w *world, _ query.Match) { w.Say("m2", "yes") },
		"by the time": func(w *world, asked query.Match) { w.timeOver(asked.TriggerID) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				held := `"confirm":"always"`
				if name == "by the time" {
					held = `"settle":"30s"`
				}
				w.Put("s1", "shop", `{"tools":[{"name":"refund","url":"https://shop.example/refund",`+held+`}]}`)
				asked := w.One("m1", "refund")
				letGo(w, asked)
				w.Until("it is delivered", func() bool {
					record, err := w.Engine.Trigger(context.Background(), "clinic", asked.TriggerID)
					return err == nil && record.State == query.StateDelivered
				})
				w.Say("m3", "thanks")
				said := w.Matcher.Asked[len(w.Matcher.Asked)-1].History[0]
				require.Equal(t, "m1", said.ID)
				require.JSONEq(t, `{"ok":true}`, string(said.Fired[0].Result))
			})
		})
	}
}

func TestUnconfirmedTriggerEnds(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		asked := w.One("m1", `refund {"order":"A1"}`)
		client, key := w.Server.Client(), keyspace.KeysOf("clinic").Trigger(asked.TriggerID)
		require.NoError(t, client.HSet(t.Context(), key, "due", 1).Err())
		_, err := w.Engine.Confirm(t.Context(), "clinic", asked.TriggerID, asked.Digest, "key-1")
		require.ErrorIs(t, err, query.ErrEnded, "its time is over, whether or not anybody has looked")
		w.timeOver(asked.TriggerID)
		w.UntilState(asked.TriggerID, query.StateCancelled)
		w.Rest()
		require.Equal(t, "expire", w.Events.Payloads("tool.cancelled.clinic.s1.refund")[0]["reason"])
		require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.refund"))
	})
}

func TestConfirmedOnceIsNotAskedForAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "shop", shop)
		require.Equal(t, query.StateConfirming, w.One("m1", `address {"street":"Elm"}`).State)
		w.One("m2", "yes")
		require.Equal(t, query.StateDelivered, w.One("m3", `address {"street":"Elm"}`).State)
		require.Equal(t, query.StateConfirming, w.One("m4", `address {"street":"Oak"}`).State, "other values are asked for")
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "address", Source: query.SourceUI, Values: map[string]any{"street": "Elm"}})
		require.Equal(t, query.StateDelivered, match.State, "it holds for every source")
		answer := testbed.Got(w.SayOn(w.Engine, "s2", "n1", `address {"street":"Elm"}`))(t)
		require.Equal(t, query.StateConfirming, answer.Matches[0].State, "in that session alone")
	})
}

func TestSettlingTriggerCanBeCancelled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		mail := w.One("m1", "mail")
		require.Equal(t, []string{query.StatePending, query.StatePending}, []string{mail.State, mail.Event.State})
		require.Greater(t, time.Until(*mail.DueAt), time.Second)
		require.Equal(t, query.StatePending, w.Trigger(mail.TriggerID).State)
		record := testbed.Got(w.Engine.Cancel(t.Context(), "clinic", mail.TriggerID, "key-1"))(t)
		require.Equal(t, query.StateCancelled, record.State)
		w.Rest()
		require.Equal(t, []string{"tool.cancelled.clinic.s1.mail"}, w.Events.Subjects())
		again := testbed.Got(w.Engine.Cancel(t.Context(), "clinic", mail.TriggerID, "key-1"))(t)
		require.Equal(t, []any{query.StateCancelled, true}, []any{again.State, again.Repeated})

		second := w.One("m2", "mail")
		w.One("m3", "lamp")
		require.Equal(t, query.StatePending, w.Trigger(second.TriggerID).State, "a message takes back only what says so")
		w.timeOver(second.TriggerID)
		w.UntilState(second.TriggerID, query.StateDelivered)
		require.ErrorIs(t, errOf(w.Engine.Cancel(t.Context(), "clinic", second.TriggerID, "key-1")), query.ErrEnded)
		require.ErrorIs(t, w.Engine.Retry(t.Context(), "clinic", mail.TriggerID, ""), query.ErrEnded)
	})
}

func TestNextMessageRetractsSettlingTriggers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		lamp := w.One("m1", "lamp")
		w.Agent("a1", "one moment")
		require.Equal(t, query.StatePending, w.Trigger(lamp.TriggerID).State, "an agent's message is no word of the user")
		w.Say("m2", "no, wait")
		w.UntilState(lamp.TriggerID, query.StateCancelled)
		w.Rest()
		require.Equal(t, "retract", w.Events.Payloads("tool.cancelled.clinic.s1.lamp")[0]["reason"])

		// The replica that accepted the next message died before the retraction.
		lost := w.One("m3", "lamp")
		require.NoError(t, w.Server.Client().HDel(t.Context(), keyspace.KeysOf("clinic").Turns("s1"), "onnext").Err())
		w.timeOver(lost.TriggerID)
		w.UntilState(lost.TriggerID, query.StateCancelled)
		kept := w.One("m4", "lamp")
		w.timeOver(kept.TriggerID)
		w.UntilState(kept.TriggerID, query.StateDelivered)
	})
}

// TestAnswerListsRetractedTriggers has messages take back settling triggers: at once, by the commit of a
// draft, and after a first failed decision.
func TestAnswerListsRetractedTriggers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		both := w.Say("n1", "lamp; lamp; mail").Matches
		first, second := query.Retracted{TriggerID: both[0].TriggerID, Name: "lamp"}, query.Retracted{TriggerID: both[1].TriggerID, Name: "lamp"}
		said := w.Say("n2", "no, wait")
		require.Equal(t, []query.Retracted{first, second}, said.Retracted, "and not the mail")
		require.Equal(t, said, w.Say("n2", "no, wait"))
		w.UntilState(first.TriggerID, query.StateCancelled)
		history := w.History("s1")
		require.Equal(t, [][]query.Retracted{nil, {first, second}}, [][]query.Retracted{history[0].Retracted, history[1].Retracted})
		require.Nil(t, w.Say("n3", "hello").Retracted, "once")

		third := w.One("n4", "lamp")
		draft := testbed.Got(w.draft(w.Engine, "lamp"))(t)
		require.Nil(t, draft.Retracted, "it may be a cough")
		committed := testbed.Got(w.commit(w.Engine))(t)
		require.Equal(t, []query.Retracted{{TriggerID: third.TriggerID, Name: "lamp"}}, committed.Retracted)

		w.Matcher.Intercept(func(context.Context, matcher.Request) error { return &matcher.Unavailable{Reason: "it answered 500"} })
		_, err := w.TrySay("n5", "no, wait")
		require.Error(t, err)
		w.UntilState(committed.Matches[0].TriggerID, query.StateCancelled)
		w.Matcher.Intercept(nil)
		require.Equal(t, []query.Retracted{{TriggerID: committed.Matches[0].TriggerID, Name: "lamp"}}, w.Say("n5", "no, wait").Retracted, "as soon as there is an answer")
	})
}

func TestConfirmedTriggerSettlesAfterwards(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		asked := w.One("m1", "careful")
		yes := w.One("m2", "yes")
		require.Equal(t, []string{asked.TriggerID, query.StatePending, query.StatePending}, []string{yes.TriggerID, yes.State, yes.Event.State})
		record := w.Trigger(asked.TriggerID)
		require.WithinDuration(t, *yes.DueAt, *record.DueAt, time.Minute)
		require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.careful"))
		w.timeOver(asked.TriggerID)
		w.UntilState(asked.TriggerID, query.StateDelivered)
		w.Rest()
	})
}

func TestOfEqualValuesOneTriggerFires(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "shop", shop)
		answer := w.Say("m1", `order {"id":"A1","amount":5,"note":"x"}; order {"id":"A1","amount":5.0,"note":"y"}; order {"id":"A1","amount":6}`)
		first, second, third := answer.Matches[0], answer.Matches[1], answer.Matches[2]
		require.Equal(t, []string{query.StateDelivered, query.StateDuplicate, query.StateDelivered}, []string{first.State, second.State, third.State})
		require.Equal(t, first.TriggerID, second.Of)
		third = w.One("m2", `order {"amount":5,"id":"A1"}`)
		require.Equal(t, []string{query.StateDuplicate, first.TriggerID}, []string{third.State, third.Of})
		require.JSONEq(t, `{"ok":true}`, string(third.Call.Result), "it has the result of the first")
		again := w.One("m2", `order {"amount":5,"id":"A1"}`)
		require.Equal(t, third, again, "as whoever sends the message again is told")
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "order", Source: query.SourceTask, Values: map[string]any{"id": "A1", "amount": 5.0}})
		require.Equal(t, first.TriggerID, match.Of)
		record := w.Trigger(third.TriggerID)
		require.Equal(t, query.StateDuplicate, record.State)
		require.JSONEq(t, `{"ok":true}`, string(record.Call.Result))
		w.Say("m9", "what was that?")
		said := w.Matcher.Asked[len(w.Matcher.Asked)-1].History
		require.Equal(t, "it is not done again: the same was done before", said[1].Fired[0].Error, "a model knows")
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.order"), 2)
		told := w.Events.Payloads("tool.duplicate.clinic.s1.order")
		require.Len(t, told, 3)
		require.Equal(t, first.TriggerID, told[0]["of"])
		other, err := w.SayOn(w.Engine, "s2", "n1", `order {"amount":5,"id":"A1"}`)
		require.NoError(t, err)
		require.Equal(t, query.StateDelivered, other.Matches[0].State, "of the same session, unless the tool says otherwise")
		require.Equal(t, query.StateDelivered, w.One("m3", "alarm").State)
		other = testbed.Got(w.SayOn(w.Engine, "s2", "n2", "alarm"))(t)
		require.Equal(t, query.StateDuplicate, other.Matches[0].State)
		w.Close()
		require.Equal(t, query.StateDelivered, w.One("m4", `order {"amount":5,"id":"A1"}`).State, "a new session of that name has fired nothing")
	})
}

func TestFirstWithoutEffectFreesItsValues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		denied := w.One("m1", "guarded")
		require.Equal(t, denied.TriggerID, w.One("m2", "guarded").Of, "what is asked about has its values")
		_, err := w.Engine.Deny(t.Context(), "clinic", denied.TriggerID, denied.Digest, "key-1")
		require.NoError(t, err)
		require.Equal(t, query.StateConfirming, w.One("m3", "guarded").State)

		refuse := func(reached bool) func(effect.Effect) effect.Outcome {
			return func(effect.Effect) effect.Outcome {
				return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonAuth, Error: "no token", Sent: &effect.Sent{Method: "POST"}, Reached: reached}
			}
		}
		w.Calls.Answer(refuse(false))
		require.Equal(t, query.StateFailed, w.One("m4", `order {"id":"B"}`).Call.State)
		w.Calls.Answer(refuse(true))
		require.Equal(t, query.StateFailed, w.One("m5", `order {"id":"B"}`).State, "it is no duplicate: nothing of the first was sent")
		require.Equal(t, query.StateDuplicate, w.One("m6", `order {"id":"B"}`).State, "something of the second was")
	})
}

// TestEqualValuesRaceForOneFiring has the same order said 64 times at once, on three replicas.
func TestEqualValuesRaceForOneFiring(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "shop", shop)
		engines := []*trigger.Engine{w.Engine}
		for range 2 {
			_, other := w.Replica()
			engines = append(engines, other)
		}
		var group sync.WaitGroup
		var fired, duplicates atomic.Int64
		for i := range 64 {
			group.Go(func() {
				answer, err := w.SayOn(engines[i%3], fmt.Sprint("s", i%8), fmt.Sprint("m", i), "alarm")
				if err != nil {
					t.Error(err)
				} else if answer.Matches[0].State == query.StateDelivered {
					fired.Add(1)
				} else if answer.Matches[0].State == query.StateDuplicate {
					duplicates.Add(1)
				}
			})
		}
		group.Wait()
		require.Equal(t, []int64{1, 63}, []int64{fired.Load(), duplicates.Load()})
	})
}

// TestOneOfTwoWaysIsTaken moves triggers in two conflicting ways at the same instant on two replicas: confirm,
// deny and expire; or cancel and release.
func TestOneOfTwoWaysIsTaken(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", shop)
		_, other := w.Replica()
		for i := range 8 {
			mail, refund := w.One(fmt.Sprint("a", i), "mail"), w.One(fmt.Sprint("b", i), fmt.Sprintf(`refund {"order":"%d"}`, i))
			var taken atomic.Int64
			var group sync.WaitGroup
			try := func(move func() error) {
				group.Go(func() {
					if err := move(); err == nil {
						taken.Add(1)
					} else if !errors.Is(err, query.ErrEnded) {
						t.Error(err)
					}
				})
			}
			try(func() error {
				return errOf(w.Engine.Confirm(t.Context(), "clinic", refund.TriggerID, refund.Digest, "key-1"))
			})
			try(func() error {
				return errOf(other.Deny(t.Context(), "clinic", refund.TriggerID, refund.Digest, "key-1"))
			})
			try(func() error { return errOf(other.Cancel(t.Context(), "clinic", mail.TriggerID, "key-1")) })
			w.timeOver(mail.TriggerID)
			group.Wait()
			w.Until("it has ended", func() bool { return w.Trigger(mail.TriggerID).State != query.StatePending })
			if w.Trigger(mail.TriggerID).State == query.StateCancelled {
				taken.Add(-1)
			}
			require.EqualValues(t, 1, taken.Load())
		}
		w.Rest()
		for _, tool := range []string{"mail", "refund"} {
			ends := len(w.Events.Payloads("tool.trigger.clinic.s1."+tool)) + len(w.Events.Payloads("tool.cancelled.clinic.s1."+tool))
			require.Equal(t, 8, ends, tool)
		}
	})
}

func TestDirectTriggersAreHeld(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "shop", shop)
		refund := trigger.Direct{Name: "refund", Source: query.SourceTask, TriggerID: "r1", Values: map[string]any{"order": "A1"}}
		asked := w.Fire(refund)
		require.Equal(t, query.StateConfirming, asked.State)
		again := w.Fire(refund)
		require.Equal(t, asked, again, "it is the same trigger")
		record := testbed.Got(w.Engine.Confirm(t.Context(), "clinic", "r1", asked.Digest, "key-1"))(t)
		require.Equal(t, query.StateDelivered, record.State)
		w.Rest()
		require.Equal(t, []string{"tool.confirm.clinic._.refund", "tool.trigger.clinic._.refund", "tool.result.clinic._.refund"}, w.Events.Subjects())

		mail := w.Fire(trigger.Direct{SessionID: "s1", Name: "mail", Source: query.SourceUI, TriggerID: "m1"})
		require.NotNil(t, mail.DueAt)
		w.timeOver("m1")
		w.Until("it is delivered", func() bool { return w.Trigger("m1").State == query.StateDelivered })
		record = w.Trigger("m1")
		require.Nil(t, record.DueAt)
		w.Rest()
	})
}

func TestHeldTriggersEndWithTheirApp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "shop", shop)
		mail, refund := w.One("m1", "mail"), w.One("m2", `refund {"order":"A1"}`)
		w.One("m3", "alarm")
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.App("clinic", "{}")
		w.Put("", "shop", shop)
		for _, gone := range []string{mail.TriggerID, refund.TriggerID} {
			w.timeOver(gone)
			require.ErrorIs(t, errOf(w.Engine.Cancel(t.Context(), "clinic", gone, "key-1")), query.ErrNotFound)
		}
		require.Equal(t, query.StateDelivered, w.One("m4", "alarm").State, "the app of that name before is another one")
		w.Rest()
		require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.mail"))
	})
}

func TestAFullRedisAcceptsTheEndOfATrigger(t *testing.T) {
	w := newWorld(t, redistest.Run(t))
	w.Put("s1", "shop", shop)
	denied, cancelled := w.One("m1", `refund {"order":"A1"}`), w.One("m2", `mail {}`)
	kept := w.One("m3", `refund {"order":"A2"}`)
	w.Rest()
	full := func(limit string) {
		require.NoError(t, w.Server.Client().ConfigSet(t.Context(), "maxmemory", limit).Err())
	}
	full("1")
	_, err := w.Engine.Confirm(t.Context(), "clinic", kept.TriggerID, kept.Digest, "key-1")
	require.ErrorIs(t, err, keyspace.ErrMemory, "a yes has effects")
	record := testbed.Got(w.Engine.Deny(t.Context(), "clinic", denied.TriggerID, "", "key-1"))(t)
	require.Equal(t, query.StateCancelled, record.State)
	record = testbed.Got(w.Engine.Cancel(t.Context(), "clinic", cancelled.TriggerID, "key-1"))(t)
	require.Equal(t, query.StateCancelled, record.State)
	full("0")
	w.Rest()
	require.Equal(t, query.StateCancelled, w.Trigger(denied.TriggerID).State)
	require.Equal(t, query.StateConfirming, w.Trigger(kept.TriggerID).State)
	require.Len(t, w.Events.Payloads("tool.cancelled.clinic.s1.refund"), 1)
	require.Len(t, w.Events.Payloads("tool.cancelled.clinic.s1.mail"), 1)
	require.Empty(t, w.Events.Payloads("tool.trigger.clinic.s1.mail"))
}
