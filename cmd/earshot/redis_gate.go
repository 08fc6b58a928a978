package main

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// gate lets no command through to Redis before that has been checked: nothing may be
// read from or written to one that cannot be used. Until then Redis is as good as away.
type gate struct{ opened chan struct{} }

func newGate() *gate { return &gate{opened: make(chan struct{})} }

// open lets everything through from now on. It is called once.
func (g *gate) open() { close(g.opened) }

// await waits until the gate is open, and returns false where ctx ends before.
func (g *gate) await(ctx context.Context) bool {
	select {
	case <-g.opened:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *gate) check() error {
	select {
	case <-g.opened:
		return nil
	default:
		return errUnchecked
	}
}

var errUnchecked = errors.New("redis is not checked yet")

// DialHook implements redis.Hook.
func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.check(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := g.check()
		if err == nil {
			return next(ctx, cmds)
		}
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}
