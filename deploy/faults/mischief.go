package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/faults/endpoints"
	"earshot/emitter"
)

// fault is something that the world does to the service.
type fault struct {
	name string
	do   func(*world, context.Context) error
}

// faults leave nothing in the stream that was not there, and take nothing out of it.
func faults(o options) []fault {
	return []fault{
		trouble(o), // first, as calls that fail again and again wait for up to minutes
		{"Redis is killed and comes back", (*world).killRedis},
		{"1 % of Redis's replies are lost", (*world).loseReplies},
		{"Redis forgets its scripts", (*world).flushScripts},
		{"Redis is at maxmemory", fillRedis(o.pick(3*time.Second, 15*time.Second))},
		{"NATS is killed and comes back", (*world).killNATS},
		{"NATS is frozen while replicas die", (*world).freezeNATS},
		{"a replica is frozen past its leases", (*world).freezeReplica},
	}
}

// pick chooses between what is for the short form and what is for the long one.
func (o options) pick(short, long time.Duration) time.Duration {
	if o.long() {
		return long
	}
	return short
}

// trouble has the MCP server be busy for some time, and away for as long.
func trouble(o options) fault {
	return fault{"the MCP server answers 503, and is away", func(w *world, ctx context.Context) error {
		defer w.sink.Remote.Set(endpoints.Well)
		for _, one := range []endpoints.Trouble{endpoints.Busy, endpoints.Away} {
			w.sink.Remote.Set(one)
			wait(ctx, o.pick(time.Second, 10*time.Second))
		}
		return nil
	}}
}

// deletion takes events out of the stream; the books are kept otherwise then.
var deletion = fault{"the stream is deleted", (*world).deleteStream}

// death is what recovery is measured with: nothing else goes wrong.
func death(o options) fault {
	victims := 1
	if o.long() {
		victims = replicas
	}
	return fault{"a replica is killed, the others are well", func(w *world, ctx context.Context) error {
		return w.killReplicas(ctx, victims)
	}}
}

// outage has events pile up. They are to be drained when NATS is there again.
func outage(d time.Duration) fault {
	return fault{fmt.Sprintf("NATS is away for %s", d), func(w *world, ctx context.Context) error {
		w.nats.Kill()
		wait(ctx, d)
		return w.nats.Start()
	}}
}

// calm is nothing at all, for so long.
func calm(d time.Duration) fault {
	return fault{"nothing goes wrong", func(_ *world, ctx context.Context) error {
		wait(ctx, d)
		return nil
	}}
}

// fillRedis has every write that needs memory refused.
func fillRedis(d time.Duration) func(*world, context.Context) error {
	return func(w *world, ctx context.Context) error {
		if err := w.client.ConfigSet(ctx, "maxmemory", "1").Err(); err != nil {
			return err
		}
		wait(ctx, d)
		if err := w.client.ConfigSet(context.WithoutCancel(ctx), "maxmemory", "0").Err(); err != nil {
			return err
		}
		wait(ctx, time.Second)
		return nil
	}
}

func (w *world) killRedis(ctx context.Context) error {
	for range 3 {
		w.redis.Kill()
		wait(ctx, 300*time.Millisecond)
		if err := w.upRedis(); err != nil {
			return fmt.Errorf("start Redis again: %w", err)
		}
		wait(ctx, time.Second)
	}
	return nil
}

func (w *world) loseReplies(ctx context.Context) error {
	w.proxy.Loss.Store(10)
	defer w.proxy.Loss.Store(0)
	wait(ctx, 8*time.Second)
	return nil
}

func (w *world) flushScripts(ctx context.Context) error {
	for range 20 {
		if err := w.client.ScriptFlush(ctx).Err(); err != nil {
			return err
		}
		wait(ctx, 50*time.Millisecond)
	}
	return nil
}

func (w *world) killNATS(ctx context.Context) error {
	for range 3 {
		w.nats.Kill()
		wait(ctx, 500*time.Millisecond)
		if err := w.nats.Start(); err != nil {
			return err
		}
		wait(ctx, 2*time.Second)
	}
	return nil
}

// killReplicas kills one replica after the other, each when what the one before has held
// is long done. The model takes its time meanwhile, so that much is held.
func (w *world) killReplicas(ctx context.Context, victims int) error {
	w.llm.Pause.Store(int64(150 * time.Millisecond))
	defer w.llm.Pause.Store(0)
	for _, r := range w.replicas[:victims] {
		wait(ctx, time.Second)
		r.killAnywhere()
		wait(ctx, frozen)
	}
	return nil
}

// freezeNATS lets replicas die that have sent an event and wait for its
// acknowledgement: the server takes the event when they are dead.
func (w *world) freezeNATS(ctx context.Context) error {
	w.nats.Freeze()
	wait(ctx, 500*time.Millisecond)
	for _, r := range w.replicas[1:] {
		r.killAnywhere()
	}
	w.nats.Thaw()
	wait(ctx, time.Second)
	return nil
}

// frozen is longer than the lease of a turn, of an event and of the calls here.
const frozen = 17 * time.Second

func (w *world) freezeReplica(ctx context.Context) error {
	last := w.replicas[len(w.replicas)-1]
	last.process.Freeze()
	wait(ctx, frozen)
	last.process.Thaw()
	wait(ctx, 2*time.Second)
	return nil
}

func (w *world) deleteStream(ctx context.Context) error {
	for range 4 {
		if err := w.js.DeleteStream(ctx, emitter.Stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			return err
		}
		wait(ctx, time.Second)
	}
	return nil
}
