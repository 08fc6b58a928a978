package keyspace

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/failpoint"
)

// ErrReplicas means that a write took place but too few replicas acknowledged it: a failover may lose it. It wraps
// ErrUnavailable; the request is safe to repeat.
var ErrReplicas error = replicasError{}

type replicasError struct{}

func (replicasError) Error() string {
	return ErrUnavailable.Error() + ": too few of its replicas have what was written"
}

func (replicasError) Unwrap() error { return ErrUnavailable }

// Public returns the text for clients, which follows the word redis.
func (replicasError) Public() string { return "has too few replicas that follow it" }

// Replicas configures how many replicas of Redis must acknowledge a critical write.
type Replicas struct {
	Count   int           // 0: the master's reply suffices
	Timeout time.Duration // maximum wait; below the client's read timeout
}

// maxMoves bounds how often a script follows its slot through a resharding cluster.
const maxMoves = 3

// RunSafely is Run for accepted messages and decisions. In the same round trip it waits until enough replicas have
// all earlier writes. If they are too few in time, the error is ErrReplicas, and the reply is still returned.
func (s *Script) RunSafely(ctx context.Context, db *DB, keys []string, args ...any) (reply any, err error) {
	return s.runSafely(ctx, db, s.command(db, keys, args))
}

func (s *Script) runSafely(ctx context.Context, db *DB, command []any) (reply any, err error) {
	if db.Replicas.Count == 0 || failpoint.Planted(failpoint.Unwaited) {
		return s.run(ctx, db, command)
	}
	command = s.byText(db, command) // with an unknown hash, the wait would happen twice
	cluster, ok := db.UniversalClient.(*redis.ClusterClient)
	if !ok {
		reply, err = runOn(ctx, db, db.Replicas, command)
		return reply, Unavailable(err)
	}
	for range maxMoves { // WAIT names no key, and a cluster client would send it to any node
		node, lookupErr := cluster.MasterForKey(ctx, *command[firstKey].(*string))
		if lookupErr != nil {
			return nil, Unavailable(lookupErr)
		}
		reply, err = runOn(ctx, node, db.Replicas, command)
		if !redis.HasErrorPrefix(err, "MOVED") && !redis.HasErrorPrefix(err, "ASK") {
			break
		}
		cluster.ReloadState(ctx)
	}
	return reply, Unavailable(err)
}

// runOn sends a command and WAIT over one connection, because WAIT covers only its own connection's writes.
func runOn(ctx context.Context, node redis.Cmdable, replicas Replicas, command []any) (any, error) {
	pipe := node.Pipeline()
	script, wait := newCommand(ctx, command), redis.NewIntCmd(ctx, "WAIT", replicas.Count, replicas.Timeout.Milliseconds())
	_, _ = pipe.Process(ctx, script), pipe.Process(ctx, wait) // queue
	_, _ = pipe.Exec(ctx)                                     // each holds its own error
	reply, err := script.Result()
	if err == nil && (wait.Err() != nil || wait.Val() < int64(replicas.Count)) {
		err = ErrReplicas
	}
	return reply, err
}

// confirm writes something, so that WAIT on its connection covers all earlier writes.
//
//	KEYS a key of the partition
var confirm = NewScript(`
redis.call('SET', KEYS[1], now(), 'PX', 1000)
return 'ok'
`)

// Confirm waits until enough replicas have all earlier writes of an app. Without required replicas it returns at
// once.
func (db *DB) Confirm(ctx context.Context, appID string) error {
	return db.confirmWrites(ctx, KeysOf(appID))
}

func (db *DB) confirmWrites(ctx context.Context, k Keys) error {
	if db.Replicas.Count == 0 {
		return nil
	}
	_, err := confirm.RunSafely(ctx, db, []string{k.Confirm()})
	return err
}
