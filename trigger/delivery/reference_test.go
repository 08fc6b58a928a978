package delivery_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger"
	"earshot/trigger/effect"
)

// TestARebuiltEventIsTheSame has events fail at first, in their planned form, and succeed later,
// rebuilt from the record.
func TestARebuiltEventIsTheSame(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("", "r", `{"tools":[
			{"name":"a","description":"An \"A\"","emitter":"desk.a","schema":[{"parameter":"n","type":"number"},{"parameter":"day","type":"string","description":"wished day"}]},
			{"name":"b","settle":"1ms"},
			{"name":"c","answer":{"within":"1h"}},
			{"name":"d","url":"http://desk.example/d"}]}`)
		const traced = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
		var mu sync.Mutex
		tried := map[string][]effect.Effect{}
		w.Events.Answer(func(e effect.Effect) effect.Outcome {
			mu.Lock()
			defer mu.Unlock()
			tried[e.ID] = append(tried[e.ID], e)
			if len(tried[e.ID]) == 1 {
				return effect.Outcome{Verdict: effect.Retry, Error: "NATS is not connected"}
			}
			return effect.Outcome{Verdict: effect.Done}
		})
		for session, text := range map[string]string{ // each in a session of its own, so that none waits for another
			"s1": `a {"n":12345678901234567890.50,"day":"Friday, \u00fc <b>"}`, "s2": `b {}`, "s3": `c {}`,
		} {
			_, err := w.SayOn(w.Engine, session, "m", text)
			require.NoError(t, err)
		}
		w.Fire(trigger.Direct{AppID: "clinic", SessionID: "s4", Name: "a", Values: map[string]any{"n": 1}, Source: "ui", Metadata: repositories.Metadata(`{"who":"desk"}`)})
		w.Fire(trigger.Direct{SessionID: "s5", Name: "d", TraceParent: traced})
		w.Until("all is published", func() bool {
			_, taken := w.Events.Count()
			return taken >= 8 && w.Server.Client().Get(t.Context(), keyspace.KeysOf("clinic").PendingCount()).Val() <= "1"
		})
		mu.Lock()
		defer mu.Unlock()
		require.GreaterOrEqual(t, len(tried), 8)
		again := 0
		for id, list := range tried {
			if list[0].SessionID == "s5" {
				require.Equal(t, traced, list[len(list)-1].TraceParent, id)
			}
			for _, later := range list[1:] {
				again++
				require.Equal(t, list[0].Event, later.Event, id)
				require.Equal(t, list[0].TraceParent, later.TraceParent, id)
			}
		}
		require.Positive(t, again)
	})
}

// TestAnEventWithoutARecordBlocksNoOther removes a record while its event is pending, which no part of
// Earshot does.
func TestAnEventWithoutARecordBlocksNoOther(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "r", `{"tools":[{"name":"a"}]}`)
		w.Events.Answer(func(effect.Effect) effect.Outcome {
			return effect.Outcome{Verdict: effect.Retry, Error: "NATS is not connected"}
		})
		first, second := w.One("m1", "a"), w.One("m2", "a")
		require.NoError(t, w.Server.Client().Del(t.Context(), keyspace.KeysOf("clinic").Trigger(first.TriggerID)).Err())
		w.Events.Answer(nil)
		w.UntilState(second.TriggerID, "delivered")
		w.Rest()
	})
}
