package verify

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
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

func (w looker) apps(_ context.Context, places []keyspace.Place) ([]probe, error) {
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

func (w looker) leftovers(_ context.Context, places []keyspace.Place) ([]probe, error) {
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
func (w looker) repositories(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	probes, err := w.leftovers(ctx, places)
	if err != nil {
		return nil, err
	}
	var ofSessions []keyspace.Place
	for _, place := range places {
		if place.Name != "" {
			ofSessions = append(ofSessions, place)
		}
	}
	of, err := w.sessions(ctx, ofSessions)
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
func (w looker) explained(ctx context.Context, places []keyspace.Place) ([]probe, error) {
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
	keyspace.KindClosed: 0, // as long as records are kept, see closedLife
}

// closedLife is how long it is known at most that a session was closed.
func (w *walk) closedLife() time.Duration { return max(w.Done, w.Dead) + 48*time.Hour }

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
			life = w.closedLife()
		}
		if left[i].Val() == -1 { // go-redis leaves what is no time as it is
			probes = append(probes, probe{unending, []string{place.Key()}, []any{life.Milliseconds()}, place.App, string(place.Kind) + " " + place.Name})
		}
	}
	return probes, nil
}
