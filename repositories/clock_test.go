package repositories_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/redistest"
)

func TestClockIsTheServers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server *redistest.Server) {
		db := &repositories.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		pipe := db.Pipeline()
		clocks := db.Clocks(t.Context(), pipe)
		var read []repositories.Clock
		for _, key := range repositories.AllDue() {
			read = append(read, clocks(key))
		}
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
	away := cluster.Holding(repositories.KeysOf("clinic").Due())
	db := &repositories.DB{UniversalClient: cluster.Client()}
	held := map[string]bool{}
	for _, key := range repositories.AllDue() {
		held[key] = cluster.Holding(key) == away
	}
	require.NoError(t, repositories.NewStore(db, repositories.StoreOptions{}).Ping(t.Context()))

	away.Kill()
	pipe := db.Pipeline()
	clocks, read := db.Clocks(t.Context(), pipe), map[string]repositories.Clock{}
	for key := range held {
		read[key] = clocks(key)
	}
	_, err := pipe.Exec(t.Context())
	require.Error(t, err)
	for key, gone := range held {
		_, err := read[key].Read()
		require.Equal(t, gone, err != nil, key)
		if gone {
			require.ErrorIs(t, err, repositories.ErrUnavailable)
		}
	}
	require.ErrorIs(t, repositories.NewStore(db, repositories.StoreOptions{}).Ping(t.Context()), repositories.ErrUnavailable)
}
