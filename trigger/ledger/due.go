package ledger

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
	"earshot/repositories/keyspace"
)

// peeked is how many lanes, and how many sessions that may have expired, are read of a
// partition in the round trip that reads all partitions.
const peeked = 32

// Due is the work of partitions that is due now.
type Due struct {
	Lanes []Lane
	// Idle are the sessions that may have expired, as appId/sessionId.
	Idle []string
	// Unknown are entries of no kind that this version knows, by their partitions. They are left
	// alone.
	Unknown map[int][]string
	// Oldest is for how long the first of all has been due.
	Oldest time.Duration
	// Backlog is what all partitions hold together; nil where it was not asked for, or
	// one of them did not answer.
	Backlog *Backlog
}

// Lane is what is due in one lane of an app: its first members.
type Lane struct {
	App     string
	Kind    keyspace.Lane
	Members []string
}

// Backlog counts the outstanding work and the failed triggers.
type Backlog struct{ Owed, Dead float64 }

// AllPartitions lists the partitions by their numbers.
func AllPartitions() []int {
	all := make([]int, keyspace.Partitions)
	for n := range all {
		all[n] = n
	}
	return all
}

// Look reads what is due in partitions: one round trip reads which lanes may hold
// something, a second one the beginnings of these, as many members as most says. Neither
// grows with the backlog of an app. Of a cluster that is away in part it returns what is on
// the other nodes, with an error.
func (l *Ledger) Look(ctx context.Context, partitions []int, most func(keyspace.Lane) int) (Due, error) {
	pipe := l.db.Pipeline()
	clocks, heads := l.db.Clocks(ctx, pipe), make([]dueBatch, len(partitions))
	for i, n := range partitions {
		heads[i] = readBatch(ctx, pipe, clocks, n)
	}
	var held []backlog
	if len(partitions) == keyspace.Partitions {
		held = askBacklog(ctx, pipe)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	found := Due{Backlog: sum(held), Unknown: map[int][]string{}}
	lanes, err := l.dueLanes(ctx, heads, &found)
	return found, errors.Join(err, l.readLanes(ctx, lanes, most, &found))
}

// dueLanes lists the lanes that may hold something due, and adds the sessions that may
// have expired to what was found.
func (l *Ledger) dueLanes(ctx context.Context, heads []dueBatch, found *Due) (lanes []*lane, err error) {
	for _, one := range heads {
		now, away := one.now()
		if away != nil {
			err = away
			continue
		}
		names, away := l.laneNames(ctx, one, now)
		if away != nil {
			err = away
		}
		known, unknown := lanesOf(names, now)
		lanes = append(lanes, known...)
		if len(unknown) > 0 {
			found.Unknown[one.partition] = unknown
		}
		found.Idle = append(found.Idle, dueOf(one.idle.Val(), now)...)
	}
	return lanes, err
}

// laneNames lists the lanes that may be due, all of them where they are more than were
// read: an app with nothing to spare must not hide another.
func (l *Ledger) laneNames(ctx context.Context, one dueBatch, now float64) ([]string, error) {
	due := dueOf(one.due.Val(), now)
	if len(due) < peeked {
		return due, nil
	}
	by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatFloat(now, 'f', -1, 64)}
	all, err := l.db.ZRangeByScore(ctx, one.keys.Due(), by).Result()
	return all, keyspace.Unavailable(err)
}

