package ledger

import (
	"cmp"
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

// mostHeads bounds the lanes, and the sessions that may have expired, read per partition in the round trip that
// reads all partitions.
const mostHeads = 32

// Due is the due work of partitions.
type Due struct {
	Lanes []Lane
	// Unknown are entries whose kind this version does not know, by partition. They are left unchanged.
	Unknown map[int][]string
	// Oldest is how long the first entry has been due.
	Oldest time.Duration
}

// Lane has the first due members of one lane of an app.
type Lane struct {
	App     string
	Kind    keyspace.Lane
	Members []string
}

// ReadDue reads the due work of partitions: one round trip reads the lanes that may hold work, a second one their
// first members, up to most of each lane. Neither grows with the backlog of an app. If a cluster is partly
// unavailable, it returns the work of the other nodes and an error.
func (l *Ledger) ReadDue(ctx context.Context, partitions []int, most func(keyspace.Lane) int) (Due, error) {
	found := Due{Unknown: map[int][]string{}}
	var lanes []*lane
	var err error
	for _, one := range headsOf(ctx, l, partitions, keyspace.Keys.Due, mostHeads) {
		names, now, readErr := one.read()
		if readErr != nil {
			err = readErr
			continue
		}
		if len(names) == mostHeads { // read all, so that no app hides another
			by := &redis.ZRangeBy{Min: "-inf", Max: strconv.FormatFloat(now, 'f', -1, 64)}
			names, readErr = l.db.ZRangeByScore(ctx, keyspace.PartitionKeys(one.partition).Due(), by).Result()
			if readErr != nil {
				err = keyspace.Unavailable(readErr)
			}
		}
		for _, name := range names {
			kind, app, _ := strings.Cut(name, "/")
			if slices.Contains(keyspace.Lanes, keyspace.Lane(kind)) && repositories.IsID(app) {
				lanes = append(lanes, &lane{app: app, kind: keyspace.Lane(kind), now: now})
			} else {
				found.Unknown[one.partition] = append(found.Unknown[one.partition], name)
			}
		}
	}
	lanesErr := l.readLanes(ctx, lanes, most, &found)
	return found, cmp.Or(err, lanesErr)
}

// dueHead has the first entries of a sorted set of a partition, with the clock of its scores.
type dueHead struct {
	partition int
	clock     keyspace.Clock
	first     *redis.ZSliceCmd
}

// headsOf reads the first entries of a sorted set of partitions in one round trip, at most most of each.
func headsOf(ctx context.Context, l *Ledger, partitions []int, key func(keyspace.Keys) string, most int64) []dueHead {
	pipe := l.db.Pipeline()
	clocks, heads := l.db.Clocks(ctx, pipe), make([]dueHead, len(partitions))
	for i, n := range partitions {
		of := key(keyspace.PartitionKeys(n))
		heads[i] = dueHead{n, clocks(of), pipe.ZRangeWithScores(ctx, of, 0, most-1)}
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	return heads
}

// read returns the due entries, and the time (ms) by the clock of their scores.
func (h dueHead) read() (due []string, now float64, err error) {
	at, err := h.clock.Read()
	if err = cmp.Or(err, keyspace.Unavailable(h.first.Err())); err != nil {
		return nil, 0, err
	}
	now = float64(at.UnixMilli())
	return dueOf(h.first.Val(), now), now, nil
}

// IdleSessions returns sessions that may have expired, as appId/sessionId: some of each partition. If a cluster is
// partly unavailable, it returns those of the other nodes and the first error.
func IdleSessions(ctx context.Context, l *Ledger) (sessions []string, err error) {
	for _, one := range headsOf(ctx, l, keyspace.AllPartitions(), keyspace.Keys.Idle, mostHeads) {
		due, _, readErr := one.read()
		sessions, err = append(sessions, due...), cmp.Or(err, readErr)
	}
	return sessions, err
}

func (l *Ledger) readLanes(ctx context.Context, lanes []*lane, most func(keyspace.Lane) int, found *Due) (err error) {
	if len(lanes) == 0 {
		return nil
	}
	pipe := l.db.Pipeline()
	for _, one := range lanes {
		one.head = pipe.ZRangeWithScores(ctx, keyspace.KeysOf(one.app).Lane(one.kind), 0, int64(most(one.kind))-1)
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for _, one := range lanes {
		if readErr := keyspace.Unavailable(one.head.Err()); readErr != nil {
			err = readErr
			continue
		}
		head := one.head.Val()
		if len(head) > 0 {
			found.Oldest = max(found.Oldest, time.Duration(max(0, one.now-head[0].Score)*float64(time.Millisecond)))
		}
		if members := dueOf(head, one.now); len(members) > 0 {
			found.Lanes = append(found.Lanes, Lane{App: one.app, Kind: one.kind, Members: members})
			continue
		}
		k := keyspace.KeysOf(one.app)
		if _, readErr := correct.Run(ctx, l.db, []string{k.Due(), k.Lane(one.kind)}, string(one.kind)+"/"+one.app); readErr != nil {
			err = readErr
		}
	}
	return err
}

func dueOf(head []redis.Z, now float64) []string {
	var due []string
	for _, z := range head {
		if z.Score <= now {
			due = append(due, z.Member.(string))
		}
	}
	return due
}

// lane is a lane of an app that may hold due work, with its first members.
type lane struct {
	app  string
	kind keyspace.Lane
	now  float64 // ms, by the clock of its scores
	head *redis.ZSliceCmd
}

// correct sets a lane's time to that of its first member, and removes an empty lane.
//
//	KEYS due, lane
//	ARGV lane/appId
var correct = keyspace.NewFreeingScript(`
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
if first[2] then
  redis.call('ZADD', KEYS[1], first[2], ARGV[1])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return 'ok'
`)

// Backlog counts the outstanding work and the failed triggers of all partitions.
type Backlog struct{ Pending, Dead float64 }

// ReadBacklog reads the backlog. It fails if a partition does not answer.
func ReadBacklog(ctx context.Context, l *Ledger) (total Backlog, err error) {
	pipe := l.db.Pipeline()
	var owed [keyspace.Partitions]*redis.StringCmd
	var dead [keyspace.Partitions]*redis.StringSliceCmd
	for n := range keyspace.Partitions {
		k := keyspace.PartitionKeys(n)
		owed[n], dead[n] = pipe.Get(ctx, k.PendingCount()), pipe.HVals(ctx, k.Dead())
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for n := range keyspace.Partitions {
		if readErr := owed[n].Err(); !errors.Is(readErr, redis.Nil) {
			err = cmp.Or(err, keyspace.Unavailable(readErr))
		}
		err = cmp.Or(err, keyspace.Unavailable(dead[n].Err()))
		count, _ := owed[n].Float64() // zero for a missing key
		total.Pending += count
		for _, text := range dead[n].Val() {
			count, _ := strconv.ParseFloat(text, 64) // HSET of a ZCARD
			total.Dead += count
		}
	}
	return total, err
}

// postpone delays a member of a lane.
//
//	KEYS due, lane
//	ARGV member, how long (ms)
//
// The partition's time of the lane is then too early; the next ReadDue corrects it.
var postpone = keyspace.NewFreeingScript(`
redis.call('ZADD', KEYS[2], 'XX', now() + tonumber(ARGV[2]), ARGV[1])
return 'ok'
`)

// Postpone delays a member of a lane by pause, if it is still there.
func (l *Ledger) Postpone(ctx context.Context, appID string, kind keyspace.Lane, member string, pause time.Duration) error {
	k := keyspace.KeysOf(appID)
	_, err := postpone.Run(ctx, l.db, []string{k.Due(), k.Lane(kind)}, member, pause.Milliseconds())
	return err
}

// mostSwept bounds the records removed by one script, which takes Redis about a millisecond.
const mostSwept = 100

// Sweep removes expired records of triggers, explanations of messages, users of ended sessions, and expired keys.
func (l *Ledger) Sweep(ctx context.Context) error {
	return cmp.Or(
		l.sweep(ctx, keyspace.Keys.Over, removeExpiredRecords), l.sweep(ctx, keyspace.Keys.Explained, removeExpiredExplanations),
		l.sweep(ctx, keyspace.Keys.Ended, removeEndedUsers), l.sweep(ctx, keyspace.KeyEnds, removeExpiredKeys),
	)
}

// sweep removes expired members. Each partition lists them by expiry, so no search is needed.
func (l *Ledger) sweep(
	ctx context.Context, list func(keyspace.Keys) string, remove func(ctx context.Context, db *keyspace.DB, partition int, members []string) error,
) (err error) {
	for partitions := keyspace.AllPartitions(); len(partitions) > 0 && ctx.Err() == nil; {
		heads := headsOf(ctx, l, partitions, list, mostSwept)
		partitions = nil
		for _, one := range heads {
			members, _, sweepErr := one.read()
			if sweepErr == nil && len(members) > 0 {
				sweepErr = remove(ctx, l.db, one.partition, members)
			}
			if sweepErr != nil {
				err = sweepErr
			} else if len(members) == mostSwept {
				partitions = append(partitions, one.partition)
			}
		}
	}
	return err
}

// removeRecords removes expired records, their list entries and their dead effects.
//
//	KEYS over, dead, then of each record itself, the triggers of its app, those of its
//	     session, failed, and its effects
//	ARGV keys of each, then appId and triggerId of each
//
// A record with new effects, or retried meanwhile, stays.
var removeRecords = keyspace.NewFreeingScript(TallyLua, `
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

func removeExpiredRecords(ctx context.Context, db *keyspace.DB, partition int, members []string) error {
	triggers := make([]string, len(members))
	for i, member := range members {
		appID, id, _ := strings.Cut(member, "/")
		triggers[i] = keyspace.KeysOf(appID).Trigger(id)
	}
	records, err := db.HashFields(ctx, triggers, "fire", "session")
	if err != nil {
		return err
	}
	all := keyspace.PartitionKeys(partition)
	keys, args := []string{all.Over(), all.Dead()}, []any{4 + len(keyspace.Parts)}
	for i, member := range members {
		appID, id, _ := strings.Cut(member, "/")
		k, fire, session := keyspace.KeysOf(appID), records[i][0], records[i][1]
		keys = append(keys, triggers[i], k.Triggers(""), k.Triggers(session), k.InState(keyspace.Failed))
		keys, args = append(keys, keyspace.Effects(k, fire)...), append(args, appID, id)
	}
	_, err = removeRecords.Run(ctx, db, keys, args...)
	return err
}

// removeExplanations removes expired fields.
//
//	KEYS explained, then the hash of each
//	ARGV member and field of each
//
// A field written again meanwhile stays.
var removeExplanations = keyspace.NewFreeingScript(`
for i = 1, #ARGV, 2 do
  local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if at and tonumber(at) <= now() then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2 + (i - 1) / 2], ARGV[i + 1])
  end
end
return 'ok'
`)

func removeExpiredExplanations(ctx context.Context, db *keyspace.DB, partition int, members []string) error {
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
	_, err := removeExplanations.Run(ctx, db, keys, args...)
	return err
}

// removeUsers removes the users of sessions that have ended without a trace. A session that has begun anew keeps its
// user.
//
//	KEYS ended, then of each the users of its app, turns and closed
//	ARGV member, session and user of each
var removeUsers = keyspace.NewFreeingScript(`
for i = 1, #ARGV, 3 do
  local member, session, user, users, turns, closed = ARGV[i], ARGV[i + 1], ARGV[i + 2], KEYS[i + 1], KEYS[i + 2], KEYS[i + 3]
  local at = redis.call('ZSCORE', KEYS[1], member)
  if at and tonumber(at) <= now() then
    local has, left = redis.call('HMGET', turns, 'since', 'user'), redis.call('PTTL', closed)
    if has[1] and (has[2] or user) == user then
      redis.call('HSET', turns, 'user', user)
      redis.call('ZREM', KEYS[1], member)
    elseif left > 0 and redis.call('HGET', closed, 'user') == user then
      redis.call('ZADD', KEYS[1], now() + left, member)
    else
      redis.call('ZREM', KEYS[1], member)
      redis.call('ZREM', users, user .. '\0' .. session)
    end
  end
end
return 'ok'
`)

func removeEndedUsers(ctx context.Context, db *keyspace.DB, partition int, members []string) error {
	keys, args := []string{keyspace.PartitionKeys(partition).Ended()}, []any{}
	for _, member := range members {
		appID, rest, _ := strings.Cut(member, "/")
		session, user, _ := strings.Cut(rest, "/")
		k := keyspace.KeysOf(appID)
		keys, args = append(keys, k.Users(), k.Turns(session), k.Closed(session)), append(args, member, session, user)
	}
	_, err := removeUsers.Run(ctx, db, keys, args...)
	return err
}

// removeKeys removes keys that have expired.
//
//	KEYS ends, then of each the keys of its app and their uses
//	ARGV member and keyId of each
var removeKeys = keyspace.NewFreeingScript(`
for i = 1, #ARGV, 2 do
  local at = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if at and tonumber(at) <= now() then
    redis.call('ZREM', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[i + 1], ARGV[i + 1])
    redis.call('HDEL', KEYS[i + 2], ARGV[i + 1])
  end
end
return 'ok'
`)

func removeExpiredKeys(ctx context.Context, db *keyspace.DB, partition int, members []string) error {
	keys, args := []string{keyspace.KeyEnds(keyspace.PartitionKeys(partition))}, []any{}
	for _, member := range members {
		appID, keyID, _ := strings.Cut(member, "/")
		k := keyspace.KeysOf(appID)
		keys, args = append(keys, k.AppKeys(), k.KeyUses()), append(args, member, keyID)
	}
	_, err := removeKeys.Run(ctx, db, keys, args...)
	return err
}
