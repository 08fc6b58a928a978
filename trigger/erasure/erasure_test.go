package erasure_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/erasure"
	"earshot/trigger/ledger"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// streams are empty streams of NATS.
type streams struct{}

func (streams) TriggersOf(context.Context, string, string) ([]string, error) { return nil, nil }
func (streams) Erase(context.Context, string, string) error                  { return nil }
func (streams) Forget(context.Context, string, []string) error               { return nil }

func (streams) Stored(context.Context, string, string, func(effect.Published) error) error {
	return nil
}

// reads counts the reads of a list.
type reads struct {
	key   string
	count atomic.Int32
}

func (*reads) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (*reads) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *reads) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); cmd.Name() == "lrange" && args[1] == r.key {
			r.count.Add(1)
		}
		return next(ctx, cmd)
	}
}

// TestErasureWaitsWhileAnotherReplicaPublishes has an outbox whose lease ends later: until then nothing of it
// is removed, and Redis is asked at most every 10 ms.
func TestErasureWaitsWhileAnotherReplicaPublishes(t *testing.T) {
	t.Parallel()
	client, k, box := redistest.Run(t).Client(), keyspace.KeysOf("clinic"), keyspace.Box("s1", "")
	read := &reads{key: k.Outbox(box)}
	client.AddHook(read)
	db := &keyspace.DB{UniversalClient: client}
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	definitions := store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	_, err = definitions.PutApp(t.Context(), &repositories.App{ID: "clinic"})
	require.NoError(t, err)

	now, err := client.Time(t.Context()).Result()
	require.NoError(t, err)
	ends := now.Add(500 * time.Millisecond)
	require.NoError(t, client.RPush(t.Context(), k.Outbox(box), "t1.event").Err())
	require.NoError(t, client.HSet(t.Context(), k.Holders(), box, "token of another replica").Err())
	require.NoError(t, client.ZAdd(t.Context(), k.Lane(keyspace.LaneOutboxes), redis.Z{Score: float64(ends.UnixMilli()), Member: box}).Err())
	require.NoError(t, client.Set(t.Context(), k.PendingCount(), 1, 0).Err())

	e := &erasure.Eraser{Store: definitions, Ledger: ledger.New(db), Events: streams{}, Answers: streams{}}
	require.NoError(t, e.Erase(t.Context(), "clinic", "s1"))
	now, err = client.Time(t.Context()).Result()
	require.NoError(t, err)
	require.False(t, now.Before(ends.Truncate(time.Millisecond)), "the lease of the other has ended")
	require.Zero(t, client.Exists(t.Context(), k.Outbox(box), k.Holders()).Val())
	require.Equal(t, "0", client.Get(t.Context(), k.PendingCount()).Val())
	require.Less(t, read.count.Load(), int32(80), "500 ms are 50 pauses of 10 ms")
}
