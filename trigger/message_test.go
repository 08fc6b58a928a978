package trigger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/query"
)

func TestMessageSetsOffATool(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		answer := w.Say("m1", `book {"day":"monday","number":9007199254740993}`)

		require.Len(t, answer.Matches, 1)
		match := answer.Matches[0]
		require.Equal(t, "message", match.Source)
		require.Equal(t, "booking", match.RepositoryID)
		require.Equal(t, &query.EventState{Subject: "tool.trigger.clinic.s1.book", State: "published"}, match.Event)
		require.Equal(t, &query.EventState{Subject: "app.clinic.calendar.request", State: "published"}, match.Emitter)
		require.Equal(t, &query.CallState{State: "delivered", Status: 200, Attempts: 1, Result: json.RawMessage(`{"ok":true}`)}, match.Call)
		w.Rest() // on a busy machine the result comes behind the answer
		require.Equal(t, []string{"tool.trigger.clinic.s1.book", "app.clinic.calendar.request", "tool.result.clinic.s1.book"}, w.Events.Subjects())
	})
}

func TestEventCarriesWhatTheContractNames(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Say("m1", `book {"day":"monday","number":9007199254740993}`)
		w.Rest()                    // what was behind the tool.changed is out by then
		effect := w.Events.Taken[1] // after the tool.changed of the registration
		require.Equal(t, "earshot.tool.trigger", effect.Event.Type)
		require.Equal(t, "/apps/clinic/sessions/s1", effect.Event.Source)

		payload := w.Events.Payloads("tool.trigger.clinic.s1.book")[0]
		require.Equal(t, effect.TriggerID, payload["id"])
		require.Equal(t, effect.TriggerID, effect.Event.ID)
		require.Contains(t, string(effect.Event.Data), `"number":9007199254740993`, "a 64-bit integer is unharmed")
		require.Equal(t, "A", payload["values"].(map[string]any)["desk"], "a static value is filled in")
		require.Len(t, payload["schema"], 3, "the schema is as it was given")
		for _, field := range []string{"ts", "messageId", "text", "appId", "sessionId", "repositoryId", "source", "name"} {
			require.NotEmpty(t, payload[field], field)
		}
		require.Equal(t, payload, w.Events.Payloads("app.clinic.calendar.request")[0], "the emitter's event is the same")

		w.Rest()
		result := w.Events.Payloads("tool.result.clinic.s1.book")[0]
		require.Equal(t, true, result["ok"])
		require.Equal(t, payload["id"], result["triggerId"])
		require.NotEqual(t, payload["id"], result["id"])
	})
}

func TestMessageCostsThreeRoundTripsAndOnePublishAnEvent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "greetings", `{"tools":[{"name":"greet"}]}`)
		w.Put("s1", "booking", booking)
		for _, test := range []struct {
			text   string
			events int
		}{
			{"greet", 1},
			{`book {"day":"monday"}`, 3},
			{`greet; book {"day":"monday"}`, 4},
			{"nothing that is known", 1},
			{"book", 1},
		} {
			_, err := w.TrySay("", test.text) // the scripts are loaded now, and the app is cached
			require.NoError(t, err)
			w.Rest()
			made := int64(math.MaxInt64)
			for i := 0; i < 10 && made > 3+1; i++ { // at times the engine does other things beside
				trips, published := w.Trips.Made(), len(w.Events.Subjects())
				w.Say("", test.text)
				w.Flushed()
				made = min(made, w.Trips.Made()-trips)
				w.Rest() // a result that is late is published from the ledger
				require.Equal(t, test.events, len(w.Events.Subjects())-published, test.text)
			}
			require.LessOrEqual(t, made, int64(3+1), test.text+", and one trip of settled")
		}
	})
}

func TestSameMessageIsDecidedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, other := w.Replica()
		w.Put("s1", "booking", booking)
		var group sync.WaitGroup
		answers := make([]string, 16)
		for i := range answers {
			engine := []*trigger.Engine{w.Engine, other}[i%2]
			group.Go(func() {
				raw, err := engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: "user", Text: `book {"day":"monday"}`})
				answers[i] = string(raw)
				if err != nil {
					answers[i] = err.Error()
				}
			})
		}
		group.Wait()
		for _, answer := range answers {
			require.Equal(t, answers[0], answer)
		}
		require.Contains(t, answers[0], `"state":"delivered"`)
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.book"), 1)
		require.Len(t, w.Matcher.Asked, 1)
		again := w.Say("m1", `book {"day":"monday"}`)
		require.JSONEq(t, answers[0], asJSON(t, again), "a repeat gets the answer of then")
	})
}

func TestUndecidedMessageIsKeptAndTriedAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Matcher.Intercept(func(context.Context, matcher.Request) error { return &matcher.Unavailable{Reason: "it answered 500"} })
		_, err := w.TrySay("m1", `book {"day":"monday"}`)
		require.ErrorContains(t, err, "it answered 500")
		require.Empty(t, w.Events.Subjects())
		w.Rest()

		history := w.History("s1")
		require.Equal(t, "failed", history[0].State)
		require.Contains(t, history[0].Error, "it answered 500")

		w.Matcher.Intercept(nil)
		answer := w.Say("m1", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		history = w.History("s1")
		require.Len(t, history, 1, "it is one message however often it was sent")
		require.Equal(t, "decided", history[0].State)
	})
}

