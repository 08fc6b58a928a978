package redisdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/certfiles"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
)

func TestCommandsWaitForTheFirstCheckOfRedisAndNoLonger(t *testing.T) {
	for name, c := range map[string]struct {
		then func(g *Gate, leave context.CancelFunc)
		want error
	}{
		"usable":         {func(g *Gate, _ context.CancelFunc) { g.Open() }, nil},
		"not to be had":  {func(g *Gate, _ context.CancelFunc) { g.Tell() }, errUnchecked},
		"it said why":    {func(g *Gate, _ context.CancelFunc) { g.Fail(errSaid) }, errSaid},
		"client is gone": {func(_ *Gate, leave context.CancelFunc) { leave() }, errUnchecked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Gate{opened: make(chan struct{}), tried: make(chan struct{})}
				one := g.ProcessHook(func(context.Context, redis.Cmder) error { return nil })
				several := g.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return nil })
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				answers := make(chan error, 2)
				go func() { answers <- one(ctx, redis.NewStatusCmd(ctx, "ping")) }()
				go func() { answers <- several(ctx, []redis.Cmder{redis.NewStatusCmd(ctx, "ping")}) }()
				synctest.Wait()
				require.Empty(t, answers, "an answer before Redis was checked")
				c.then(g, leave)
				require.ErrorIs(t, <-answers, c.want)
				require.ErrorIs(t, <-answers, c.want)
			})
		})
	}
}

var errSaid = errors.New("NOREPLICAS")

// TestSlotsOfAMasterThatDiedAreFoundWhereTheyAreNow moves the slots of a killed master. A client that reloads
// the slot map once a minute would ask the dead one.
func TestSlotsOfAMasterThatDiedAreFoundWhereTheyAreNow(t *testing.T) {
	t.Parallel()
	cluster := redistest.RunCluster(t)
	client := testbed.Got(Open(cluster.URL(), certfiles.Files{}))(t)
	t.Cleanup(func() { _ = client.Close() })
	died, heir := cluster.Nodes[0], cluster.Nodes[len(cluster.Nodes)-1] // its greater epoch prevails
	key := keyOn(cluster, died)
	require.NoError(t, client.Set(t.Context(), key, "1", 0).Err())
	slots := testbed.Got(cluster.Client().ClusterSlots(t.Context()).Result())(t)
	slots = slices.DeleteFunc(slots, func(slot redis.ClusterSlot) bool { return slot.Nodes[0].Addr != died.Addr() })
	require.NotEmpty(t, slots)

	died.Kill()
	require.Error(t, client.Set(t.Context(), key, "2", 0).Err())
	for _, own := range slots {
		require.NoError(t, heir.Client().Do(t.Context(), "CLUSTER", "DELSLOTSRANGE", own.Start, own.End).Err())
		require.NoError(t, heir.Client().ClusterAddSlotsRange(t.Context(), own.Start, own.End).Err())
	}
	require.Eventually(t, func() bool { return client.Set(t.Context(), key, "3", 0).Err() == nil }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "3", heir.Client().Get(t.Context(), key).Val())
}

func keyOn(cluster *redistest.Cluster, node *redistest.Server) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); cluster.Holding(key) == node {
			return key
		}
	}
}

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

// TestAWarningIsOneLineHoweverOftenRedisIsChecked has data that another replica converts for some time.
func TestAWarningIsOneLineHoweverOftenRedisIsChecked(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t, "--appendonly", "no")
	out, checks := &testbed.Lines{}, 0
	require.NoError(t, Admission{
		URL: server.URL(), Log: slog.New(slog.NewTextHandler(out, nil)),
		Also: func(context.Context, *keyspace.DB) error {
			if checks++; checks < 5 {
				return format.ErrWait
			}
			return nil
		},
		Pause: func(context.Context, time.Duration) error { return nil },
	}.Open(t.Context(), NewGate(server.Client())))
	require.Equal(t, 5, checks)
	require.Equal(t, 1, strings.Count(out.String(), "msg=redis.volatile"), out)
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
