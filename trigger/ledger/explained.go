package ledger

import (
	"context"
	"strings"

	"earshot/repositories/keyspace"
)

// Explained is what is kept of a message to explain it: all fields but the last are JSON, and
// may be empty. One without a Message is not in the history.
type Explained struct{ Message, Decision, Answer, Failure, Explanation string }

// Explained reads what explains a message.
func (l *Ledger) Explained(ctx context.Context, t Turn) (Explained, error) {
	fields := []string{"message", "decision", "answer", "failure", "explained"}
	for i := range fields {
		fields[i] = turnFields[fields[i]] + t.Message
	}
	found, err := l.db.HMGet(ctx, t.keys().Turns(t.Session), fields...).Result()
	if err != nil {
		return Explained{}, keyspace.Unavailable(err)
	}
	row := keyspace.Fields(found)
	return Explained{row[0], row[1], row[2], row[3], row[4]}, nil
}

// ExplainedParts reads parts of explanations by their names. One that is gone is not among
// them.
func (l *Ledger) ExplainedParts(ctx context.Context, appID string, names []string) (map[string]string, error) {
	found, err := l.db.HMGet(ctx, keyspace.KeysOf(appID).ExplainedParts(), names...).Result()
	if err != nil {
		return nil, keyspace.Unavailable(err)
	}
	parts := map[string]string{}
	for i, text := range keyspace.Fields(found) {
		if text != "" {
			parts[names[i]] = text
		}
	}
	return parts, nil
}

// ForgetExplained removes what explains messages whose time is over.
func (l *Ledger) ForgetExplained(ctx context.Context) error {
	return l.sweep(ctx, keyspace.Keys.Explained, l.unexplain)
}

// unexplain removes fields that are over.
//
//	KEYS explained, then the hash of each
//	ARGV member and field of each
//	=>   ok
//
// One that was written again in between stays.
var unexplain = keyspace.NewFreeingScript(`
for i = 1, #ARGV, 2 do
  local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if at and tonumber(at) <= now() then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2 + (i - 1) / 2], ARGV[i + 1])
  end
end
return 'ok'
`)

func (l *Ledger) unexplain(ctx context.Context, partition int, members []string) error {
	keys, args := []string{keyspace.PartitionKeys(partition).Explained()}, []any{}
	for _, member := range members {
		appID, rest, _ := strings.Cut(member, "/")
		session, id, _ := strings.Cut(rest, "/")
		k := keyspace.KeysOf(appID)
		key, field := k.ExplainedParts(), id
		if session != "" {
			key, field = k.Turns(session), turnFields["explained"]+id
		}
		keys, args = append(keys, key), append(args, member, field)
	}
	_, err := unexplain.Run(ctx, l.db, keys, args...)
	return err
}
