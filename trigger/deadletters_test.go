package trigger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

func TestDeadLettersAreRetriedAndPurgedByQuery(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[{"name":"a","url":"http://x.example"},{"name":"b","url":"http://x.example"}]}`)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
		})
		for _, d := range []trigger.Direct{{SessionID: "s1", Name: "a"}, {SessionID: "s1", Name: "b"}, {SessionID: "s2", Name: "a"}, {Name: "a"}} {
			d.Source = "ui"
			w.Fire(d)
		}
		w.Rest()
		require.Equal(t, 4, w.failed(query.Triggers{}))
		require.Equal(t, 3, w.failed(query.Triggers{Name: "a"}))

		purged, err := w.Engine.Purge(t.Context(), query.Triggers{AppID: "clinic", SessionID: "s1", Name: "a"})
		require.NoError(t, err)
		require.Equal(t, 1, purged)
		require.Equal(t, 3, w.failed(query.Triggers{}))

		w.Calls.Answer(nil)
		retried, err := w.Engine.RetryAll(t.Context(), query.Triggers{AppID: "clinic", Name: "a"}, "admin")
		require.NoError(t, err)
		require.Equal(t, 2, retried)
		w.Keeper.Wake("clinic")
		w.Rest()
		require.Equal(t, 1, w.failed(query.Triggers{}), "that of the other tool")

		purged, err = w.Engine.Purge(t.Context(), query.Triggers{AppID: "clinic"})
		require.NoError(t, err)
		require.Equal(t, 1, purged)
		require.Zero(t, w.failed(query.Triggers{}))
		for _, key := range w.Server.Client().Keys(t.Context(), "*effect:clinic:*").Val() {
			t.Errorf("%s is left of what was purged", key)
		}
	})
}

func TestWhatIsRetriedTogetherKeepsItsOrder(t *testing.T) {
	t.Parallel()
	redistest.OnRedis(t, func(t *testing.T, server *redistest.Server) {
		w := idleWorld(t, server, 1) // one worker, so that what is due first begins first
		w.Keeper = w.Engine
		w.Run(w.Engine)
		w.Put("", "r", `{"tools":[{"name":"a","url":"http://x.example"}]}`)
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: "404 Not Found"}
		})
		var fired []string
		for range 6 {
			match := w.Fire(trigger.Direct{Name: "a", Source: "ui"})
			fired = append(fired, match.TriggerID)
		}
		w.Rest()

		_, err := w.Engine.RetryAll(t.Context(), query.Triggers{AppID: "clinic"}, "admin")
		require.NoError(t, err)
		w.Rest()
		var retried []string
		for _, again := range w.Calls.Attempts[6:] {
			retried = append(retried, again.TriggerID)
		}
		require.Equal(t, fired, retried)
	})
}

// failed counts the dead letters that a query finds.
func (w *world) failed(q query.Triggers) int {
	q.AppID, q.State, q.Page.Limit = "clinic", "failed", 100
	records, _, err := w.Engine.Triggers(w.T.Context(), q)
	require.NoError(w.T, err)
	return len(records)
}
