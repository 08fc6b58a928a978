package redisdb

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/certfiles"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

func TestProgramsOfBeforeAreFoundByTheirConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client := testbed.Got(Open(server.URL(), certfiles.Files{}))(t)
	t.Cleanup(func() { _ = client.Close() })
	db, known := &keyspace.DB{UniversalClient: client}, format.Known(format.Steps())
	older := func(below int) []string {
		return testbed.Got(Older(t.Context(), db, below))(t)
	}
	for _, name := range []string{"", "other", "earshot-requests", "my-earshot"} {
		require.NoError(t, server.Connect(redis.UniversalOptions{ClientName: name}).Ping(t.Context()).Err())
	}
	require.Empty(t, older(known), "this one knows it, and others are none of ours")
	require.Equal(t, []string{"127.0.0.1"}, older(known+1), "this one itself would be in the way of those after it")

	first := server.Connect(redis.UniversalOptions{ClientName: "earshot"}) // before formats were counted
	require.NoError(t, first.Ping(t.Context()).Err())
	require.Equal(t, []string{"127.0.0.1"}, older(2))
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return len(older(known)) == 0 }, time.Minute, 10*time.Millisecond)

	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-client|list").Err())
	_, err := Older(t.Context(), db, known)
	require.ErrorContains(t, err, "CLIENT LIST, which needs a permission of the Redis user")
}

func TestMemoryIsThatWhichCountsTowardsTheLimit(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client := server.Client()
	db := &keyspace.DB{UniversalClient: client}
	used, limit, err := Memory(t.Context(), db)
	require.NoError(t, err)
	require.Positive(t, used)
	require.Zero(t, limit, "nothing bounds it")

	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "256mb").Err())
	require.NoError(t, client.Set(t.Context(), "large", make([]byte, 10<<20), 0).Err())
	more, limit, err := Memory(t.Context(), db)
	require.NoError(t, err)
	require.Equal(t, int64(256<<20), limit)
	require.Greater(t, more, used+10<<20)
	require.Less(t, more, int64(64<<20))

	server.Kill()
	_, _, err = Memory(t.Context(), db)
	require.ErrorIs(t, err, keyspace.ErrUnavailable)
}

// TestMemoryOfAClusterIsThatOfItsFullestMaster fills one of several masters.
func TestMemoryOfAClusterIsThatOfItsFullestMaster(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	client := redistest.RunCluster(t).Client()
	db := &keyspace.DB{UniversalClient: client}
	before, _, err := Memory(t.Context(), db)
	require.NoError(t, err)
	require.NoError(t, client.Set(t.Context(), "large", make([]byte, 10<<20), 0).Err())
	after, _, err := Memory(t.Context(), db)
	require.NoError(t, err)
	require.Greater(t, after, before+9<<20)
}

func TestAStoreThatDoesNotSayWhatItHoldsIsNotAnEmptyOne(t *testing.T) {
	t.Parallel()
	_, _, err := Memory(t.Context(), &keyspace.DB{UniversalClient: redistest.Mini(t).Client(), Embedded: true})
	require.Error(t, err)
}
