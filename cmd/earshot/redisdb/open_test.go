package redisdb

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestCommandsWaitForTheFirstCheckOfRedisAndNoLonger(t *testing.T) {
	for name, c := range map[string]struct {
		then func(g *Gate, leave context.CancelFunc)
		want error
	}{
		"usable":         {func(g *Gate, _ context.CancelFunc) { g.Open() }, nil},
		"not to be had":  {func(g *Gate, _ context.CancelFunc) { g.Tell() }, errUnchecked},
		"client is gone": {func(_ *Gate, leave context.CancelFunc) { leave() }, errUnchecked},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := &Gate{opened: make(chan struct{}), tried: make(chan struct{})}
				one := g.ProcessHook(func(context.Context, redis.Cmder) error { return nil })
				several := g.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return nil })
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				answers := make(chan error, 2)
				go func() { answers <- one(ctx, redis.NewStatusCmd(ctx, "ping")) }()
				go func() { answers <- several(ctx, []redis.Cmder{redis.NewStatusCmd(ctx, "ping")}) }()
				synctest.Wait()
				require.Empty(t, answers, "an answer before Redis was checked")
				c.then(g, leave)
				require.ErrorIs(t, <-answers, c.want)
				require.ErrorIs(t, <-answers, c.want)
			})
		})
	}
}
