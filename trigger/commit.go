package trigger

import (
	"context"
	"fmt"
	"time"

	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// commit decides by the ledger, and notes in the plan who has the session's outbox.
func (e *Engine) commit(ctx context.Context, p *plan) (ledger.Status, error) {
	doc, err := e.commitment(p)
	if err != nil {
		return "", err
	}
	if crash.Planted(crash.EarlyPublish) {
		for _, delivery := range p.effects {
			e.outcome(ctx, e.events, delivery.Effect) // which refuses calls
		}
	}
	found, err := e.ledger.Commit(ctx, doc)
	if err != nil {
		return "", err
	}
	if p.few = found.Few; found.Status == ledger.NoApp {
		return "", fmt.Errorf("app %q: %w", p.App, store.ErrNotFound)
	}
	p.holder = found.Holder
	return found.Status, nil
}

func (e *Engine) commitment(p *plan) (ledger.Commitment, error) {
	decision, err := exactjson.Encode(p.answer)
	if err != nil {
		return ledger.Commitment{}, err
	}
	doc := ledger.Commitment{
		App: p.App, Session: p.Session, Message: p.Message, Member: p.Member(), Box: keyspace.Box(p.Session), Token: p.token,
		Unfinished: p.unfinished, Decision: string(decision), Version: e.newID(), TTL: e.store.SessionTTL().Milliseconds(),
		Lease: p.answerWithin(e.lease).Milliseconds(), Firings: []ledger.Firing{}, Effects: []keyspace.Entry{}, FrontEnd: p.frontEnd,
	}
	for i, fire := range p.fires {
		committed, err := p.firing(i, fire)
		if err != nil {
			return ledger.Commitment{}, err
		}
		doc.Firings = append(doc.Firings, committed)
	}
	for _, effect := range p.effects {
		doc.Effects = append(doc.Effects, effect.owed)
	}
	return doc, nil
}

// answerWithin is how long the replica that fires may take to its answer, while it
// lives: the lease of a turn, or the longest of its calls.
func (p *plan) answerWithin(lease time.Duration) time.Duration {
	for _, delivery := range p.effects {
		if delivery.Kind == effect.KindCall {
			lease = max(lease, time.Duration(delivery.owed.Lease)*time.Millisecond)
		}
	}
	return lease
}

func (p *plan) firing(i int, fire plannedFire) (ledger.Firing, error) {
	record, err := exactjson.Encode(fire.record)
	if err != nil {
		return ledger.Firing{}, err
	}
	states := map[string]string{}
	for part, state := range p.answer.Matches[i].parts() {
		text, err := exactjson.Encode(state)
		if err != nil {
			return ledger.Firing{}, err
		}
		states[part] = string(text)
	}
	return ledger.Firing{
		ID: fire.triggerID, Name: fire.id, Record: string(record), Repository: fire.repository.ID, Session: fire.repository.SessionID,
		Revision: fire.repository.Revision, Once: fire.repository.Options.TriggerOnce, Open: len(states), States: states,
	}, nil
}

// parts are the states of the match's effects by their names.
func (m Match) parts() map[string]any {
	parts := map[string]any{}
	if m.Event != nil {
		parts[partEvent] = m.Event
	}
	if m.Emitter != nil {
		parts[partEmitter] = m.Emitter
	}
	if m.Call != nil {
		parts[partCall] = m.Call
	}
	return parts
}
