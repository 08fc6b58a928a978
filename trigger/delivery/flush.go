package delivery

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// flusher has the unwritten settlements of this process. An answer without a reply does not wait for them, since its
// content is decided and published; a reply, which is stored nowhere else, is written before it is answered. Many
// are written in one round trip, separately for each shard of a cluster, so that an unavailable one does not delay
// the others. If the process dies first, the ledger delivers the events again under the same ids.
type flusher struct {
	mu     sync.Mutex
	queues map[int]*flushQueue    // by shard; one exists while it is being written
	open   map[outbox]*settlement // the last unwritten one of each outbox
}

type flushQueue struct {
	list []*settlement
	now  chan struct{} // signals that a request waits for the queue
}

const (
	// flushDelay is how long a settlement waits for others, unless a request waits for it: written together
	// they cost Redis half as much.
	flushDelay = 5 * time.Millisecond
	// mostFlushed bounds the settlements written together, which block Redis for some two milliseconds.
	mostFlushed = 64
)

// errUnwritten is the error of settlements whose write panicked.
var errUnwritten = errors.New("the settlement was not written")

type settlement struct {
	ledger.Settlement
	written chan struct{} // closed when written or given up
	lost    bool          // see ledger.Flushed
	err     error         // why it was not written
}

func (s *settlement) outbox() outbox { return outbox{s.App, s.Box} }

// await waits until settlements are written, or ctx ends.
func (d *Deliveries) await(ctx context.Context, list ...*settlement) {
	written := make([]chan struct{}, len(list))
	for i, one := range list {
		d.flusher.hurry(d.Ledger.Shard(one.App))
		written[i] = one.written
	}
	awaitAll(ctx, written)
}

// awaitAll waits until channels are closed, or ctx ends.
func awaitAll(ctx context.Context, list []chan struct{}) {
	for _, written := range list {
		select {
		case <-written:
		case <-ctx.Done():
			return
		}
	}
}

// hurry makes the writer of a shard's queue write without delay.
func (f *flusher) hurry(shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if queue := f.queues[shard]; queue != nil {
		select {
		case queue.now <- struct{}{}:
		default:
		}
	}
}

// awaitApp waits until the queued settlements of an app are written, or ctx ends.
func (d *Deliveries) awaitApp(ctx context.Context, appID string) {
	d.flusher.mu.Lock()
	var list []*settlement
	for of, one := range d.flusher.open {
		if of.app == appID {
			list = append(list, one)
		}
	}
	d.flusher.mu.Unlock()
	d.await(ctx, list...)
}

// AwaitFlush waits until the queued settlements of an outbox are written, or ctx ends.
func (d *Deliveries) AwaitFlush(ctx context.Context, appID, box string) {
	d.flusher.mu.Lock()
	one := d.flusher.open[outbox{appID, box}]
	d.flusher.mu.Unlock()
	if one != nil {
		d.await(ctx, one)
	}
}

// settle queues a settlement, and returns at once.
func (d *Deliveries) settle(s ledger.Settlement) *settlement {
	shard, one := d.Ledger.Shard(s.App), &settlement{Settlement: s, written: make(chan struct{})}
	f := &d.flusher
	f.mu.Lock()
	queue := f.queues[shard]
	if queue == nil {
		queue = &flushQueue{now: make(chan struct{}, 1)}
		f.queues[shard] = queue
		d.Go(func() { d.writeSettlements(shard, queue) })
	}
	queue.list = append(queue.list, one)
	f.open[one.outbox()] = one
	full := len(queue.list) >= mostFlushed
	f.mu.Unlock()
	if full {
		f.hurry(shard)
	}
	return one
}

// settled queues a settlement, and waits until it is written. lost is as in ledger.Flushed.
func (d *Deliveries) settled(ctx context.Context, s ledger.Settlement) (lost bool, err error) {
	ctx, cancel := d.ShutdownContext(ctx)
	defer cancel()
	one := d.settle(s)
	d.await(ctx, one)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return one.lost, one.err
}

// writeSettlements writes the queue of a shard until it is empty.
func (d *Deliveries) writeSettlements(shard int, queue *flushQueue) {
	f := &d.flusher
	for {
		select {
		case <-queue.now:
		case <-time.After(flushDelay):
		case <-d.Context.Done():
		}
		f.mu.Lock()
		list := queue.list
		if queue.list = nil; len(list) == 0 {
			delete(f.queues, shard)
		}
		f.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for part := range slices.Chunk(list, mostFlushed) {
			err := errUnwritten
			panics.Run(d.Log, "settlements", "", func() { err = d.write(part) })
			f.mu.Lock()
			for _, one := range part {
				one.err = err
				if f.open[one.outbox()] == one {
					delete(f.open, one.outbox())
				}
				close(one.written)
			}
			f.mu.Unlock()
		}
	}
}

// write writes settlements. It gives up after the lease of an outbox: then the events are delivered again.
func (d *Deliveries) write(list []*settlement) error {
	of := make([]ledger.Settlement, len(list))
	for i, one := range list {
		of[i] = one.Settlement
	}
	ctx, cancel := d.ShutdownContext(d.Context)
	defer cancel()
	ctx, expire := context.WithTimeout(ctx, keyspace.EventLease)
	defer expire()
	var flushed []ledger.Flushed
	err := d.Write(ctx, func() (err error) {
		flushed, err = d.Ledger.Settle(ctx, of)
		return err
	})
	if err != nil {
		d.Log.Warn("batch.unsettled", "count", len(list), "error", err.Error())
		return err
	}
	for i, one := range of {
		list[i].lost = flushed[i].Lost
		if flushed[i].Holds {
			d.Go(func() { d.Drain(one.App, one.Box, one.Next) })
		}
		if one.Says != nil {
			d.Wake(one.App)
		}
	}
	return nil
}

// PublishMessage publishes the event of a stored message, which is the batch of its outbox. If that fails, it
// leaves it to the ledger.
func (d *Deliveries) PublishMessage(a ledger.Acceptance) {
	tried, err := claimed(d.Store, a.App, ledger.Claimed{Entry: *a.Said, Attempt: 1}, nil)
	if err != nil {
		return // unreachable: it was just written
	}
	tried = d.try(d.Context, tried)
	if tried.outcome.Verdict == effect.Done {
		d.settle(ledger.Settlement{
			Turn: ledger.Turn{App: a.App, Session: a.Session}, Box: a.Said.Box, Token: a.Token, Next: d.NextHolder(), Keep: d.Store.Retention().Done,
		})
		return
	}
	err = d.handOver(ledger.Report{App: a.App, Session: a.Session, Box: a.Said.Box, Token: a.Token}, []attempt{tried})
	if err != nil {
		d.Log.Warn("chat.unpublished", "app", a.App, "session", a.Session, "message", a.Turn.Message, "error", err.Error())
	}
}
