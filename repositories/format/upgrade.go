package format

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/repositories/keyspace"
)

// lease is the time after which a replica that runs a step is presumed dead unless it has renewed the lease.
const lease = 10 * time.Second

// Upgrade migrates data to a program's format.
type Upgrade struct {
	DB      *keyspace.DB
	Steps   []Step
	Program string // this program's version, named to programs that know less
	// Older lists the addresses of programs connected to Redis that only know formats below a number. It is called
	// before a step that is not live.
	Older func(ctx context.Context, below int) ([]string, error)
	// Begun, if set, is called before a step, which may take minutes.
	Begun func()
	// NewToken makes a unique name for this replica.
	NewToken func() string
	Log      *slog.Logger
}

// Run runs all missing steps. It returns nil if the data has this program's format or a later compatible one. Its
// error wraps ErrNewer if the format is incompatible, ErrWait if it must be called again later, and ErrStep if a step fails on the data. It can be
// interrupted at any time, and continues where any replica has stopped.
func (u Upgrade) Run(ctx context.Context) error {
	for {
		m, err := read(ctx, u.DB)
		if err == nil {
			err = m.judge(Known(u.Steps))
		}
		if err != nil || m.version >= Known(u.Steps) {
			return err
		}
		if err := u.step(ctx, m.version); err != nil {
			return err
		}
	}
}

func (u Upgrade) step(ctx context.Context, from int) error {
	s, token := u.Steps[from-first], u.NewToken()
	if err := u.alone(ctx, s, from+1); err != nil {
		return err
	}
	live := "0"
	if s.Live {
		live = "1"
	}
	raw, err := claim.Run(ctx, u.DB, []string{keyspace.Format}, from, token, lease.Milliseconds(), u.Program, live)
	if err != nil {
		return err
	}
	fields, _ := raw.([]any)
	reply := keyspace.Fields(fields)
	switch reply[0] {
	case "moved":
		return fmt.Errorf("%w: another replica has changed it just now", ErrWait)
	case "busy":
		return fmt.Errorf("%w: another replica changes it, and has done %s of %d partitions", ErrWait, reply[1], keyspace.Partitions)
	}
	done, err := strconv.Atoi(reply[1])
	if err != nil {
		return err
	}
	if err := u.alone(ctx, s, from+1); err != nil { // no program can have started since
		return errors.Join(err, u.release(ctx, token))
	}
	if u.Begun != nil {
		u.Begun()
	}
	u.Log.Info("format.step", "from", from, "to", from+1, "does", s.Name, "partition", done)
	if err := u.partitions(ctx, s, token, done); err != nil {
		return errors.Join(err, u.release(context.WithoutCancel(ctx), token))
	}
	if err := u.renew(ctx, finish, token, from+1); err != nil {
		return err
	}
	u.Log.Info("format.changed", "to", from+1)
	return nil
}

// alone returns an ErrWait if programs run that the step would break.
func (u Upgrade) alone(ctx context.Context, s Step, to int) error {
	if s.Live {
		return nil
	}
	older, err := u.Older(ctx, to)
	if err != nil || len(older) == 0 {
		return err
	}
	return fmt.Errorf("%w: older replicas that still run, at %s, cannot use format %d: stop them all, and this one continues by itself", ErrWait, strings.Join(older, ", "), to)
}

// partitions runs a step in all partitions from the nth on, and renews the lease after each and during long ones.
func (u Upgrade) partitions(ctx context.Context, s Step, token string, n int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		ticks := time.NewTicker(lease / 4)
		defer ticks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticks.C:
				if err := u.renew(ctx, progress, token, 0); errors.Is(err, ErrWait) {
					cancel(err)
					return
				}
			}
		}
	}()
	for ; n < keyspace.Partitions; n++ {
		if err := s.Partition(ctx, u.DB, n); err != nil {
			if lost := context.Cause(ctx); lost != nil {
				err = lost
			}
			if !errors.Is(err, keyspace.ErrUnavailable) && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", ErrStep, err)
			}
			return fmt.Errorf("change the format of partition %d: %w", n, err)
		}
		if err := u.renew(ctx, progress, token, n+1); err != nil {
			return err
		}
	}
	return nil
}

// The scripts of the mark write a few bytes, so they also run in a full Redis: the process must start to free
// memory.

