package verify

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"earshot/repositories/keyspace"
)

// effectOwed looks at an effect: whether somebody comes to it.
//
//	KEYS effect, trigger, then the outboxes that it may be in, then the ledger
//	ARGV appId, id, '1' where it was seen in an outbox, member of the outboxes of the first of
//	     them
//
// A call that is owed of a trigger that is gone is no fault: its app was removed, and it is still
// delivered.
var effectOwed = newScript(keyspace.DueLua, `
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

func (w looker) effects(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	read, err := w.hashes(ctx, places, keyspace.Keys.Effect, []string{"session", "trigger", "order"})
	if err != nil {
		return nil, err
	}
	var unseen []keyspace.Place
	for i, place := range places {
		if read[i][2] == "1" && !w.queued.has(nameOf(place.App, place.Name)) {
			unseen = append(unseen, place)
		}
	}
	subjects, err := w.subjects(ctx, unseen)
	if err != nil {
		return nil, err
	}
	probes := make([]probe, len(places))
	for i, place := range places {
		k, subject := keyspace.KeysOf(place.App), subjects[place]
		boxes := boxesOf(place.Name, read[i][0], read[i][1], subject)
		keys := []string{k.Effect(place.Name), k.Trigger(read[i][1])}
		for _, box := range boxes {
			keys = append(keys, k.Outbox(box))
		}
		_, unknown := subjects[place]
		probes[i] = probe{effectOwed, slices.Concat(keys, k.Ledger()), []any{place.App, place.Name, !unknown && read[i][2] == "1", boxes[0]}, place.App, "effect " + place.Name}
	}
	return probes, nil
}

// subjects reads those of events.
func (w looker) subjects(ctx context.Context, places []keyspace.Place) (map[keyspace.Place]string, error) {
	subjects := map[keyspace.Place]string{}
	if len(places) == 0 {
		return subjects, nil
	}
	read, err := w.hashes(ctx, places, keyspace.Keys.Effect, []string{"body"})
	for i, fields := range read {
		var body struct {
			Subject string `json:"subject"`
		}
		_ = json.Unmarshal([]byte(fields[0]), &body) // what cannot be read is not of a chat
		subjects[places[i]] = body.Subject
	}
	return subjects, err
}

// boxesOf are the outboxes that an event may be in, the likeliest first. Which one it is does
// not stand in the effect.
func boxesOf(id, session, trigger, subject string) []string {
	switch own, _ := cutLast(id); {
	case session != "" && strings.HasPrefix(subject, "chat."):
		return []string{keyspace.ChatBox(session), keyspace.Box(session, ""), keyspace.Box("", "")}
	case session != "":
		return []string{keyspace.Box(session, ""), keyspace.ChatBox(session), keyspace.Box("", "")}
	case trigger != "":
		return []string{keyspace.Box("", trigger), keyspace.Box("", "")}
	case own != "": // what tells of a trigger without being one of its effects is named after it
		return []string{keyspace.Box("", own), keyspace.Box("", "")}
	default:
		return []string{keyspace.Box("", "")}
	}
}

// cutLast cuts an id at its last dot; the first part is empty without one.
func cutLast(id string) (before, after string) {
	at := strings.LastIndexByte(id, '.')
	if at < 0 {
		return "", id
	}
	return id[:at], id[at+1:]
}

func nameOf(app, id string) string { return app + "\x00" + id }
