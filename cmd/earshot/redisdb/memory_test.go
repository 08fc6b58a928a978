package redisdb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/redisdb"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

func TestMemoryIsThatWhichCountsTowardsTheLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client := server.Client()
	db := &keyspace.DB{UniversalClient: client}
	used, limit, err := redisdb.Memory(t.Context(), db)
	require.NoError(t, err)
	require.Positive(t, used)
	require.Zero(t, limit, "nothing bounds it")

	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "256mb").Err())
	require.NoError(t, client.Set(t.Context(), "large", make([]byte, 10<<20), 0).Err())
	more, limit, err := redisdb.Memory(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, int64(256<<20), limit)
	require.Greater(t, more, used+10<<20)
	require.Less(t, more, int64(64<<20))

	server.Kill()
	_, _, err = redisdb.Memory(t.Context(), db)
	require.ErrorIs(t, err, keyspace.ErrUnavailable)
}

// TestMemoryOfAClusterIsThatOfItsFullestMaster fills one of several.
func TestMemoryOfAClusterIsThatOfItsFullestMaster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	client := redistest.RunCluster(t).Client()
	db := &keyspace.DB{UniversalClient: client}
	before, _, err := redisdb.Memory(t.Context(), db)
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "large", make([]byte, 10<<20), 0).Err())
	after, _, err := redisdb.Memory(t.Context(), db)
	require.NoError(t, err)
	require.Greater(t, after, before+9<<20)
}

func TestAStoreThatDoesNotSayWhatItHoldsIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	_, _, err := redisdb.Memory(t.Context(), &keyspace.DB{UniversalClient: redistest.Mini(t).Client(), Embedded: true})
	require.Error(t, err)
}
