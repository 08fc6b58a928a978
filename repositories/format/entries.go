package format

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"earshot/repositories/keyspace"
)

// The first versions kept all work of a partition in one sorted set: turns as t/app/session/message and effects as
// e/app/session/effect. The set now holds the lanes of apps, and the lanes their work.

// IsEntry reports whether a member of keyspace.Keys.Due is an entry of the first versions.
func IsEntry(member string) bool {
	kind, rest, _ := strings.Cut(member, "/")
	return (kind == "t" || kind == "e") && strings.Count(rest, "/") >= 2
}

const entriesAtOnce = 200

// BringEntries moves the entries of the first versions in a partition to the lanes of their apps, with their times.
// It is safe beside a program of those versions: that skips leased entries that are gone, because leases are in the
// effects and messages themselves.
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
		k, box := keyspace.KeysOf(app), session // no session has the name of the app's outbox
		calls = append(calls, keyspace.Call{
			Keys: append([]string{k.Effect(id), k.Outbox(box)}, k.Ledger()...), Args: []any{member, app, kind, session, id, box},
		})
	}
	for some := range slices.Chunk(calls, entriesAtOnce) {
		if _, err := moveEntry.RunAll(ctx, db, some); err != nil {
			return err
		}
	}
	return nil
}

// moveEntry moves an entry to the lane of its app.
//
//	KEYS effect, outbox of its session, then the ledger
//	ARGV member of due, appId, t or e, sessionId, messageId or id of the effect, member of the outboxes
//	=>   ok, or gone if it is no longer an entry
//
// A missing effect was delivered. An event is in its outbox, which becomes due; one that is not in an outbox is
// dropped.
var moveEntry = keyspace.NewFreeingScript(keyspace.DueLua, `
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
