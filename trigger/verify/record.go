package verify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// record looks at a trigger with its effects and all lists that it must, or must not, be in.
//
//	KEYS 1 trigger, 2 app, 3 apps, 4 triggers of the app, 5 those of the session, 6 pending,
//	     7 failed, 8 over, 9 dead, 10 outbox of its events, then its effects, as keyspace.Parts has
//	     them and those of later results, then the ledger
//	ARGV 1 appId, 2 triggerId, 3 what its effects are named after, 4 session, 5 and 6 how long its
//	     record is kept where it has delivered everything, and where it has failed (ms), then of
//	     event, emitter and call the state (JSON) where it is pending, else '', and the state of
//	     one that is lost
//
// A trigger of which a batch has events is listed as pending or not. One that expires by itself
// was written before there was a list of those that are over.
var record = newScript(keyspace.DueLua, ledger.TallyLua, `
local app, id, at = ARGV[1], ARGV[2], now()
local had = redis.call('HMGET', KEYS[1], 'fire', 'session', 'open', 'dead', 'state', 'due', 'held', 'event', 'emitter', 'call', 'record')
if redis.call('EXISTS', KEYS[1]) == 0 or (had[1] or '') ~= ARGV[3] or (had[2] or '') ~= ARGV[4] then return faults end
if ofNoApp(KEYS[2], KEYS[3], app) then
  fault('record.app', '', function()
    for i = 11, others do
      if redis.call('HGET', KEYS[i], 'state') == 'dead' then redis.call('DEL', KEYS[i]) end
    end
    redis.call('DEL', KEYS[1])
    for i = 4, 7 do redis.call('ZREM', KEYS[i], id) end
    redis.call('ZREM', KEYS[8], app .. '/' .. id)
    unschedule('held', id)
    tally(KEYS[9], app, KEYS[7])
  end)
  return faults
end
if not had[1] or not had[11] then
  fault('record.unreadable')
  return faults
end
local due, dead, packed, packs = 0, 0, 0, {}
for i = 11, others do
  local state = redis.call('HGET', KEYS[i], 'state')
  if state == 'due' then due = due + 1 elseif state == 'dead' then dead = dead + 1 end
end
local batch = redis.call('LINDEX', KEYS[10], 0)
if batch and string.sub(batch, 1, 1) == '#' then
  for of, part in string.gmatch(batch, '\n[^\t\n]*\t([^\t\n]*)\t([^\t\n]*)\t') do
    if of == id and part ~= '' then
      packed = packed + 1
      packs[part] = true
    end
  end
end
local owes, state, open, gave = due + packed, had[5] or '', tonumber(had[3]) or -1, tonumber(had[4]) or 0
local held, ended = state == 'confirming' or state == 'settling', state == 'cancelled' or state == 'duplicate'
local function score() return redis.call('ZSCORE', KEYS[4], id) or micros() end
if not redis.call('ZSCORE', KEYS[4], id) then
  fault('record.unlisted', '', function() redis.call('ZADD', KEYS[4], micros(), id) end)
end
if state ~= '' and not held and not ended then
  fault('record.state', state)
  return faults
end
if (held or ended) and owes > 0 then
  fault('record.early', state .. ', owes ' .. owes)
  return faults
end
if held then
  if (had[7] or '') == '' then fault('record.empty', state) end
  if not redis.call('ZSCORE', ledger.held, id) then
    fault('record.timer', state, function() schedule(app, 'held', id, tonumber(had[6]) or at) end)
  end
  owes = math.max(open, 1)
end
local lost = {}
for i, part in ipairs({'event', 'emitter', 'call'}) do
  local was = ARGV[5 + 2 * i]
  if was ~= '' and had[7 + i] == was and not held and not ended and not packs[part] and redis.call('EXISTS', KEYS[10 + i]) == 0 then
    lost[#lost + 1] = i
    fault('record.lost', part, function() redis.call('HSET', KEYS[1], part, ARGV[6 + 2 * i]) end)
  end
end
if open ~= owes then
  fault('record.open', 'says ' .. (had[3] or 'nothing') .. ', owes ' .. owes, function() redis.call('HSET', KEYS[1], 'open', owes) end)
end
if gave < dead then
  fault('record.dead', 'says ' .. (had[4] or 'nothing') .. ', has given up ' .. dead, function() redis.call('HSET', KEYS[1], 'dead', dead) end)
  gave = dead
end
if #lost > 0 then
  gave = gave + #lost
  if mend then redis.call('HSET', KEYS[1], 'dead', gave) end
end
local pending = redis.call('ZSCORE', KEYS[6], id)
if (held or due > 0) and not pending then
  fault('record.pending', 'not listed', function() redis.call('ZADD', KEYS[6], score(), id) end)
elseif pending and owes == 0 then
  fault('record.pending', 'listed', function() redis.call('ZREM', KEYS[6], id) end)
end
local failed = redis.call('ZSCORE', KEYS[7], id)
if gave > 0 and not failed then
  fault('record.failed', 'not listed', function()
    redis.call('ZADD', KEYS[7], score(), id)
    tally(KEYS[9], app, KEYS[7])
  end)
elseif gave == 0 and failed then
  fault('record.failed', 'listed', function()
    redis.call('ZREM', KEYS[7], id)
    tally(KEYS[9], app, KEYS[7])
  end)
end
local over = redis.call('ZSCORE', KEYS[8], app .. '/' .. id)
if owes > 0 and over then
  fault('record.ending', 'owes ' .. owes, function() redis.call('ZREM', KEYS[8], app .. '/' .. id) end)
elseif owes == 0 and not over and redis.call('PTTL', KEYS[1]) < 0 then
  fault('record.unending', '', function() redis.call('ZADD', KEYS[8], at + tonumber(ARGV[gave > 0 and 6 or 5]), app .. '/' .. id) end)
end
return faults
`)

