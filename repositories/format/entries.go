package format

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"earshot/repositories/keyspace"
)

// The first versions kept all work of a partition in one sorted set, its turns as
// t/app/session/message and its effects as e/app/session/effect. Since then the set holds the
// lanes of apps, and the lanes their work.

// IsEntry reports whether a member of keyspace.Keys.Due is an entry of the first versions.
func IsEntry(member string) bool {
	kind, rest, _ := strings.Cut(member, "/")
	return (kind == "t" || kind == "e") && strings.Count(rest, "/") >= 2
}

const entriesAtOnce = 200

// BringEntries puts the entries of the first versions in a partition into the lanes of their apps,
// each due when it was. It is safe beside a program of those versions, which finds what it has
// leased gone and leaves it: leases stand beside the effects and messages themselves.
func BringEntries(ctx context.Context, db *keyspace.DB, n int) error {
	due := keyspace.PartitionKeys(n).Due()
	members, err := db.ZRangeWithScores(ctx, due, 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	var calls []keyspace.Call
	for _, one := range members {
		member := one.Member.(string)
		if !IsEntry(member) {
			continue
		}
		words := strings.SplitN(member, "/", 4)
		kind, app, session, id := words[0], words[1], cmp.Or(words[2], keyspace.NoSession), words[3]
		k, box := keyspace.KeysOf(app), session // that of the app has the name of no session
		calls = append(calls, keyspace.Call{
			Keys: append([]string{k.Effect(id), k.Outbox(box)}, k.Ledger()...), Args: []any{member, app, kind, session, id, box},
		})
	}
	for some := range slices.Chunk(calls, entriesAtOnce) {
		if _, err := brought.RunAll(ctx, db, some); err != nil {
			return err
		}
	}
	return nil
}

// brought puts an entry into the lane of its app.
//
//	KEYS effect, outbox of its session, then the ledger
//	ARGV member of due, appId, t or e, sessionId, messageId or id of the effect, member of the
//	     outboxes
//	=>   ok, or gone where it is no entry any more
//
// An effect that is not there any more was delivered. An event stands in its outbox, which is due;
// one that an outbox does not hold goes with its entry.
var brought = keyspace.NewFreeingScript(keyspace.DueLua, `
local at = redis.call('ZSCORE', ledger.due, ARGV[1])
if not at then return 'gone' end
redis.call('ZREM', ledger.due, ARGV[1])
if ARGV[3] == 't' then
  schedule(ARGV[2], 'turns', ARGV[4] .. '/' .. ARGV[5], at)
  return 'ok'
end
local effect = redis.call('HMGET', KEYS[1], 'order', 'state')
if not effect[1] or effect[2] == 'dead' then return 'ok' end
if effect[1] ~= '1' then
  schedule(ARGV[2], 'calls', ARGV[5], at)
  return 'ok'
end
redis.call('INCRBY', ledger.owed, 1)
schedule(ARGV[2], 'outboxes', ARGV[6], at)
return 'ok'
`)
