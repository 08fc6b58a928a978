package delivery_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// TestAnUnendedAttemptIsInTheRecord ends the leases of two attempts in progress, whose replicas
// the ledger then considers dead. The endpoint has seen three attempts, and the record lists three.
func TestAnUnendedAttemptIsInTheRecord(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, other := w.Replica()
		w.Run(other)
		w.Put("s1", "desk", `{"tools":[{"name":"ring","url":"https://example.org/ring"}]}`)
		var tries atomic.Int64
		frozen, goOn := make(chan string, 2), make(chan struct{})
		w.Calls.Answer(func(e effect.Effect) effect.Outcome {
			if tries.Add(1) <= 2 {
				frozen <- e.ID
				<-goOn
			}
			return effect.Outcome{Verdict: effect.Done, Status: 200}
		})
		w.saying("m1", "ring")
		for range 2 {
			w.Lapse(keyspace.LaneCalls, <-frozen)
		}
		record := w.untilOne(query.StateDelivered)
		close(goOn)
		calls := attemptsAt(record, "call")
		require.Len(t, calls, 3)
		for i, one := range calls {
			require.Equal(t, i+1, one.Number)
			require.Equal(t, i < 2, one.Unended)
			require.WithinDuration(t, time.Now(), one.Time, 10*time.Minute)
		}
		require.Contains(t, calls[0].Error, "whether it was sent is not known")
		require.Empty(t, calls[2].Error)
		require.Equal(t, 3, record.Call.Attempts)
		w.Rest()
		again := w.Trigger(record.TriggerID)
		require.Len(t, attemptsAt(again, "call"), 3, "who comes back has lost the lease")
	})
}