// ofRecord are the fields that are read of a trigger before it is looked at.
var ofRecord = []string{"fire", "session", "retries", "event", "emitter", "call"}

func (w looker) records(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	w.report.Triggers += len(places)
	read, err := w.hashes(ctx, places, keyspace.Keys.Trigger, ofRecord)
	if err != nil {
		return nil, err
	}
	probes := make([]probe, len(places))
	for i, place := range places {
		probes[i] = w.recordProbe(place.App, place.Name, read[i])
	}
	return probes, nil
}

// recordProbe looks at a trigger of which ofRecord was read.
func (w looker) recordProbe(app, id string, read []string) probe {
	k, fire, session := keyspace.KeysOf(app), read[0], read[1]
	keys := []string{
		k.Trigger(id), k.App(), k.Apps(), k.Triggers(""), k.Triggers(keyspace.OrNone(session)), k.InState(keyspace.Pending),
		k.InState(keyspace.Failed), k.Over(), k.Dead(), k.Outbox(keyspace.Box(session, id)),
	}
	keys = append(keys, k.Effects(fire)...)
	for n := range strings.Count(read[2], "\n") {
		keys = append(keys, k.Effect(keyspace.RetriedResult(fire, n+1)))
	}
	args := []any{app, id, fire, session, w.Done.Milliseconds(), w.Dead.Milliseconds()}
	for _, state := range read[3:] {
		args = append(args, lostOf(state)...)
	}
	return probe{record, slices.Concat(keys, k.Ledger()), args, app, "trigger " + id}
}

// lostOf is the state of an effect where it is pending, and what it is where that effect is lost;
// both empty where it is not pending.
func lostOf(text string) []any {
	state := map[string]any{}
	if exactjson.Unmarshal([]byte(text), &state) != nil || state["state"] != "pending" {
		return []any{"", ""}
	}
	state["state"], state["error"] = "failed", "nothing of it was left to deliver, and whether it took place is not known"
	if _, event := state["subject"]; !event {
		state["reason"] = "outcome_unknown"
	}
	lost, err := json.Marshal(state) // came from JSON
	if err != nil {
		return []any{"", ""}
	}
	return []any{text, string(lost)}
}

// hashes reads fields of hashes; missing ones are empty.
func (w looker) hashes(ctx context.Context, places []keyspace.Place, key func(keyspace.Keys, string) string, fields []string) ([][]string, error) {
	pipe := w.DB.Pipeline()
	replies := make([]*redis.SliceCmd, len(places))
	for i, place := range places {
		replies[i] = pipe.HMGet(ctx, key(keyspace.KeysOf(place.App), place.Name), fields...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	read := make([][]string, len(places))
	for i, reply := range replies {
		read[i] = keyspace.Fields(reply.Val())
	}
	return read, nil
}
