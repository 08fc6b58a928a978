package keyspace_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

// shards asks all shards, within a probe's time limit.
func shards(t *testing.T, db *keyspace.DB) (away []error, names []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, one := range db.Shards(ctx) {
		names = append(names, one.Name)
		if one.Err != nil {
			require.ErrorIs(t, one.Err, keyspace.ErrUnavailable)
			away = append(away, one.Err)
		}
	}
	return away, names
}

func TestAServerIsOneShard(t *testing.T) {
	t.Parallel()
	for kind, server := range map[string]*redistest.Server{"redis": redistest.Run(t), "miniredis": redistest.Mini(t)} {
		db := &keyspace.DB{UniversalClient: server.Client(), Embedded: server.Embedded()}
		away, names := shards(t, db)
		require.Empty(t, away, kind)
		require.Equal(t, []string{""}, names, kind)
		server.Stop()
		away, _ = shards(t, db)
		require.Len(t, away, 1, kind)
	}
}

// TestAShardThatIsAwayIsToldFromTheOthers kills one master of a cluster, and then all.
func TestAShardThatIsAwayIsToldFromTheOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	t.Parallel()
	cluster := redistest.RunCluster(t)
	db := &keyspace.DB{UniversalClient: cluster.Client()}
	var names []string
	require.Eventually(t, func() bool {
		var away []error
		away, names = shards(t, db)
		return len(away) == 0 && len(names) == len(cluster.Nodes)
	}, time.Minute, 10*time.Millisecond)

	at := map[*redistest.Server]string{}
	for _, key := range keyspace.AllDue() {
		slot, err := db.ClusterKeySlot(t.Context(), key).Result()
		require.NoError(t, err)
		if node := cluster.Holding(key); at[node] == "" {
			at[node] = fmt.Sprintf("shard of slot %d", slot)
			require.Contains(t, names, at[node])
		}
	}

	cluster.Nodes[1].Kill()
	require.Eventually(t, func() bool {
		away, _ := shards(t, db)
		return len(away) == 1
	}, time.Minute, 10*time.Millisecond)
	for _, one := range db.Shards(t.Context()) {
		require.Equal(t, one.Name == at[cluster.Nodes[1]], one.Err != nil, one.Name)
		if one.Err != nil {
			require.ErrorContains(t, one.Err, cluster.Nodes[1].Addr(), "operators read where it is")
		}
	}
	cluster.Kill()
	away, _ := shards(t, db)
	require.NotEmpty(t, away)
}

func TestWhatRedisSaysOfWhyItTakesNothingIsPassedOn(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	db, operator := &keyspace.DB{UniversalClient: server.Client()}, server.Client()
	for _, c := range []struct {
		set, back   []any
		word, words string
	}{
		{[]any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, "NOREPLICAS", "NOREPLICAS Not enough good replicas to write."},
		{[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, "READONLY", "READONLY You can't write against a read only replica."},
		{[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, "OOM", "OOM command not allowed when used memory > 'maxmemory'."},
		{[]any{"ACL", "SETUSER", "default", "-eval"}, []any{"ACL", "SETUSER", "default", "+eval"}, "NOPERM", "NOPERM"},
	} {
		require.NoError(t, operator.Do(t.Context(), c.set...).Err())
		err := db.Shards(t.Context())[0].Err
		var refused *keyspace.Refusal
		require.ErrorAs(t, err, &refused, c.word)
		require.Equal(t, "answers "+c.word, refused.Public())
		require.Equal(t, c.words, refused.Detail())
		require.Equal(t, c.word == "OOM", errors.Is(err, keyspace.ErrMemory))
		require.NoError(t, operator.Do(t.Context(), c.back...).Err())
		require.NoError(t, db.Shards(t.Context())[0].Err)
	}
}

func TestAScriptWithACommandThatItsUserMayNotRunIsARefusal(t *testing.T) {
	t.Parallel()
	server := redistest.Run(t)
	db := &keyspace.DB{UniversalClient: server.Client()}
	require.NoError(t, server.Client().Do(t.Context(), "ACL", "SETUSER", "default", "-zadd").Err())
	_, err := keyspace.NewScript(`return redis.call('ZADD', KEYS[1], 1, 'a')`).Run(t.Context(), db, []string{"k"})
	require.ErrorIs(t, err, keyspace.ErrUnavailable)
	var refused *keyspace.Refusal
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "answers NOPERM", refused.Public())
}

// TestAShardThatSaysNothingIsNotWaitedFor has a node that answers later than the test ends.
func TestAShardThatSaysNothingIsNotWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster needs seconds to form")
	}
	t.Parallel()
	cluster := redistest.RunCluster(t)
	client := cluster.Connect(redis.UniversalOptions{ReadTimeout: -1, ContextTimeoutEnabled: true})
	db := &keyspace.DB{UniversalClient: client}
	require.Eventually(t, func() bool {
		away, _ := shards(t, db)
		return len(away) == 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cluster.Nodes[2].Client().ClientPause(t.Context(), time.Hour).Err())

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	away := 0
	for _, one := range db.Shards(ctx) {
		if one.Err != nil {
			away++
			require.ErrorContains(t, one.Err, cluster.Nodes[2].Addr()+": the store is not available: no answer")
		}
	}
	require.NoError(t, ctx.Err(), "it waited for the one that says nothing")
	require.Equal(t, 1, away)
}
