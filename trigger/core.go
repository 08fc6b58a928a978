package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"earshot/repositories/keyspace"
	"earshot/repositories/outages"
	"earshot/repositories/store"
	"earshot/repositories/tracing"
	"earshot/trigger/goroutines"
	"earshot/trigger/ledger"
	"earshot/trigger/state"

	"github.com/cenkalti/backoff/v5"
)

// core is what all parts of an Engine share.
type core struct {
	ledger   *ledger.Ledger
	store    *store.Store
	log      *slog.Logger
	troubles *outages.Log
	tracer   *tracing.Tracer
	metrics  *Metrics
	lease    time.Duration
	now      func() time.Time
	newID    func() string
	jitter   func(time.Duration) time.Duration
	logTexts bool

	// life ends when the engine must drop its work; running counts the work in flight.
	life     context.Context
	die      context.CancelFunc
	running  sync.WaitGroup
	pool     goroutines.Pool
	closing  atomic.Bool // what is held is given back
	slots    map[keyspace.Lane]*slots
	wake     chan int // partitions to be looked at
	settling *settling
	name     string // of this process, as its tokens begin
}

// Wake makes Run look at once for work that is due for an app.
func (c *core) Wake(appID string) {
	select {
	case c.wake <- keyspace.PartitionOf(appID):
	default: // so much is owed that the next look is on its way
	}
}

// wakeFor has this process look when the first of the triggers that settle is due, as the
// ledger is looked at from time to time only.
func (c *core) wakeFor(p *plan) {
	for _, firing := range p.firings {
		if firing.move != nil && state.State(firing.move.State) == state.Settling {
			time.AfterFunc(time.Duration(firing.move.Wait)*time.Millisecond, func() { c.Wake(p.App) })
		}
	}
}

// work runs f so that Stop waits for it. A panic is logged and does not take the
// process down: what f had leased is claimed again later, and counted.
func (c *core) work(f func()) {
	c.running.Add(1)
	c.pool.Start(func() {
		defer c.running.Done()
		defer func() {
			if fault := recover(); fault != nil {
				c.logPanic("worker.panicked", fault)
			}
		}()
		f()
	})
}

// toTheEnd runs the work of a request, whether or not its client is still there: the message
// is accepted by then. It is the request's own goroutine that works, so that who asks and
// leaves has no more under way than who waits.
func (c *core) toTheEnd(work func() (json.RawMessage, error)) (answer json.RawMessage, err error) {
	c.running.Add(1)
	defer c.running.Done()
	defer func() {
		if fault := recover(); fault != nil {
			c.logPanic("worker.panicked", fault)
			answer, err = nil, errWorker
		}
	}()
	return work()
}

// lasting is ctx, or a short time more where the engine's life is over: what was broken off is
// written down all the same.
func (c *core) lasting(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.life.Err() == nil {
		return ctx, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(ctx), parting)
}

// retryUntilAvailable repeats a write while Redis is unavailable and until ctx ends. Every
// script is safe to run again, so a lost reply does no harm.
func (c *core) retryUntilAvailable(ctx context.Context, write func() error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = 50*time.Millisecond, 2*time.Second
	for {
		err := write()
		if !errors.Is(err, keyspace.ErrUnavailable) {
			return err
		}
		if !sleep(ctx, pauses.NextBackOff()) {
			return err
		}
	}
}

// beat calls a function at every interval, until the returned function is called. The function
// may cancel the context.
func (c *core) beat(ctx context.Context, every time.Duration, look func(context.Context, context.CancelCauseFunc)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.Mutex // no goroutine waits for what most turns never need
	var timer *time.Timer
	renewing.Lock()
	defer renewing.Unlock()
	timer = time.AfterFunc(every, func() {
		look(ctx, cancel)
		renewing.Lock()
		defer renewing.Unlock()
		if ctx.Err() == nil {
			timer.Reset(every)
		}
	})
	return ctx, func() {
		renewing.Lock()
		defer renewing.Unlock()
		cancel(nil)
		timer.Stop()
	}
}

// token makes a new lease token that begins with the name of this process.
func (c *core) token() string { return c.name + c.newID() }

// nextHolder is the token under which an outbox is kept beyond what is written; none
// where others have waited for longer, or the process ends.
func (c *core) nextHolder() string {
	if c.closing.Load() || c.slots[keyspace.LaneOutboxes].scarce() {
		return ""
	}
	return c.token()
}

// giveUp releases the leases that a token may have taken, if err leaves open whether it
// did. It returns at once.
func (c *core) giveUp(held ledger.Holding, err error) {
	if errors.Is(err, keyspace.ErrUnavailable) && !errors.Is(err, keyspace.ErrReplicas) && !unreached(err) {
		c.handBack(held)
	}
}

// handBack releases the leases that a token may have taken, and returns at once.
func (c *core) handBack(held ledger.Holding) {
	c.work(func() {
		ctx, cancel := context.WithTimeout(c.life, max(c.lease, keyspace.EventLease))
		defer cancel()
		for i := range releases {
			had, err := c.release(ctx, held)
			if had || err != nil {
				c.Wake(held.App)
				return
			}
			if !sleep(ctx, c.jitter(time.Duration(i+1)*200*time.Millisecond)) {
				return
			}
		}
	})
}

// release runs the script until Redis has answered or ctx ends.
func (c *core) release(ctx context.Context, held ledger.Holding) (had bool, err error) {
	err = c.retryUntilAvailable(ctx, func() error {
		had, err = c.ledger.Release(ctx, held)
		return err
	})
	return had, err
}

// nextTry is the pause before a turn that nobody waits for is tried again, growing
// with the age of the message.
func (c *core) nextTry(t *turn) time.Duration {
	if t.age >= deadline {
		return clientRetries
	}
	return c.jitter(max(time.Second, min(t.age, 30*time.Second)))
}
