package trigger

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"earshot/repositories"
)

// head is the beginning of what a partition holds, with the clock that its scores are
// by.
type head struct {
	clock     repositories.Clock
	due, idle *redis.ZSliceCmd
}

func peek(ctx context.Context, pipe redis.Pipeliner, clocks func(string) repositories.Clock, partition int) head {
	keys := repositories.PartitionKeys(partition)
	return head{
		clock: clocks(keys.Due()),
		due:   pipe.ZRangeWithScores(ctx, keys.Due(), 0, peeked-1),
		idle:  pipe.ZRangeWithScores(ctx, keys.Idle(), 0, peeked-1),
	}
}

// now is the time (ms) of the node that holds the partition; an error where that node
// did not answer.
func (h head) now() (float64, error) {
	at, err := h.clock.Read()
	if err = errors.Join(err, repositories.Unavailable(h.due.Err()), repositories.Unavailable(h.idle.Err())); err != nil {
		return 0, err
	}
	return float64(at.UnixMilli()), nil
}

// dueOf lists the members that are due.
func dueOf(head []redis.Z, now float64) []string {
	var due []string
	for _, z := range head {
		if z.Score <= now {
			due = append(due, z.Member.(string))
		}
	}
	return due
}

// overdue is for how long (ms) the first member has been due.
func overdue(head []redis.Z, now float64) float64 {
	if len(head) == 0 {
		return 0
	}
	return max(0, now-head[0].Score)
}
