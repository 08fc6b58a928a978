package verify

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// Entries of partitions begin with an app, or with a lane and an app.

// noted are what a partition notes of apps, with the app of a member or field.
var noted = []struct {
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

// foreignEntry looks for entries of apps of other partitions.
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

// listedApp looks at an app that is listed.
//
//	KEYS app, apps, then what there may be of it
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

// partitions looks at what partitions note of their apps.
func (w *walk) partitions(ctx context.Context) error {
	filled, err := w.filled(ctx)
	if err != nil {
		return fmt.Errorf("look which partitions there are: %w", err)
	}
	for n, lists := range filled {
		for _, i := range lists {
			key, list := noted[i].key(keyspace.PartitionKeys(n)), noted[i]
			err := w.names(ctx, key, func(members []string) error {
				w.strangers(n, key, string(list.kind), members, list.app)
				return w.askFresh(ctx)
			})
			if err != nil {
				return fmt.Errorf("look at %s of partition %d: %w", list.kind, n, err)
			}
		}
	}
	return nil
}

// filled says of each partition which of its lists, as noted has them, are not empty.
func (w *walk) filled(ctx context.Context) ([][]int, error) {
	pipe, sizes := w.DB.Pipeline(), make([][]*redis.IntCmd, keyspace.Partitions)
	for n := range sizes {
		for _, list := range noted {
			sizes[n] = append(sizes[n], pipe.ZCard(ctx, list.key(keyspace.PartitionKeys(n))))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	filled := make([][]int, keyspace.Partitions)
	for n := range sizes {
		for i, size := range sizes[n] {
			if size.Val() > 0 {
				filled[n] = append(filled[n], i)
			}
		}
	}
	return filled, nil
}

// askFresh asks the probes that are not asked yet.
func (w *walk) askFresh(ctx context.Context) error {
	probes := w.fresh
	w.fresh = nil
	return w.ask(ctx, probes)
}

// strangers adds probes of members that are of apps of other partitions, and of apps that are
// listed.
func (w *walk) strangers(n int, key, kind string, members []string, appOf func(string) string) {
	for _, member := range members {
		app := appOf(member)
		if lane, _, _ := strings.Cut(member, "/"); kind == string(keyspace.KindDue) && !slices.Contains(keyspace.Lanes, keyspace.Lane(lane)) {
			w.found(Finding{Rule: "entry.unknown", Of: fmt.Sprintf("%s of partition %d: %s", kind, n, member)})
		} else if keyspace.PartitionOf(app) != n {
			w.fresh = append(w.fresh, probe{foreignEntry, []string{key}, []any{member}, app, fmt.Sprintf("%s of partition %d: %s", kind, n, member)})
		} else if kind == string(keyspace.KindApps) {
			k := keyspace.KeysOf(app)
			keys := []string{k.App(), k.Apps(), k.Repos(""), k.Triggers(""), k.AppKeys(), k.Sessions()}
			w.fresh = append(w.fresh, probe{listedApp, keys, []any{app}, app, "app " + app + " as listed"})
		}
	}
}

// allDead reads how many triggers of apps have failed, of all partitions.
func (w *walk) allDead(ctx context.Context) ([]map[string]string, error) {
	pipe, replies := w.DB.Pipeline(), make([]*redis.MapStringStringCmd, keyspace.Partitions)
	for n := range replies {
		replies[n] = pipe.HGetAll(ctx, keyspace.PartitionKeys(n).Dead())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, keyspace.Unavailable(err)
	}
	dead := make([]map[string]string, len(replies))
	for n, reply := range replies {
		dead[n] = reply.Val()
	}
	return dead, nil
}

// failures looks at the numbers of failed triggers, and notes how many there are.
func (w *walk) failures(ctx context.Context) error {
	dead, err := w.allDead(ctx)
	if err != nil {
		return fmt.Errorf("count what has failed: %w", err)
	}
	for n := range dead {
		for app, count := range dead[n] {
			if keyspace.PartitionOf(app) != n {
				w.strangers(n, keyspace.PartitionKeys(n).Dead(), string(keyspace.KindDead), []string{app}, beforeSlash)
				continue
			}
			failed, _ := strconv.ParseInt(count, 10, 64) // another is counted anew
			w.report.Owed.Failed += failed
			w.fresh = append(w.fresh, w.failedCount(app))
		}
	}
	return w.askFresh(ctx)
}

// names hands out the members of a sorted set, some at a time.
func (w *walk) names(ctx context.Context, key string, do func([]string) error) error {
	return w.members(ctx, key, func(list []redis.Z) error {
		names := make([]string, len(list))
		for i, z := range list {
			names[i] = z.Member.(string)
		}
		return do(names)
	})
}
