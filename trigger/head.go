package trigger

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// peeked is how many lanes, and how many sessions that may have expired, are read of a
// partition in the round trip that reads all partitions.
const peeked = 32

// head is the beginning of what a partition holds, with the clock that its scores are
// by.
type head struct {
	clock     keyspace.Clock
	keys      keyspace.Keys
	due, idle *redis.ZSliceCmd
}

func peek(ctx context.Context, pipe redis.Pipeliner, clocks func(string) keyspace.Clock, partition int) head {
	keys := keyspace.PartitionKeys(partition)
	return head{
		clock: clocks(keys.Due()), keys: keys,
		due:  pipe.ZRangeWithScores(ctx, keys.Due(), 0, peeked-1),
		idle: pipe.ZRangeWithScores(ctx, keys.Idle(), 0, peeked-1),
	}
}

// now is the time (ms) of the node that holds the partition; an error where that node
// did not answer.
func (h head) now() (float64, error) {
	at, err := h.clock.Read()
	if err = errors.Join(err, keyspace.Unavailable(h.due.Err()), keyspace.Unavailable(h.idle.Err())); err != nil {
		return 0, err
	}
	return float64(at.UnixMilli()), nil
}

// dueOf lists the members that are due.
func dueOf(head []redis.Z, now float64) []string {
	var due []string
	for _, z := range head {
		if z.Score <= now {
			due = append(due, z.Member.(string))
		}
	}
	return due
}

// overdue is for how long (ms) the first member has been due.
func overdue(head []redis.Z, now float64) float64 {
	if len(head) == 0 {
		return 0
	}
	return max(0, now-head[0].Score)
}

// lane is one lane of an app that may hold something due, with its beginning.
type lane struct {
	app  string
	kind keyspace.Lane
	now  float64 // ms, by the clock that its scores are by
	head *redis.ZSliceCmd
}

// lanesOf reads the names of a partition's lanes that may be due.
func lanesOf(names []string, now float64) []*lane {
	var lanes []*lane
	for _, name := range names {
		kind, app, _ := strings.Cut(name, "/")
		lanes = append(lanes, &lane{app: app, kind: keyspace.Lane(kind), now: now})
	}
	return lanes
}

// due lists what is due in the lane, as far as it was read.
func (l *lane) due() []string { return dueOf(l.head.Val(), l.now) }

// empty reports whether nothing in the lane is due after all.
func (l *lane) empty() bool { return l.head.Err() == nil && len(l.due()) == 0 }

// keys are those of its app.
func (l *lane) keys() keyspace.Keys { return keyspace.KeysOf(l.app) }

// correct brings the time of a lane in line with its first member, and takes a lane out
// that holds none.
//
//	KEYS due, lane
//	ARGV lane/appId
//	=>   ok
var correct = keyspace.NewFreeingScript(`
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] then
  redis.call('ZADD', KEYS[1], first[2], ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return 'ok'
`)

func (l *lane) correct(ctx context.Context, db *keyspace.DB) error {
	k := l.keys()
	_, err := correct.Run(ctx, db, []string{k.Due(), k.Lane(l.kind)}, string(l.kind)+"/"+l.app)
	return err
}
