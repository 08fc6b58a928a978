package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/payload"
	"earshot/trigger/query"
)

// StoredCall is the body of a call in the ledger. Package sealing re-seals its tool.
type StoredCall struct {
	Tool        string          `json:"tool"` // sealed
	Event       json.RawMessage `json:"event"`
	TraceParent string          `json:"traceparent,omitempty"`
	// Fence names the fence of its values, which is freed if the call fails before anything was sent.
	Fence string `json:"fence,omitempty"`
	// Unquoted reports that the event's values, for a tool with a type, lack the delimiters of their escapes.
	Unquoted bool `json:"said,omitempty"`
}

// referenceMark begins the ledger body of an event that is rebuilt from its trigger's record. The trace of the
// event follows.
const referenceMark = "@"

// Reference returns the ledger body of an event of a trigger or of its emitter. An event that asks subscribers
// for an answer cannot be a reference, since no record contains the address of the answer.
func Reference(traceParent string) string { return referenceMark + traceParent }

// eventOf rebuilds the event of a trigger, or of its emitter, from its record.
func eventOf(record *query.Record, part string) (effect.Event, error) {
	body := payload.Trigger{
		Header: payload.Header{
			ID: record.TriggerID, Time: record.Time, MessageID: record.MessageID, Text: record.Text,
			AppID: record.AppID, SessionID: record.SessionID, Metadata: record.Metadata,
		},
		RepositoryID: record.RepositoryID, Source: record.Source, Name: record.Name, Schema: record.Schema, Values: record.Values,
	}
	event, _, err := payload.EventOf(payload.KindTrigger, record.Name, body)
	if part == effect.PartEmitter && record.Emitter != nil {
		event.Subject = record.Emitter.Subject
	}
	return event, err
}

// takeCall makes the next attempt at a call and records the outcome. Both must happen within its lease;
// otherwise the attempt is repeated under the same id. A call without a record ends without an attempt: its app was
// deleted, and another app may have the id by now.
func (d *Deliveries) takeCall(ctx context.Context, appID, id string) error {
	token, start := d.Token(), time.Now()
	claim, err := d.Ledger.Claim(ctx, appID, id, token)
	if err != nil {
		d.ReleaseIfTaken(ledger.HeldLeases{Turn: ledger.Turn{App: appID}, Token: token, Calls: []string{id}}, err)
		return err
	}
	if claim == nil {
		return nil
	}
	a, err := newAttempt(d.Store, appID, *claim, nil)
	if err != nil {
		return err
	}
	failpoint.At(failpoint.EffectClaimed)
	ctx, cancel := context.WithDeadline(d.Context, start.Add(claim.Lease))
	defer cancel()
	a, announced, err := d.attemptCall(ctx, a)
	if err != nil {
		return err
	}
	if a.ended() && announced {
		result, err := d.resultOf(a)
		if err != nil {
			return err
		}
		a.result = &result.Entry
	}
	r, err := report(ledger.Report{
		App: appID, Session: a.Entry.Session, Box: keyspace.Box(a.Entry.Session, a.TriggerID), Token: token, Next: d.NextHolder(),
	}, []attempt{a})
	if err != nil {
		return err
	}
	if _, err = d.finish(ctx, r); err == nil && a.ended() {
		if outcomes, waits := d.answerWaiters.Load(a.ID); waits { // a request of this process waits for the answer
			select {
			case outcomes.(chan effect.Outcome) <- a.outcome:
			default: // it already has one
			}
		}
	}
	return err
}

// attemptCall makes an attempt, unless its outcome is known without one. announced reports whether an event may
// announce its end: not if its app was deleted, and another app has the id.
func (d *Deliveries) attemptCall(ctx context.Context, a attempt) (_ attempt, announced bool, err error) {
	announced = true
	stored, err := d.Records.Ledger.Triggers(ctx, a.AppID, []string{a.TriggerID})
	if err != nil {
		return a, false, err
	}
	recordGone := stored[0] == nil
	if recordGone {
		_, err = d.Store.App(ctx, a.AppID)
		if announced = errors.Is(err, repositories.ErrNotFound); err != nil && !announced {
			return a, false, err
		}
	}
	a.start = d.Now().UTC()
	switch {
	case recordGone:
		a.outcome = recordGoneOutcome
	case a.claim.Begun:
		a.outcome = unknownOutcome
	case a.claim.Crashed:
		a.outcome = crashedOutcome
	case !a.Call.Repeatable() && d.Ledger.DB().Confirm(ctx, a.AppID) != nil:
		a.outcome, a.pause = unsafeOutcome, d.Jitter(time.Second)
	default:
		return d.try(ctx, a), true, nil
	}
	d.logAttempt(a)
	return a, announced, nil
}

