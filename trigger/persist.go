package trigger

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"earshot/repositories/keyspace"
)

// persist repeats a write for as long as Redis is not available and ctx lasts. Every
// script is safe to run again, so a lost reply does no harm.
func (e *Engine) persist(ctx context.Context, write func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	for {
		err := write()
		if !errors.Is(err, keyspace.ErrUnavailable) {
			return err
		}
		if !pause(ctx, pauses.NextBackOff()) {
			return err
		}
	}
}

// pause waits, and reports whether it did to the end.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
