package delivery_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
)

// dueNow makes a pending call due, and ends the wait for an answer.
func (w *world) dueNow(id string) {
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	if client.HExists(context.Background(), keys.Effect(id), "wait").Val() {
		client.HSet(context.Background(), keys.Effect(id), "wait", 0)
	}
	client.ZAdd(context.Background(), keys.Lane(keyspace.LaneCalls), redis.Z{Score: 0, Member: id})
	client.ZAdd(context.Background(), keys.Due(), redis.Z{Score: 0, Member: "calls/clinic"})
	w.Keeper.Wake("clinic")
}

// TestNothingOfADeletedAppIsCalled deletes an app whose call and whose question wait for another attempt, and
// creates another one with its id.
func TestNothingOfADeletedAppIsCalled(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Put("s1", "desk", `{"tools":[{"name":"ring","url":"https://example.org/ring","request":{"auth":"basic","basic":{"username":"u","password":"p"}}},
			{"name":"ask","answer":{"within":"10m"},"request":{"timeout":"1ms"}}]}`)
		var tries atomic.Int64
		w.Calls.Answer(func(effect.Effect) effect.Outcome {
			tries.Add(1)
			return effect.Outcome{Verdict: effect.Retry, Status: 503, After: time.Hour}
		})
		ids := []string{w.Say("m1", "ring").Matches[0].TriggerID, w.Say("m2", "ask").Matches[0].TriggerID}
		w.Flushed()
		require.NoError(t, w.Store.DeleteApp(t.Context(), "clinic"))
		w.App("clinic", `{"name":"somebody else's"}`)
		for _, id := range ids {
			w.dueNow(id + "." + effect.PartCall)
		}
		w.Rest()
		require.EqualValues(t, 1, tries.Load())
		require.Empty(t, w.Events.Payloads("tool.result.clinic.s1.ring"))
		require.Empty(t, w.Events.Payloads("tool.result.clinic.s1.ask"))
		for _, key := range w.Server.Keys() {
			require.False(t, strings.Contains(key, ":effect:"), key)
		}
	})
}
