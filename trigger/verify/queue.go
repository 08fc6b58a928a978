package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// outboxHead checks that an outbox is readable and scheduled.
//
//	KEYS outbox, then the ledger
//	ARGV appId, member of the outboxes
var outboxHead = newScript(keyspace.DueLua, `
local app, box, first = ARGV[1], ARGV[2], redis.call('LINDEX', KEYS[1], 0)
if not first then return faults end
if string.sub(first, 1, 1) == '#' and not string.match(first, '^#[^\t\n]*\t[^\t\n]*\t%d+\n[^\t\n]*\t[^\t\n]*\t[^\t\n]*\t[^\n]*\n') then
  fault('outbox.unreadable', 'a batch of ' .. #first .. ' bytes')
end
if not redis.call('ZSCORE', ledger.outboxes, box) then
  fault('outbox.unscheduled', 'it holds ' .. redis.call('LLEN', KEYS[1]), function()
    redis.call('HDEL', ledger.holders, box)
    schedule(app, 'outboxes', box, now())
  end)
end
return faults
`)

// outboxObject is the prefix of an outbox's description.
const outboxObject = "outbox "

// checkOutboxes checks all outboxes, and remembers their events for the check of effects.
func (w *walk) checkOutboxes(ctx context.Context) error {
	return w.DB.EachKey(ctx, func(names []string) error {
		var probes []probe
		for _, name := range names {
			place, is := keyspace.ParseKey(name)
			if !is || place.Kind != keyspace.KindOutbox || keyspace.PartitionOf(place.App) != place.Partition {
				continue
			}
			for from, more := int64(0), true; more; from += page {
				ids, err := w.DB.LRange(ctx, name, from, from+page-1).Result()
				if err != nil {
					return fmt.Errorf("read the outbox %s: %w", name, keyspace.Unavailable(err))
				}
				for _, id := range ids {
					if strings.HasPrefix(id, "#") {
						w.report.Pending.Events += int64(strings.Count(id, "\n") - 1)
						continue
					}
					w.report.Pending.Events++
					for _, position := range w.outboxEvents.positions(nameOf(place.App, id)) {
						w.outboxEvents.bits[position/64] |= 1 << (position % 64)
					}
				}
				more = len(ids) == page
			}
			k := keyspace.KeysOf(place.App)
			probes = append(probes, probe{outboxHead, append([]string{name}, k.Ledger()...), []any{place.App, place.Name}, place.App, outboxObject + place.Name})
		}
		return w.check(ctx, probes)
	})
}

// laneDue checks that a lane is scheduled in time for its first member.
//
//	KEYS due, lane
//	ARGV lane/appId
var laneDue = newScript(`
local first, at = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES'), redis.call('ZSCORE', KEYS[1], ARGV[1])
if first[2] and (not at or tonumber(at) > tonumber(first[2])) then
  fault('lane.unscheduled', 'it holds ' .. redis.call('ZCARD', KEYS[2]), function() redis.call('ZADD', KEYS[1], first[2], ARGV[1]) end)
end
return faults
`)

