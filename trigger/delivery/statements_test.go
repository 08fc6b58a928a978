package delivery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const typed = `{"tools":[
  {"name":"rows","type":"postgres-sql","source":"db","statement":"select $1","schema":[{"parameter":"n","type":"integer"}]},
  {"name":"page","type":"http","source":"api","method":"GET","path":"/x"}]}`

const withSources = `{"sources":[{"name":"db","type":"postgres","host":"h","database":"d","user":"u","password":"hunter2"},
  {"name":"api","type":"http","baseUrl":"https://h","timeout":"30s"}]}`

func TestToolsOfATypeAreCallsWithTheirTool(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", typed)
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			if e.Attempt == 1 {
				return down(e)
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "page", Source: query.SourceUI})
		require.Equal(t, "pending", match.Call.State)
		w.Keeper.Wake("clinic")
		w.Rest()
		require.Len(t, w.Calls.Attempts, 2)
		for _, attempt := range w.Calls.Attempts {
			require.Equal(t, effect.KindCall, attempt.Kind)
			require.Equal(t, "/x", attempt.Call.Tool.Path, "the later attempt has it out of the ledger")
		}
	})
}

func TestStatementsFailWithoutADeliverer(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.App("clinic", withSources)
		w.Put("", "desk", typed)
		match := w.Fire(trigger.Direct{SessionID: "s1", Name: "rows", Source: query.SourceUI})
		require.Equal(t, "failed", match.Call.State)
		require.Equal(t, "this service runs no statements", match.Call.Error)
		attempts, _ := w.Calls.Count()
		require.Zero(t, attempts)
	})
}
