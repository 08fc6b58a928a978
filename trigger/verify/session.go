package verify

import (
	"context"

	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// sessionEnds looks at a session: whether it ends, and somebody works on its messages.
//
//	KEYS turns, order, repos, idle, then the ledger
//	ARGV appId, sessionId
var sessionEnds = newScript(keyspace.DueLua, ledger.TurnLua, `
local turns, order, app, name = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
if redis.call('EXISTS', turns, order, KEYS[3]) == 0 then return faults end
if not redis.call('ZSCORE', KEYS[4], app .. '/' .. name) then
  fault('session.unending', '', function() redis.call('ZADD', KEYS[4], now(), app .. '/' .. name) end)
end
for _, id in ipairs(redis.call('LRANGE', order, 0, -1)) do
  local function has(field) return redis.call('HEXISTS', turns, turn[field] .. id) == 1 end
  if not has('message') then
    fault('order', 'message ' .. id, function() redis.call('LREM', order, 0, id) end)
  elseif not has('decision') and not has('answer') and not has('failure') and not redis.call('ZSCORE', ledger.turns, name .. '/' .. id) then
    fault('turn', 'message ' .. id, function() schedule(app, 'turns', name .. '/' .. id, now()) end)
  end
end
return faults
`)

func (w looker) sessions(_ context.Context, places []keyspace.Place) ([]probe, error) {
	probes := make([]probe, len(places))
	for i, place := range places {
		k := keyspace.KeysOf(place.App)
		keys := []string{k.Turns(place.Name), k.Order(place.Name), k.Repos(place.Name), k.Idle()}
		probes[i] = probe{sessionEnds, append(keys, k.Ledger()...), []any{place.App, place.Name}, place.App, "session " + place.Name}
	}
	return probes, nil
}

// listedSession looks for sessions that are listed and not there.
//
//	KEYS sessions, idle, then turns of each
//	ARGV appId, then each sessionId
var listedSession = newScript(`
for i = 2, #ARGV do
  local id = ARGV[i]
  if redis.call('ZSCORE', KEYS[1], id) and not redis.call('ZSCORE', KEYS[2], ARGV[1] .. '/' .. id) and redis.call('EXISTS', KEYS[i + 1]) == 0 then
    fault('session.listed', 'session ' .. id, function() redis.call('ZREM', KEYS[1], id) end)
  end
end
return faults
`)

// sessionLists asks while it reads: a list may be long.
func (w looker) sessionLists(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	for _, place := range places {
		k := keyspace.KeysOf(place.App)
		err := w.names(ctx, k.Sessions(), func(ids []string) error {
			keys, args := []string{k.Sessions(), k.Idle()}, []any{place.App}
			for _, id := range ids {
				keys, args = append(keys, k.Turns(id)), append(args, id)
			}
			return w.ask(ctx, []probe{{listedSession, keys, args, place.App, "sessions from " + ids[0]}})
		})
		if err != nil {
			return nil, err
		}
	}
	return probes, nil
}

// listedTrigger looks for triggers that are listed and not there.
//
//	KEYS list, dead, failed, then each trigger
//	ARGV appId, then each triggerId
var listedTrigger = newScript(ledger.TallyLua, `
for i = 2, #ARGV do
  if redis.call('ZSCORE', KEYS[1], ARGV[i]) and redis.call('EXISTS', KEYS[i + 2]) == 0 then
    fault('listed', 'trigger ' .. ARGV[i], function()
      redis.call('ZREM', KEYS[1], ARGV[i])
      tally(KEYS[2], ARGV[1], KEYS[3])
    end)
  end
end
return faults
`)

// triggerLists asks while it reads, as sessionLists does.
func (w looker) triggerLists(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	for _, place := range places {
		k := keyspace.KeysOf(place.App)
		key, name := k.Triggers(place.Name), "triggers "+place.Name
		if place.Kind != keyspace.KindTriggers {
			key, name = k.InState(string(place.Kind)), string(place.Kind)
		}
		if place.Kind == keyspace.KindFailed {
			probes = append(probes, w.failedCount(place.App))
		}
		err := w.names(ctx, key, func(ids []string) error {
			keys, args := []string{key, k.Dead(), k.InState(keyspace.Failed)}, []any{place.App}
			for _, id := range ids {
				keys, args = append(keys, k.Trigger(id)), append(args, id)
			}
			return w.ask(ctx, []probe{{listedTrigger, keys, args, place.App, name + " from " + ids[0]}})
		})
		if err != nil {
			return nil, err
		}
	}
	return probes, nil
}

// countFailed compares how many triggers of an app have failed with the number that is kept.
//
//	KEYS dead, failed
//	ARGV appId
var countFailed = newScript(ledger.TallyLua, `
local says, has = redis.call('HGET', KEYS[1], ARGV[1]), redis.call('ZCARD', KEYS[2])
if (tonumber(says or '0') or -1) ~= has then
  fault('failed.count', 'says ' .. (says or 'nothing') .. ', has ' .. has, function() tally(KEYS[1], ARGV[1], KEYS[2]) end)
end
return faults
`)

func (w *walk) failedCount(app string) probe {
	k := keyspace.KeysOf(app)
	return probe{countFailed, []string{k.Dead(), k.InState(keyspace.Failed)}, []any{app}, app, "failed triggers"}
}
