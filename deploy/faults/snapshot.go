package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// A Redis that is restored, or fails over to a replica that lags, has forgotten the last
// of what it has confirmed. Who sends the same again gets the same ids, so that what has
// happened does not happen once more.

// plain are deeds that come to the same whenever they are done.
var plain = []deed{
	{6, func(s *speaker, ctx context.Context) { s.say(ctx, "note", `call note {"day":"monday"}`) }},
	{3, func(s *speaker, ctx context.Context) { s.say(ctx, "book", `call book {"day":"monday"}`) }},
	{2, func(s *speaker, ctx context.Context) { s.say(ctx, "", `call note {}`) }},
	{2, func(s *speaker, ctx context.Context) { s.fire(ctx, s.session, "book") }},
	{1, (*speaker).agent},
}

// snapshot copies Redis's files while clients go on.
var snapshot = fault{"Redis is restored from a snapshot", func(w *world, ctx context.Context) error {
	wait(ctx, 2*time.Second)
	if err := os.CopyFS(w.snapshot(), os.DirFS(w.data())); err != nil {
		return fmt.Errorf("copy the files of Redis: %w", err)
	}
	wait(ctx, 3*time.Second)
	return nil
}}

func (w *world) data() string { return filepath.Join(w.dir, "redis") }

func (w *world) snapshot() string { return filepath.Join(w.dir, "redis-snapshot") }

// restore starts Redis with what the snapshot holds, which must be less than there was.
func (w *world) restore() error {
	before := w.client.DBSize(context.Background()).Val()
	w.redis.Kill()
	if err := os.RemoveAll(w.data()); err != nil {
		return err
	}
	if err := os.CopyFS(w.data(), os.DirFS(w.snapshot())); err != nil {
		return err
	}
	if err := w.upRedis(); err != nil {
		return err
	}
	if after := w.client.DBSize(context.Background()).Val(); after >= before {
		return fmt.Errorf("the snapshot has %d keys, and there were %d: nothing was forgotten", after, before)
	}
	return nil
}
