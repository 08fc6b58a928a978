package redistest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
)

func TestServerKeepsItsDataOverStopAndStart(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client()
		require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())
		addr := server.Addr()

		server.Stop()
		require.Error(t, server.Connect(redis.UniversalOptions{MaxRetries: -1}).Ping(t.Context()).Err())
		server.Stop()

		server.Start()
		require.Equal(t, addr, server.Addr())
		require.Equal(t, "value", client.Get(t.Context(), "key").Val())
	})
}

func TestServerKeepsWhatItAnsweredWhenKilled(t *testing.T) {
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		client := server.Client()
		for range 1000 {
			require.NoError(t, client.Incr(t.Context(), "count").Err())
		}
		server.Kill()
		server.Kill()
		server.Start()
		require.Equal(t, "1000", client.Get(t.Context(), "count").Val())
	})
}

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

func fails(t *testing.T, arguments ...string) string {
	t.Helper()
	err := testbed.Run(t.Context(), t.TempDir(), func(rig *testbed.Rig) error {
		redistest.Run(rig, arguments...)
		return nil
	})
	require.Error(t, err)
	return err.Error()
}

func TestServerThatCannotBeStartedSaysWhy(t *testing.T) {
	said := fails(t, "--no-such-option", "1")
	require.Contains(t, said, "redis: it has ended")
	require.Contains(t, said, "no-such-option")
	t.Setenv("EARSHOT_REDIS_SERVER", "/nowhere/redis-server")
	said = fails(t)
	require.Contains(t, said, "install it")
	require.Contains(t, said, "EARSHOT_REDIS_SERVER")
}

func TestMain(m *testing.M) { redistest.Main(m) }

func TestClusterSpreadsKeysOverItsMasters(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t)
	client := cluster.Client()
	for i := range 100 {
		require.NoError(t, client.Set(t.Context(), fmt.Sprint("key", i), i, 0).Err())
	}
	for i := range 100 {
		key := fmt.Sprint("key", i)
		there := redis.NewClient(&redis.Options{Addr: cluster.Holding(key).Addr()})
		require.Equal(t, fmt.Sprint(i), there.Get(t.Context(), key).Val(), "it is on the node that is said to hold it")
		require.NoError(t, there.Close())
	}
	for _, node := range cluster.Nodes {
		require.NotZero(t, node.Client().DBSize(t.Context()).Val())
	}
}

func TestMasterOfAClusterCanBeKilledAndStarted(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t, "--cluster-require-full-coverage", "no")
	client := cluster.Client()
	require.NoError(t, client.Set(t.Context(), "a", 1, 0).Err())
	require.NoError(t, client.Set(t.Context(), "b", 1, 0).Err())
	there := cluster.Holding("a")
	require.NotSame(t, there, cluster.Holding("b"))

	there.Kill()
	require.Error(t, client.Get(t.Context(), "a").Err())
	require.NoError(t, client.Get(t.Context(), "b").Err())
	there.Start()
	require.Eventually(t, func() bool { return client.Get(t.Context(), "a").Val() == "1" }, time.Minute, 5*time.Millisecond)
}

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

func TestFailoverPromotesTheReplica(t *testing.T) {
	t.Parallel()
	sentinel := redistest.RunSentinel(t)
	require.NoError(t, sentinel.Client().Set(t.Context(), "key", "value", 0).Err())
	sentinel.Replicate()
	before := sentinel.Master().Addr()

	sentinel.Failover()
	require.NotEqual(t, before, sentinel.Master().Addr())
	require.Equal(t, "value", sentinel.Client().Get(t.Context(), "key").Val())
	require.NoError(t, sentinel.Client().Set(t.Context(), "key", "value", 0).Err(), "it is written to the master")
	require.Contains(t, sentinel.Master().Client().Info(t.Context(), "replication").Val(), "role:master")
}
