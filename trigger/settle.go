package trigger

import (
	"context"
	"errors"
	"sync"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/trigger/ledger"
)

// settling are the settlements that this process still has to write: nobody's answer waits
// for them, as what it says is decided and published. Many are written in one round trip,
// those of each shard of a cluster apart: one that is away must not hold up the others. If
// the process dies before, the ledger delivers the events again, under the ids that they had.
type settling struct {
	mu    sync.Mutex
	queue map[int][]*settlement  // by shard; one without a queue has nobody who writes it
	open  map[outbox]*settlement // the last one of each outbox that is not written
}

type settlement struct {
	ledger.Settlement
	written chan struct{} // closed when it is
}

func newSettling() *settling {
	return &settling{queue: map[int][]*settlement{}, open: map[outbox]*settlement{}}
}

// add queues a settlement, and reports whether the caller must see that the queue of the
// shard is written.
func (s *settling) add(shard int, one *settlement) (write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, writing := s.queue[shard]
	s.queue[shard] = append(s.queue[shard], one)
	s.open[one.outbox()] = one
	return !writing
}

// next takes the queue of a shard; none where it is empty, and then nobody writes it any
// more.
func (s *settling) next(shard int) []*settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.queue[shard]
	if s.queue[shard] = nil; len(list) == 0 {
		delete(s.queue, shard)
	}
	return list
}

func (s *settling) done(list []*settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		if s.open[one.outbox()] == one {
			delete(s.open, one.outbox())
		}
		close(one.written)
	}
}

// waitForApp waits until what was queued of an app is written, so that who asks this process
// after an answer reads what the answer said. It waits no longer than ctx lasts.
func (s *settling) waitForApp(ctx context.Context, appID string) {
	for _, one := range s.unwritten(appID) {
		one.await(ctx)
	}
}

func (s *settling) unwritten(appID string) (list []*settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for of, one := range s.open {
		if of.app == appID {
			list = append(list, one)
		}
	}
	return list
}

// waitFor is waitForApp for one outbox.
func (s *settling) waitFor(ctx context.Context, of outbox) {
	s.mu.Lock()
	one := s.open[of]
	s.mu.Unlock()
	if one != nil {
		one.await(ctx)
	}
}

func (s *settlement) await(ctx context.Context) {
	select {
	case <-s.written:
	case <-ctx.Done():
	}
}

func (s *settlement) outbox() outbox { return outbox{s.App, s.Box} }

// settle has a settlement written, and returns at once.
func (d *Deliveries) settle(s ledger.Settlement) {
	shard := d.ledger.Shard(s.App)
	if d.settling.add(shard, &settlement{Settlement: s, written: make(chan struct{})}) {
		d.work(func() { d.writeSettlements(shard) })
	}
}

// writeSettlements writes what is queued of a shard until nothing is left.
func (d *Deliveries) writeSettlements(shard int) {
	for list := d.settling.next(shard); len(list) > 0; list = d.settling.next(shard) {
		d.writeSettled(list)
	}
}

// writeSettled writes settlements. It tries no longer than the lease of an outbox lasts:
// then the events are delivered again.
func (d *Deliveries) writeSettled(list []*settlement) {
	defer d.settling.done(list)
	panics.Run(d.log, "settlements", "", func() { d.writeSettlementsOf(list) })
}

func (d *Deliveries) writeSettlementsOf(list []*settlement) {
	of := make([]ledger.Settlement, len(list))
	for i, one := range list {
		of[i] = one.Settlement
	}
	ctx, cancel := d.lasting(d.life)
	defer cancel()
	ctx, expire := context.WithTimeout(ctx, keyspace.EventLease)
	defer expire()
	var holds []bool
	err := d.retryUntilAvailable(ctx, func() (err error) {
		holds, err = d.ledger.Settle(ctx, of)
		return err
	})
	if err != nil {
		d.log.Warn("batch.unsettled", "count", len(list), "error", err.Error())
		return
	}
	for i, one := range of {
		if holds[i] {
			d.work(func() { d.drain(one.App, one.Box, one.Next) })
		}
		if one.Says != nil {
			d.Wake(one.App)
		}
	}
}

// settlement is what the ledger is told of a batch whose events are all published.
func (r *firstAttempts) settlement(closing ledger.Report) (ledger.Settlement, error) {
	s := ledger.Settlement{
		Turn: r.plan.Turn, Box: r.plan.box, Token: r.plan.token, Next: r.deliveries.nextHolder(),
		Keep: r.deliveries.store.Retention().Done, Answered: closing.Answer != "", Reply: closing.Reply, Says: closing.Says, Trigger: closing.Trigger,
	}
	at := map[int]int{} // where the settlement has a firing
	for i, firing := range r.plan.firings {
		if !firing.due() {
			continue
		}
		at[i] = len(s.Firings)
		states, err := statesOf(r.plan.answer.Matches[i])
		if err != nil {
			return s, err
		}
		s.Firings = append(s.Firings, ledger.Settled{ID: firing.triggerID, States: states})
	}
	for _, a := range r.unsaved {
		if a.entry.Part == "" {
			continue // it belongs to no trigger
		}
		logged, err := a.logged()
		if err != nil {
			return s, err
		}
		s.Firings[at[r.plan.matchAt(a.ID)]].Attempts += logged + "\n"
	}
	return s, nil
}

// statesOf are the states of a match's effects, as the ledger keeps them.
func statesOf(m Match) (ledger.States, error) {
	event, err1 := stateText(m.Event)
	emitter, err2 := stateText(m.Emitter)
	call, err3 := stateText(m.Call)
	return ledger.States{Event: event, Emitter: emitter, Call: call}, errors.Join(err1, err2, err3)
}

func stateText[T any](state *T) (string, error) {
	if state == nil {
		return "", nil
	}
	text, err := exactjson.Encode(state)
	return string(text), err
}
