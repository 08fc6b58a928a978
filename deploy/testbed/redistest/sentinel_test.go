package redistest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
)

func TestFailoverPromotesTheReplica(t *testing.T) {
	t.Parallel()
	sentinel := redistest.RunSentinel(t)
	client := sentinel.Client()
	require.NoError(t, client.Set(t.Context(), "key", "value", 0).Err())
	sentinel.Replicate()
	before := sentinel.Master().Addr()

	sentinel.Failover()
	require.NotEqual(t, before, sentinel.Master().Addr())
	require.Equal(t, "value", sentinel.Client().Get(t.Context(), "key").Val())
	require.NoError(t, sentinel.Client().Set(t.Context(), "key", "value", 0).Err(), "it is written to the master")
	require.Contains(t, sentinel.Master().Client().Info(t.Context(), "replication").Val(), "role:master")
}
