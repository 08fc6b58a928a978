package verify

import (
	"context"
	"time"

	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
)

// appListed checks an app itself.
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

// leftover finds remains of an app that neither exists nor is listed.
//
//	KEYS key, app, apps
//	ARGV appId
var leftover = newScript(`
if redis.call('EXISTS', KEYS[1]) == 1 and ofNoApp(KEYS[2], KEYS[3], ARGV[1]) then
  fault('app.left', '', function() redis.call('DEL', KEYS[1]) end)
end
return faults
`)

// unscheduledParts finds parts of explanations that never expire.
//
//	KEYS parts of explanations, expiry of explanations
//	ARGV appId, their life from now (ms), then the name of each
var unscheduledParts = newScript(`
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

// partsKept is the life given to parts of explanations that never expire.
const partsKept = 7 * 24 * time.Hour

// longestLife are the kinds of keys that must expire, with the longest life of each.
var longestLife = map[keyspace.Kind]time.Duration{
	keyspace.KindDraft: time.Hour, keyspace.KindDrafts: time.Hour, keyspace.KindAsked: time.Hour, keyspace.KindWritten: time.Hour,
	keyspace.KindCompared: time.Hour, keyspace.KindRates: time.Minute, keyspace.KindUses: 48 * time.Hour, keyspace.KindUsage: 401 * 24 * time.Hour,
	keyspace.KindFence: 31 * 24 * time.Hour, keyspace.KindLineage: 31 * 24 * time.Hour, keyspace.KindVector: 31 * 24 * time.Hour,
	keyspace.KindAudit:  10 * 365 * 24 * time.Hour, // bounded by the setting
	keyspace.KindClosed: 0,                         // 48 hours longer than records are kept
}

// withoutExpiry checks a key that must expire.
//
//	KEYS key
//	ARGV longest life (ms)
var withoutExpiry = newScript(`
if redis.call('PTTL', KEYS[1]) == -1 then
  fault('endless', '', function() redis.call('PEXPIRE', KEYS[1], ARGV[1]) end)
end
return faults
`)

// sessionEnds checks that a session ends, and that its messages are scheduled.
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

// listedSession finds listed sessions that do not exist.
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

// sessionOfUser finds sessions with a user that the user's list lacks.
//
//	KEYS users, then turns of each
//	ARGV sessionId of each
var sessionOfUser = newScript(`
for i, id in ipairs(ARGV) do
  local user = redis.call('HGET', KEYS[i + 1], 'user')
  if user and not redis.call('ZSCORE', KEYS[1], user .. '\0' .. id) then
    fault('session.user', 'session ' .. id, function() redis.call('ZADD', KEYS[1], 0, user .. '\0' .. id) end)
  end
end
return faults
`)

// listedUser finds sessions listed for a user that have another. The repair adds them to the ended sessions,
// whose sweep checks whether something of them may be left.
//
//	KEYS users, ended, then turns of each
//	ARGV appId, then user and sessionId of each
var listedUser = newScript(`
for i = 2, #ARGV, 2 do
  local user, id = ARGV[i], ARGV[i + 1]
  local member = ARGV[1] .. '/' .. id .. '/' .. user
  if redis.call('ZSCORE', KEYS[1], user .. '\0' .. id) and redis.call('HGET', KEYS[2 + i / 2], 'user') ~= user
    and not redis.call('ZSCORE', KEYS[2], member) then
    fault('user.listed', 'session ' .. id, function() redis.call('ZADD', KEYS[2], now(), member) end)
  end
end
return faults
`)

// listedTrigger finds listed triggers that do not exist.
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

// countFailed compares the number of failed triggers of an app with its counter.
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

// emptyOutboxLease finds leases of empty outboxes.
//
//	KEYS holders, then the outbox of each
//	ARGV member of the outboxes of each
var emptyOutboxLease = newScript(`
for i, box in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], box) == 1 and redis.call('EXISTS', KEYS[i + 1]) == 0 then
    fault('holder', 'outbox ' .. box, function() redis.call('HDEL', KEYS[1], box) end)
  end
