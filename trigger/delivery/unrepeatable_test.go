package delivery_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

const payment = `{"tools":[{"name":"pay","url":"http://x.example","request":{"idempotent":false}}]}`

// TestUnrepeatableCallEndsWithItsReplica ends the lease of an attempt in progress: of a
// first one, and of one after a refused connection.
func TestUnrepeatableCallEndsWithItsReplica(t *testing.T) {
	for name, refused := range map[string]int64{"the first attempt": 0, "a later attempt": 2} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, w *world) {
				_, other := w.Replica()
				w.Run(other)
				w.Put("s1", "shop", payment)
				var tries atomic.Int64
				frozen, goOn := make(chan string, 1), make(chan struct{})
				w.Calls.Answer(func(e effect.Effect) effect.Outcome {
					switch n := tries.Add(1); {
					case n <= refused:
						return effect.Outcome{Verdict: effect.Retry, Reason: effect.ReasonRequest, Error: "connection refused"}
					case n == refused+1:
						frozen <- e.ID
						<-goOn
					}
					return effect.Outcome{Verdict: effect.Done, Status: 200}
				})
				w.saying("m1", "pay")
				w.Lapse(keyspace.LaneCalls, <-frozen)
				record := w.untilOne(query.StateFailed)
				require.Equal(t, effect.ReasonUnknown, record.Call.Reason)
				require.EqualValues(t, refused+1, record.Call.Attempts)
				w.Until("its result is told", func() bool { return len(w.Events.Payloads("tool.result.clinic.s1.pay")) == 1 })
				require.Equal(t, "outcome_unknown", w.Events.Payloads("tool.result.clinic.s1.pay")[0]["reason"])
				close(goOn) // the replica comes back, and has lost its lease
				w.Rest()
				require.EqualValues(t, refused+1, tries.Load())

				require.NoError(t, w.Engine.Retry(t.Context(), "clinic", record.TriggerID, "admin"))
				w.Rest()
				require.EqualValues(t, refused+2, tries.Load(), "a person may")
				record = w.Trigger(record.TriggerID)
				require.Equal(t, "delivered", record.State)
			})
		})
	}
}

// TestUnrepeatableCallIsNotRepeatedAfterAPanic has an adapter fail in the midst.
func TestUnrepeatableCallIsNotRepeatedAfterAPanic(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "shop", payment)
		w.Calls.Answer(func(effect.Effect) effect.Outcome { panic("in the midst of it") })
		answer := w.Say("m1", "pay")
		require.Equal(t, "failed", answer.Matches[0].Call.State)
		require.Equal(t, effect.ReasonUnknown, answer.Matches[0].Call.Reason)
	})
}
