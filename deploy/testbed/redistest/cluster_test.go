package redistest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

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
