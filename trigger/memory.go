package trigger

import (
	"context"
	"errors"
	"time"

	"earshot/repositories/keyspace"
)

// untilRoom is the pause before a turn is claimed again that a full Redis has no room for.
const untilRoom = 5 * time.Second

// watchMemory notes whether Redis is full, and logs it when that changes. Of one that
// does not answer nothing new is known.
func (e *Engine) watchMemory(ctx context.Context, was bool) (full bool) {
	err := e.store.Ping(ctx)
	full = errors.Is(err, keyspace.ErrMemory)
	switch {
	case err != nil && !full:
		return was
	case full && !was:
		e.log.Error("redis.full", "error", err.Error())
	case was && !full:
		e.log.Info("redis.has_room")
	}
	e.metrics.full(full)
	return full
}
