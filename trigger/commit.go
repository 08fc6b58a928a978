package trigger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/spans"

	"go.opentelemetry.io/otel/trace"
)

// execute begins the span of a tool that fires, with which its effects go on. It returns where
// the decision stands, too.
func (p *planner) execute(says payload.Trigger) (span trace.Span, above string) {
	above = p.traceParent
	span, p.traceParent = spans.Execute(p.tracer, above, spans.Firing{App: p.App, Session: p.Session, Trigger: says.ID, Tool: says.Name, Source: says.Source})
	return span, above
}

// executed ends the spans of the tools that fire: what they owe is written down.
func (p *plan) executed() {
	for _, firing := range p.firings {
		if firing.span != nil {
			firing.span.End()
		}
	}
}

// commit has the ledger decide, and records in the plan who holds the session's outbox.
func (d *decisions) commit(ctx context.Context, p *plan) (ledger.Status, error) {
	doc, err := d.commitment(p)
	if err != nil {
		return "", err
	}
	if failpoint.Planted(failpoint.EarlyPublish) {
		for _, delivery := range p.effects {
			d.deliveries.outcome(ctx, d.deliveries.events, delivery.Effect) // which refuses calls
		}
	}
	found, err := d.ledger.Commit(ctx, doc)
	if err != nil {
		return "", err
	}
	if p.few = found.Few; found.Status == ledger.NoApp {
		return "", fmt.Errorf("app %q: %w", p.App, repositories.ErrNotFound)
	}
	p.holder, p.batch, p.differs = found.Holder, found.Batch, found
	if found.Status == ledger.Committed {
		d.packer.Wrote(p.explained)
		p.executed()
		d.metrics.moved(p)
	}
	return found.Status, nil
}

func (d *decisions) commitment(p *plan) (ledger.Commitment, error) {
	decision, err := exactjson.Encode(p.answer)
	if err != nil {
		return ledger.Commitment{}, err
	}
	doc := ledger.Commitment{
		Turn: p.Turn, Box: p.box, Token: p.token, Unfinished: p.unfinished, Decision: string(decision), Matched: p.matched, Version: d.newID(),
		TTL: d.store.SessionTTL().Milliseconds(), Lease: p.answerWithin(d.lease).Milliseconds(), Claims: p.claims, FrontEnd: p.frontEnd, Counted: p.counted, Guessed: p.guessed, Put: p.put,
		Questions: p.questions(), Heard: p.heard,
		Explanation: ledger.Explanation{Body: p.explained.Body, Parts: p.explained.Parts, Keep: d.store.Retention().Explain},
	}
	for i, fire := range p.firings {
		committed, err := p.firing(i, fire)
		if err != nil {
			return ledger.Commitment{}, err
		}
		doc.Firings = append(doc.Firings, committed)
	}
	for _, delivery := range p.effects {
		if p.owns(delivery) {
			doc.Events = append(doc.Events, delivery.entry)
		} else {
			doc.Others = append(doc.Others, delivery.entry)
		}
	}
	return doc, nil
}

// answerWithin is how long the replica that fires may take until its answer, if it stays
// alive: the lease of a turn, or the longest of its calls.
func (p *plan) answerWithin(lease time.Duration) time.Duration {
	for _, delivery := range p.effects {
		if delivery.Kind != effect.KindEvent {
			lease = max(lease, time.Duration(delivery.entry.Lease)*time.Millisecond)
		}
	}
	return lease
}

func (p *plan) firing(i int, fire plannedFiring) (ledger.Firing, error) {
	if fire.move != nil && !fire.move.New {
		states, err := statesOf(p.answer.Matches[i])
		return ledger.Firing{ID: fire.triggerID, Name: fire.id, Open: fire.open, States: states, Move: fire.move}, err
	}
	record, err := exactjson.Encode(fire.record)
	if err != nil {
		return ledger.Firing{}, err
	}
	states, err := statesOf(p.answer.Matches[i])
	return ledger.Firing{
		ID: fire.triggerID, Name: fire.id, Record: string(record), Repository: fire.repository.ID, Session: fire.repository.SessionID,
		Revision: fire.repository.Revision, Once: fire.once(), Open: fire.open, States: states, Move: fire.move,
	}, err
}

// standing is what was learnt, by trying to commit, of the firings of a plan: which trigger
// has the values of a fence, with what has come of its call, and what was confirmed before.
type standing struct {
	firsts    map[string]string
	calls     map[string]*CallState
	confirmed map[string]bool
}

// learn notes why the ledger has refused a plan.
func (d *decisions) learn(ctx context.Context, s *standing, p *plan) error {
	if s.firsts == nil {
		s.firsts, s.calls, s.confirmed = map[string]string{}, map[string]*CallState{}, map[string]bool{}
	}
	for _, firing := range p.firings {
		if firing.triggerID != p.differs.Firing {
			continue
		}
		if p.differs.Confirmed {
			s.confirmed[firing.move.Unless] = true
		} else {
			s.firsts[firing.move.Fence] = p.differs.First
		}
	}
	if p.differs.First == "" {
		return nil
	}
	first, err := d.records.readTrigger(ctx, p.App, p.differs.First)
	if first != nil {
		s.calls[p.differs.First] = first.record.Call
	}
	return err
}

// takenBy lists the leases that the decision of a plan takes.
func takenBy(p *plan) ledger.Holding {
	all := ledger.Holding{Turn: p.Turn, Token: p.token, Box: p.box}
	if p.Message == "" {
		all.Trigger = p.firings[0].triggerID
	}
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindCall {
			all.Calls = append(all.Calls, delivery.ID)
		}
	}
	return all
}

// releases is how many times a release is tried, at growing intervals, until there was
// something to release: a Redis that has stopped for a moment may run the script that takes
// a lease after the one that releases it.
const releases = 5

// unreached reports whether there was no connection at all, so that no lease was taken.
func unreached(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}
