package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger"
	"earshot/trigger/effect"
)

func TestDeadLettersAreRetriedAndPurgedByQuery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.put("", "r", `{"tools":[{"name":"a","url":"http://x.example"},{"name":"b","url":"http://x.example"}]}`)
		w.calls.answers(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
		})
		for _, d := range []trigger.Direct{{SessionID: "s1", Name: "a"}, {SessionID: "s1", Name: "b"}, {SessionID: "s2", Name: "a"}, {Name: "a"}} {
			d.Source = "ui"
			_, err := w.fire(d)
			require.NoError(t, err)
		}
		w.rest()
		require.Equal(t, 4, w.failed(trigger.Query{}))
		require.Equal(t, 3, w.failed(trigger.Query{Name: "a"}))

		purged, err := w.engine.Purge(t.Context(), trigger.Query{AppID: "clinic", SessionID: "s1", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, 1, purged)
		require.Equal(t, 3, w.failed(trigger.Query{}))

		w.calls.answers(nil)
		retried, err := w.engine.RetryAll(t.Context(), trigger.Query{AppID: "clinic", Name: "a"}, "admin")
		require.NoError(t, err)
		require.Equal(t, 2, retried)
		w.keeper.Wake("clinic")
		w.rest()
		require.Equal(t, 1, w.failed(trigger.Query{}), "that of the other tool")

		purged, err = w.engine.Purge(t.Context(), trigger.Query{AppID: "clinic"})
		require.NoError(t, err)
		require.Equal(t, 1, purged)
		require.Zero(t, w.failed(trigger.Query{}))
		for _, key := range w.server.Client().Keys(t.Context(), "*effect:clinic:*").Val() {
			t.Errorf("%s is left of what was purged", key)
		}
	})
}

// failed counts the dead letters that a query finds.
func (w *world) failed(q trigger.Query) int {
	q.AppID, q.State, q.Page.Limit = "clinic", "failed", 100
	records, _, err := w.engine.Triggers(w.t.Context(), q)
	require.NoError(w.t, err)
	return len(records)
}