// laneProbes checks lanes and sessions: a key of turns with a name is the hash of a session.
func (w *walk) laneProbes(ctx context.Context, places []keyspace.KeyName) (probes []probe, err error) {
	pipe := w.DB.Pipeline()
	clocks := w.DB.Clocks(ctx, pipe)
	counts, heads, times := make([]*redis.IntCmd, len(places)), make([]*redis.ZSliceCmd, len(places)), make([]keyspace.Clock, len(places))
	for i, place := range places {
		if place.Name != "" {
			w.report.Sessions++
			probes = append(probes, sessionProbe(place))
			continue
		}
		k, lane := keyspace.KeysOf(place.App), keyspace.Lane(place.Kind)
		name := string(lane) + "/" + place.App
		probes = append(probes, probe{laneDue, []string{k.Due(), k.Lane(lane)}, []any{name}, place.App, "lane " + string(lane)})
		times[i], counts[i], heads[i] = clocks(k.Due()), pipe.ZCard(ctx, k.Lane(lane)), pipe.ZRangeWithScores(ctx, k.Lane(lane), 0, 0)
	}
	if pipe.Len() == 0 {
		return probes, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	for i, place := range places {
		if place.Name != "" {
			continue
		}
		now, err := times[i].Read()
		if err != nil {
			return nil, err
		}
		switch keyspace.Lane(place.Kind) {
		case keyspace.LaneTurns:
			w.report.Pending.Messages += counts[i].Val()
		case keyspace.LaneCalls:
			w.report.Pending.Calls += counts[i].Val()
		case keyspace.LaneHeld:
			w.report.Pending.Held += counts[i].Val()
		}
		for _, first := range heads[i].Val() {
			w.report.Pending.Oldest = max(w.report.Pending.Oldest, (float64(now.UnixMilli())-first.Score)/1000)
		}
	}
	return probes, nil
}

// countPending compares the outstanding work of a partition with its counter.
//
//	KEYS due, owed, then turns, calls and outboxes of each app, then each outbox
//	ARGV number of apps, then id and number of outboxes of each, then member of the
//	     outboxes of each, then the lanes of apps of other partitions
//
// If there are other outboxes or more apps than given, it reports the rule "moved". An outbox in no lane is
// counted as well.
var countPending = newScript(`
local count, known, total, box = tonumber(ARGV[1]), {}, 0, 0
for i = 1, count do known[ARGV[2 * i]] = true end
for i = 2 + 2 * count + #KEYS - 2 - 3 * count, #ARGV do known[string.match(ARGV[i], '/(.*)$') or ''] = true end
for _, lane in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if not known[string.match(lane, '/(.*)$') or ''] then
    fault('moved')
    return faults
  end
end
for i = 1, count do
  local lane, first, listed = KEYS[2 + 3 * i], 2 + 3 * count, 0
  total = total + redis.call('ZCARD', KEYS[3 * i]) + redis.call('ZCARD', KEYS[1 + 3 * i])
  for j = box + 1, box + tonumber(ARGV[2 * i + 1]) do
    if redis.call('ZSCORE', lane, ARGV[1 + 2 * count + j]) then listed = listed + 1 end
    total = total + redis.call('LLEN', KEYS[first + j])
  end
  box = box + tonumber(ARGV[2 * i + 1])
  if listed ~= redis.call('ZCARD', lane) then
    fault('moved')
    return faults
  end
end
local says = redis.call('GET', KEYS[2]) or '0'
if tonumber(says) ~= total then
  fault('owed.count', 'says ' .. says .. ', owes ' .. total, function() redis.call('SET', KEYS[2], total) end)
end
return faults
`)

// mostCompares bounds the repeated counts of a partition that changes meanwhile: on a running service, outboxes
// come and go.
const mostCompares = 100

// checkCounters compares the outstanding work of each partition with its counter. A difference is a fault only if a
// second count after a pause confirms it.
func (w *walk) checkCounters(ctx context.Context) error {
	pipe, exists := w.DB.Pipeline(), make([]*redis.IntCmd, keyspace.Partitions)
	for n := range exists {
		exists[n] = pipe.Exists(ctx, keyspace.PartitionKeys(n).Due(), keyspace.PartitionKeys(n).PendingCount())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("read which partitions have pending work: %w", keyspace.Unavailable(err))
	}
	var numbers []int // with lanes or a counter
	for n := range exists {
		if exists[n].Val() > 0 || len(w.strayOutboxes[n]) > 0 {
			numbers = append(numbers, n)
		}
	}
	faults, err := w.compareAll(ctx, numbers, false)
	if err != nil || len(faults) == 0 {
		return err
	}
	if err := w.Pause(ctx); err != nil {
		return err
	}
	again := slices.Sorted(maps.Keys(faults))
	faults, err = w.compareAll(ctx, again, w.Mend)
	for _, n := range again {
		switch finding, again := faults[n]; {
		case again && finding.Rule == movedRule:
			w.report.Notes = append(w.report.Notes, fmt.Sprintf("partition %d changes all the time: its pending work was not counted; verify again under less load", n))
		case again:
			w.addFinding(finding)
		}
	}
	return err
}

// movedRule is the rule of a partition that changed since it was read.
const movedRule = "moved"

func (w *walk) compareAll(ctx context.Context, partitions []int, mend bool) (map[int]Finding, error) {
	faults := map[int]Finding{}
	for _, n := range partitions {
		for range mostCompares {
			p, err := w.pendingProbe(ctx, n)
			var replies []any
			if err == nil {
				replies, err = w.replies(ctx, []probe{p}, mend)
			}
			if err != nil {
				return faults, fmt.Errorf("count the pending work of partition %d: %w", n, err)
			}
			list := p.findings(replies[0])
			if len(list) == 0 {
				delete(faults, n)
				break
			}
			if faults[n] = list[0]; list[0].Rule != movedRule {
				break
			}
		}
	}
	return faults, nil
}

// pendingProbe builds the check of a partition's counter from its lanes and the outboxes of its apps: listed and
// stray ones.
func (w *walk) pendingProbe(ctx context.Context, n int) (probe, error) {
	k := keyspace.PartitionKeys(n)
	lanes, err := w.DB.ZRange(ctx, k.Due(), 0, -1).Result()
	if err != nil {
		return probe{}, keyspace.Unavailable(err)
	}
	apps := map[string]bool{}
	for app := range w.strayOutboxes[n] {
		apps[app] = true
	}
	var foreign []any
	for _, lane := range lanes {
		if app := afterSlash(lane); keyspace.PartitionOf(app) == n { // a foreign entry is a separate fault
			apps[app] = true
		} else {
			foreign = append(foreign, lane)
		}
	}

	pipe, listed := w.DB.Pipeline(), map[string]*redis.StringSliceCmd{}
	for app := range apps {
		listed[app] = pipe.ZRange(ctx, keyspace.KeysOf(app).Lane(keyspace.LaneOutboxes), 0, -1)
	}
	if len(apps) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return probe{}, keyspace.Unavailable(err)
		}
	}

	keys, args := []string{k.Due(), k.PendingCount()}, []any{len(apps)}
	var outboxes []string
	var members []any
	for _, app := range slices.Sorted(maps.Keys(apps)) {
		appKeys := keyspace.KeysOf(app)
		boxes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(listed[app].Val(), w.strayOutboxes[n][app]))))
		keys = append(keys, appKeys.Lane(keyspace.LaneTurns), appKeys.Lane(keyspace.LaneCalls), appKeys.Lane(keyspace.LaneOutboxes))
		args = append(args, app, len(boxes))
		for _, box := range boxes {
			outboxes, members = append(outboxes, appKeys.Outbox(box)), append(members, box)
		}
	}
	return probe{countPending, append(keys, outboxes...), slices.Concat(args, members, foreign), "", fmt.Sprintf("pending work of partition %d", n)}, nil
}

