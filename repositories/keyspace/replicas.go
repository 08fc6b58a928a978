package keyspace

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/failpoint"
)

// ErrReplicas means that a write took place and is not known to be on as many replicas
// as it should be: a failover may lose it. It wraps ErrUnavailable; what was asked for
// is safe to ask for again.
var ErrReplicas = fmt.Errorf("%w: too few of its replicas have what was written", ErrUnavailable)

// Replicas says how many replicas of Redis must have acknowledged a critical write before
// it counts.
type Replicas struct {
	Count   int           // 0: the master's reply is enough
	Timeout time.Duration // how long they are waited for; below the client's read timeout
}

// moves bounds how often a script follows its slot through a cluster that is being
// laid out anew.
const moves = 3

// RunSafely is Run for what accepts and decides: it returns when enough replicas have
// all that was written up to then, in the same round trip. Its error is ErrReplicas
// where they have not in time, and the reply is there all the same.
func (s *Script) RunSafely(ctx context.Context, db *DB, keys []string, args ...any) (reply any, err error) {
	if db.Replicas.Count == 0 || failpoint.Planted(failpoint.Unwaited) {
		return s.Run(ctx, db, keys, args...)
	}
	cluster, is := db.UniversalClient.(*redis.ClusterClient)
	if !is {
		reply, err = s.runOn(ctx, db, db.Replicas, keys, args)
		return reply, Unavailable(err)
	}
	for range moves { // WAIT names no key, and a cluster's client would ask any of its nodes
		node, away := cluster.MasterForKey(ctx, keys[0])
		if away != nil {
			return nil, Unavailable(away)
		}
		reply, err = s.runOn(ctx, node, db.Replicas, keys, args)
		if !redis.HasErrorPrefix(err, "MOVED") && !redis.HasErrorPrefix(err, "ASK") {
			break
		}
		cluster.ReloadState(ctx)
	}
	return reply, Unavailable(err)
}

// runOn sends the script and WAIT over one connection, since WAIT is for the writes of
// its own. The script goes as a text: where the server did not know its hash, WAIT would
// be waited for twice.
func (s *Script) runOn(ctx context.Context, node redis.Cmdable, replicas Replicas, keys []string, args []any) (any, error) {
	pipe := node.Pipeline()
	script, held := s.real.Eval(ctx, pipe, keys, args...), redis.NewIntCmd(ctx, "WAIT", replicas.Count, replicas.Timeout.Milliseconds())
	_ = pipe.Process(ctx, held) // queues
	_, _ = pipe.Exec(ctx)       // each has its own error
	reply, err := script.Result()
	if err == nil && (held.Err() != nil || held.Val() < int64(replicas.Count)) {
		err = ErrReplicas
	}
	return reply, err
}

// confirm writes something, so that WAIT on its connection is for all that was written
// before.
//
//	KEYS a key of the partition
var confirm = NewScript(`
redis.call('SET', KEYS[1], now(), 'PX', 1000)
return 'ok'
`)

// Confirm returns when enough replicas have all that was written of an app up to now;
// at once, and without a trip, where none need to have it.
func (db *DB) Confirm(ctx context.Context, appID string) error {
	if db.Replicas.Count == 0 {
		return nil
	}
	_, err := confirm.RunSafely(ctx, db, []string{KeysOf(appID).Confirm()})
	return err
}
