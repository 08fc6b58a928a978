package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// outboxHead looks at an outbox: whether somebody comes to it.
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

// ofOutbox begins the words for an outbox.
const ofOutbox = "outbox "

// queues looks at all outboxes, and notes the events that are in them.
func (w *walk) queues(ctx context.Context) error {
	return w.DB.EachKey(ctx, func(names []string) error {
		var probes []probe
		for _, name := range names {
			place, is := keyspace.PlaceOf(name)
			if !is || place.Kind != keyspace.KindOutbox || keyspace.PartitionOf(place.App) != place.Partition {
				continue
			}
			if err := w.note(ctx, name, place.App); err != nil {
				return fmt.Errorf("read the outbox %s: %w", name, err)
			}
			k := keyspace.KeysOf(place.App)
			probes = append(probes, probe{outboxHead, append([]string{name}, k.Ledger()...), []any{place.App, place.Name}, place.App, ofOutbox + place.Name})
		}
		return w.ask(ctx, probes)
	})
}

// note reads an outbox.
func (w *walk) note(ctx context.Context, key, app string) error {
	for from := int64(0); ; from += page {
		ids, err := w.DB.LRange(ctx, key, from, from+page-1).Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		for _, id := range ids {
			if strings.HasPrefix(id, "#") {
				w.report.Owed.Events += int64(strings.Count(id, "\n") - 1)
				continue
			}
			w.report.Owed.Events++
			w.queued.add(nameOf(app, id))
		}
		if len(ids) < page {
			return nil
		}
	}
}

// laneDue looks whether a lane is among those that are looked at, in time for its first member.
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

func (w *walk) lanes(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	pipe := w.DB.Pipeline()
	clocks, probes := w.DB.Clocks(ctx, pipe), make([]probe, len(places))
	counts, heads, times := make([]*redis.IntCmd, len(places)), make([]*redis.ZSliceCmd, len(places)), make([]keyspace.Clock, len(places))
	for i, place := range places {
		k, lane := keyspace.KeysOf(place.App), keyspace.Lane(place.Kind)
		name := string(lane) + "/" + place.App
		probes[i] = probe{laneDue, []string{k.Due(), k.Lane(lane)}, []any{name}, place.App, "lane " + string(lane)}
		times[i], counts[i], heads[i] = clocks(k.Due()), pipe.ZCard(ctx, k.Lane(lane)), pipe.ZRangeWithScores(ctx, k.Lane(lane), 0, 0)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	for i, place := range places {
		at, err := times[i].Read()
		if err != nil {
			return nil, err
		}
		w.count(keyspace.Lane(place.Kind), counts[i].Val())
		for _, first := range heads[i].Val() {
			w.report.Owed.Oldest = max(w.report.Owed.Oldest, (float64(at.UnixMilli())-first.Score)/1000)
		}
	}
	return probes, nil
}

// count adds what a lane holds to what is owed.
func (w *walk) count(lane keyspace.Lane, n int64) {
	switch lane {
	case keyspace.LaneTurns:
		w.report.Owed.Messages += n
	case keyspace.LaneCalls:
		w.report.Owed.Calls += n
	case keyspace.LaneHeld:
		w.report.Owed.Held += n
	}
}

// leaseOfNone looks for leases of outboxes that are empty.
//
//	KEYS holders, then the outbox of each
//	ARGV member of the outboxes of each
var leaseOfNone = newScript(`
for i, box in ipairs(ARGV) do
  if redis.call('HEXISTS', KEYS[1], box) == 1 and redis.call('EXISTS', KEYS[i + 1]) == 0 then
    fault('holder', 'outbox ' .. box, function() redis.call('HDEL', KEYS[1], box) end)
  end
end
return faults
`)

func (w looker) holders(ctx context.Context, places []keyspace.Place) (probes []probe, err error) {
	for _, place := range places {
		k := keyspace.KeysOf(place.App)
		err := w.fields(ctx, k.Holders(), func(boxes []string) error {
			keys, args := []string{k.Holders()}, []any{}
			for _, box := range boxes {
				keys, args = append(keys, k.Outbox(box)), append(args, box)
			}
			return w.ask(ctx, []probe{{leaseOfNone, keys, args, place.App, "leases from " + boxes[0]}})
		})
		if err != nil {
			return nil, err
		}
	}
	return probes, nil
}

// turns are, with a name, the hash of a session, and without one a lane.
func (w looker) turns(ctx context.Context, places []keyspace.Place) ([]probe, error) {
	sessions := slices.DeleteFunc(slices.Clone(places), func(place keyspace.Place) bool { return place.Name == "" })
	lanes := slices.DeleteFunc(slices.Clone(places), func(place keyspace.Place) bool { return place.Name != "" })
	probes, err := w.lanes(ctx, lanes)
	if err != nil {
		return nil, err
	}
	w.report.Sessions += len(sessions)
	of, err := w.sessions(ctx, sessions)
	return append(probes, of...), err
}
