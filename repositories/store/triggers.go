package store

import (
	"context"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// dropTriggers removes trigger records with those of their effects that are dead. What
// is owed is still tried, and ends without a record.
//
//	KEYS over, triggers of the app, then record and effects of each
//	ARGV appId, keys of each, then the triggerIds
//	=>   ok
var dropTriggers = keyspace.NewFreeingScript(`
local step = tonumber(ARGV[2])
for i = 3, #ARGV do
  local first = 3 + (i - 3) * step
  for j = first + 1, first + step - 1 do
    if redis.call('HGET', KEYS[j], 'state') == 'dead' then redis.call('DEL', KEYS[j]) end
  end
  redis.call('DEL', KEYS[first])
  redis.call('ZREM', KEYS[1], ARGV[1] .. '/' .. ARGV[i])
  redis.call('ZREM', KEYS[2], ARGV[i])
end
return 'ok'
`)

// dropTriggers removes the trigger records of an app: they hold what its users said, and
// an app that is made anew under the same id must not find them.
func (w *appWrites) dropTriggers(ctx context.Context, appID string) error {
	const chunk = 100 // keeps Redis from being busy with one script for long
	keys := keyspace.KeysOf(appID)
	for {
		ids, err := w.db.ZRange(ctx, keys.Triggers(""), 0, chunk-1).Result()
		if err != nil || len(ids) == 0 {
			return keyspace.Unavailable(err)
		}
		fires, err := w.fires(ctx, keys, ids)
		if err != nil {
			return err
		}
		names, args := []string{keys.Over(), keys.Triggers("")}, []any{appID, 1 + len(keyspace.Parts)}
		for i, id := range ids {
			names, args = append(append(names, keys.Trigger(id)), keys.Effects(fires[i])...), append(args, id)
		}
		if _, err := dropTriggers.Run(ctx, w.db, names, args...); err != nil {
			return err
		}
	}
}

// fires reads what the effects of triggers are named after.
func (w *appWrites) fires(ctx context.Context, keys keyspace.Keys, ids []string) ([]string, error) {
	pipe := w.db.Pipeline()
	replies := make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		replies[i] = pipe.HGet(ctx, keys.Trigger(id), "fire")
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	fires := make([]string, len(ids))
	for i, reply := range replies {
		if err := reply.Err(); err != nil && err != redis.Nil {
			return nil, keyspace.Unavailable(err)
		}
		fires[i] = reply.Val()
	}
	return fires, nil
}
