package redisdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/finding"
	"earshot/repositories/keyspace"
)

// eachMaster asks the server, or concurrently all masters of a cluster. It returns what each said by its address,
// which is empty without a cluster.
func eachMaster[T any](ctx context.Context, db *keyspace.DB, ask func(context.Context, redis.Cmdable) (T, error)) (map[string]T, error) {
	cluster, several := db.UniversalClient.(*redis.ClusterClient)
	if !several {
		said, err := ask(ctx, db)
		return map[string]T{"": said}, err
	}
	var mu sync.Mutex
	all := map[string]T{}
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		said, err := ask(ctx, master)
		mu.Lock()
		defer mu.Unlock()
		all[master.Options().Addr] = said
		if err != nil {
			err = fmt.Errorf("%s: %w", master.Options().Addr, err)
		}
		return err
	})
	return all, err
}

// findings collects the findings of all servers, sorted by server.
func findings(ctx context.Context, db *keyspace.DB, look func(context.Context, redis.Cmdable) ([]finding.Finding, error)) (all []finding.Finding, err error) {
	found, err := eachMaster(ctx, db, look)
	for _, address := range slices.Sorted(maps.Keys(found)) {
		for _, one := range found[address] {
			one.At = address
			all = append(all, one)
		}
	}
	return all, err
}

// Memory returns the bytes that count towards maxmemory, and maxmemory, zero for none. In a cluster they are
// those of the fullest master, which refuses its keys when full.
func Memory(ctx context.Context, db *keyspace.DB) (used, limit int64, err error) {
	type memory struct{ used, limit int64 }
	all, err := eachMaster(ctx, db, func(ctx context.Context, server redis.Cmdable) (memory, error) {
		info, err := server.Info(ctx, "memory").Result()
		if err != nil {
			return memory{}, keyspace.Unavailable(err)
		}
		number := func(name string) int64 {
			n, _ := strconv.ParseInt(field(info, name), 10, 64)
			return n
		}
		if field(info, "used_memory") == "" {
			return memory{}, errors.New("its INFO does not say how much memory it uses")
		}
		return memory{number("used_memory") - number("mem_not_counted_for_evict"), number("maxmemory")}, nil
	})
	for _, one := range all {
		fuller := float64(one.used)/float64(one.limit) > float64(used)/float64(limit)
		if one.limit == 0 || limit == 0 {
			fuller = one.limit > limit || one.limit == limit && one.used > used
		}
		if used == 0 || fuller {
			used, limit = one.used, one.limit
		}
	}
	return used, limit, err
}

// connected matches Earshot's clients in CLIENT LIST. Those of the first format have the plain name earshot.
var connected = regexp.MustCompile(`(?m)^id=\d+ addr=(\S+) .*\bname=earshot(?:-f(\d+))? `)

// Older lists the hosts of connected programs that know only formats below a number.
func Older(ctx context.Context, db *keyspace.DB, below int) ([]string, error) {
	lists, err := eachMaster(ctx, db, func(ctx context.Context, server redis.Cmdable) (string, error) {
		list, err := server.ClientList(ctx).Result()
		if err != nil {
			err = fmt.Errorf("look for replicas of an older version by CLIENT LIST, which needs a permission of the Redis user: %w", keyspace.Unavailable(err))
		}
		return list, err
	})
	var hosts []string
	for _, list := range lists {
		for _, client := range connected.FindAllStringSubmatch(list, -1) {
			if known, err := strconv.Atoi(client[2]); err == nil && known >= below {
				continue
			}
			if host, _, err := net.SplitHostPort(client[1]); err == nil && !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	slices.Sort(hosts)
	return hosts, err
}

// reader reads a server's settings by CONFIG GET, or by INFO if CONFIG is denied.
type reader struct {
	server redis.Cmdable
	unread []string
	err    error
}

var inInfo = map[string]struct{ section, field string }{
	"maxmemory-policy": {"memory", "maxmemory_policy"}, "maxmemory": {"memory", "maxmemory"},
	"appendonly": {"persistence", "aof_enabled"}, "min-replicas-to-write": {"replication", "min_slaves_good_slaves"},
}

// setting returns a setting as CONFIG does. An unreadable one is empty and noted in unread.
func (r *reader) setting(ctx context.Context, name string) string {
	found, err := r.server.ConfigGet(ctx, name).Result()
	value, there := found[name]
	if there {
		return value
	}
	if err != nil && !denied(err) {
		r.err = errors.Join(r.err, keyspace.Unavailable(err))
		return ""
	}
	if place, known := inInfo[name]; known {
		info := r.info(ctx, place.section)
		value = field(info, place.field)
		switch {
		case name == "appendonly" && value != "":
			value = map[string]string{"0": "no", "1": "yes"}[value]
		case name == "min-replicas-to-write" && strings.Contains(info, "connected_slaves:"):
			value = map[bool]string{true: "0", false: "1 or more"}[value == ""] // the field exists only if the setting is not 0
		}
	}
	if value == "" {
		r.unread = append(r.unread, name)
	}
	return value
}

func (r *reader) info(ctx context.Context, section string) string {
	info, err := r.server.Info(ctx, section).Result()
	if err != nil && !denied(err) {
		r.err = errors.Join(r.err, keyspace.Unavailable(err))
	}
	return info
}

// denied reports whether a command is denied or unknown, as on hosted servers.
func denied(err error) bool {
	reply, is := errors.AsType[redis.Error](err)
	if !is || errors.Is(err, redis.Nil) {
		return false
	}
	text := reply.Error()
	return strings.HasPrefix(text, "NOPERM") || strings.HasPrefix(text, "ERR") && !strings.HasPrefix(text, "ERR max number of clients")
}

func field(info, name string) string {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimRight(value, "\r")
}
