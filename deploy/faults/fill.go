package main

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/faults/servers"
	"earshot/emitter"
)

// filling lets the stream fill, so that events pile up, and empties it. Whoever takes
// events out of the stream writes them down before, so that the books stay whole.
func filling(o options) fault {
	rounds, hold := 2, o.pick(2*time.Second, 15*time.Second)
	return fault{"the stream is full and is emptied", func(w *world, ctx context.Context) error {
		for range rounds {
			if servers.Until(time.Minute, func() bool { return ctx.Err() != nil || !w.hasRoom(ctx, little) }) != nil {
				return fmt.Errorf("a stream of %d bytes was not full within a minute", w.full)
			}
			wait(ctx, hold)
			if err := w.empty(ctx); err != nil {
				return err
			}
		}
		return nil
	}}
}

// Room that an event needs: most have less than 2 KiB, and the results of calls up to
// some 70 KiB.
const (
	little = 2 << 10
	ample  = 100 << 10
)

// hasRoom reports whether there is so much room in the stream.
func (w *world) hasRoom(ctx context.Context, bytes uint64) bool {
	held, err := w.js.Stream(ctx, emitter.Stream)
	return err != nil || held.CachedInfo().State.Bytes+bytes <= uint64(w.full)
}

// empty writes down what is in the stream and takes it out.
func (w *world) empty(ctx context.Context) error {
	taken, last, err := w.events(ctx)
	if err != nil || len(taken) == 0 {
		return err
	}
	held, err := w.js.Stream(ctx, emitter.Stream)
	if err != nil {
		return err
	}
	w.emptied = append(w.emptied, taken...)
	return held.Purge(ctx, jetstream.WithPurgeSequence(last+1))
}

// makeRoom empties the stream from time to time where it does not hold any event.
func (w *world) makeRoom() {
	ctx, cancel := context.WithTimeout(context.Background(), servers.ComeUp)
	defer cancel()
	if w.full == 0 || time.Since(w.looked) < 200*time.Millisecond {
		return
	}
	w.looked = time.Now()
	if !w.hasRoom(ctx, ample) {
		if err := w.empty(ctx); err != nil {
			w.trouble(fmt.Errorf("empty the stream: %w", err))
		}
	}
}