// readLanes reads the beginning of every lane.
func (l *Ledger) readLanes(ctx context.Context, lanes []*lane, most func(keyspace.Lane) int, found *Due) (err error) {
	if len(lanes) == 0 {
		return nil
	}
	pipe := l.db.Pipeline()
	for _, one := range lanes {
		one.head = pipe.ZRangeWithScores(ctx, one.keys().Lane(one.kind), 0, int64(most(one.kind))-1)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, one := range lanes {
		if away := keyspace.Unavailable(one.head.Err()); away != nil {
			err = away
			continue
		}
		found.Oldest = max(found.Oldest, overdue(one.head.Val(), one.now))
		if one.empty() {
			if away := one.correct(ctx, l.db); away != nil {
				err = away
			}
			continue
		}
		found.Lanes = append(found.Lanes, Lane{App: one.app, Kind: one.kind, Members: one.due()})
	}
	return err
}

// dueBatch is the beginning of what a partition holds, with the clock that its scores are
// by.
type dueBatch struct {
	partition int
	clock     keyspace.Clock
	keys      keyspace.Keys
	due, idle *redis.ZSliceCmd
}

func readBatch(ctx context.Context, pipe redis.Pipeliner, clocks func(string) keyspace.Clock, partition int) dueBatch {
	keys := keyspace.PartitionKeys(partition)
	return dueBatch{
		partition: partition,
		clock:     clocks(keys.Due()), keys: keys,
		due:  pipe.ZRangeWithScores(ctx, keys.Due(), 0, peeked-1),
		idle: pipe.ZRangeWithScores(ctx, keys.Idle(), 0, peeked-1),
	}
}

// now is the time (ms) of the node that holds the partition; an error where that node
// did not answer.
func (h dueBatch) now() (float64, error) {
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

// overdue is for how long the first member has been due.
func overdue(head []redis.Z, now float64) time.Duration {
	if len(head) == 0 {
		return 0
	}
	return time.Duration(max(0, now-head[0].Score) * float64(time.Millisecond))
}

// lane is one lane of an app that may hold something due, with its beginning.
type lane struct {
	app  string
	kind keyspace.Lane
	now  float64 // ms, by the clock that its scores are by
	head *redis.ZSliceCmd
}

// lanesOf reads the names of a partition's lanes that may be due, and lists what is none.
func lanesOf(names []string, now float64) (lanes []*lane, unknown []string) {
	for _, name := range names {
		kind, app, _ := strings.Cut(name, "/")
		if !slices.Contains(keyspace.Lanes, keyspace.Lane(kind)) || !repositories.IsID(app) {
			unknown = append(unknown, name)
			continue
		}
		lanes = append(lanes, &lane{app: app, kind: keyspace.Lane(kind), now: now})
	}
	return lanes, unknown
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

// backlog is how much a partition holds: what it owes, and failed triggers by app.
type backlog struct {
	owed *redis.StringCmd
	dead *redis.StringSliceCmd
}

// askBacklog asks within a pipeline for the backlog of every partition.
func askBacklog(ctx context.Context, pipe redis.Pipeliner) []backlog {
	held := make([]backlog, keyspace.Partitions)
	for n := range held {
		keys := keyspace.PartitionKeys(n)
		held[n] = backlog{owed: pipe.Get(ctx, keys.Owed()), dead: pipe.HVals(ctx, keys.Dead())}
	}
	return held
}

// sum adds up what all partitions hold; nil where one did not answer, or none was asked.
func sum(held []backlog) *Backlog {
	if held == nil {
		return nil
	}
	total := &Backlog{}
	for _, one := range held {
		if (one.owed.Err() != nil && !errors.Is(one.owed.Err(), redis.Nil)) || one.dead.Err() != nil {
			return nil
		}
		owed, _ := one.owed.Float64() // nothing where it never owed anything
		total.Owed += owed
		for _, text := range one.dead.Val() {
			count, _ := strconv.ParseFloat(text, 64) // HSET of a ZCARD
			total.Dead += count
		}
	}
	return total
}

// aside lets a member of a lane wait.
//
//	KEYS due, lane
//	ARGV member, how long (ms)
//	=>   ok
//
// The partition's time of the lane is an early one, which whoever looks corrects.
var aside = keyspace.NewFreeingScript(`
redis.call('ZADD', KEYS[2], 'XX', now() + tonumber(ARGV[2]), ARGV[1])
return 'ok'
`)

// SetAside lets a member of a lane wait for some time, if it is still there.
func (l *Ledger) SetAside(ctx context.Context, appID string, kind keyspace.Lane, member string, pause time.Duration) error {
	k := keyspace.KeysOf(appID)
	_, err := aside.Run(ctx, l.db, []string{k.Due(), k.Lane(kind)}, member, pause.Milliseconds())
	return err
}
