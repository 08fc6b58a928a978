package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

// Of these tools, the message waits for the answer to the first one, and not for that to the second.
const (
	asking  = `{"tools":[{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1m"}}]}`
	leaving = `{"tools":[{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1ms"}}]}`
)

var yes = effect.Answer{OK: true, Result: json.RawMessage(`{"page":7}`)}

// awaitedTrigger waits for the trigger that waits for an answer, and returns its id.
func (w *world) awaitedTrigger() (triggerID string) {
	w.Until("an answer is asked for", func() bool {
		for _, payload := range w.Events.Payloads("tool.trigger.clinic.s1.ask") {
			triggerID = payload["id"].(string)
		}
		return triggerID != ""
	})
	return triggerID
}

// endAnswerTime ends the time for the one awaited answer.
func (w *world) endAnswerTime() {
	w.T.Helper()
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	waiting := client.ZRange(w.T.Context(), keys.Lane(keyspace.LaneCalls), 0, -1).Val()
	require.Len(w.T, waiting, 1)
	require.NoError(w.T, client.HSet(w.T.Context(), keys.Effect(waiting[0]), "created", 1).Err())
	w.Lapse(keyspace.LaneCalls, waiting[0])
}

func TestAMessageWaitsForTheAnswerToItsTrigger(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", `{"settings":{"chatModeEnabled":true}}`)
		w.Put("s1", "r", asking)
		_, second := w.Replica()
		answers := w.saying("m1", "ask")
		id := w.awaitedTrigger()
		payload := w.Events.Payloads("tool.trigger.clinic.s1.ask")[0]
		require.Equal(t, map[string]any{"subject": "answer.clinic." + id, "url": "/v1/apps/clinic/triggers/" + id + "/answer"}, payload["answer"])

		record, err := second.Answer(t.Context(), "clinic", id, yes)
		require.NoError(t, err)
		require.Equal(t, query.StateDelivered, record.Call.State)
		answer := <-answers
		require.JSONEq(t, `{"state":"delivered","attempts":1,"result":{"page":7}}`, asJSON(t, answer.Matches[0].Call))
		require.Equal(t, `"done: ask"`, string(answer.Reply))
		require.JSONEq(t, `{"page":7}`, string(w.Matcher.Replies[0][0].Result), "the reply is written with it in hand")

		w.Rest()
		record, err = second.Answer(t.Context(), "clinic", id, effect.Answer{Error: "no, after all"})
		require.NoError(t, err, "a repeat does no harm")
		require.JSONEq(t, `{"page":7}`, string(record.Call.Result), "the first holds")
		require.Equal(t, query.StateDelivered, record.State)
		results := w.Events.Payloads("tool.result.clinic.s1.ask")
		require.Len(t, results, 1)
		require.Equal(t, true, results[0]["ok"])
		w.Say("m2", "and?")
		require.JSONEq(t, `{"page":7}`, string(w.Matcher.Asked[1].History[0].Fired[0].Result), "it belongs to the history")
	})
}

func TestAnAnswerMayBeTheReplyItself(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", strings.Replace(asking, `"answer"`, `"returnDirect":true,"answer"`, 1))
		answers := w.saying("m1", "ask")
		_, err := w.Engine.Answer(t.Context(), "clinic", w.awaitedTrigger(), effect.Answer{OK: true, Result: json.RawMessage(`"` + strings.Repeat("x", 70<<10) + `"`)})
		require.NoError(t, err)
		answer := <-answers
		require.True(t, answer.Matches[0].Call.Truncated, "it is cut as a call's is")
		require.Equal(t, `"`+strings.Repeat("x", effect.MaxResult)+`"`, string(answer.Reply), "without a second quote")
		require.Equal(t, string(answer.Matches[0].Call.Result), string(answer.Reply))
	})
}

