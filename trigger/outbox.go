package trigger

import (
	"context"
	"sync"
	"time"

	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// claimRun claims an outbox and returns its first events, or none if the outbox cannot be
// claimed.
func (d *Deliveries) claimRun(ctx context.Context, of outbox, token string) ([]attempt, error) {
	found, err := d.ledger.ClaimRun(ctx, of.app, of.box, token)
	if err != nil {
		d.giveUp(ledger.Holding{Turn: ledger.Turn{App: of.app}, Token: token, Box: of.box}, err)
		return nil, err
	}
	if len(found) > 0 {
		failpoint.At(failpoint.EffectClaimed)
	}
	run := make([]attempt, len(found))
	for i, one := range found {
		c := claimed{Effect: effectOf(of.app, one), Claimed: one}
		if err := c.readBody(d.store); err != nil {
			return nil, err
		}
		run[i] = c.attempt()
	}
	return run, nil
}

// drain publishes the events of an outbox, run after run while it holds the lease, until
// none is left or NATS refuses one.
func (d *Deliveries) drain(appID, box, token string) {
	of := outbox{appID, box}
	for token != "" {
		next, err := d.publishRun(of, token)
		if err != nil && d.life.Err() == nil {
			d.log.Warn("outbox.unfinished", "app", of.app, "outbox", of.box, "error", err.Error())
		}
		token = next
	}
}

// publishRun publishes one run. It returns the token under which this process still holds
// the outbox, or an empty string if it does not.
func (d *Deliveries) publishRun(of outbox, token string) (string, error) {
	ctx, cancel := context.WithTimeout(d.life, keyspace.EventLease)
	defer cancel()
	begun := time.Now()
	run, err := d.claimRun(ctx, of, token)
	if err != nil || len(run) == 0 {
		return "", err
	}
	tried := d.publishInOrder(ctx, run, begun)
	r := ledger.Report{App: of.app, Box: of.box, Token: token, Next: d.nextHolder()}
	for _, a := range tried {
		outcome, err := a.report()
		if err != nil {
			return "", err
		}
		r.Outcomes = append(r.Outcomes, outcome)
	}
	holds, _, err := d.record(ctx, r)
	if err != nil {
		return "", err
	}
	d.waiting.tell(of, tried)
	if !holds {
		d.Wake(of.app) // it may have been released so that others get their turn
		return "", nil
	}
	return r.Next, nil
}

// publishInOrder tries events one after the other, up to the first that is to be tried
// again, and no longer than leaves time for the slowest and for writing it all down.
func (d *Deliveries) publishInOrder(ctx context.Context, run []attempt, begun time.Time) []attempt {
	for i, a := range run {
		run[i] = d.deliver(ctx, a)
		if run[i].outcome.Verdict == effect.Retry || time.Since(begun) > keyspace.EventLease/4 {
			return run[:i+1]
		}
	}
	return run
}

// outbox names unpublished events that wait for each other; see keyspace.Box.
type outbox struct{ app, box string }

// waiting are the requests of this process whose events are behind others in an outbox: the
// worker that holds the outbox publishes them too and notifies the requests.
type waiting struct {
	mu     sync.Mutex
	events map[outbox]map[string]chan<- attempt // by the event's id
}

// join subscribes a plan to the outcomes of its events. It is called before they are in the
// outbox, so that none is missed.
func (w *waiting) join(p *plan) {
	own := p.ownEvents()
	p.told = make(chan attempt, len(own)) // nobody who tells is held up
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[p.outbox()]
	if here == nil {
		here = map[string]chan<- attempt{}
		w.events[p.outbox()] = here
	}
	for _, effect := range own {
		here[effect.ID] = p.told
	}
}

func (w *waiting) leave(p *plan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[p.outbox()]
	for _, effect := range p.ownEvents() {
		delete(here, effect.ID)
	}
	if len(here) == 0 {
		delete(w.events, p.outbox())
	}
}

// tell notifies waiting requests of the outcomes of events after these were recorded.
// Nobody needs to wait behind an event that will be retried.
func (w *waiting) tell(of outbox, attempts []attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[of]
	for _, a := range attempts {
		if a.Kind != effect.KindEvent || a.left {
			continue
		}
		if told, waits := here[a.ID]; waits {
			told <- a
			delete(here, a.ID)
		}
		if a.outcome.Verdict == effect.Retry {
			putOff(here)
		}
	}
}

func putOff(here map[string]chan<- attempt) {
	for id, told := range here {
		told <- attempt{Effect: effect.Effect{ID: id, Kind: effect.KindEvent}, outcome: notTried}
		delete(here, id)
	}
}

// outbox is where the plan's own events stand.
func (p *plan) outbox() outbox { return outbox{p.App, p.box} }

// owns reports whether an effect is an event of the plan's own outbox. The end of an app's
// triggerOnce repository is not.
func (p *plan) owns(delivery plannedEffect) bool {
	return delivery.Kind == effect.KindEvent && delivery.entry.Box == p.box
}

// ownEvents are the events of the plan's own outbox.
func (p *plan) ownEvents() []plannedEffect {
	var own []plannedEffect
	for _, delivery := range p.effects {
		if p.owns(delivery) {
			own = append(own, delivery)
		}
	}
	return own
}
