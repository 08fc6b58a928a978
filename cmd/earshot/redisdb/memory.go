package redisdb

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// Memory returns how many bytes a Redis holds that count towards its maxmemory, and this limit,
// zero if there is none. Of a cluster they are those of the master that is fullest: one
// that is full refuses what belongs to it. The error is that of a Redis that does not answer,
// or does not let its user read INFO.
func Memory(ctx context.Context, db *keyspace.DB) (used, limit int64, err error) {
	var mu sync.Mutex
	err = eachMaster(ctx, db, func(ctx context.Context, server redis.Cmdable) error {
		info, err := server.Info(ctx, "memory").Result()
		if err != nil {
			return keyspace.Unavailable(err)
		}
		if !strings.Contains(info, "used_memory:") {
			return errors.New("it does not say how much memory it uses")
		}
		counted, most := field(info, "used_memory")-field(info, "mem_not_counted_for_evict"), field(info, "maxmemory")
		mu.Lock()
		defer mu.Unlock()
		if used == 0 || fuller(counted, most, used, limit) {
			used, limit = counted, most
		}
		return nil
	})
	return used, limit, err
}

// fuller reports whether the first of two servers is nearer to its limit.
func fuller(used, limit, otherUsed, otherLimit int64) bool {
	if limit == 0 || otherLimit == 0 {
		return limit > otherLimit || limit == otherLimit && used > otherUsed
	}
	return float64(used)/float64(limit) > float64(otherUsed)/float64(otherLimit)
}

// field is a number in an answer of INFO, zero where it is not there.
func field(info, name string) int64 {
	_, rest, _ := strings.Cut("\n"+info, "\n"+name+":")
	digits, _, _ := strings.Cut(rest, "\r")
	n, _ := strconv.ParseInt(digits, 10, 64)
	return n
}
