package trigger

import (
	"context"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// sizes asks how long the named fields of hashes are together, one number for each of
// count hashes.
func (e *Engine) sizes(ctx context.Context, count int, of func(i int) (key string, fields []string)) ([]int64, error) {
	sizes := make([]int64, count)
	if count == 0 {
		return sizes, nil
	}
	pipe := e.db.Pipeline()
	replies := make([][]*redis.IntCmd, count)
	for i := range count {
		key, fields := of(i)
		for _, field := range fields {
			replies[i] = append(replies[i], pipe.HStrLen(ctx, key, field))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	for i := range replies {
		for _, reply := range replies[i] {
			sizes[i] += reply.Val()
		}
	}
	return sizes, nil
}

// largeFields are those of a trigger that can be long.
var largeFields = []string{"record", partCall, "log", "answer"}

// triggersFitting returns how many of the triggers are read together.
func (e *Engine) triggersFitting(ctx context.Context, appID string, count int, id func(i int) string) (int, error) {
	k := keyspace.KeysOf(appID)
	sizes, err := e.sizes(ctx, count, func(i int) (string, []string) { return k.Trigger(id(i)), largeFields })
	return repositories.Fitting(sizes), err
}