// Entries of partitions begin with an app, or with a lane and an app.

// partitionLists are the lists of a partition, with the app of a member or field.
var partitionLists = []struct {
	kind keyspace.Kind
	key  func(keyspace.Keys) string
	app  func(member string) string
}{
	{keyspace.KindOver, keyspace.Keys.Over, beforeSlash}, {keyspace.KindIdle, keyspace.Keys.Idle, beforeSlash},
	{keyspace.KindRefreshes, keyspace.Keys.Refreshes, beforeSlash}, {keyspace.KindExplained, keyspace.Keys.Explained, beforeSlash},
	{keyspace.KindApps, keyspace.Keys.Apps, beforeSlash}, {keyspace.KindDue, keyspace.Keys.Due, afterSlash},
}

func beforeSlash(member string) string {
	app, _, _ := strings.Cut(member, "/")
	return app
}

func afterSlash(member string) string {
	_, app, _ := strings.Cut(member, "/")
	return app
}

// foreignEntry finds entries of apps of other partitions.
//
//	KEYS list
//	ARGV member
var foreignEntry = newScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
local command = kind == 'hash' and {'HEXISTS', 'HDEL'} or {'ZSCORE', 'ZREM'}
local there = redis.call(command[1], KEYS[1], ARGV[1])
if there and there ~= 0 then
  fault('foreign.entry', ARGV[1], function() redis.call(command[2], KEYS[1], ARGV[1]) end)
