package ledger

import (
	"context"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

// TallyLua defines tally(dead, app, failed), which sets the app's number in dead to the length of its list of
// failed triggers. Every script that changes such a list calls it. It counts anew each time, so a repeated run
// is harmless.
const TallyLua = `
local function tally(dead, app, failed)
  local count = redis.call('ZCARD', failed)
  if count == 0 then
    redis.call('HDEL', dead, app)
  else
    redis.call('HSET', dead, app, count)
  end
end
`

// firedLua defines fired(triggers, id), the time (µs) when a trigger fired, from firedAt or the list of its
// app: the lists by state have the same order.
const firedLua = `
local firedAt = {}
local function fired(triggers, id) return firedAt[id] or redis.call('ZSCORE', triggers, id) or micros() end
`

// EffectStates reads the states of effects by their ids; empty for one that is no longer outstanding.
func (l *Ledger) EffectStates(ctx context.Context, appID string, ids []string) (states map[string]string, err error) {
	found, err := l.db.HashFields(ctx, lists.Map(ids, keyspace.KeysOf(appID).Effect), "state")
	states = map[string]string{}
	for i, fields := range found {
		states[ids[i]] = fields[0]
	}
	return states, err
}

// revive makes dead effects of a trigger due again, under the same ids. The wait for an answer starts again. A
// call that waits for its next attempt becomes due at once: its claim takes the lease as always, so one attempt
// is made at a time.
//
//	KEYS 1 trigger, 2 pending, 3 failed, 4 outbox, 5 dead, then effects, triggers of the app,
//	     over, then the ledger
//	ARGV 1 triggerId, 2 appId, 3 member of the outboxes, then for each effect id, part and state,
//	     then the pause before its call (ms), and the line of the retry (JSON)
//	=>   how many
var revive = keyspace.NewScript(keyspace.DueLua, TallyLua, firedLua, `
local revived, hastened, at = 0, 0, now()
local function waits(key, id)
  local had = redis.call('HMGET', key, 'kind', 'state', 'token')
  local due = redis.call('ZSCORE', ledger.calls, id)
  return had[1] == 'call' and had[2] == 'due' and had[3] == '' and due and tonumber(due) > at
end
for i = 6, others - 2 do
  local id, part, state = ARGV[3 * (i - 5) + 1], ARGV[3 * (i - 5) + 2], ARGV[3 * (i - 5) + 3]
  if redis.call('HGET', KEYS[i], 'state') == 'dead' then
    revived = revived + 1
    redis.call('HSET', KEYS[i], 'state', 'due', 'token', '', 'until', 0, 'claims', 0, 'fails', 0, 'created', at)
    redis.call('HINCRBY', KEYS[i], 'revived', 1)
    if redis.call('HEXISTS', KEYS[i], 'begun') == 1 then redis.call('HSET', KEYS[i], 'begun', '') end
    redis.call('HDEL', KEYS[i], 'given')
    if redis.call('HGET', KEYS[i], 'order') == '1' then
      push(KEYS[4], ARGV[3], ARGV[2], id, '', 0)
    else
      schedule(ARGV[2], 'calls', id, at + math.max(tonumber(ARGV[#ARGV - 1]), tonumber(redis.call('HGET', KEYS[i], 'wait') or '0')))
    end
    if state ~= '' then redis.call('HSET', KEYS[1], part, state) else redis.call('HDEL', KEYS[1], part) end
    redis.call('HINCRBY', KEYS[1], 'open', 1)
    redis.call('HINCRBY', KEYS[1], 'dead', -1)
  elseif waits(KEYS[i], id) then
    hastened = hastened + 1
    schedule(ARGV[2], 'calls', id, at)
  end
end
if revived > 0 then
  redis.call('ZADD', KEYS[2], fired(KEYS[others - 1], ARGV[1]), ARGV[1])
  redis.call('ZREM', KEYS[others], ARGV[2] .. '/' .. ARGV[1])
end
if revived + hastened > 0 then
  local lines = redis.call('HGET', KEYS[1], 'retries') or ''
  if #lines < 8192 then redis.call('HSET', KEYS[1], 'retries', lines .. ARGV[#ARGV] .. '\n') end
end
if redis.call('HGET', KEYS[1], 'dead') == '0' then redis.call('ZREM', KEYS[3], ARGV[1]) end
tally(KEYS[5], ARGV[2], KEYS[3])
return revived
`)

// Revival describes the retry of a trigger's dead effects.
type Revival struct {
	App, Session, Trigger string
	Name                  string        // prefix of its effects' ids
	States                States        // new states of the effects
	Line                  string        // JSON, kept with the trigger
	Wait                  time.Duration // before its call is due
}

// Revive makes the dead effects of a trigger due again, and also its call if that waits for its next attempt.
func (l *Ledger) Revive(ctx context.Context, r Revival) error {
	k, box := keyspace.KeysOf(r.App), keyspace.Box(r.Session, r.Trigger)
	keys := []string{k.Trigger(r.Trigger), k.InState(keyspace.Pending), k.InState(keyspace.Failed), k.Outbox(box), k.Dead()}
	args := []any{r.Trigger, r.App, box}
	for _, part := range keyspace.Parts {
		id := keyspace.EffectID(r.Name, part)
		keys, args = append(keys, k.Effect(id)), append(args, id, part, r.States.of(part))
	}
	failpoint.At(failpoint.ReviveBefore)
	_, err := revive.Run(ctx, l.db, append(append(keys, k.Triggers(""), k.Over()), k.Ledger()...), append(args, r.Wait.Milliseconds(), r.Line)...)
	failpoint.At(failpoint.ReviveReply)
	return err
}

// purge removes a trigger without effects in delivery.
//
//	KEYS 1 trigger, 2 failed, 3 triggers of the app, 4 those of the session, 5 dead,
//	     6 over, then its effects
//	ARGV 1 triggerId, 2 appId, 3 '1' to remove only a failed one
//	=>   1, or 0 if it stays
var purge = keyspace.NewFreeingScript(TallyLua, `
local counts = redis.call('HMGET', KEYS[1], 'open', 'dead')
if not counts[1] or tonumber(counts[1]) > 0 or ARGV[3] == '1' and tonumber(counts[2]) == 0 then return 0 end
redis.call('DEL', KEYS[1], unpack(KEYS, 7))
redis.call('ZREM', KEYS[6], ARGV[2] .. '/' .. ARGV[1])
for i = 2, 4 do redis.call('ZREM', KEYS[i], ARGV[1]) end
tally(KEYS[5], ARGV[2], KEYS[2])
return 1
`)

// Purge removes a trigger, or with failed only a failed one, and reports whether it did. A trigger with an
// effect in delivery or held stays.
func (l *Ledger) Purge(ctx context.Context, appID, sessionID, triggerID, name string, failed bool) (bool, error) {
	k := keyspace.KeysOf(appID)
	keys := []string{k.Trigger(triggerID), k.InState(keyspace.Failed), k.Triggers(""), k.Triggers(sessionID), k.Dead(), k.Over()}
	raw, err := purge.Run(ctx, l.db, append(keys, keyspace.Effects(k, name)...), triggerID, appID, failed)
	return raw == int64(1), err
}
