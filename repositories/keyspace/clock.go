package keyspace

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is the time of the Redis server that holds a key. The nodes of a cluster are
// machines with clocks of their own, and the scores that scripts write are by the clock of
// the node that ran them: they are compared with no other.
type Clock struct {
	server *redis.TimeCmd
	node   *redis.StringSliceCmd
}

// Clocks asks for the time within a pipeline: of the server once, of a cluster once for
// every key that the returned function is called with.
func (db *DB) Clocks(ctx context.Context, pipe redis.Pipeliner) func(key string) Clock {
	if _, cluster := db.UniversalClient.(*redis.ClusterClient); !cluster {
		one := Clock{server: pipe.Time(ctx)}
		return func(string) Clock { return one }
	}
	return func(key string) Clock {
		// TIME has no key and goes to any node; a script goes to that of its key.
		node := redis.NewStringSliceCmd(ctx, "EVAL", "return redis.call('TIME')", 1, key)
		_ = pipe.Process(ctx, node) // queues
		return Clock{node: node}
	}
}

// Read returns the time, after the pipeline was executed. The error wraps
// ErrUnavailable where the server did not answer.
func (c Clock) Read() (time.Time, error) {
	if c.server != nil {
		return c.server.Val(), Unavailable(c.server.Err())
	}
	if err := c.node.Err(); err != nil {
		return time.Time{}, Unavailable(err)
	}
	var parts [2]int64 // seconds and microseconds, as TIME answers
	for i, text := range c.node.Val() {
		parts[i], _ = strconv.ParseInt(text, 10, 64)
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}
