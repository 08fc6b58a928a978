package format

import (
	"context"
	"strings"

	"earshot/repositories/keyspace"
)

const sessionsAtOnce = 500

// listSessions adds the sessions of a partition to the lists of their apps. Sessions older than these lists would
// be missing until their next message.
func listSessions(ctx context.Context, db *keyspace.DB, n int) error {
	idle, cursor := keyspace.PartitionKeys(n).Idle(), uint64(0)
	for {
		found, next, err := db.ZScan(ctx, idle, cursor, "", sessionsAtOnce).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		byApp := map[string][]any{}
		for i := 0; i+1 < len(found); i += 2 { // alternating with scores
			app, session, _ := strings.Cut(found[i], "/")
			byApp[app] = append(byApp[app], session)
		}
		var calls []keyspace.Call
		for app, sessions := range byApp {
			k := keyspace.KeysOf(app)
			calls = append(calls, keyspace.Call{Keys: []string{k.Idle(), k.Sessions()}, Args: append([]any{app}, sessions...)})
		}
		if _, err := listSession.RunAll(ctx, db, calls); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// listSession adds the sessions that still exist to the list of their app.
//
//	KEYS idle, sessions
//	ARGV appId, then sessionIds
var listSession = keyspace.NewFreeingScript(`
for i = 2, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[1] .. '/' .. ARGV[i]) then redis.call('ZADD', KEYS[2], 0, ARGV[i]) end
end
return 'ok'
`)
