package delivery_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// dueNow makes a pending call due, and ends the wait for an answer.
func (w *world) dueNow(id string) {
	client, keys := w.Server.Client(), keyspace.KeysOf("clinic")
	if client.HExists(context.Background(), keys.Effect(id), "wait").Val() {
		client.HSet(context.Background(), keys.Effect(id), "wait", 0)
	}
	w.Lapse(keyspace.LaneCalls, id)
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

// TestNothingBeginsInAnAppThatIsBeingDeleted posts to new sessions while the sessions of an app are closed, and creates
// another one with its id.
func TestNothingBeginsInAnAppThatIsBeingDeleted(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const ring = `{"tools":[{"name":"ring","url":"https://example.org/ring"}]}`
		w.Put("", "desk", ring)
		for n := range 40 {
			_, err := w.SayOn(w.Engine, fmt.Sprint("old", n), "m", "ring")
			require.NoError(t, err)
		}
		deleted, posted := make(chan error, 1), 0
		go func() { deleted <- w.Store.DeleteApp(context.Background(), "clinic") }()
		for done := false; !done; posted++ {
			if _, err := w.SayOn(w.Engine, fmt.Sprint("new", posted), "m", "ring"); err != nil {
				require.ErrorIs(t, err, repositories.ErrNotFound)
			}
			select {
			case err := <-deleted:
				require.NoError(t, err)
				done = true
			default:
			}
		}
		w.App("clinic", `{"name":"somebody else's"}`)
		w.Put("", "desk", ring)
		w.Rest()
		for n := range posted {
			require.Empty(t, w.History(fmt.Sprint("new", n)))
		}
		require.Empty(t, w.Triggers(query.Triggers{}))
	})
}
