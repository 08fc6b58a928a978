package redistest

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// ask puts something to one process.
func (p *process) ask(what func(context.Context, *redis.Client) error) error {
	client := redis.NewClient(&redis.Options{Addr: p.addr()})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return what(ctx, client)
}

// await asks again and again, until there is no error.
func (p *process) await(what string, holds func(context.Context, *redis.Client) error) error {
	return p.ask(func(ctx context.Context, client *redis.Client) error {
		again := time.NewTicker(5 * knock)
		defer again.Stop()
		for {
			err := holds(ctx, client)
			if err == nil {
				return nil
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return fmt.Errorf("not so at the Redis on %s after %s: %s: %w", p.addr(), startLimit, what, err)
			}
		}
	})
}
