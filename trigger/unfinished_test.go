package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/trigger"
	"earshot/trigger/query"
)

const trip = `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"people","type":"integer","minValue":1,"required":true}]},
  {"name":"hours"}]}`

// TestCallThatLacksAValueWaitsForIt drives the session with a matcher that lays values
// over those that wait, as the real ones do.
func TestCallThatLacksAValueWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", trip)
		answer, err := w.say("m1", `book {"people":2}`)
		require.NoError(t, err)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		require.Equal(t, []any{"day"}, w.events.payloads("tool.rejected.clinic.s1.book")[0]["missing"])

		answer, err = w.say("m2", `hm, let me see`)
		require.NoError(t, err)
		require.Empty(t, answer.Matches, "what is about nothing changes nothing")

		answer, err = w.say("m3", `book {"day":"monday"}`)
		require.NoError(t, err)
		require.Len(t, answer.Matches, 1)
		require.JSONEq(t, `{"day":"monday","people":2}`, asJSON(t, answer.Matches[0].Values))
		require.Empty(t, w.waiting())

		_, err = w.say("m4", `book {"day":"friday"}`)
		require.NoError(t, err)
		require.Equal(t, []string{"people"}, w.waiting(), "what has fired is not remembered")
	})
}

// waiting lists what is missing of the calls that the next message would be told of.
func (w *world) waiting() []string {
	_, err := w.say("", "hm")
	require.NoError(w.t, err)
	missing := []string{}
	for _, u := range w.matcher.asked[len(w.matcher.asked)-1].Unfinished {
		missing = append(missing, u.Missing...)
	}
	return missing
}

func TestUnfinishedCallIsDropped(t *testing.T) {
	for _, test := range []struct {
		rule, text string
		kept       bool
	}{
		{"with words that drop it", "never mind", false},
		{"when the message is about something else", "hours", false},
		{"not by small talk", "what a day", true},
	} {
		t.Run(test.rule, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.put("s1", "trips", trip)
				_, err := w.say("", `book {"people":2}`)
				require.NoError(t, err)
				_, err = w.say("", test.text)
				require.NoError(t, err)
				require.Equal(t, test.kept, len(w.waiting()) > 0)
			})
		})
	}
}

func TestFaultyValueOfAnUnfinishedCallIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", trip)
		_, err := w.say("", `book {"people":0,"day":"monday"}`)
		require.NoError(t, err)
		require.Equal(t, []string{"people"}, w.waiting())
		answer, err := w.say("", `book {"people":3}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"day":"monday","people":3}`, asJSON(t, answer.Matches[0].Values))
	})
}

func TestUnfinishedCallGoesWithItsRepository(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", trip)
		_, err := w.say("", `book {"people":2}`)
		require.NoError(t, err)
		require.NoError(t, w.store.DeleteRepository(t.Context(), session("s1"), "trips"))
		require.Empty(t, w.waiting())
	})
}

func TestValueThatIsTakenBackFiresNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "home", `{"tools":[{"name":"heat","schema":[
			{"parameter":"room","type":"string","required":true,"ask":"Which room?"},{"parameter":"degrees","type":"integer","required":true}]}]}`)
		_, err := w.say("m1", `heat {"room":"office"}`)
		require.NoError(t, err)
		_, err = w.say("m2", "not the office")
		require.NoError(t, err)
		require.Equal(t, []string{"degrees", "room"}, w.waiting(), "the model called for nothing")
		open, err := w.engine.Open(t.Context(), "clinic", "s1")
		require.NoError(t, err)
		require.Equal(t, "Which room?", open[0].Ask)
		answer, err := w.say("m3", `heat {"degrees":21}`)
		require.NoError(t, err)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"room"}, answer.Rejected[0].Missing)
	})
}

func TestAgentsQuestionKeepsAnUnfinishedCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", trip)
		_, err := w.say("", `book {"people":2}`)
		require.NoError(t, err)
		_, err = w.engine.Post(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorAgent, Text: "On which day?"})
		require.NoError(t, err)
		require.Equal(t, []string{"day"}, w.waiting())
	})
}

func TestRecordSaysWhereItsValuesComeFrom(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", trip)
		w.matcher.decorate(func(m *matcher.Match) {
			m.Repaired, m.Coerced = true, []string{"people"}
			m.Evidence = map[string]*matcher.Evidence{"day": {Words: "Monday"}, "people": {MessageID: "m0", Words: "two"}, "note": nil}
		})
		answer, err := w.say("m1", `book {"people":2,"day":"monday"}`)
		require.NoError(t, err)
		record, err := w.engine.Trigger(t.Context(), "clinic", answer.Matches[0].TriggerID)
		require.NoError(t, err)
		require.True(t, record.Repaired)
		require.Equal(t, []string{"people"}, record.Coerced)
		require.Equal(t, map[string]*matcher.Evidence{
			"day": {MessageID: "m1", Words: "Monday"}, "people": {MessageID: "m0", Words: "two"}, "note": nil,
		}, record.Evidence)
	})
}

// TestValueOfThePathIsWaitedFor: a call to a path that lacks a value is none. The message is
// rejected, a repository that is good for one fire is still there, and the next message
// completes the call.
func TestValueOfThePathIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("s1", "trips", `{"options":{"triggerOnce":true},"tools":[{"name":"book","url":"http://calendar.example/book/:day",
		  "schema":[{"parameter":"day","type":"string","ask":"Which day?"},{"parameter":"people","type":"integer"}]}]}`)
		answer, err := w.say("m1", `book {"people":2}`)
		require.NoError(t, err)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		require.Equal(t, "Which day?", answer.Rejected[0].Ask)
		_, err = w.fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"people": 2}})
		faulty := &trigger.ValuesError{}
		require.ErrorAs(t, err, &faulty)
		_, fired := w.fired()
		require.Zero(t, fired)

		answer, err = w.say("m2", `book {"day":"monday"}`)
		require.NoError(t, err)
		require.Equal(t, query.StateDelivered, answer.Matches[0].Call.State)
		require.JSONEq(t, `{"day":"monday","people":2}`, asJSON(t, answer.Matches[0].Values))
	})
}
