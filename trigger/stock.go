package trigger

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
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

// stock is how much a partition holds: members of its ledger, and failed triggers by
// app.
type stock struct {
	due  *redis.IntCmd
	dead *redis.StringSliceCmd
}

// takeStock asks within a pipeline for the stock of every partition.
func takeStock(ctx context.Context, pipe redis.Pipeliner) []stock {
	held := make([]stock, repositories.Partitions)
	for n := range held {
		keys := repositories.PartitionKeys(n)
		held[n] = stock{due: pipe.ZCard(ctx, keys.Due()), dead: pipe.HVals(ctx, keys.Dead())}
	}
	return held
}

// stock notes what all partitions hold together; nothing where one did not answer.
func (m *Metrics) stock(held []stock) {
	due, dead := 0.0, 0.0
	for _, one := range held {
		if one.due.Err() != nil || one.dead.Err() != nil {
			return
		}
		due += float64(one.due.Val())
		for _, text := range one.dead.Val() {
			count, _ := strconv.ParseFloat(text, 64) // HSET of a ZCARD
			dead += count
		}
	}
	m.due.Set(due)
	m.dead.Set(dead)
}