// claim takes the lease of the step from a format to the next. From then on no program can start that does not know
// the next format.
//
//	ARGV from is the format before the step, live '1' for a live step
//	=>   ok with the number of migrated partitions; busy with the same; moved if the format is another one
//
// A repeated run with its token gives the same answer.
var claim = keyspace.NewFreeingScript(`
KEYS mark
ARGV from token lease program live
local had = redis.call('HMGET', @mark, 'version', 'holder', 'ends', 'done', 'oldest')
if (had[1] or '1') ~= $from then return {'moved'} end
local done = had[4] or '0'
if had[2] and had[2] ~= $token and tonumber(had[3]) > now() then return {'busy', done} end
redis.call('HSET', @mark, 'version', $from, 'holder', $token, 'ends', now() + tonumber($lease), 'done', done,
  'program', $program, 'oldest', $live == '1' and (had[5] or '1') or $from + 1)
return {'ok', done}
`)

// progress records how many partitions have the new format, and renews the lease.
//
//	KEYS 1 mark
//	ARGV 1 token, 2 number of migrated partitions, 3 lease (ms)
//	=>   ok, or lost if another replica has the lease
var progress = keyspace.NewFreeingScript(`
local had = redis.call('HMGET', KEYS[1], 'holder', 'done')
if had[1] ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'done', math.max(tonumber(had[2]), tonumber(ARGV[2])), 'ends', now() + tonumber(ARGV[3]))
return 'ok'
`)

// finish records that all data has the new format, and ends the lease.
//
//	KEYS 1 mark
//	ARGV 1 token, 2 the new format; the third is not used
//	=>   ok, also if it has it already; lost if another replica has the lease
var finish = keyspace.NewFreeingScript(`
local had = redis.call('HMGET', KEYS[1], 'holder', 'version')
if tonumber(had[2]) >= tonumber(ARGV[2]) then return 'ok' end
if had[1] ~= ARGV[1] then return 'lost' end
redis.call('HSET', KEYS[1], 'version', ARGV[2])
redis.call('HDEL', KEYS[1], 'holder', 'ends', 'done')
return 'ok'
`)

// renew runs a script that requires the lease. Its error wraps ErrWait if another replica has it.
func (u Upgrade) renew(ctx context.Context, script *keyspace.Script, token string, n int) error {
	reply, err := script.Run(ctx, u.DB, []string{keyspace.Format}, token, n, lease.Milliseconds())
	if err == nil && reply != "ok" {
		err = fmt.Errorf("%w: another replica has taken over", ErrWait)
	}
	return err
}

// release ends the lease early, for another replica.
//
//	KEYS 1 mark
//	ARGV 1 token
var release = keyspace.NewFreeingScript(`
if redis.call('HGET', KEYS[1], 'holder') == ARGV[1] then redis.call('HDEL', KEYS[1], 'holder', 'ends') end
return 'ok'
`)

func (u Upgrade) release(ctx context.Context, token string) error {
	_, err := release.Run(ctx, u.DB, []string{keyspace.Format}, token)
	return err
}

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
		k := keyspace.KeysOf(app) // no session has the name of the app's outbox
		calls = append(calls, keyspace.Call{
			Keys: append([]string{k.Effect(id), k.Outbox(session)}, k.Ledger()...), Args: []any{member, app, kind, session, id},
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
//	ARGV member of due, appId, t or e, sessionId, which names the outbox too, messageId or id of the effect
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
schedule(ARGV[2], 'outboxes', ARGV[4], at)
return 'ok'
`)

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

// listKeyEnds lists the keys of a partition that expire. Without it, those of earlier versions would never be removed;
// those that such a version makes later are only hidden.
func listKeyEnds(ctx context.Context, db *keyspace.DB, n int) error {
	apps, err := db.ZRange(ctx, keyspace.PartitionKeys(n).Apps(), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for _, app := range apps {
		k := keyspace.KeysOf(app)
		stored, err := db.HGetAll(ctx, k.AppKeys()).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		args := []any{app}
		for id, text := range stored {
			var key struct{ ExpiresAt time.Time }
			_, record, _ := strings.Cut(text, "{") // behind the ids of its ancestors
			if json.Unmarshal([]byte("{"+record), &key) == nil && !key.ExpiresAt.IsZero() {
				args = append(args, id, key.ExpiresAt.UnixMilli()+1)
			}
		}
		if _, err := listKeyEnd.Run(ctx, db, []string{k.AppKeys(), keyspace.KeyEnds(k)}, args...); err != nil {
			return err
		}
	}
	return nil
}

// listKeyEnd lists the ends of the keys that still exist.
//
//	KEYS keys, ends
//	ARGV appId, then id and end (ms) of each
var listKeyEnd = keyspace.NewFreeingScript(`
for i = 2, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 then redis.call('ZADD', KEYS[2], ARGV[i + 1], ARGV[1] .. '/' .. ARGV[i]) end
end
return 'ok'
`)
