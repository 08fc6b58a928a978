package redistest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

func TestEveryTestFindsItsStoreEmpty(t *testing.T) {
	for range 2 {
		redistest.Each(t, func(t *testing.T, server *redistest.Server) {
			client := server.Client()
			for i := range 30 {
				require.True(t, client.SetNX(t.Context(), fmt.Sprint("key", i), "value", 0).Val(), "key%d is new", i)
			}
		})
	}
}

func TestRealServerIsAsEarshotAsksForIt(t *testing.T) {
	client := redistest.Run(t).Client()
	for name, want := range map[string]string{
		"appendonly": "yes", "appendfsync": "no", "maxmemory-policy": "noeviction", "save": "", "bind": "127.0.0.1",
	} {
		require.Equal(t, map[string]string{name: want}, client.ConfigGet(t.Context(), name).Val())
	}
}

func TestMain(m *testing.M) { redistest.Main(m) }

// TestReplicaTakesThePlaceOfAMasterThatDies: it has all data of the master, which comes back as the replica.
func TestReplicaTakesThePlaceOfAMasterThatDies(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	t.Parallel()
	cluster := redistest.RunReplicated(t)
	client := cluster.Client()
	require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())
	var master, replica *redistest.Server
	require.Eventually(t, func() (found bool) { // not every node knows every replica yet
		var err error
		master, replica, err = cluster.Shard(t.Context(), client, "key")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.Same(t, cluster.Holding("key"), master)
	require.True(t, master.Leads(t.Context()))
	require.False(t, replica.Leads(t.Context()))
	require.NoError(t, master.Client().Do(t.Context(), "WAIT", 1, 10_000).Err())

	master.Kill()
	require.True(t, master.Process().End().Killed)
	require.Eventually(t, func() bool { return replica.Leads(t.Context()) }, time.Minute, 10*time.Millisecond)
	require.Error(t, replica.Client().Set(t.Context(), "key", "other", 0).Err(), "it does not write alone")
	master.Start()
	require.NoError(t, cluster.Whole())
	require.False(t, master.Leads(t.Context()))
	require.Eventually(t, func() bool {
		return client.Get(t.Context(), "key").Val() == "value" && client.Set(t.Context(), "key", "new", 0).Err() == nil
	}, time.Minute, 10*time.Millisecond)
}
