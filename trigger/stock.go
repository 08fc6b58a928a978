package trigger

import (
	"context"
	"errors"
	"strconv"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// tallyLua defines tally(dead, app, failed), which brings the number that dead has of
// an app in line with its list of failed triggers. Every script that changes such a
// list calls it. The number is counted anew each time, so that a script that runs twice
// does no harm.
const tallyLua = `
local function tally(dead, app, failed)
  local count = redis.call('ZCARD', failed)
  if count == 0 then
    redis.call('HDEL', dead, app)
  else
    redis.call('HSET', dead, app, count)
  end
end
`

// stock is how much a partition holds: what it owes, and failed triggers by app.
type stock struct {
	owed *redis.StringCmd
	dead *redis.StringSliceCmd
}

// takeStock asks within a pipeline for the stock of every partition.
func takeStock(ctx context.Context, pipe redis.Pipeliner) []stock {
	held := make([]stock, keyspace.Partitions)
	for n := range held {
		keys := keyspace.PartitionKeys(n)
		held[n] = stock{owed: pipe.Get(ctx, keys.Owed()), dead: pipe.HVals(ctx, keys.Dead())}
	}
	return held
}

// stock notes what all partitions hold together; nothing where one did not answer.
func (m *Metrics) stock(held []stock) {
	due, dead := 0.0, 0.0
	for _, one := range held {
		if (one.owed.Err() != nil && !errors.Is(one.owed.Err(), redis.Nil)) || one.dead.Err() != nil {
			return
		}
		owed, _ := one.owed.Float64() // nothing where it never owed anything
		due += owed
		for _, text := range one.dead.Val() {
			count, _ := strconv.ParseFloat(text, 64) // HSET of a ZCARD
			dead += count
		}
	}
	m.due.Set(due)
	m.dead.Set(dead)
}
