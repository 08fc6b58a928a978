package verify

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// countOwed compares what a partition owes with the number that is kept.
//
//	KEYS due, owed, then turns, calls and outboxes of each app, then each outbox
//	ARGV number of apps, then of each its id and the number of its outboxes, then member of the
//	     outboxes of each, then the lanes of apps of other partitions
//
// Where other outboxes are there than are asked for, or more apps, it says so as the rule "moved".
// An outbox that is in no lane is counted as well.
var countOwed = newScript(`
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

// compares is how often the count of a partition is tried that changes meanwhile: on a service
// that runs, its outboxes come and go.
const compares = 100

// counters compares what each partition owes with its counter. One that is wrong is a fault only
// where it is wrong twice, with a pause between.
func (w *walk) counters(ctx context.Context) error {
	some, err := w.counting(ctx)
	if err != nil {
		return err
	}
	wrong, err := w.compareAll(ctx, some, false)
	if err != nil || len(wrong) == 0 {
		return err
	}
	if err := w.Pause(ctx); err != nil {
		return err
	}
	again := []int{}
	for n := range wrong {
		again = append(again, n)
	}
	slices.Sort(again)
	wrong, err = w.compareAll(ctx, again, w.Mend)
	for _, n := range again {
		switch one, still := wrong[n]; {
		case still && one.Rule == moved:
			w.report.Notes = append(w.report.Notes, fmt.Sprintf("partition %d changes all the time: what it owes was not counted; look again when less is going on", n))
		case still:
			w.found(one)
		}
	}
	return err
}

// counting lists the partitions that have lanes, or a counter.
func (w *walk) counting(ctx context.Context) (some []int, err error) {
	pipe, there := w.DB.Pipeline(), make([]*redis.IntCmd, keyspace.Partitions)
	for n := range there {
		there[n] = pipe.Exists(ctx, keyspace.PartitionKeys(n).Due(), keyspace.PartitionKeys(n).Owed())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("look which partitions owe something: %w", keyspace.Unavailable(err))
	}
	for n := range there {
		if there[n].Val() > 0 || len(w.stray[n]) > 0 {
			some = append(some, n)
		}
	}
	return some, nil
}

// compareAll returns what is wrong with partitions.
func (w *walk) compareAll(ctx context.Context, partitions []int, mend bool) (map[int]Finding, error) {
	wrong := map[int]Finding{}
	for _, n := range partitions {
		list, err := w.compare(ctx, n, mend)
		if err != nil {
			return wrong, fmt.Errorf("count what partition %d owes: %w", n, err)
		}
		if len(list) > 0 {
			wrong[n] = list[0]
		}
	}
	return wrong, nil
}

// moved is the rule of a partition that has changed since it was read.
const moved = "moved"

func (w *walk) compare(ctx context.Context, n int, mend bool) (list []Finding, err error) {
	for range compares {
		p, err := w.owedProbe(ctx, n)
		if err != nil {
			return nil, err
		}
		replies, err := w.replies(ctx, []probe{p}, mend)
		if err != nil {
			return nil, err
		}
		if list = p.findings(replies[0]); len(list) == 0 || list[0].Rule != moved {
			return list, nil
		}
	}
	return list, nil
}

// owedProbe reads the lanes of a partition and their outboxes.
func (w *walk) owedProbe(ctx context.Context, n int) (probe, error) {
	k := keyspace.PartitionKeys(n)
	lanes, err := w.DB.ZRange(ctx, k.Due(), 0, -1).Result()
	if err != nil {
		return probe{}, keyspace.Unavailable(err)
	}
	var apps []string
	var foreign []any
	for _, lane := range lanes {
		if app := afterSlash(lane); keyspace.PartitionOf(app) == n { // another is a fault of its own
			apps = append(apps, app)
		} else {
			foreign = append(foreign, lane)
		}
	}
	for _, one := range w.stray[n] {
		apps = append(apps, one.app)
	}
	slices.Sort(apps)
	apps = slices.Compact(apps)
	boxes, err := w.boxes(ctx, n, apps)
	if err != nil {
		return probe{}, err
	}
	keys, args := []string{k.Due(), k.Owed()}, []any{len(apps)}
	var outboxes []string
	var members []any
	for i, app := range apps {
		of := keyspace.KeysOf(app)
		keys = append(keys, of.Lane(keyspace.LaneTurns), of.Lane(keyspace.LaneCalls), of.Lane(keyspace.LaneOutboxes))
		args = append(args, app, len(boxes[i]))
		for _, box := range boxes[i] {
			outboxes, members = append(outboxes, of.Outbox(box)), append(members, box)
		}
	}
	return probe{countOwed, append(keys, outboxes...), slices.Concat(args, members, foreign), "", fmt.Sprintf("what partition %d owes", n)}, nil
}

// boxes lists the outboxes of apps: those in their lanes, and those that should be.
func (w *walk) boxes(ctx context.Context, n int, apps []string) ([][]string, error) {
	pipe, replies := w.DB.Pipeline(), make([]*redis.StringSliceCmd, len(apps))
	for i, app := range apps {
		replies[i] = pipe.ZRange(ctx, keyspace.KeysOf(app).Lane(keyspace.LaneOutboxes), 0, -1)
	}
	if len(apps) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, keyspace.Unavailable(err)
		}
	}
	boxes := make([][]string, len(apps))
	for i, app := range apps {
		boxes[i] = replies[i].Val()
		for _, one := range w.stray[n] {
			if one.app == app {
				boxes[i] = append(boxes[i], one.box)
			}
		}
		slices.Sort(boxes[i])
		boxes[i] = slices.Compact(boxes[i])
	}
	return boxes, nil
}

// strays notes the outboxes of suspects that nobody would look at.
func (w *walk) strays(suspects []probe) {
	for _, p := range suspects {
		if box, is := strings.CutPrefix(p.of, ofOutbox); is && p.script == outboxHead {
			n := keyspace.PartitionOf(p.app)
			w.stray[n] = append(w.stray[n], outbox{p.app, box})
		}
	}
}
