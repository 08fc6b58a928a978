package servers_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/servers"
)

// TestClusterReplacesAMasterThatDies: the replica takes its place with all that it had, and the dead
// one comes back as the replica.
func TestClusterReplacesAMasterThatDies(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	program, err := exec.LookPath("redis-server")
	if err != nil && os.Getenv("EARSHOT_REQUIRE_SERVERS") == "" {
		t.Skip("no redis-server on the path: install it with apt-get install redis-server, or brew install redis")
	}
	require.NoError(t, err)
	cluster, err := servers.StartCluster(t.TempDir(), program)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	require.NoError(t, cluster.Client.Set(t.Context(), "key", "value", 0).Err())
	var master, replica *servers.Node
	require.NoError(t, servers.Until(servers.ComeUp, func() bool { // not every node knows every replica yet
		master, replica, err = cluster.Shard(t.Context(), "key")
		return err == nil
	}))
	require.True(t, master.Leads(t.Context()))
	require.False(t, replica.Leads(t.Context()))
	require.NoError(t, master.Client.Do(t.Context(), "WAIT", 1, 10_000).Err())

	master.Kill()
	require.True(t, master.End().Killed)
	require.NoError(t, servers.Until(servers.ComeUp, func() bool { return replica.Leads(t.Context()) }))
	require.Error(t, replica.Client.Set(t.Context(), "key", "other", 0).Err(), "it does not write alone")
	require.NoError(t, master.Up())
	require.NoError(t, cluster.Whole())
	require.False(t, master.Leads(t.Context()))
	require.Eventually(t, func() bool {
		return cluster.Client.Get(t.Context(), "key").Val() == "value" && cluster.Client.Set(t.Context(), "key", "new", 0).Err() == nil
	}, time.Minute, 10*time.Millisecond)
}
