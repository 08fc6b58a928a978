package ledger

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// swept is how many records are removed in one script: it takes Redis about a millisecond.
const swept = 100

// Forget removes the records of triggers whose time is over.
func (l *Ledger) Forget(ctx context.Context) error { return l.sweep(ctx, keyspace.Keys.Over, l.forget) }

// sweep removes what is over. Each partition lists it by the time when it goes, so that
// nothing is looked for.
func (l *Ledger) sweep(ctx context.Context, list func(keyspace.Keys) string, remove func(context.Context, int, []string) error) (err error) {
	for partitions := AllPartitions(); len(partitions) > 0 && ctx.Err() == nil; {
		over, away := l.over(ctx, list, partitions)
		if away != nil {
			err = away
		}
		partitions = nil
		for n, members := range over {
			if away := remove(ctx, n, members); away != nil {
				err = away
			} else if len(members) == swept {
				partitions = append(partitions, n)
			}
		}
	}
	return err
}

// over reads what is over of partitions, by partition.
func (l *Ledger) over(ctx context.Context, list func(keyspace.Keys) string, partitions []int) (found map[int][]string, err error) {
	pipe := l.db.Pipeline()
	clocks := l.db.Clocks(ctx, pipe)
	times, heads := make([]keyspace.Clock, len(partitions)), make([]*redis.ZSliceCmd, len(partitions))
	for i, n := range partitions {
		key := list(keyspace.PartitionKeys(n))
		times[i], heads[i] = clocks(key), pipe.ZRangeWithScores(ctx, key, 0, swept-1)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	found = map[int][]string{}
	for i, n := range partitions {
		at, away := times[i].Read()
		if away == nil {
			away = keyspace.Unavailable(heads[i].Err())
		}
		if away != nil {
			err = away
		} else if members := dueOf(heads[i].Val(), float64(at.UnixMilli())); len(members) > 0 {
			found[n] = members
		}
	}
	return found, err
}

// forget removes records that are over, what names them, and their dead effects.
//
//	KEYS over, dead, then of each record itself, the triggers of its app, those of its
//	     session, failed, and its effects
//	ARGV keys of each, then appId and triggerId of each
//	=>   ok
//
// One that is owed something again, or was retried in between, stays.
var forget = keyspace.NewFreeingScript(TallyLua, `
local step = tonumber(ARGV[1])
for i = 2, #ARGV, 2 do
  local first, app, id = 3 + (i - 2) / 2 * step, ARGV[i], ARGV[i + 1]
  local member = app .. '/' .. id
  local at, open = redis.call('ZSCORE', KEYS[1], member), redis.call('HGET', KEYS[first], 'open')
  if at and tonumber(at) <= now() and (not open or tonumber(open) <= 0) then
    redis.call('ZREM', KEYS[1], member)
    redis.call('DEL', KEYS[first], unpack(KEYS, first + 4, first + step - 1))
    for j = 1, 3 do redis.call('ZREM', KEYS[first + j], id) end
    tally(KEYS[2], app, KEYS[first + 3])
  end
end
return 'ok'
`)

func (l *Ledger) forget(ctx context.Context, partition int, members []string) error {
	pipe := l.db.Pipeline()
	records := make([]*redis.SliceCmd, len(members))
	for i, member := range members {
		appID, id, _ := strings.Cut(member, "/")
		records[i] = pipe.HMGet(ctx, keyspace.KeysOf(appID).Trigger(id), "fire", "session")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return keyspace.Unavailable(err)
	}
	all := keyspace.PartitionKeys(partition)
	keys, args := []string{all.Over(), all.Dead()}, []any{4 + len(keyspace.Parts)}
	for i, member := range members {
		appID, id, _ := strings.Cut(member, "/")
		k, fields := keyspace.KeysOf(appID), keyspace.Fields(records[i].Val())
		keys = append(keys, k.Trigger(id), k.Triggers(""), k.Triggers(fields[1]), k.InState(keyspace.Failed))
		keys, args = append(keys, k.Effects(fields[0])...), append(args, appID, id)
	}
	_, err := forget.Run(ctx, l.db, keys, args...)
	return err
}
