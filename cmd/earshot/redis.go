package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// Limits of the connections to Redis. Commands take under a millisecond; a server that
// needs seconds is as good as away, and clients are better told so.
const (
	redisDial = 2 * time.Second
	redisRead = 2 * time.Second
	redisPool = 128
	redisWait = 500 * time.Millisecond // for replicas, where they are waited for
)

// openRedis makes a client of a server, a cluster or the master behind sentinels; it
// does not connect yet.
func openRedis(text string) (redis.UniversalClient, error) {
	options, err := parseRedisURL(text)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = redisDial, redisRead, redisRead
	options.PoolSize, options.ContextTimeoutEnabled, options.ClientName = redisPool, true, "earshot"
	return redis.NewUniversalClient(options), nil
}

// quiet passes the client's own log on as debug lines: what matters of it comes back
// as errors as well.
type quiet struct{ log *slog.Logger }

// Printf implements the logger of go-redis.
func (q quiet) Printf(_ context.Context, format string, args ...any) {
	q.log.Debug("redis", "says", fmt.Sprintf(format, args...))
}
