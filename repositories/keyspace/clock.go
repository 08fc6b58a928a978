package keyspace

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Clock is the time of the Redis server that holds a key. Each node of a cluster has its own clock. Scripts write
// scores by the clock of their node, so scores must be compared with that clock only.
type Clock struct {
	server *redis.TimeCmd
	node   *redis.StringSliceCmd
}

// Clocks requests the time within a pipeline: of the single server once, of a cluster once for each key that the
// returned function is called with.
func (db *DB) Clocks(ctx context.Context, pipe redis.Pipeliner) func(key string) Clock {
	if _, cluster := db.UniversalClient.(*redis.ClusterClient); !cluster {
		clock := Clock{server: pipe.Time(ctx)}
		return func(string) Clock { return clock }
	}
	return func(key string) Clock {
		// TIME has no key and may reach any node; a script reaches the node of its key.
		node := redis.NewStringSliceCmd(ctx, "EVAL", "return redis.call('TIME')", 1, key)
		_ = pipe.Process(ctx, node) // queues
		return Clock{node: node}
	}
}

// Read returns the time after the pipeline was executed. The error wraps ErrUnavailable if the server did not
// answer.
func (c Clock) Read() (time.Time, error) {
	if c.server != nil {
		return c.server.Val(), Unavailable(c.server.Err())
	}
	if err := c.node.Err(); err != nil {
		return time.Time{}, Unavailable(err)
	}
	var parts [2]int64 // seconds and microseconds from TIME
	for i, text := range c.node.Val() {
		parts[i], _ = strconv.ParseInt(text, 10, 64)
	}
	return time.Unix(parts[0], parts[1]*1000), nil
}
