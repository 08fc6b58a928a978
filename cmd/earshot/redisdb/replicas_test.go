package redisdb

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/certfiles"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

func TestProgramsOfBeforeAreFoundByTheirConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	client, err := Open(server.URL(), certfiles.Files{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	db, known := &keyspace.DB{UniversalClient: client}, format.Known(format.Steps())
	older := func(below int) []string {
		hosts, err := Older(t.Context(), db, below)
		require.NoError(t, err)
		return hosts
	}
	for _, name := range []string{"", "other", "earshot-requests", "my-earshot"} {
		require.NoError(t, server.Connect(redis.UniversalOptions{ClientName: name}).Ping(t.Context()).Err())
	}
	require.Empty(t, older(known), "this one knows it, and others are none of ours")
	require.Equal(t, []string{"127.0.0.1"}, older(known+1), "this one itself would be in the way of those after it")

	first := server.Connect(redis.UniversalOptions{ClientName: "earshot"}) // as it was before formats were counted
	require.NoError(t, first.Ping(t.Context()).Err())
	require.Equal(t, []string{"127.0.0.1"}, older(2))
	require.NoError(t, first.Close())
	require.Eventually(t, func() bool { return len(older(known)) == 0 }, time.Minute, 10*time.Millisecond)

	require.NoError(t, client.Do(t.Context(), "ACL", "SETUSER", "default", "-client|list").Err())
	_, err = Older(t.Context(), db, known)
	require.ErrorContains(t, err, "CLIENT LIST, which its user has to be allowed")
}
