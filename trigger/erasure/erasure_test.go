package erasure_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/enginetest"
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

// readsOf counts the reads of a list.
func readsOf(key string, count *atomic.Int32) enginetest.Hook {
	return enginetest.Hook{Command: func(ctx context.Context, cmd redis.Cmder, next redis.ProcessHook) error {
		if args := cmd.Args(); cmd.Name() == "lrange" && args[1] == key {
			count.Add(1)
		}
		return next(ctx, cmd)
	}}
}

// TestErasureWaitsWhileAnotherReplicaPublishes has an outbox whose lease ends later: until then nothing of it
// is removed, and Redis is asked at most every 10 ms.
func TestErasureWaitsWhileAnotherReplicaPublishes(t *testing.T) {
	t.Parallel()
	client, k, box := redistest.Run(t).Client(), keyspace.KeysOf("clinic"), keyspace.Box("s1", "")
	var reads atomic.Int32
	client.AddHook(readsOf(k.Outbox(box), &reads))
	db := &keyspace.DB{UniversalClient: client}
	sealer := testbed.Got(store.NewSealer([]byte(strings.Repeat("k", store.KeySize))))(t)
	definitions := store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour})
	_, err := definitions.PutApp(t.Context(), &repositories.App{ID: "clinic"})
	require.NoError(t, err)

	now := testbed.Got(client.Time(t.Context()).Result())(t)
	ends := now.Add(500 * time.Millisecond)
	require.NoError(t, client.RPush(t.Context(), k.Outbox(box), "t1.event").Err())
	require.NoError(t, client.HSet(t.Context(), k.Holders(), box, "token of another replica").Err())
	require.NoError(t, client.ZAdd(t.Context(), k.Lane(keyspace.LaneOutboxes), redis.Z{Score: float64(ends.UnixMilli()), Member: box}).Err())
	require.NoError(t, client.Set(t.Context(), k.PendingCount(), 1, 0).Err())

	e := &erasure.Eraser{Store: definitions, Ledger: ledger.New(db), Events: streams{}, Answers: streams{}}
	require.NoError(t, e.Erase(t.Context(), "clinic", "s1"))
	now = testbed.Got(client.Time(t.Context()).Result())(t)
	require.False(t, now.Before(ends.Truncate(time.Millisecond)), "the lease of the other has ended")
	require.Zero(t, client.Exists(t.Context(), k.Outbox(box), k.Holders()).Val())
	require.Equal(t, "0", client.Get(t.Context(), k.PendingCount()).Val())
	require.Less(t, reads.Load(), int32(80), "500 ms are 50 pauses of 10 ms")
}
