package pendingcalls_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/trigger/pendingcalls"
)

// TestWhatIsNotOnReplicasIsRefused stops the replica of Redis that has to have a call, and what is
// given to it, before its client is told of it.
func TestWhatIsNotOnReplicasIsRefused(t *testing.T) {
	t.Parallel()
	master := redistest.Run(t, "--repl-diskless-sync-delay", "0")
	replica := redistest.RunReplica(t, master)
	calls := func(timeout time.Duration) *pendingcalls.Calls {
		return pendingcalls.New(&keyspace.DB{UniversalClient: master.Client(), Replicas: keyspace.Replicas{Count: 1, Timeout: timeout}}, time.Hour, time.Now)
	}
	hasty, patient := calls(time.Millisecond), calls(time.Second)
	require.NoError(t, master.Client().HSet(t.Context(), keyspace.KeysOf("clinic").App(), "rev", "r1").Err())
	scope, lacks := repositories.Scope{AppID: "clinic", SessionID: "s1"}, pendingcalls.Call{Name: "book", Missing: []string{"day", "desk"}}
	give := func(c *pendingcalls.Call) { c.AddValues(map[string]any{"day": "monday"}) }
	end := func(c *pendingcalls.Call) { c.Cancelled = true }
	require.NoError(t, patient.Begin(t.Context(), scope, "t0", lacks))

	replica.Stop()
	for range 2 { // the second time it finds what the first has left
		require.ErrorIs(t, hasty.Begin(t.Context(), scope, "t1", lacks), keyspace.ErrReplicas)
		_, err := hasty.Change(t.Context(), scope, "t1", give)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
		_, err = hasty.Change(t.Context(), scope, "t0", end)
		require.ErrorIs(t, err, keyspace.ErrReplicas)
	}
	replica.Start()
	require.Eventually(t, func() bool { return patient.Begin(t.Context(), scope, "t1", lacks) == nil }, time.Minute, 10*time.Millisecond)
	call, err := patient.Change(t.Context(), scope, "t1", give)
	require.NoError(t, err)
	require.Equal(t, []string{"desk"}, call.Missing, "it is one call, as it was left")
	call = testbed.Got(patient.Change(t.Context(), scope, "t0", end))(t)
	require.True(t, call.Ended())
}

// TestWhatHasAllItsValuesIsNotCancelled: the request with the last value fires the call, so no other may report
// before that it was cancelled.
func TestWhatHasAllItsValuesIsNotCancelled(t *testing.T) {
	t.Parallel()
	redis := redistest.Run(t).Client()
	require.NoError(t, redis.HSet(t.Context(), keyspace.KeysOf("clinic").App(), "rev", "r1").Err())
	calls := pendingcalls.New(&keyspace.DB{UniversalClient: redis}, time.Hour, time.Now)
	scope := repositories.Scope{AppID: "clinic"}
	change := func(id string, how func(*pendingcalls.Call)) pendingcalls.Call {
		_, err := calls.Change(t.Context(), scope, id, how)
		require.NoError(t, err)
		call := testbed.Got(calls.Get(t.Context(), scope, id))(t)
		return call
	}
	give := func(c *pendingcalls.Call) { c.AddValues(map[string]any{"day": "monday"}) }
	end := func(c *pendingcalls.Call) { c.Cancelled = true }
	for _, id := range []string{"given", "cancelled"} {
		require.NoError(t, calls.Begin(t.Context(), scope, id, pendingcalls.Call{Name: "book", Missing: []string{"day"}}))
	}
	require.Empty(t, change("given", give).Missing)
	waiting, err := calls.Waiting(t.Context(), scope)
	require.NoError(t, err)
	require.Len(t, waiting, 1, "the other has all its values")
	require.Equal(t, "cancelled", waiting[0].ID)
	require.WithinDuration(t, time.Now().Add(pendingcalls.TTL), waiting[0].Ends, time.Minute)
	require.False(t, change("given", end).Ended())
	require.True(t, change("given", func(c *pendingcalls.Call) { c.Failed = "its tool is gone" }).Ended(), "it may turn out that it cannot be fired")

	require.True(t, change("cancelled", end).Cancelled)
	waiting = testbed.Got(calls.Waiting(t.Context(), scope))(t)
	require.Empty(t, waiting)
	require.Equal(t, []string{"day"}, change("cancelled", give).Missing, "what is over takes no values")
}
