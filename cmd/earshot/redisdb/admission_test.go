package redisdb

import (
	"context"
	"log/slog"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

// TestARedisThatIsAwayIsALineUntilItIsThere starts Redis in the third pause.
func TestARedisThatIsAwayIsALineUntilItIsThere(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	server.Stop()
	out, pauses := &testbed.Lines{}, 0
	gate := NewGate(server.Client())
	require.NoError(t, Admission{
		URL: server.URL(), Log: slog.New(slog.NewTextHandler(out, nil)),
		Also: func(context.Context, *keyspace.DB) error { return nil },
		Pause: func(context.Context, time.Duration) error {
			if pauses++; pauses == 3 {
				server.Start()
			}
			return nil
		},
	}.Open(t.Context(), gate))
	require.True(t, gate.Await(t.Context()))
	require.Equal(t, 3, pauses)
	require.Len(t, regexp.MustCompile(`level=WARN msg=redis.unavailable .*`+regexp.QuoteMeta(server.Addr())).FindAllString(out.String(), -1), 1, out.String())
	require.Contains(t, out.String(), "level=INFO msg=redis.available held=2")
}

func TestWarningsNameTheServerThatTheyAreOf(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	t.Parallel()
	cluster := redistest.RunCluster(t)
	out := &testbed.Lines{}
	for _, node := range cluster.Nodes {
		require.NoError(t, node.Client().ConfigSet(t.Context(), "appendonly", "no").Err())
	}
	require.NoError(t, Admission{
		URL: cluster.URL(), Replicas: 1, Log: slog.New(slog.NewTextHandler(out, nil)),
		Also: func(context.Context, *keyspace.DB) error { return nil },
	}.Open(t.Context(), NewGate(cluster.Client())))
	for _, node := range cluster.Nodes {
		require.Contains(t, out.String(), "msg=redis.volatile server="+node.Addr())
		require.Contains(t, out.String(), "msg=redis.replicas server="+node.Addr())
	}
}
