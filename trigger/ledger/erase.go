package ledger

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// Erasing a session removes its calls, its outboxes and its triggers, in this order: a call that
// ends owes an event, and an event of an outbox belongs to a trigger. A replica that has one of
// them in hand finds it gone when it writes down what came of it, and writes nothing. Only what
// it publishes is beyond the ledger: an outbox is taken from nobody who has its lease. Each step
// can be made again after a crash, and finds what is left.

// erased is how many records are removed in one script.
const erased = 100

// listed is how many triggers of an app are looked at together for those of a session.
const listed = 4000

// eraseCalls removes calls, and answers that are waited for.
//
//	KEYS effect of each, then the ledger
//	ARGV session, then the id of each
//	=>   ok
var eraseCalls = keyspace.NewFreeingScript(keyspace.DueLua, `
for i = 1, others do
  if redis.call('HGET', KEYS[i], 'session') == ARGV[1] then
    redis.call('DEL', KEYS[i])
    unschedule('calls', ARGV[1 + i])
  end
end
return 'ok'
`)

// EraseCalls removes all calls that a session owes.
func (l *Ledger) EraseCalls(ctx context.Context, appID, session string) error {
	k := keyspace.KeysOf(appID)
	owing, err := l.db.ZRange(ctx, k.Lane(keyspace.LaneCalls), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for ids := range slices.Chunk(owing, sieveTriggers) {
		own, err := l.effectsOf(ctx, k, ids, session)
		if err != nil {
			return err
		}
		if err := l.eraseCalls(ctx, k, own, session); err != nil {
			return err
		}
	}
	return nil
}

func (l *Ledger) eraseCalls(ctx context.Context, k keyspace.Keys, ids []string, session string) error {
	if len(ids) == 0 {
		return nil
	}
	keys, args := make([]string, len(ids)), []any{session}
	for i, id := range ids {
		keys[i], args = k.Effect(id), append(args, id)
	}
	_, err := eraseCalls.Run(ctx, l.db, append(keys, k.Ledger()...), args...)
	return err
}

// effectsOf picks the effects that are of a session.
func (l *Ledger) effectsOf(ctx context.Context, k keyspace.Keys, ids []string, session string) (own []string, err error) {
	pipe, replies := l.db.Pipeline(), make([]*redis.StringCmd, len(ids))
	for i, id := range ids {
		replies[i] = pipe.HGet(ctx, k.Effect(id), "session")
	}
	_, _ = pipe.Exec(ctx) // every command has its own error
	for i, reply := range replies {
		if err := reply.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return nil, keyspace.Unavailable(err)
		}
		if reply.Val() == session {
			own = append(own, ids[i])
		}
	}
	return own, nil
}

// eraseOutbox removes an outbox with its effects, unless somebody has it.
//
//	KEYS outbox, then the effect of each member, then the ledger
//	ARGV member of the outboxes, then each member of the outbox
//	=>   ok; moved where it has others in it than those; or held with pause (ms), at the most
//	     until when the lease of who publishes it ends
var eraseOutbox = keyspace.NewFreeingScript(keyspace.DueLua, `
local outbox, box = KEYS[1], ARGV[1]
local members = redis.call('LRANGE', outbox, 0, -1)
local held = redis.call('HEXISTS', ledger.holders, box) == 1 or string.sub(members[1] or '', 1, 1) == '#'
local ends = tonumber(redis.call('ZSCORE', ledger.outboxes, box) or '0')
if #members > 0 and held and ends > now() then return {'held', 'pause', tostring(ends - now())} end
if #members ~= others - 1 then return {'moved'} end
for i, member in ipairs(members) do
  if member ~= ARGV[1 + i] then return {'moved'} end
end
for i = 1, others do redis.call('DEL', KEYS[i]) end
redis.call('DECRBY', ledger.owed, #members)
redis.call('HDEL', ledger.holders, box)
unschedule('outboxes', box)
return {'ok'}
`)

// EraseOutbox removes an outbox with all events that are not published. Where another publishes
// it now, nothing is removed, and pause is how long that one may have it; it may give it back
// much earlier.
func (l *Ledger) EraseOutbox(ctx context.Context, appID, box string) (done bool, pause time.Duration, err error) {
	k := keyspace.KeysOf(appID)
	members, err := l.db.LRange(ctx, k.Outbox(box), 0, -1).Result()
	if err != nil {
		return false, 0, keyspace.Unavailable(err)
	}
	keys, args := []string{k.Outbox(box)}, []any{box}
	for _, member := range members {
		of := member
		if strings.HasPrefix(member, "#") {
			of = "" // a batch has no effect of its own
		}
		keys, args = append(keys, k.Effect(of)), append(args, member)
	}
	raw, err := eraseOutbox.Run(ctx, l.db, append(keys, k.Ledger()...), args...)
	r := readReply(raw)
	return r.status == "ok", r.values.duration("pause"), err
}