func TestAgentsMessageIsStoredAndNotMatched(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		raw, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "a1", Actor: matcher.ActorAgent, Text: `book {"day":"monday"}`})
		require.NoError(t, err)
		require.JSONEq(t, `{"messageId":"a1","matches":[],"rejected":[],"reply":null,"skipResponse":false}`, string(raw))
		require.Empty(t, w.Matcher.Asked)
		require.Empty(t, w.Events.Subjects())
		w.Say("m1", `book {"day":"tuesday"}`)
		require.Equal(t, []matcher.Utterance{{ID: "a1", Actor: "agent", Text: `book {"day":"monday"}`}}, w.Matcher.Asked[0].History)
	})
}

func TestMatcherSeesEarlierTriggersWithTheirResults(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		first := w.Say("m1", `book {"day":"monday","number":9007199254740993}`)
		w.Say("m2", "thanks")
		history := w.Matcher.Asked[1].History
		require.Len(t, history, 1)
		require.Equal(t, []matcher.PastCall{{
			TriggerID: first.Matches[0].TriggerID, Name: "book", Result: json.RawMessage(`{"ok":true}`),
			Values:    map[string]any{"day": "monday", "number": json.Number("9007199254740993"), "desk": "A"},
			Arguments: `{"day":"monday","desk":"A","number":9007199254740993}`,
		}}, history[0].Fired)
	})
}

// TestResultThatComesLaterIsSeenByTheNextMessage has a call end between two messages that
// both see the first one in their history.
func TestResultThatComesLaterIsSeenByTheNextMessage(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		w.Calls.Answer(down)
		w.Say("m1", `book {"day":"monday"}`)
		w.Say("m2", "thanks")
		require.Empty(t, w.Matcher.Asked[1].History[0].Fired[0].Result)
		w.Calls.Answer(nil)
		w.Rest()
		w.Say("m3", "and?")
		require.Equal(t, []string{"m1", "m2"}, []string{w.Matcher.Asked[2].History[0].ID, w.Matcher.Asked[2].History[1].ID})
		require.JSONEq(t, `{"ok":true}`, string(w.Matcher.Asked[2].History[0].Fired[0].Result))
	})
}

func TestMessageToAMissingApp(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, err := w.Engine.Post(t.Context(), trigger.Message{AppID: "nobody", SessionID: "s1", Actor: "user", Text: "hello"})
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestAsynchronousMessageIsDecidedInTheBackground(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		id, err := w.Engine.PostAsync(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: "user", Text: `book {"day":"monday"}`})
		require.NoError(t, err)
		require.NotEmpty(t, id)
		w.Until("the history shows the outcome", func() bool {
			history, _, err := w.Engine.History(t.Context(), query.History{AppID: "clinic", SessionID: "s1", Page: query.Page{Limit: 10}})
			return err == nil && len(history) == 1 && len(history[0].Triggers) == 1 && history[0].Triggers[0].Call.State == "delivered"
		})
	})
}

func TestAsynchronousMessageOutlastsAnOutageOfTheLLM(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		tries := 0
		w.Matcher.Intercept(func(context.Context, matcher.Request) error {
			if tries++; tries < 3 {
				return &matcher.Unavailable{Reason: "it is away"}
			}
			return nil
		})
		_, err := w.Engine.PostAsync(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", ID: "m1", Actor: "user", Text: `book {"day":"monday"}`})
		require.NoError(t, err)
		w.Until("it fires", func() bool { return len(w.Events.Payloads("tool.trigger.clinic.s1.book")) == 1 })
		w.Rest()
	})
}

func TestMatcherSeesNoMoreHistoryThanItMay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for i := range 47 {
			w.Agent("", fmt.Sprint(i))
		}
		w.Say("", "hello")
		seen := w.Matcher.Asked[0].History
		start := matcher.HistoryStart(47, 40)
		require.Equal(t, fmt.Sprint(start), seen[0].Text)
		require.Equal(t, "46", seen[len(seen)-1].Text)
		require.LessOrEqual(t, len(seen), 40)
	})
}

// BenchmarkConversation is the cost of a message at the end of a conversation of 40 messages,
// each of which has set something off.
func BenchmarkConversation(b *testing.B) {
	w := newWorld(b, redistest.Run(b))
	w.App("clinic", `{"settings":{"limits":{"messagesPerMinute":null,"sessionMessagesPerMinute":null,"bytesPerMinute":null}}}`)
	w.Put("s1", "r", `{"tools":[{"name":"greet"}]}`)
	for i := range b.N + 40 {
		if i == 40 {
			b.ReportAllocs()
			b.ResetTimer()
		}
		_, err := w.TrySay("", "greet")
		require.NoError(b, err)
	}
}
