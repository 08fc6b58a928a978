package erasure

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/trigger/ledger"
)

// An erasure removes the session's calls, its outboxes and its triggers, in this order: an ended call leads to
// an event, and an event of an outbox belongs to a trigger. A replica that works on one of them finds it removed when
// it records the outcome, and writes nothing. The ledger cannot revoke a publish, so an outbox is never taken from a
// lease holder. Each step can be repeated after a crash, and removes the rest.

const (
	recordsPerScript = 100  // records removed by one script
	triggersPerRead  = 4000 // triggers of an app searched together for a session's
	callsPerRead     = 500  // calls of an app searched together for a session's
)

// eraseCalls removes calls and awaited answers.
//
//	KEYS effect of each, then the ledger
//	ARGV session, then the id of each
var eraseCalls = keyspace.NewFreeingScript(keyspace.DueLua, `
for i = 1, others do
  if redis.call('HGET', KEYS[i], 'session') == ARGV[1] then
    redis.call('DEL', KEYS[i])
    unschedule('calls', ARGV[1 + i])
  end
end
return 'ok'
`)

func (e *Eraser) eraseCalls(ctx context.Context, appID, session string) error {
	k, db := keyspace.KeysOf(appID), e.Ledger.DB()
	calls, err := db.ZRange(ctx, k.Lane(keyspace.LaneCalls), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	for ids := range slices.Chunk(calls, callsPerRead) {
		effects := lists.Map(ids, k.Effect)
		sessions, err := db.HashFields(ctx, effects, "session")
		if err != nil {
			return err
		}
		keys, args := []string{}, []any{session}
		for i, id := range ids {
			if sessions[i][0] == session {
				keys, args = append(keys, effects[i]), append(args, id)
			}
		}
		if len(keys) == 0 {
			continue
		}
		if _, err := eraseCalls.Run(ctx, db, append(keys, k.Ledger()...), args...); err != nil {
			return err
		}
	}
	return nil
}

// eraseOutbox removes an outbox with its effects, unless another replica publishes it.
//
//	KEYS outbox, then the effect of each member, then the ledger
//	ARGV member of the outboxes, then each member of the outbox
//	=>   ok; moved if it has other members; or held with pause (ms), at most
//	     until its publisher's lease ends
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

// eraseOutboxes removes unpublished events once no replica publishes them.
func (e *Eraser) eraseOutboxes(ctx context.Context, appID, sessionID string) error {
	k, db := keyspace.KeysOf(appID), e.Ledger.DB()
	for _, box := range keyspace.Boxes(sessionID) {
		for {
			members, err := db.LRange(ctx, k.Outbox(box), 0, -1).Result()
			if err != nil {
				return keyspace.Unavailable(err)
			}
			keys, args := []string{k.Outbox(box)}, []any{box}
			for _, member := range members {
				id := member
				if strings.HasPrefix(member, "#") {
					id = "" // a batch has no effects yet
				}
				keys, args = append(keys, k.Effect(id)), append(args, member)
			}
			raw, err := eraseOutbox.Run(ctx, db, append(keys, k.Ledger()...), args...)
			if err != nil {
				return err
			}
			reply, pause := raw.([]any), time.Duration(0)
			if reply[0] == "ok" {
				break
			}
			if len(reply) == 3 { // held, pause, ms
				if pause, err = time.ParseDuration(reply[2].(string) + "ms"); err != nil {
					return err
				}
			}
			select {
			case <-time.After(min(outboxPause, pause)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// eraseTriggers removes records with their list entries and their effects.
//
//	KEYS 1 pending, 2 failed, 3 triggers of the app, 4 those of the session, 5 over, 6 dead,
//	     then of each record itself, its fence and its effects, then other effects, then the
//	     ledger
//	ARGV appId, keys of each, number of records, then of each triggerId and the id of its call
var eraseTriggers = keyspace.NewFreeingScript(keyspace.DueLua, ledger.TallyLua, `
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

// eraseTriggers removes the triggers of a session with their pending effects. First it removes the published
// answers to triggers that are still known, by their records or events.
func (e *Eraser) eraseTriggers(ctx context.Context, appID, session string) error {
	triggerIDs, err := e.Events.TriggersOf(ctx, appID, session)
	if err != nil {
		return streamsError(err)
	}
	err = e.eachTrigger(ctx, appID, session, func(ids []string) error {
		triggerIDs = append(triggerIDs, ids...)
		return nil
	})
	if err != nil {
		return err
	}
	if err := e.Answers.Forget(ctx, appID, triggerIDs); err != nil {
		return streamsError(err)
	}
	return e.eachTrigger(ctx, appID, session, func(ids []string) error {
		k := keyspace.KeysOf(appID)
		triggers := lists.Map(ids, k.Trigger)
		records, err := e.Ledger.DB().HashFields(ctx, triggers, "fire", "fence", "retries")
		if err != nil {
			return err
		}
		keys := []string{k.InState(keyspace.Pending), k.InState(keyspace.Failed), k.Triggers(""), k.Triggers(session), k.Over(), k.Dead()}
		args, results := []any{appID, 2 + len(keyspace.Parts), len(ids)}, []string{}
		for i, id := range ids {
			fire, fence, retries := records[i][0], records[i][1], records[i][2]
			keys = append(append(keys, triggers[i], k.Fence(fence)), keyspace.Effects(k, fire)...)
			args = append(args, id, keyspace.EffectID(fire, "call"))
			for n := range strings.Count(retries, "\n") { // each manual retry has its own result
				results = append(results, k.Effect(keyspace.RetriedResult(fire, n+1)))
			}
		}
		_, err = eraseTriggers.Run(ctx, e.Ledger.DB(), slices.Concat(keys, results, k.Ledger()), args...)
		return err
	})
}

// eachTrigger calls visit with the ids of the triggers of a session, some at a time, including earlier generations. It
// searches these among all triggers of the app. A page begins with the time of the last trigger of the page before.
func (e *Eraser) eachTrigger(ctx context.Context, appID, session string, visit func(ids []string) error) error {
	k, reader := keyspace.KeysOf(appID), ledger.NewReader(e.Ledger.DB())
	found, err := e.Ledger.DB().ZRange(ctx, k.Triggers(session), 0, -1).Result()
	if err != nil {
		return keyspace.Unavailable(err)
	}
	last := false
	for after := math.Inf(-1); ; {
		for ids := range slices.Chunk(found, recordsPerScript) {
			if err := visit(ids); err != nil {
				return err
			}
		}
		if last {
			return nil
		}

		list, err := reader.ReadList(ctx, k.Triggers(""), ledger.TimeRange{From: after, To: math.Inf(1), Oldest: true, Most: triggersPerRead})
		if err != nil || len(list) == 0 {
			return err
		}
		ids := lists.Map(list, func(place redis.Z) string { return place.Member.(string) })
		places, err := reader.FilterTriggers(ctx, appID, ids, ledger.Filter{Session: session})
		if err != nil {
			return err
		}
		found = lists.Map(places, func(place int) string { return ids[place] })
		newest := list[len(list)-1].Score
		last, after = len(list) < triggersPerRead || newest == after, newest
	}
}

func streamsError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrStreams, err)
}