// HeldEffect returns an effect that a trigger has deferred, for its first attempt.
func HeldEffect(definitions *store.Store, record *query.Record, entry keyspace.Entry, match int) (Planned, error) {
	a, err := newAttempt(definitions, record.AppID, ledger.Claimed{Entry: entry, Attempt: 1}, record)
	a.Match = match
	return a.Planned, err
}

// newAttempt returns the next attempt at an effect of the ledger, with its event or call. Only a Reference needs the
// record of its trigger; without it, the event has no subject.
func newAttempt(definitions *store.Store, appID string, claim ledger.Claimed, record *query.Record) (attempt, error) {
	a := attempt{claim: claim, Planned: Planned{Match: -1, Entry: claim.Entry, Effect: effect.Effect{
		ID: claim.Entry.ID, Kind: effect.Kind(claim.Entry.Kind), AppID: appID, SessionID: claim.Entry.Session,
		TriggerID: claim.Entry.Trigger, Attempt: claim.Attempt,
	}}}
	if a.Kind == effect.KindEvent {
		a.Event = &effect.Event{}
		trace, isReference := strings.CutPrefix(claim.Body, referenceMark)
		if !isReference {
			err := exactjson.Unmarshal([]byte(claim.Body), a.Event)
			a.TraceParent = a.Event.TraceParent
			return a, err
		}
		if record == nil {
			return a, nil
		}
		event, err := eventOf(record, claim.Part)
		event.TraceParent, a.Event, a.TraceParent = trace, &event, trace
		return a, err
	}
	var body StoredCall
	if err := exactjson.Unmarshal([]byte(claim.Body), &body); err != nil {
		return a, err
	}
	var event payload.Trigger
	if err := exactjson.Unmarshal(body.Event, &event); err != nil {
		return a, err
	}
	tool, err := definitions.OpenTool(appID, body.Tool)
	if err != nil {
		return a, err
	}
	a.TraceParent = body.TraceParent
	a.Call = effect.CallOf(tool, event.Values, body.Event)
	a.Call.Fence, a.Call.Quoted = body.Fence, !body.Unquoted
	if a.Kind != effect.KindAnswer {
		return a, nil
	}
	a.Awaited = &effect.Awaited{Subject: effect.AnswerSubject(appID, a.TriggerID), Until: claim.Until}
	if claim.Revived > 0 {
		a.Awaited.Since = claim.Since
	}
	if claim.Given != "" {
		a.Awaited.Given = &effect.Answer{}
		err = exactjson.Unmarshal([]byte(claim.Given), a.Awaited.Given)
	}
	return a, err
}

// finish writes a report, and continues the outbox if it has more events. It returns the valid answer.
func (d *Deliveries) finish(ctx context.Context, r ledger.Report) (answer string, err error) {
	answer, holds, err := d.writeReport(ctx, r)
	if holds {
		d.Go(func() { d.Drain(r.App, r.Box, r.Next) })
	}
	return answer, err
}

// writeReport writes a report, retrying until Redis has answered or ctx ends. holds reports that r.Next has the
// outbox.
func (d *Deliveries) writeReport(ctx context.Context, r ledger.Report) (answer string, holds bool, err error) {
	ctx, cancel := d.ShutdownContext(ctx)
	defer cancel()
	keep := d.Store.Retention()
	r.Keep, r.KeepDead = keep.Done.Milliseconds(), keep.Dead.Milliseconds()
	failpoint.At(failpoint.FinishBefore)
	err = d.Write(ctx, func() error {
		answer, holds, err = d.Ledger.Finish(ctx, r)
		return err
	})
	return answer, holds, err
}

// Drain publishes the events of an outbox, run after run, while the token has its lease, and until none is left or
// NATS refuses one.
func (d *Deliveries) Drain(appID, box, token string) {
	for token != "" {
		next, err := d.publishRun(outbox{appID, box}, token)
		if err != nil && d.Context.Err() == nil {
			d.Log.Warn("outbox.unfinished", "app", appID, "outbox", box, "error", err.Error())
		}
		token = next
	}
}

