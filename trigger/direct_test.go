package trigger_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
)

func TestDirectTriggerFiresWithoutTheMatcher(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"day": "monday"}})
		require.Equal(t, "ui", match.Source)
		require.Equal(t, "delivered", match.Call.State)
		require.Equal(t, "published", w.Trigger(match.TriggerID).Event.State)
		require.EqualValues(t, map[string]any{"day": "monday", "desk": "A"}, match.Values)
		require.Empty(t, w.Matcher.Asked)
		payload := w.Events.Payloads("tool.trigger.clinic.s1.book")[0]
		require.Equal(t, "ui", payload["source"])
		require.NotContains(t, payload, "messageId")
		second := w.Fire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"day": "monday"}})
		require.NotEqual(t, match.TriggerID, second.TriggerID, "without an id each is another")
	})
}

func TestDirectTriggerWithoutASession(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "booking", booking)
		match := w.Fire(trigger.Direct{Name: "book", Source: "task", Values: map[string]any{"day": "monday"}})
		require.Equal(t, "tool.trigger.clinic._.book", match.Event.Subject)
		w.Rest() // the events follow the answer
		payload := w.Events.Payloads("tool.trigger.clinic._.book")[0]
		require.NotContains(t, payload, "sessionId")
		require.Len(t, w.Events.Payloads("tool.result.clinic._.book"), 1)
	})
}

func TestDirectTriggerWithValuesAtFault(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "booking", booking)
		_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "book", Source: "ui", Values: map[string]any{"number": "5", "dya": "monday"}})
		faulty := &trigger.ValuesError{}
		require.ErrorAs(t, err, &faulty)
		require.Len(t, faulty.Faults, 3, "a missing value, a text for a number, an unknown name: %v", faulty.Faults)
		_, fired := w.fired()
		require.Zero(t, fired)
	})
}

func TestDirectTriggerOfAnEarlierGenerationFiresNothing(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"greet"}]}`)
		greet := func() error {
			life := testbed.Got(w.Store.Generation(t.Context(), "clinic", "s1"))(t)
			_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "greet", Source: "ui", Generations: &ledger.Generations{App: life.App, Session: life.Session}})
			return err
		}
		first := testbed.Got(w.Store.Generation(t.Context(), "clinic", "s1"))(t)
		require.NoError(t, greet())
		w.Close()
		require.NoError(t, greet())
		for _, earlier := range []ledger.Generations{{App: first.App, Session: first.Session}, {App: "another"}} {
			_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "greet", Source: "ui", Generations: &earlier})
			require.ErrorIs(t, err, trigger.ErrClosed)
		}
		w.Rest()
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.greet"), 2)
	})
}

func TestDirectTriggerOfOneIdFiresOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, other := w.Replica()
		w.Put("s1", "r", `{"tools":[{"name":"greet","url":"http://x.example"},{"name":"other"}]}`)
		var group sync.WaitGroup
		answers := make([]string, 12)
		for i := range answers {
			engine := []*trigger.Engine{w.Engine, other}[i%2]
			group.Go(func() {
				raw, err := engine.Fire(t.Context(), trigger.Direct{AppID: "clinic", SessionID: "s1", Name: "greet", Source: "ui", TriggerID: "t1"})
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
		require.Contains(t, answers[0], `"triggerId":"t1"`)
		require.Len(t, w.Events.Payloads("tool.trigger.clinic.s1.greet"), 1)
		_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "other", Source: "ui", TriggerID: "t1"})
		require.ErrorIs(t, err, trigger.ErrConflict)
	})
}

func TestDirectTriggerOfOneIdHasItsValues(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"pay","schema":[{"parameter":"amount","type":"number","required":true},{"parameter":"to","type":"string","default":"Anna"}]}]}`)
		pay := func(values map[string]any) (query.Match, error) {
			return w.TryFire(trigger.Direct{SessionID: "s1", Name: "pay", Source: "ui", TriggerID: "t1", Values: values})
		}
		first := testbed.Got(pay(map[string]any{"amount": json.Number("30")}))(t)
		for _, same := range []map[string]any{{"amount": json.Number("30.0")}, {"amount": json.Number("30"), "to": "Anna"}} {
			again := testbed.Got(pay(same))(t)
			require.Equal(t, first, again)
		}
		for _, other := range []map[string]any{{"amount": json.Number("31")}, {"amount": json.Number("30"), "to": "Eve"}} {
			_, err := pay(other)
			require.ErrorIs(t, err, trigger.ErrConflict)
		}
		w.Put("s1", "r", `{"tools":[{"name":"pay","schema":[{"parameter":"sum","type":"number","required":true}]}]}`)
		again, err := pay(map[string]any{"amount": json.Number("30")})
		require.NoError(t, err, "it fired before its tool took other values")
		require.Equal(t, first, again)
	})
}

