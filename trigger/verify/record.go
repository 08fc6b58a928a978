package verify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/trigger/ledger"
)

// record checks a trigger with its effects and all lists that it must, or must not, be in.
//
//	KEYS 1 trigger, 2 app, 3 apps, 4 triggers of the app, 5 those of the session, 6 pending,
//	     7 failed, 8 over, 9 dead, 10 outbox of its events, then its effects, as keyspace.Parts has
//	     them and those of later results, then the ledger
//	ARGV 1 appId, 2 triggerId, 3 prefix of its effects' ids, 4 session, 5 and 6 how long its
//	     record is kept when delivered, and when failed (ms), then of
//	     event, emitter and call the state (JSON) if pending, else '', and the state of
//	     a lost one
//
// A trigger with events in a batch may be listed as pending or not. A record that expires by itself predates
// the list of expired records.
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
if (held or due > 0 and packed == 0) and not pending then
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

func (w *walk) recordProbes(ctx context.Context, places []keyspace.KeyName) ([]probe, error) {
	w.report.Triggers += len(places)
	fields, err := w.hashes(ctx, places, "fire", "session", "retries", "event", "emitter", "call")
	if err != nil {
		return nil, err
	}
	probes := make([]probe, len(places))
	for i, place := range places {
		k, id, fire, session := keyspace.KeysOf(place.App), place.Name, fields[i][0], fields[i][1]
		keys := []string{
			k.Trigger(id), k.App(), k.Apps(), k.Triggers(""), k.Triggers(keyspace.OrNone(session)), k.InState(keyspace.Pending),
			k.InState(keyspace.Failed), k.Over(), k.Dead(), k.Outbox(keyspace.Box(session, id)),
		}
		keys = append(keys, keyspace.Effects(k, fire)...)
		for n := range strings.Count(fields[i][2], "\n") {
			keys = append(keys, k.Effect(keyspace.RetriedResult(fire, n+1)))
		}
		args := []any{place.App, id, fire, session, w.Done.Milliseconds(), w.Dead.Milliseconds()}
		for part, text := range fields[i][3:] {
			state := map[string]any{}
			if exactjson.Unmarshal([]byte(text), &state) != nil || state["state"] != "pending" {
				args = append(args, "", "")
				continue
			}
			state["state"], state["error"] = "failed", "nothing of it was left to deliver, and whether it took place is not known"
			if part == 2 { // the call
				state["reason"] = "outcome_unknown"
			}
			lost, _ := json.Marshal(state) // came from JSON
			args = append(args, text, string(lost))
		}
		probes[i] = probe{record, slices.Concat(keys, k.Ledger()), args, place.App, "trigger " + id}
	}
	return probes, nil
}

// hashes reads fields of hashes; missing ones are empty.
func (w *walk) hashes(ctx context.Context, places []keyspace.KeyName, fields ...string) ([][]string, error) {
	return w.DB.HashFields(ctx, lists.Map(places, keyspace.KeyName.Key), fields...)
}

// pendingEffect checks that an effect is scheduled.
//
//	KEYS effect, trigger, then the outboxes that it may be in, then the ledger
//	ARGV appId, id, '1' if it was seen in an outbox, member of the outboxes of the first of
//	     them
//
// An outstanding call of a missing trigger is no fault: its app was removed, and the call is dropped when it is due.
var pendingEffect = newScript(keyspace.DueLua, `
local app, id = ARGV[1], ARGV[2]
local had = redis.call('HMGET', KEYS[1], 'kind', 'state', 'order', 'until', 'wait', 'given', 'created', 'trigger')
if redis.call('EXISTS', KEYS[1]) == 0 then return faults end
local kind, state = had[1] or 'none', had[2] or 'none'
if kind ~= 'event' and kind ~= 'call' and kind ~= 'answer' or state ~= 'due' and state ~= 'dead' then
  fault('effect.state', 'kind ' .. kind .. ', state ' .. state)
  return faults
end
if state == 'dead' then
  if (had[8] or '') == '' or redis.call('EXISTS', KEYS[2]) == 0 then
    fault('effect.dead', '', function() redis.call('DEL', KEYS[1]) end)
  end
  return faults
end
if had[3] ~= '1' then
  if redis.call('ZSCORE', ledger.calls, id) then return faults end
  fault('effect.call', kind, function()
    local time = math.max(now(), tonumber(had[4]) or 0)
    if had[5] and not had[6] then time = math.max(time, (tonumber(had[7]) or 0) + tonumber(had[5]) + 1) end
    schedule(app, 'calls', id, time)
  end)
  return faults
end
if ARGV[3] == '1' then return faults end
for i = 3, others do
  if redis.call('LPOS', KEYS[i], id, 'RANK', -1) then return faults end
end
fault('effect.event', '', function() push(KEYS[3], ARGV[4], app, id, '', 0) end)
return faults
`)

func (w *walk) effectProbes(ctx context.Context, places []keyspace.KeyName) ([]probe, error) {
	fields, err := w.hashes(ctx, places, "session", "trigger", "order")
	if err != nil {
		return nil, err
	}
	var unseen []keyspace.KeyName
	for i, place := range places {
		if fields[i][2] == "1" && !w.outboxEvents.has(nameOf(place.App, place.Name)) {
			unseen = append(unseen, place)
		}
	}
	subjects := map[keyspace.KeyName]string{}
	if len(unseen) > 0 {
		bodies, err := w.hashes(ctx, unseen, "body")
		if err != nil {
			return nil, err
		}
		for i, fields := range bodies {
			var body struct{ Subject string }
			_ = json.Unmarshal([]byte(fields[0]), &body) // an unreadable body is not a chat event
			subjects[unseen[i]] = body.Subject
		}
	}
	probes := make([]probe, len(places))
	for i, place := range places {
		k, subject := keyspace.KeysOf(place.App), subjects[place]
		boxes := boxesOf(place.Name, fields[i][0], fields[i][1], subject)
		keys := []string{k.Effect(place.Name), k.Trigger(fields[i][1])}
		keys = append(keys, lists.Map(boxes, k.Outbox)...)
		_, unknown := subjects[place]
		probes[i] = probe{pendingEffect, slices.Concat(keys, k.Ledger()), []any{place.App, place.Name, !unknown && fields[i][2] == "1", boxes[0]}, place.App, "effect " + place.Name}
	}
	return probes, nil
}

// boxesOf returns the outboxes that an event may be in, the likeliest first: the effect does not name its
// outbox.
func boxesOf(id, session, trigger, subject string) []string {
	prefix := id[:max(strings.LastIndexByte(id, '.'), 0)]
	switch {
	case session != "" && strings.HasPrefix(subject, "chat."):
		return []string{keyspace.ChatBox(session), keyspace.Box(session, ""), keyspace.Box("", "")}
	case session != "":
		return []string{keyspace.Box(session, ""), keyspace.ChatBox(session), keyspace.Box("", "")}
	case trigger != "":
		return []string{keyspace.Box("", trigger), keyspace.Box("", "")}
	case prefix != "": // a notification about a trigger is named after it
		return []string{keyspace.Box("", prefix), keyspace.Box("", "")}
	}
	return []string{keyspace.Box("", "")}
}