func TestTriggerWithoutAnAnswerFails(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"ask","answer":{"within":"1h"},"request":{"timeout":"1ms"}},{"name":"tell"}]}`)
		answer := w.Say("m1", "ask")
		require.JSONEq(t, `{"state":"pending","attempts":0}`, asJSON(t, answer.Matches[0].Call), "it waits no longer than request.timeout")
		id := answer.Matches[0].TriggerID

		w.Inbox.Answer(down)
		w.endAnswerTime()
		w.Until("it is looked for on NATS", func() bool { attempts, _ := w.Inbox.Count(); return attempts > 1 })
		require.Equal(t, query.StatePending, w.Trigger(id).Call.State, "NATS is away, and may have one")
		w.Inbox.Answer(nobody)
		w.Until("its time is over", func() bool { return w.Trigger(id).State == query.StateFailed })
		require.Equal(t, effect.ReasonTimeout, w.Trigger(id).Call.Reason)
		_, err := w.Engine.Answer(t.Context(), "clinic", id, yes)
		require.ErrorIs(t, err, query.ErrEnded, "too late")
		w.Rest()
		require.Equal(t, "timeout", w.Events.Payloads("tool.result.clinic.s1.ask")[0]["reason"])

		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", id, "admin"))
		settled := testbed.Got(w.Engine.TakeAnswer(t.Context(), "clinic", id, effect.Answer{OK: true, At: time.UnixMilli(1)}))(t)
		require.False(t, settled, "what was given before it was asked for again does not count")
		record := testbed.Got(w.Engine.Answer(t.Context(), "clinic", id, effect.Answer{Error: "closed on mondays"}))(t)
		require.Equal(t, "closed on mondays", record.Call.Error)
		require.Equal(t, effect.ReasonRequest, record.Call.Reason)
		require.Equal(t, query.StateFailed, record.State)

		_, err = w.Engine.Answer(t.Context(), "clinic", "unknown", yes)
		require.ErrorIs(t, err, query.ErrNotFound)
		told := w.Say("m2", "tell")
		_, err = w.Engine.Answer(t.Context(), "clinic", told.Matches[0].TriggerID, yes)
		require.ErrorIs(t, err, query.ErrNotAsked)
	})
}

func TestAPublishedAnswerIsReadBeforeTheTriggerIsGivenUp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", leaving)
		fired := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
		w.Inbox.Answer(func(asked effect.Effect) effect.Outcome {
			if asked.Awaited.Subject == "answer.clinic."+fired.TriggerID && asked.Awaited.Until.UnixMilli() == 3_600_001 && asked.Awaited.Since.IsZero() {
				return yes.Outcome()
			}
			return nobody(asked)
		})
		w.endAnswerTime()
		w.UntilState(fired.TriggerID, query.StateDelivered)
		require.JSONEq(t, `{"page":7}`, string(w.Trigger(fired.TriggerID).Call.Result))
	})
}

func TestAnAnswerThatWasPublishedBeforeIsTheFirst(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", leaving)
		fired := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
		w.Inbox.Answer(func(effect.Effect) effect.Outcome { return effect.Answer{Error: "published"}.Outcome() })
		record := testbed.Got(w.Engine.Answer(t.Context(), "clinic", fired.TriggerID, yes))(t)
		require.Equal(t, "published", record.Call.Error)
	})
}

func TestAnAnswerThatWasPublishedBeforeARetryIsNoAnswerToIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", leaving)
		fired := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
		w.Inbox.Answer(func(asked effect.Effect) effect.Outcome {
			if asked.Awaited.Since.IsZero() {
				return effect.Answer{Error: "published"}.Outcome()
			}
			return nobody(asked)
		})
		record := testbed.Got(w.Engine.Answer(t.Context(), "clinic", fired.TriggerID, yes))(t)
		require.Equal(t, "published", record.Call.Error)

		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", fired.TriggerID, "admin"))
		record = testbed.Got(w.Engine.Answer(t.Context(), "clinic", fired.TriggerID, yes))(t)
		require.JSONEq(t, `{"page":7}`, string(record.Call.Result))
	})
}

func TestAnAnswerSurvivesTheDeathOfItsReplica(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", leaving)
		fired := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
		db := &keyspace.DB{UniversalClient: w.Server.Client(), Embedded: w.Server.Embedded()}
		waiting := db.ZRange(t.Context(), keyspace.KeysOf("clinic").Lane(keyspace.LaneCalls), 0, -1).Val()
		given := ledger.ExternalAnswer{App: "clinic", Trigger: fired.TriggerID, Effect: waiting[0], Answer: asJSON(t, yes)}
		for _, status := range []ledger.Status{ledger.Stored, ledger.AlreadyGiven} { // and asked again, it says the same
			found := testbed.Got(ledger.New(db).Answer(t.Context(), given))(t)
			require.Equal(t, status, found)
		}
		w.Keeper.Wake("clinic") // the process that took it has died
		w.Until("another makes something of it", func() bool { return w.Trigger(fired.TriggerID).State == query.StateDelivered })
		require.JSONEq(t, `{"page":7}`, string(w.Trigger(fired.TriggerID).Call.Result))
	})
}

func TestAHeldTriggerIsAnsweredAfterItsRelease(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"ask","confirm":"always","answer":{"within":"1h"},"request":{"timeout":"1m"}},
			{"name":"turn","settle":"1ms","answer":{"within":"1h"},"request":{"timeout":"1m"}}]}`)
		held := w.Fire(trigger.Direct{SessionID: "s1", Name: "ask", Source: query.SourceUI})
		require.Equal(t, query.StateConfirming, held.State)
		_, err := w.Engine.Answer(t.Context(), "clinic", held.TriggerID, yes)
		require.ErrorIs(t, err, query.ErrNotAsked)
		confirmed := make(chan query.Record, 1)
		go func() {
			record, err := w.Engine.Confirm(t.Context(), "clinic", held.TriggerID, held.Digest, "key-1")
			if err == nil {
				confirmed <- record
			}
		}()
		_, err = w.Keeper.Answer(t.Context(), "clinic", w.awaitedTrigger(), yes)
		require.NoError(t, err)
		require.JSONEq(t, `{"page":7}`, string((<-confirmed).Call.Result), "who confirms waits for it")

		settling := w.Fire(trigger.Direct{SessionID: "s1", Name: "turn", Source: query.SourceUI})
		w.Until("it is let go", func() bool { return len(w.Events.Payloads("tool.trigger.clinic.s1.turn")) == 1 })
		record := testbed.Got(w.Engine.Answer(t.Context(), "clinic", settling.TriggerID, yes))(t)
		require.Equal(t, query.StateDelivered, record.Call.State)
		w.Rest()
	})
}
