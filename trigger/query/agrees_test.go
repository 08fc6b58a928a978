package query_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const ringing = `{"tools":[{"name":"ring","url":"https://example.org/ring","emitter":"desk.rung"},{"name":"log"}]}`

// resultEvents sets the outcome of tool.result events; all others are published.
func (w *world) resultEvents(verdict effect.Verdict) {
	w.Events.Answer(func(e effect.Effect) effect.Outcome {
		if strings.HasPrefix(e.Event.Subject, "tool.result.") {
			return effect.Outcome{Verdict: verdict, Error: "not now"}
		}
		return effect.Outcome{Verdict: effect.Done}
	})
}

func (w *world) idsInState(state string) (ids []string) {
	for _, record := range w.Triggers(query.Triggers{State: state}) {
		require.Equal(w.T, state, record.State)
		ids = append(ids, record.TriggerID)
	}
	return ids
}

// TestTheStateOfARecordIsThatOfTheEffectsThatItShows: the event tool.result is pending until NATS accepts it,
// and is not one of the effects of a record or an answer.
func TestTheStateOfARecordIsThatOfTheEffectsThatItShows(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "desk", ringing)
		w.resultEvents(effect.Retry)
		match := w.Fire(trigger.Direct{SessionID: "s2", Name: "ring", Source: query.SourceUI})
		said := w.One("m1", "ring")
		for _, one := range []query.Match{w.Trigger(match.TriggerID).Match, said} {
			require.Equal(t, []string{"published", "published", "delivered", "delivered"}, []string{one.Event.State, one.Emitter.State, one.Call.State, one.State})
			record := w.Trigger(one.TriggerID)
			require.Equal(t, query.StateDelivered, record.State)
			require.Nil(t, record.ResultEvent)
		}
		require.ElementsMatch(t, []string{match.TriggerID, said.TriggerID}, w.idsInState(query.StateDelivered))
		require.Empty(t, w.idsInState(query.StatePending))
		require.Empty(t, w.idsInState(query.StateFailed))
		entry, err := w.Engine.Message(t.Context(), "clinic", "s1", "m1")
		require.NoError(t, err)
		require.Equal(t, query.StateDelivered, entry.Triggers[0].State)
		require.ErrorIs(t, w.Engine.Remove(t.Context(), "clinic", match.TriggerID), trigger.ErrOwes, "the event is owed all the same")

		w.Events.Answer(nil)
		w.Rest()
		require.NoError(t, w.Engine.Remove(t.Context(), "clinic", match.TriggerID))
	})
}

func TestARecordWhoseResultWasGivenUpShowsIt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "desk", ringing)
		w.resultEvents(effect.Dead)
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "ring", Source: query.SourceUI})
		w.Rest()
		record := w.Trigger(match.TriggerID)
		require.Equal(t, []string{query.StateFailed, query.StateFailed, "not now"}, []string{record.State, record.ResultEvent.State, record.ResultEvent.Error})
		require.Equal(t, []string{match.TriggerID}, w.idsInState(query.StateFailed))
		require.Empty(t, w.idsInState(query.StateDelivered))

		w.Events.Answer(nil)
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", match.TriggerID, "admin"))
		w.Rest()
		require.Equal(t, []string{match.TriggerID}, w.idsInState(query.StateDelivered))
	})
}

// TestTheStatesOfAnswersAreThoseOfTheirRecords covers the ends of a call and of an event.
func TestTheStatesOfAnswersAreThoseOfTheirRecords(t *testing.T) {
	refuse := func(verdict effect.Verdict) func(effect.Effect) effect.Outcome {
		return func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: verdict, Reason: effect.ReasonRequest, Error: "no", Result: []byte(`{"state":"pending"}`)}
		}
	}
	each(t, func(t *testing.T, w *world) {
		w.Unhurried()
		w.Put("", "desk", ringing)
		for _, c := range []struct {
			tool         string
			event, calls func(effect.Effect) effect.Outcome
			state        string
		}{
			{"ring", nil, refuse(effect.Retry), query.StatePending},
			{"ring", nil, refuse(effect.Dead), query.StateFailed},
			{"ring", nil, refuse(effect.Done), query.StateDelivered},
			{"ring", refuse(effect.Dead), nil, query.StateFailed},
			{"log", refuse(effect.Dead), nil, query.StateFailed},
			{"log", nil, nil, query.StateDelivered},
		} {
			w.Events.Answer(c.event)
			w.Calls.Answer(c.calls)
			match := w.Fire(trigger.Direct{SessionID: "s1", Name: c.tool, Source: query.SourceUI})
			if match.State != query.StatePending || match.Call == nil { // else its events may follow the answer
				require.Equal(t, c.state, match.State)
			}
			record := w.Trigger(match.TriggerID)
			require.Equal(t, c.state, record.State)
			require.Contains(t, w.idsInState(c.state), match.TriggerID)
		}
	})
}
