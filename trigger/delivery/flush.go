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
	queues map[int]*flushQueue          // by shard; a queue exists while its writer runs
	latest map[outbox]*queuedSettlement // the last unwritten one of each outbox
	// hurried has, by shard, the number of requests that wait for a settlement that may not be queued yet.
	hurried map[int]int
}

type flushQueue struct {
	list   []*queuedSettlement
	urgent chan struct{} // signals that a request waits for the queue
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

type queuedSettlement struct {
	ledger.Settlement
	written chan struct{} // closed when written or given up
	lost    bool          // see ledger.Flushed
	err     error         // why it was not written
}

func (s *queuedSettlement) outbox() outbox { return outbox{s.App, s.Box} }

// await waits until settlements are written, or ctx ends.
func (d *Deliveries) await(ctx context.Context, settlements ...*queuedSettlement) {
	written := make([]chan struct{}, len(settlements))
	for i, settlement := range settlements {
		d.flusher.flushNow(d.Ledger.Shard(settlement.App))
		written[i] = settlement.written
	}
	awaitAll(ctx, written...)
}

// awaitAll waits until channels are closed, or ctx ends.
func awaitAll(ctx context.Context, channels ...chan struct{}) {
	for _, done := range channels {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

// flushNow makes the writer of a shard's queue write without delay.
func (f *flusher) flushNow(shard int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if queue := f.queues[shard]; queue != nil {
		select {
		case queue.urgent <- struct{}{}:
		default:
		}
	}
}

// hurry makes the writer of a shard's queue write without delay, also what is queued before end is called.
func (f *flusher) hurry(shard int) (end func()) {
	f.mu.Lock()
	f.hurried[shard]++
	f.mu.Unlock()
	f.flushNow(shard)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.hurried[shard]--; f.hurried[shard] == 0 {
			delete(f.hurried, shard)
		}
	}
}

// awaitAppFlush waits until the queued settlements of an app are written, or ctx ends.
func (d *Deliveries) awaitAppFlush(ctx context.Context, appID string) {
	d.flusher.mu.Lock()
	var settlements []*queuedSettlement
	for box, settlement := range d.flusher.latest {
		if box.app == appID {
			settlements = append(settlements, settlement)
		}
	}
	d.flusher.mu.Unlock()
	d.await(ctx, settlements...)
}

// AwaitFlush waits until the queued settlements of an outbox are written, or ctx ends.
func (d *Deliveries) AwaitFlush(ctx context.Context, appID, box string) {
	d.flusher.mu.Lock()
	settlement := d.flusher.latest[outbox{appID, box}]
	d.flusher.mu.Unlock()
	if settlement != nil {
		d.await(ctx, settlement)
	}
}

// queueSettlement queues a settlement, and returns at once.
func (d *Deliveries) queueSettlement(s ledger.Settlement) *queuedSettlement {
	shard, queued := d.Ledger.Shard(s.App), &queuedSettlement{Settlement: s, written: make(chan struct{})}
	f := &d.flusher
	f.mu.Lock()
	queue := f.queues[shard]
	if queue == nil {
		queue = &flushQueue{urgent: make(chan struct{}, 1)}
		f.queues[shard] = queue
		d.Go(func() { d.writeSettlements(shard, queue) })
	}
	queue.list = append(queue.list, queued)
	f.latest[queued.outbox()] = queued
	hurried := f.hurried[shard] > 0 || len(queue.list) >= mostFlushed
	f.mu.Unlock()
	if hurried {
		f.flushNow(shard)
	}
	return queued
}

// awaitSettlement queues a settlement, and waits until it is written, without delay if it is urgent. lost is as in
// ledger.Flushed.
func (d *Deliveries) awaitSettlement(ctx context.Context, s ledger.Settlement, urgent bool) (lost bool, err error) {
	ctx, cancel := d.ShutdownContext(ctx)
	defer cancel()
	queued := d.queueSettlement(s)
	if urgent {
		d.flusher.flushNow(d.Ledger.Shard(s.App))
	}
	awaitAll(ctx, queued.written)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	return queued.lost, queued.err
}

// writeSettlements writes the queue of a shard until it is empty.
func (d *Deliveries) writeSettlements(shard int, queue *flushQueue) {
	f := &d.flusher
	for {
		select {
		case <-queue.urgent:
		case <-time.After(flushDelay):
		case <-d.Context.Done():
		}
		f.mu.Lock()
		settlements := queue.list
		if queue.list = nil; len(settlements) == 0 {
			delete(f.queues, shard)
		}
		f.mu.Unlock()
		if len(settlements) == 0 {
			return
		}
		for batch := range slices.Chunk(settlements, mostFlushed) {
			err := errUnwritten
			panics.Run(d.Log, "settlements", "", func() { err = d.writeBatch(batch) })
			f.mu.Lock()
			for _, settlement := range batch {
				settlement.err = err
				if f.latest[settlement.outbox()] == settlement {
					delete(f.latest, settlement.outbox())
				}
				close(settlement.written)
			}
			f.mu.Unlock()
		}
	}
}

// writeBatch writes settlements. It gives up after the lease of an outbox: then the events are delivered again.
func (d *Deliveries) writeBatch(batch []*queuedSettlement) error {
	settlements := make([]ledger.Settlement, len(batch))
	for i, settlement := range batch {
		settlements[i] = settlement.Settlement
	}
	ctx, cancel := d.ShutdownContext(d.Context)
	defer cancel()
	ctx, expire := context.WithTimeout(ctx, keyspace.EventLease)
	defer expire()
	var flushed []ledger.Flushed
	err := d.Write(ctx, func() (err error) {
		flushed, err = d.Ledger.Settle(ctx, settlements)
		return err
	})
	if err != nil {
		d.Log.Warn("batch.unsettled", "count", len(batch), "error", err.Error())
		return err
	}
	for i, settlement := range settlements {
		batch[i].lost = flushed[i].Lost
		if flushed[i].Holds {
			d.Go(func() { d.Drain(settlement.App, settlement.Box, settlement.Next) })
		}
		if settlement.ReplyEvent != nil {
			d.Wake(settlement.App)
		}
	}
	return nil
}

// PublishMessage publishes the event of a stored message, which is the batch of its outbox. If that fails, it
// leaves it to the ledger.
func (d *Deliveries) PublishMessage(a ledger.Acceptance) {
	event, err := newAttempt(d.Store, a.App, ledger.Claimed{Entry: *a.AcceptedEvent, Attempt: 1}, nil)
	if err != nil {
		return // unreachable: it was just written
	}
	event = d.try(d.Context, event)
	if event.outcome.Verdict == effect.Done {
		d.queueSettlement(ledger.Settlement{
			Turn: ledger.Turn{App: a.App, Session: a.Session}, Box: a.AcceptedEvent.Box, Token: a.Token, Next: d.NextHolder(), Keep: d.Store.Retention().Done,
		})
		return
	}
	err = d.handOver(ledger.Report{App: a.App, Session: a.Session, Box: a.AcceptedEvent.Box, Token: a.Token}, []attempt{event})
	if err != nil {
		d.Log.Warn("chat.unpublished", "app", a.App, "session", a.Session, "message", a.Turn.Message, "error", err.Error())
	}
}
