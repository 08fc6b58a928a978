package trigger_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/trigger"
	"earshot/trigger/query"
)

const trip = `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string","required":true},{"parameter":"people","type":"integer","minValue":1,"required":true}]},
  {"name":"hours"}]}`

// TestCallThatLacksAValueWaitsForIt uses a matcher that adds values to those of unfinished calls, as the real
// ones do.
func TestCallThatLacksAValueWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", trip)
		answer := w.Say("m1", `book {"people":2}`)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		require.Equal(t, []any{"day"}, w.Events.Payloads("tool.rejected.clinic.s1.book")[0]["missing"])

		answer = w.Say("m2", `hm, let me see`)
		require.Empty(t, answer.Matches, "what is about nothing changes nothing")

		answer = w.Say("m3", `book {"day":"monday"}`)
		require.Len(t, answer.Matches, 1)
		require.JSONEq(t, `{"day":"monday","people":2}`, asJSON(t, answer.Matches[0].Values))
		require.Empty(t, w.waiting())

		w.Say("m4", `book {"day":"friday"}`)
		require.Equal(t, []string{"people"}, w.waiting(), "what has fired is not remembered")
	})
}

// waiting returns the missing values of the calls that the next message would continue.
func (w *world) waiting() []string {
	w.Say("", "hm")
	missing := []string{}
	for _, u := range w.Matcher.Asked[len(w.Matcher.Asked)-1].Unfinished {
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
				w.Put("s1", "trips", trip)
				w.Say("", `book {"people":2}`)
				w.Say("", test.text)
				require.Equal(t, test.kept, len(w.waiting()) > 0)
			})
		})
	}
}

// TestOtherCallsStayOpen has one message begin several calls. The session and a dry run of its history agree.
func TestOtherCallsStayOpen(t *testing.T) {
	const begin = `book {"people":2}; wake {"room":"12"}; hours`
	for _, test := range []struct {
		rule string
		said []string
		open []string
	}{
		{"when a message completes one", []string{`book {"day":"monday"}`}, []string{"wake [time]"}},
		{"when another message completes the next", []string{`book {"day":"monday"}`, `wake {"time":"7"}`}, nil},
		{"when a message continues one that still lacks a value", []string{`wake {"room":"14"}`}, []string{"wake [time]", "book [day]"}},
		{"when a message completes one and calls for another tool", []string{`hours; wake {"time":"7"}`}, []string{"book [day]"}},
		{"unless the message is about something else", []string{`hours`}, nil},
		{"until words drop them", []string{`book {"day":"monday"}`, `never mind`}, nil},
	} {
		t.Run(test.rule, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				w.Put("s1", "trips", trip)
				w.Put("s1", "calls", `{"tools":[{"name":"wake","schema":[{"parameter":"room","type":"string","required":true},{"parameter":"time","type":"string","required":true}]}]}`)
				var history []trigger.Earlier
				for i, said := range append([]string{begin}, test.said...) {
					answer := w.Say(strconv.Itoa(i), said)
					history = append(history, trigger.Earlier{Actor: matcher.ActorUser, Text: said, Matches: answer.Matches, Rejected: answer.Rejected})
				}
				open := testbed.Got(w.Engine.Open(t.Context(), "clinic", "s1"))(t)
				var listed []string
				for _, one := range open {
					listed = append(listed, fmt.Sprint(one.Name, " ", one.Missing))
				}
				require.Equal(t, test.open, listed)

				_, _, err := w.Engine.DryRun(t.Context(), trigger.Message{AppID: "clinic", SessionID: "s1", Actor: matcher.ActorUser, Text: "hm", History: history})
				require.NoError(t, err)
				var replayed []string
				for _, one := range w.Matcher.Asked[len(w.Matcher.Asked)-1].Unfinished {
					replayed = append(replayed, fmt.Sprint(one.Tool.Name, " ", one.Missing))
				}
				require.Equal(t, test.open, replayed)
			})
		})
	}
}

func TestFaultyValueOfAnUnfinishedCallIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", trip)
		w.Say("", `book {"people":0,"day":"monday"}`)
		require.Equal(t, []string{"people"}, w.waiting())
		answer := w.Say("", `book {"people":3}`)
		require.JSONEq(t, `{"day":"monday","people":3}`, asJSON(t, answer.Matches[0].Values))
	})
}

func TestUnfinishedCallGoesWithItsRepository(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", trip)
		w.Say("", `book {"people":2}`)
		require.NoError(t, w.Store.DeleteRepository(t.Context(), session("s1"), "trips"))
		require.Empty(t, w.waiting())
	})
}

func TestValueThatIsTakenBackFiresNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "home", `{"tools":[{"name":"heat","schema":[
			{"parameter":"room","type":"string","required":true,"ask":"Which room?"},{"parameter":"degrees","type":"integer","required":true}]}]}`)
		w.Say("m1", `heat {"room":"office"}`)
		w.Say("m2", "not the office")
		require.Equal(t, []string{"degrees", "room"}, w.waiting(), "the model called for nothing")
		open := testbed.Got(w.Engine.Open(t.Context(), "clinic", "s1"))(t)
		require.Equal(t, "Which room?", open[0].Ask)
		answer := w.Say("m3", `heat {"degrees":21}`)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"room"}, answer.Rejected[0].Missing)
	})
}

func TestAgentsQuestionKeepsAnUnfinishedCall(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", trip)
		w.Say("", `book {"people":2}`)
		w.Agent("", "On which day?")
		require.Equal(t, []string{"day"}, w.waiting())
	})
}

func TestRecordHasTheEvidenceOfItsValues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", trip)
		w.Matcher.Decorate(func(m *matcher.Match) {
			m.Repaired, m.Coerced = true, []string{"people"}
			m.Evidence = map[string]*matcher.Evidence{"day": {MessageID: "m1", Words: "Monday"}, "people": {MessageID: "m0", Words: "two"}, "note": nil}
		})
		answer := w.Say("m1", `book {"people":2,"day":"monday"}`)
		require.Equal(t, "m1", w.Matcher.Asked[0].ID, "for the evidence")
		record := w.Trigger(answer.Matches[0].TriggerID)
		require.True(t, record.Repaired)
		require.Equal(t, []string{"people"}, record.Coerced)
		require.Equal(t, exactjson.Map[*matcher.Evidence]{
			"day": {MessageID: "m1", Words: "Monday"}, "people": {MessageID: "m0", Words: "two"}, "note": nil,
		}, record.Evidence)
	})
}

// TestValueOfThePathIsWaitedFor: a call to a path that lacks a value is not made. The message is rejected, a
// triggerOnce repository stays, and the next message completes the call.
func TestValueOfThePathIsWaitedFor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "trips", `{"options":{"triggerOnce":true},"tools":[{"name":"book","url":"http://calendar.example/book/:day",
		  "schema":[{"parameter":"day","type":"string","ask":"Which day?"},{"parameter":"people","type":"integer"}]}]}`)
		answer := w.Say("m1", `book {"people":2}`)
		require.Empty(t, answer.Matches)
		require.Equal(t, []string{"day"}, answer.Rejected[0].Missing)
		require.Equal(t, "Which day?", answer.Rejected[0].Ask)
		_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"people": 2}})
		faulty := &trigger.ValuesError{}
		require.ErrorAs(t, err, &faulty)
		_, fired := w.fired()
		require.Zero(t, fired)

		answer = w.Say("m2", `book {"day":"monday"}`)
		require.Equal(t, query.StateDelivered, answer.Matches[0].Call.State)
		require.JSONEq(t, `{"day":"monday","people":2}`, asJSON(t, answer.Matches[0].Values))
	})
}
