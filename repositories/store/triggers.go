package store

import (
	"context"

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
		records := make([]string, len(ids))
		for i, id := range ids {
			records[i] = keys.Trigger(id)
		}
		read, err := w.db.HashFields(ctx, records, "fire")
		if err != nil {
			return err
		}
		names, args := []string{keys.Over(), keys.Triggers("")}, []any{appID, 1 + len(keyspace.Parts)}
		for i, id := range ids {
			names, args = append(append(names, records[i]), keys.Effects(read[i][0])...), append(args, id)
		}
		if _, err := dropTriggers.Run(ctx, w.db, names, args...); err != nil {
			return err
		}
	}
}