end
return faults
`)

// keyOfApp returns a key that is deleted with its app; empty for any other.
func keyOfApp(place keyspace.KeyName) string {
	switch place.Kind {
	case keyspace.KindRepos, keyspace.KindAppKeys, keyspace.KindKeyUses, keyspace.KindSourced, keyspace.KindExplained, keyspace.KindAudit, keyspace.KindWebhook, keyspace.KindResends,
		keyspace.KindTests, keyspace.KindVersions, keyspace.KindVersioned:
		return place.Key()
	}
	return ""
}

// placeProbes returns the checks of keys. It checks long lists at once, page by page.
func (w *walk) placeProbes(ctx context.Context, places []keyspace.KeyName) (probes []probe, err error) {
	for _, place := range places {
		k, kind, app := keyspace.KeysOf(place.App), place.Kind, []any{place.App}
		if key := keyOfApp(place); key != "" {
			object := string(kind)
			if place.Name != "" && kind == keyspace.KindRepos {
				object += " of session"
			}
			if place.Name != "" {
				object += " " + place.Name
			}
			probes = append(probes, probe{leftover, []string{key, k.App(), k.Apps()}, app, place.App, object})
		}
		switch kind {
		case keyspace.KindApp:
			w.report.Apps++
			probes = append(probes, probe{appListed, []string{k.App(), k.Apps()}, app, place.App, "app " + place.App})
		case keyspace.KindOrder, keyspace.KindRepos:
			if place.Name != "" {
				probes = append(probes, sessionProbe(place))
			}
		case keyspace.KindExplained:
			err = w.fields(ctx, k.ExplainedParts(), func(names []string) error {
				parts := probe{unscheduledParts, []string{k.ExplainedParts(), k.Explained()}, []any{place.App, partsKept.Milliseconds()}, place.App, "explanations"}
				return w.checkNames(ctx, parts, names, nil)
			})
		case keyspace.KindSessions, keyspace.KindRecent:
			err = w.members(ctx, place.Key(), func(ids []string) error {
				err := w.checkNames(ctx, probe{listedSession, []string{place.Key(), k.Idle()}, app, place.App, "sessions"}, ids, k.Turns)
				if err != nil || kind == keyspace.KindRecent {
					return err
				}
				return w.checkNames(ctx, probe{sessionOfUser, []string{k.Users()}, nil, place.App, "users of sessions"}, ids, k.Turns)
			})
		case keyspace.KindHolders:
			err = w.fields(ctx, k.Holders(), func(boxes []string) error {
				return w.checkNames(ctx, probe{emptyOutboxLease, []string{k.Holders()}, nil, place.App, "leases"}, boxes, k.Outbox)
			})
		case keyspace.KindTriggers:
			err = w.checkTriggers(ctx, place, k.Triggers(place.Name), "triggers "+place.Name)
		case keyspace.KindFailed:
			probes = append(probes, failedCount(place.App))
			fallthrough
		case keyspace.KindPending:
			err = w.checkTriggers(ctx, place, k.InState(string(kind)), string(kind))
		}
		if ttl, expires := longestLife[kind]; expires {
			if kind == keyspace.KindClosed {
				ttl = max(w.Done, w.Dead) + 48*time.Hour
			}
			probes = append(probes, probe{withoutExpiry, []string{place.Key()}, []any{ttl.Milliseconds()}, place.App, string(kind) + " " + place.Name})
		}
		if err != nil {
			return nil, err
		}
	}
	return probes, nil
}

func (w *walk) userProbes(ctx context.Context, places []keyspace.KeyName) (probes []probe, err error) {
	for _, place := range places {
		k, app := keyspace.KeysOf(place.App), []any{place.App}
		probes = append(probes, probe{leftover, []string{k.Users(), k.App(), k.Apps()}, app, place.App, string(place.Kind)})
		err := w.members(ctx, k.Users(), func(names []string) error {
			listed := probe{listedUser, []string{k.Users(), k.Ended()}, app, place.App, "sessions of users from " + names[0]}
			for _, name := range names {
				user, id := keyspace.SessionOfUser(name)
				listed.keys, listed.args = append(listed.keys, k.Turns(id)), append(listed.args, user, id)
			}
			return w.check(ctx, []probe{listed})
		})
		if err != nil {
			return nil, err
		}
	}
	return probes, nil
}

func (w *walk) checkTriggers(ctx context.Context, place keyspace.KeyName, key, object string) error {
	k := keyspace.KeysOf(place.App)
	return w.members(ctx, key, func(ids []string) error {
		keys := []string{key, k.Dead(), k.InState(keyspace.Failed)}
		return w.checkNames(ctx, probe{listedTrigger, keys, []any{place.App}, place.App, object}, ids, k.Trigger)
	})
}

func sessionProbe(place keyspace.KeyName) probe {
	k := keyspace.KeysOf(place.App)
	keys := []string{k.Turns(place.Name), k.Order(place.Name), k.Repos(place.Name), k.Idle()}
	return probe{sessionEnds, append(keys, k.Ledger()...), []any{place.App, place.Name}, place.App, "session " + place.Name}
}

func failedCount(app string) probe {
	k := keyspace.KeysOf(app)
	return probe{countFailed, []string{k.Dead(), k.InState(keyspace.Failed)}, []any{app}, app, "failed triggers"}
}