// EachOfSession hands out the ids of the triggers of a session, some at a time, those of its
// earlier lives included.
func (l *Ledger) EachOfSession(ctx context.Context, appID, session string, do func(ids []string) error) error {
	k := keyspace.KeysOf(appID)
	own, err := l.db.ZRange(ctx, k.Triggers(session), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for ids := range slices.Chunk(own, erased) {
		if err := do(ids); err != nil {
			return err
		}
	}
	return l.eachOfApp(ctx, appID, session, do)
}

// eachOfApp looks through the triggers of an app. Those of one time as the last that were read
// are read again.
func (l *Ledger) eachOfApp(ctx context.Context, appID, session string, do func(ids []string) error) error {
	k := keyspace.KeysOf(appID)
	for after := math.Inf(-1); ; {
		list, err := l.Listed(ctx, k.Triggers(""), Span{From: after, To: math.Inf(1), Oldest: true, Most: listed})
		if err != nil || len(list) == 0 {
			return err
		}
		ids := make([]string, len(list))
		for i, z := range list {
			ids[i] = z.Member.(string)
		}
		if err := l.doOwn(ctx, appID, session, ids, do); err != nil {
			return err
		}
		last := list[len(list)-1].Score
		if len(list) < listed || last == after {
			return nil
		}
		after = last
	}
}

// doOwn hands out those of the ids that are of the session.
func (l *Ledger) doOwn(ctx context.Context, appID, session string, ids []string, do func(ids []string) error) error {
	places, err := l.Sift(ctx, appID, ids, Sieve{Session: session})
	if err != nil {
		return err
	}
	for some := range slices.Chunk(places, erased) {
		own := make([]string, len(some))
		for i, place := range some {
			own[i] = ids[place]
		}
		if err := do(own); err != nil {
			return err
		}
	}
	return nil
}

// eraseTriggers removes records with all that names them, and their effects.
//
//	KEYS 1 pending, 2 failed, 3 triggers of the app, 4 those of the session, 5 over, 6 dead,
//	     then of each record itself, its fence and its effects, then other effects, then the
//	     ledger
//	ARGV appId, keys of each, number of records, then of each triggerId and the id of its call
//	=>   ok
var eraseTriggers = keyspace.NewFreeingScript(keyspace.DueLua, TallyLua, `
local app, step, count = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
for i = 1, count do
  local first, id = 7 + (i - 1) * step, ARGV[2 + 2 * i]
  local fence = redis.call('GET', KEYS[first + 1])
  if fence and string.sub(fence, -#id - 1) == ' ' .. id then redis.call('DEL', KEYS[first + 1]) end
  redis.call('DEL', KEYS[first], unpack(KEYS, first + 2, first + step - 1))
  unschedule('calls', ARGV[3 + 2 * i])
  unschedule('held', id)
  for j = 1, 4 do redis.call('ZREM', KEYS[j], id) end
  redis.call('ZREM', KEYS[5], app .. '/' .. id)
end
for i = 7 + count * step, others do redis.call('DEL', KEYS[i]) end
tally(KEYS[6], app, KEYS[2])
return 'ok'
`)

// EraseTriggers removes triggers of a session, whatever they owe.
func (l *Ledger) EraseTriggers(ctx context.Context, appID, session string, ids []string) error {
	k, pipe := keyspace.KeysOf(appID), l.db.Pipeline()
	records := make([]*redis.SliceCmd, len(ids))
	for i, id := range ids {
		records[i] = pipe.HMGet(ctx, k.Trigger(id), "fire", "fence", "retries")
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return keyspace.Unavailable(err)
	}
	keys := []string{k.InState(keyspace.Pending), k.InState(keyspace.Failed), k.Triggers(""), k.Triggers(session), k.Over(), k.Dead()}
	args, others := []any{appID, 2 + len(keyspace.Parts), len(ids)}, []string{}
	for i, id := range ids {
		had := keyspace.Fields(records[i].Val())
		keys = append(append(keys, k.Trigger(id), k.Fence(had[1])), k.Effects(had[0])...)
		args = append(args, id, keyspace.EffectID(had[0], "call"))
		others = append(others, laterResults(k, had[0], had[2])...)
	}
	_, err := eraseTriggers.Run(ctx, l.db, slices.Concat(keys, others, k.Ledger()), args...)
	return err
}

// laterResults are the keys of the results of calls that were retried by hand, which are named
// after the number of the retry.
func laterResults(k keyspace.Keys, firing, retries string) (keys []string) {
	for n := range strings.Count(retries, "\n") {
		keys = append(keys, k.Effect(keyspace.RetriedResult(firing, n+1)))
	}
	return keys
}
