package keyspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

func TestClockIsTheServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		pipe := db.Pipeline()
		clocks := db.Clocks(t.Context(), pipe)
		read := lists.Map(keyspace.AllDue(), clocks)
		before := time.Now().Add(-time.Millisecond)
		_, err := pipe.Exec(t.Context())
		require.NoError(t, err)
		for _, clock := range read {
			at, err := clock.Read()
			require.NoError(t, err)
			require.WithinRange(t, at, before, time.Now(), "this machine's clock is the servers'")
		}
	})
}

func TestClocksOfOtherNodesCanBeReadWhenOneIsAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	cluster := redistest.RunCluster(t, "--cluster-require-full-coverage", "no")
	away := cluster.Holding(keyspace.KeysOf("clinic").Due())
	db := &keyspace.DB{UniversalClient: cluster.Client()}
	held := map[string]bool{}
	for _, key := range keyspace.AllDue() {
		held[key] = cluster.Holding(key) == away
	}
	gone, _ := shards(t, db)
	require.Empty(t, gone)

	away.Kill()
	pipe := db.Pipeline()
	clocks, read := db.Clocks(t.Context(), pipe), map[string]keyspace.Clock{}
	for key := range held {
		read[key] = clocks(key)
	}
	_, err := pipe.Exec(t.Context())
	require.Error(t, err)
	for key, missing := range held {
		_, err := read[key].Read()
		require.Equal(t, missing, err != nil, key)
		if missing {
			require.ErrorIs(t, err, keyspace.ErrUnavailable)
		}
	}
	gone, _ = shards(t, db)
	require.Len(t, gone, 1)
}