end
return faults
`)

// listedApp checks a listed app.
//
//	KEYS app, apps, then its other possible keys
//	ARGV appId
var listedApp = newScript(`
if redis.call('EXISTS', KEYS[1]) == 1 or not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return faults end
if redis.call('EXISTS', unpack(KEYS, 3)) > 0 then
  fault('app.gone')
else
  fault('app.listed', '', function() redis.call('ZREM', KEYS[2], ARGV[1]) end)
end
return faults
`)

func (w *walk) checkPartitions(ctx context.Context) error {
	pipe, sizes, dead := w.DB.Pipeline(), make([][]*redis.IntCmd, keyspace.Partitions), make([]*redis.MapStringStringCmd, keyspace.Partitions)
	for n := range sizes {
		for _, list := range partitionLists {
			sizes[n] = append(sizes[n], pipe.ZCard(ctx, list.key(keyspace.PartitionKeys(n))))
		}
		dead[n] = pipe.HGetAll(ctx, keyspace.PartitionKeys(n).Dead())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("read the lists of partitions: %w", keyspace.Unavailable(err))
	}
	for n := range sizes {
		for i, list := range partitionLists {
			if sizes[n][i].Val() == 0 {
				continue
			}
			key := list.key(keyspace.PartitionKeys(n))
			err := w.members(ctx, key, func(members []string) error {
				var probes []probe
				for _, member := range members {
					probes = append(probes, w.entryProbes(n, key, list.kind, member, list.app(member))...)
				}
				return w.check(ctx, probes)
			})
			if err != nil {
				return fmt.Errorf("check %s of partition %d: %w", list.kind, n, err)
			}
		}
	}

	var probes []probe
	for n, reply := range dead {
		for app, count := range reply.Val() {
			if keyspace.PartitionOf(app) != n {
				probes = append(probes, w.entryProbes(n, keyspace.PartitionKeys(n).Dead(), keyspace.KindDead, app, app)...)
				continue
			}
			failed, _ := strconv.ParseInt(count, 10, 64) // an invalid count is a fault of its own
			w.report.Pending.Failed += failed
			probes = append(probes, failedCount(app))
		}
	}
	return w.check(ctx, probes)
}

// entryProbes returns the check of a foreign member, or of a listed app.
func (w *walk) entryProbes(n int, key string, kind keyspace.Kind, member, app string) []probe {
	object := fmt.Sprintf("%s of partition %d: %s", kind, n, member)
	switch lane, _, _ := strings.Cut(member, "/"); {
	case kind == keyspace.KindDue && !slices.Contains(keyspace.Lanes, keyspace.Lane(lane)):
		w.addFinding(Finding{Rule: "entry.unknown", Object: object})
	case keyspace.PartitionOf(app) != n:
		return []probe{{foreignEntry, []string{key}, []any{member}, app, object}}
	case kind == keyspace.KindApps:
		k := keyspace.KeysOf(app)
		keys := []string{k.App(), k.Apps(), k.Repos(""), k.Triggers(""), k.AppKeys(), k.Sessions()}
		return []probe{{listedApp, keys, []any{app}, app, "app " + app + " as listed"}}
	}
	return nil
}