// publishRun publishes one run. It returns the token under which this process still holds the outbox, empty if
// it does not.
func (d *Deliveries) publishRun(box outbox, token string) (string, error) {
	ctx, cancel := context.WithTimeout(d.Context, keyspace.EventLease)
	defer cancel()
	start := time.Now()
	claims, err := d.Ledger.ClaimRun(ctx, box.app, box.box, token)
	if err != nil {
		d.ReleaseIfTaken(ledger.HeldLeases{Turn: ledger.Turn{App: box.app}, Token: token, Box: box.box}, err)
	}
	if err != nil || len(claims) == 0 {
		return "", err
	}
	failpoint.At(failpoint.EffectClaimed)
	attempts := make([]attempt, len(claims))
	records, err := d.referredRecords(ctx, box.app, claims)
	if err != nil {
		return "", err
	}
	for i, claim := range claims {
		if attempts[i], err = newAttempt(d.Store, box.app, claim, records[claim.Trigger]); err != nil {
			return "", err
		}
	}
	attempts = d.publishInOrder(ctx, attempts, start.Add(keyspace.EventLease/4)) // leaves time for the slowest event and for the record
	r, err := report(ledger.Report{App: box.app, Box: box.box, Token: token, Next: d.NextHolder()}, attempts)
	if err != nil {
		return "", err
	}
	_, holds, err := d.writeReport(ctx, r)
	if err != nil {
		return "", err
	}
	d.waiters.notify(box, attempts)
	if !holds {
		d.Wake(box.app) // it may have been released for fairness
		return "", nil
	}
	return r.Next, nil
}

// referredRecords reads the records that events refer to, by trigger.
func (d *Deliveries) referredRecords(ctx context.Context, appID string, events []ledger.Claimed) (map[string]*query.Record, error) {
	var ids []string
	for _, claim := range events {
		if strings.HasPrefix(claim.Body, referenceMark) && !slices.Contains(ids, claim.Trigger) {
			ids = append(ids, claim.Trigger)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	triggers, err := d.Records.Ledger.Triggers(ctx, appID, ids)
	records := map[string]*query.Record{}
	for i, claim := range triggers {
		if claim == nil {
			continue
		}
		stored, err := query.ReadStoredTrigger(claim)
		if err != nil {
			return nil, fmt.Errorf("trigger %q: %w", ids[i], err)
		}
		records[ids[i]] = &stored.Record
	}
	return records, err
}

// publishInOrder tries events one after the other, up to the first that must be retried; after the time until
// it starts no more. It returns the tried events.
func (d *Deliveries) publishInOrder(ctx context.Context, attempts []attempt, until time.Time) []attempt {
	for i, a := range attempts {
		attempts[i] = d.try(ctx, a)
		if attempts[i].outcome.Verdict == effect.Retry || time.Now().After(until) {
			return attempts[:i+1]
		}
	}
	return attempts
}

// outbox names unpublished events that wait for each other; see keyspace.Box.
type outbox struct{ app, box string }

// eventWaiters has the requests of this process whose events wait for others in an outbox: the worker that has the
// lease of the outbox publishes them and notifies the requests.
type eventWaiters struct {
	mu     sync.Mutex
	events map[outbox][]eventWaiter
}

// eventWaiter is a request that waits for the outcome of an event.
type eventWaiter struct {
	event    string // its id
	outcomes chan<- attempt
}

// SubscribeOutcomes subscribes a decision to the outcomes of its events. It is called before they are in the outbox,
// so that none is missed.
func (d *Deliveries) SubscribeOutcomes(decision *Decision) {
	decision.outcomes = make(chan attempt, len(decision.Effects)) // senders never block
	w := &d.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.events[decision.outbox()]
	for i := range decision.Effects {
		if decision.Owns(decision.Effects[i]) {
			list = append(list, eventWaiter{decision.Effects[i].ID, decision.outcomes})
		}
	}
	w.events[decision.outbox()] = list
}

// UnsubscribeOutcomes ends SubscribeOutcomes.
func (d *Deliveries) UnsubscribeOutcomes(decision *Decision) { d.waiters.unsubscribe(decision) }

func (w *eventWaiters) unsubscribe(decision *Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.set(decision.outbox(), slices.DeleteFunc(w.events[decision.outbox()], func(one eventWaiter) bool { return one.outcomes == decision.outcomes }))
}

func (w *eventWaiters) set(box outbox, list []eventWaiter) {
	if w.events[box] = list; len(list) == 0 {
		delete(w.events, box)
	}
}

// notify sends waiting requests the recorded outcomes of events. If one of them will be retried, it ends the wait for
// all later ones as well.
func (w *eventWaiters) notify(box outbox, attempts []attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.events[box]
	for _, a := range attempts {
		if a.Kind != effect.KindEvent {
			continue
		}
		list = slices.DeleteFunc(list, func(one eventWaiter) bool {
			if one.event == a.ID {
				one.outcomes <- a
			}
			return one.event == a.ID
		})
		if a.outcome.Verdict != effect.Retry {
			continue
		}
		for _, one := range list {
			one.outcomes <- attempt{Planned: Planned{Effect: effect.Effect{ID: one.event}}, outcome: notTriedOutcome}
		}
		list = nil
	}
	w.set(box, list)
}
