package verify

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// appListed looks at an app itself.
//
//	KEYS app, apps
//	ARGV appId
var appListed = newScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return faults end
for _, field in ipairs({'record', 'rev', 'version'}) do
  if redis.call('HEXISTS', KEYS[1], field) == 0 then fault('app.unreadable', 'without its ' .. field) end
end
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  fault('app.unlisted', '', function() redis.call('ZADD', KEYS[2], 0, ARGV[1]) end)
end
return faults
`)

func (w *walk) apps(_ context.Context, places []keyspace.Place) ([]probe, error) {
	w.report.Apps += len(places)
	probes := make([]probe, len(places))
	for i, place := range places {
		k := keyspace.KeysOf(place.App)
		probes[i] = probe{appListed, []string{k.App(), k.Apps()}, []any{place.App}, place.App, "app " + place.App}
	}
	return probes, nil
}

// leftover looks for what is left of an app that is neither there nor listed.
//
//	KEYS key, app, apps
//	ARGV appId
var leftover = newScript(`
if redis.call('EXISTS', KEYS[1]) == 1 and ofNoApp(KEYS[2], KEYS[3], ARGV[1]) then
  fault('app.left', '', function() redis.call('DEL', KEYS[1]) end)
end
return faults
`)

func (w *walk) leftovers(_ context.Context, places []keyspace.Place) ([]probe, error) {
	probes := make([]probe, len(places))
	for i, place := range places {
		k := keyspace.KeysOf(place.App)
		key := map[keyspace.Kind]string{
			keyspace.KindRepos: k.Repos(place.Name), keyspace.KindAppKeys: k.AppKeys(), keyspace.KindKeyUses: k.KeyUses(),
			keyspace.KindSourced: k.Sourced(), keyspace.KindExplained: k.ExplainedParts(),
		}[place.Kind]
		of := string(place.Kind)
		if place.Name != "" {
			of += " of session " + place.Name
		}
		probes[i] = probe{leftover, []string{key, k.App(), k.Apps()}, []any{place.App}, place.App, of}
	}
	return probes, nil
}

// repositories are those of an app, or with a name of one of its sessions.
func (w *walk) repositories(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	probes, err := w.leftovers(ctx, places)
	if err != nil {
		return nil, err
	}
	of, err := w.sessions(ctx, slices.DeleteFunc(slices.Clone(places), func(place keyspace.Place) bool { return place.Name == "" }))
	return append(probes, of...), err
}

// unexplained looks for parts of explanations that nothing removes.
//
//	KEYS parts of explanations, what of explanations goes when
//	ARGV appId, how long they are kept from now (ms), then the name of each
var unexplained = newScript(`
local kept = {}
for i = 3, #ARGV do
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 and not redis.call('ZSCORE', KEYS[2], ARGV[1] .. '//' .. ARGV[i]) then kept[#kept + 1] = ARGV[i] end
end
if #kept > 0 then
  fault('explained', #kept .. ' parts', function()
    for _, name in ipairs(kept) do redis.call('ZADD', KEYS[2], now() + tonumber(ARGV[2]), ARGV[1] .. '//' .. name) end
  end)
end
return faults
`)

// partsKept is how long parts of explanations are kept that nothing removes.
const partsKept = 7 * 24 * time.Hour

// explained looks at the parts of explanations of apps.
func (w *walk) explained(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	probes, err := w.leftovers(ctx, places)
	for _, place := range places {
		if err != nil {
			return nil, err
		}
		k := keyspace.KeysOf(place.App)
		err = w.fields(ctx, k.ExplainedParts(), func(names []string) error {
			args := []any{place.App, partsKept.Milliseconds()}
			for _, name := range names {
				args = append(args, name)
			}
			return w.ask(ctx, []probe{{unexplained, []string{k.ExplainedParts(), k.Explained()}, args, place.App, "explanations from " + names[0]}})
		})
	}
	return probes, err
}

// lives are the kinds of keys that must expire, with the longest that one of them may live.
var lives = map[keyspace.Kind]time.Duration{
	keyspace.KindDraft: time.Hour, keyspace.KindDrafts: time.Hour, keyspace.KindAsked: time.Hour, keyspace.KindWritten: time.Hour,
	keyspace.KindCompared: time.Hour, keyspace.KindRates: time.Minute, keyspace.KindUses: 48 * time.Hour,
	keyspace.KindFence: 31 * 24 * time.Hour, keyspace.KindLineage: 31 * 24 * time.Hour, keyspace.KindVector: 31 * 24 * time.Hour,
	keyspace.KindClosed: 0, // for 48 hours longer than records are kept
}

// unending looks at a key that must expire.
//
//	KEYS key
//	ARGV how long it lives at most (ms)
var unending = newScript(`
if redis.call('PTTL', KEYS[1]) == -1 then
  fault('endless', '', function() redis.call('PEXPIRE', KEYS[1], ARGV[1]) end)
end
return faults
`)

// endless looks for keys that must expire and do not.
func (w *walk) endless(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	pipe := w.DB.Pipeline()
	left := make([]*redis.DurationCmd, len(places))
	for i, place := range places {
		left[i] = pipe.PTTL(ctx, place.Key())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	for i, place := range places {
		life := lives[place.Kind]
		if place.Kind == keyspace.KindClosed {
			life = max(w.Done, w.Dead) + 48*time.Hour
		}
		if left[i].Val() == -1 { // go-redis leaves what is no time as it is
			probes = append(probes, probe{unending, []string{place.Key()}, []any{life.Milliseconds()}, place.App, string(place.Kind) + " " + place.Name})
		}
	}
	return probes, nil
}

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

func (w *walk) sessions(_ context.Context, places []keyspace.Place) ([]probe, error) {
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
func (w *walk) sessionLists(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	for _, place := range places {
		k := keyspace.KeysOf(place.App)
		err := w.members(ctx, k.Sessions(), func(ids []string) error {
			return w.askOf(ctx, probe{listedSession, []string{k.Sessions(), k.Idle()}, []any{place.App}, place.App, "sessions"}, ids, k.Turns)
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
func (w *walk) triggerLists(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	for _, place := range places {
		k := keyspace.KeysOf(place.App)
		key, name := k.Triggers(place.Name), "triggers "+place.Name
		if place.Kind != keyspace.KindTriggers {
			key, name = k.InState(string(place.Kind)), string(place.Kind)
		}
		if place.Kind == keyspace.KindFailed {
			probes = append(probes, failedCount(place.App))
		}
		err := w.members(ctx, key, func(ids []string) error {
			keys := []string{key, k.Dead(), k.InState(keyspace.Failed)}
			return w.askOf(ctx, probe{listedTrigger, keys, []any{place.App}, place.App, name}, ids, k.Trigger)
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

func failedCount(app string) probe {
	k := keyspace.KeysOf(app)
	return probe{countFailed, []string{k.Dead(), k.InState(keyspace.Failed)}, []any{app}, app, "failed triggers"}
}
