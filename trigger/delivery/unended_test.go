package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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
		go func() { _, _ = w.TrySay("m1", "ring") }()
		for range 2 {
			w.lapsed(<-frozen)
		}
		var record query.Record
		w.Until("it is delivered", func() bool {
			records, _, err := w.Engine.Triggers(context.Background(), query.Triggers{AppID: "clinic", State: query.StateDelivered, Page: query.Page{Limit: 1}})
			if err == nil && len(records) == 1 {
				record = records[0]
			}
			return err == nil && len(records) == 1
		})
		close(goOn)
		calls := callsOf(record)
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
		require.Len(t, callsOf(again), 3, "who comes back has lost the lease")
	})
}

// callsOf returns the attempts at the call of a record.
func callsOf(record query.Record) (calls []query.Attempt) {
	for _, one := range record.Attempts {
		if one.Effect == "call" {
			calls = append(calls, one)
		}
	}
	return calls
}

// lapsed ends the lease of a call now.
func (w *world) lapsed(id string) {
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	client.HSet(context.Background(), keys.Effect(id), "until", time.Now().UnixMilli()-1)
	client.ZAdd(context.Background(), keys.Lane(keyspace.LaneCalls), redis.Z{Score: 0, Member: id})
	client.ZAdd(context.Background(), keys.Due(), redis.Z{Score: 0, Member: "calls/clinic"})
	w.Keeper.Wake("clinic")
}