func TestDirectTriggerOfOneIdIsAnsweredWithoutItsRepository(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "choice", choice)
		first := w.Fire(trigger.Direct{SessionID: "s1", Name: "yes", Source: "ui", TriggerID: "t1"})
		again := w.Fire(trigger.Direct{SessionID: "s1", Name: "yes", Source: "ui", TriggerID: "t1"})
		require.Equal(t, first, again)
		_, err := w.TryFire(trigger.Direct{SessionID: "s1", Name: "yes", Source: "ui", TriggerID: "t2"})
		require.ErrorIs(t, err, trigger.ErrNotInScope)
	})
}

func TestTriggersAreListedNewestFirst(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"greet"}]}`)
		ids := []string{"t0", "t1", "t2", "t3", "t4"}
		for i, id := range ids {
			session := []string{"s1", "s2"}[i%2]
			w.Fire(trigger.Direct{SessionID: session, Name: "greet", Source: "ui", TriggerID: id})
		}
		listed := func(q query.Triggers) (found []string) {
			q.AppID = "clinic"
			q.Page.Limit = 2
			for {
				records, next, err := w.Engine.Triggers(t.Context(), q)
				require.NoError(t, err)
				for _, record := range records {
					found = append(found, record.TriggerID)
				}
				if next == "" {
					return found
				}
				q.Page.After = next
			}
		}
		require.Equal(t, []string{"t4", "t3", "t2", "t1", "t0"}, listed(query.Triggers{}))
		require.Equal(t, []string{"t4", "t2", "t0"}, listed(query.Triggers{SessionID: "s1"}))
		require.Equal(t, []string{"t4", "t3", "t2", "t1", "t0"}, listed(query.Triggers{State: "delivered"}))
		require.Empty(t, listed(query.Triggers{State: "failed"}))
		_, _, err := w.Engine.Triggers(t.Context(), query.Triggers{AppID: "clinic", Page: query.Page{Limit: 2, After: "bm90aGluZw"}})
		require.ErrorIs(t, err, query.ErrCursor)
		_, err = w.Engine.Trigger(t.Context(), "other", "t0")
		require.ErrorIs(t, err, query.ErrNotFound)
		_, _, err = w.Engine.Triggers(t.Context(), query.Triggers{AppID: "nobody", Page: query.Page{Limit: 2}})
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

// TestResultsOfCallsAreNamedAfterTheirTriggers ends calls of all sorts: at the first attempt, at
// a later one, failed and retried, of a message, of a client's own id, and of a repository that
// fires once.
func TestResultsOfCallsAreNamedAfterTheirTriggers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "plain", `{"tools":[{"name":"ring","url":"http://x.example"}]}`)
		w.Put("s1", "one", `{"options":{"triggerOnce":true},"tools":[{"name":"once","url":"http://x.example"}]}`)
		said := w.Say("m1", "ring")
		w.Fire(trigger.Direct{SessionID: "s1", Name: "once", Source: "ui", TriggerID: "click-1"})
		made := w.Fire(trigger.Direct{SessionID: "s1", Name: "ring", Source: "ui"})
		w.Calls.Answer(down)
		w.Fire(trigger.Direct{SessionID: "s1", Name: "ring", Source: "ui", TriggerID: "click-2"})
		w.Calls.Answer(refuse)
		w.Rest()
		w.Calls.Answer(nil)
		require.NoError(t, w.Engine.Retry(t.Context(), "clinic", "click-2", "admin"))
		w.Rest()
		var ids []any
		for _, name := range []string{"ring", "once"} {
			for _, payload := range w.Events.Payloads("tool.result.clinic.s1." + name) {
				require.Equal(t, payload["triggerId"], strings.Split(payload["id"].(string), ".")[0])
				ids = append(ids, payload["id"])
			}
		}
		require.ElementsMatch(t, []any{said.Matches[0].TriggerID + ".result", made.TriggerID + ".result", "click-2.result", "click-2.result-1", "click-1.result"}, ids)
	})
}
