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
	// AsSaid reports that the event's values, for a tool with a type, lack the delimiters of their escapes.
	AsSaid bool `json:"said,omitempty"`
}

// referring begins the ledger body of an event that is rebuilt from its trigger's record. The trace of the
// event follows.
const referring = "@"

// Reference returns the ledger body of an event of a trigger or of its emitter. An event that tells subscribers
// how to answer cannot be a reference, since no record contains that.
func Reference(traceParent string) string { return referring + traceParent }

// eventOf rebuilds the event of a trigger, or of its emitter, from its record.
func eventOf(record *query.Record, part string) (effect.Event, error) {
	says := payload.Trigger{
		Header: payload.Header{
			ID: record.TriggerID, Time: record.Time, MessageID: record.MessageID, Text: record.Text,
			AppID: record.AppID, SessionID: record.SessionID, Metadata: record.Metadata,
		},
		RepositoryID: record.RepositoryID, Source: record.Source, Name: record.Name, Schema: record.Schema, Values: record.Values,
	}
	event, _, err := payload.EventOf(payload.KindTrigger, says.Header, record.Name, says)
	if part == effect.PartEmitter && record.Emitter != nil {
		event.Subject = record.Emitter.Subject
	}
	return event, err
}

// takeCall makes the next attempt at a call and records the outcome. Both must happen within its lease;
// otherwise the attempt is repeated under the same id. A call whose record is gone ends unmade: its app was deleted,
// and another app may have the id by now.
func (d *Deliveries) takeCall(ctx context.Context, appID, id string) error {
	token, begun := d.Token(), time.Now()
	found, err := d.Ledger.Claim(ctx, appID, id, token)
	if err != nil {
		d.ReleaseIfTaken(ledger.Holding{Turn: ledger.Turn{App: appID}, Token: token, Calls: []string{id}}, err)
		return err
	}
	if found == nil {
		return nil
	}
	a, err := claimed(d.Store, appID, *found, nil)
	if err != nil {
		return err
	}
	failpoint.At(failpoint.EffectClaimed)
	ctx, cancel := context.WithDeadline(d.Context, begun.Add(found.Holds))
	defer cancel()
	a, told, err := d.attemptCall(ctx, a, *found)
	if err != nil {
		return err
	}
	if a.ends() && told {
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
	if _, err = d.finish(ctx, r); err == nil && a.ends() {
		if outcomes, waits := d.answered.Load(a.ID); waits { // a request of this process waits for the answer
			select {
			case outcomes.(chan effect.Outcome) <- a.outcome:
			default: // it already has one
			}
		}
	}
	return err
}

// attemptCall makes an attempt, unless its outcome is known without one. told reports whether its end is told by an
// event: not if its app was deleted, and another one has the id.
func (d *Deliveries) attemptCall(ctx context.Context, a attempt, found ledger.Claimed) (_ attempt, told bool, err error) {
	told = true
	stored, err := d.Records.Ledger.Triggers(ctx, a.AppID, []string{a.TriggerID})
	if err != nil {
		return a, false, err
	}
	gone := stored[0] == nil
	if gone {
		_, err = d.Store.App(ctx, a.AppID)
		if told = errors.Is(err, repositories.ErrNotFound); err != nil && !told {
			return a, false, err
		}
	}
	a.at = d.Now().UTC()
	switch {
	case gone:
		a.outcome = withoutRecord
	case found.Begun:
		a.outcome = unknown
	case found.Crashed:
		a.outcome = crashed
	case !a.Call.Repeatable() && d.Ledger.DB().Confirm(ctx, a.AppID) != nil:
		a.outcome, a.pause = notSafe, d.Jitter(time.Second)
	default:
		return d.try(ctx, a), true, nil
	}
	d.logAttempt(a)
	return a, told, nil
}

// Held returns an effect that a trigger has deferred, for its first attempt.
func Held(definitions *store.Store, record *query.Record, entry keyspace.Entry, match int) (Planned, error) {
	a, err := claimed(definitions, record.AppID, ledger.Claimed{Entry: entry, Attempt: 1}, record)
	a.Match = match
	return a.Planned, err
}

// claimed returns the next attempt at an effect of the ledger, with its event or call. record is its trigger's,
// which only a Reference needs; without it, the event has no subject.
func claimed(definitions *store.Store, appID string, found ledger.Claimed, record *query.Record) (attempt, error) {
	a := attempt{claim: found, Planned: Planned{Match: -1, Entry: found.Entry, Effect: effect.Effect{
		ID: found.Entry.ID, Kind: effect.Kind(found.Entry.Kind), AppID: appID, SessionID: found.Entry.Session,
		TriggerID: found.Entry.Trigger, Attempt: found.Attempt,
	}}}
	if a.Kind == effect.KindEvent {
		a.Event = &effect.Event{}
		trace, refers := strings.CutPrefix(found.Body, referring)
		if !refers {
			err := exactjson.Unmarshal([]byte(found.Body), a.Event)
			a.TraceParent = a.Event.TraceParent
			return a, err
		}
		if record == nil {
			return a, nil
		}
		event, err := eventOf(record, found.Part)
		event.TraceParent, a.Event, a.TraceParent = trace, &event, trace
		return a, err
	}
	var body StoredCall
	if err := exactjson.Unmarshal([]byte(found.Body), &body); err != nil {
		return a, err
	}
	var says payload.Trigger
	if err := exactjson.Unmarshal(body.Event, &says); err != nil {
		return a, err
	}
	tool, err := definitions.OpenTool(appID, body.Tool)
	if err != nil {
		return a, err
	}
	a.TraceParent = body.TraceParent
	a.Call = effect.CallOf(tool, says.Values, body.Event)
	a.Call.Fence, a.Call.Quoted = body.Fence, !body.AsSaid
	if a.Kind != effect.KindAnswer {
		return a, nil
	}
	a.Awaited = &effect.Awaited{Subject: effect.AnswerSubject(appID, a.TriggerID), Until: found.Until}
	if found.Revived > 0 {
		a.Awaited.Since = found.Since
	}
	if found.Given != "" {
		a.Awaited.Given = &effect.Answer{}
		err = exactjson.Unmarshal([]byte(found.Given), a.Awaited.Given)
	}
	return a, err
}

// finish writes a report, and continues the outbox if it has more events. It returns the valid answer.
func (d *Deliveries) finish(ctx context.Context, r ledger.Report) (answer string, err error) {
	answer, holds, err := d.record(ctx, r)
	if holds {
		d.Go(func() { d.Drain(r.App, r.Box, r.Next) })
	}
	return answer, err
}

// record writes a report, retrying until Redis has answered or ctx ends. holds reports that r.Next has the
// outbox.
func (d *Deliveries) record(ctx context.Context, r ledger.Report) (answer string, holds bool, err error) {
	ctx, cancel := d.ShutdownContext(ctx)
	defer cancel()
	keep := d.Store.Retention()
	failpoint.At(failpoint.FinishBefore)
	err = d.Write(ctx, func() error {
		answer, holds, err = d.Ledger.Finish(ctx, r, ledger.Retention{Done: keep.Done, Dead: keep.Dead})
		return err
	})
	return answer, holds, err
}

// Drain publishes the events of an outbox, run after run while this process holds it by the token, until none
// is left or NATS refuses one.
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
func (d *Deliveries) publishRun(of outbox, token string) (string, error) {
	ctx, cancel := context.WithTimeout(d.Context, keyspace.EventLease)
	defer cancel()
	begun := time.Now()
	found, err := d.Ledger.ClaimRun(ctx, of.app, of.box, token)
	if err != nil {
		d.ReleaseIfTaken(ledger.Holding{Turn: ledger.Turn{App: of.app}, Token: token, Box: of.box}, err)
	}
	if err != nil || len(found) == 0 {
		return "", err
	}
	failpoint.At(failpoint.EffectClaimed)
	run := make([]attempt, len(found))
	records, err := d.referred(ctx, of.app, found)
	if err != nil {
		return "", err
	}
	for i, one := range found {
		if run[i], err = claimed(d.Store, of.app, one, records[one.Trigger]); err != nil {
			return "", err
		}
	}
	run = d.publishInOrder(ctx, run, begun.Add(keyspace.EventLease/4)) // leaves time for the slowest event and for the record
	r, err := report(ledger.Report{App: of.app, Box: of.box, Token: token, Next: d.NextHolder()}, run)
	if err != nil {
		return "", err
	}
	_, holds, err := d.record(ctx, r)
	if err != nil {
		return "", err
	}
	d.waiting.notify(of, run)
	if !holds {
		d.Wake(of.app) // it may have been released for fairness
		return "", nil
	}
	return r.Next, nil
}

// referred reads the records that events refer to, by trigger.
func (d *Deliveries) referred(ctx context.Context, appID string, events []ledger.Claimed) (map[string]*query.Record, error) {
	var ids []string
	for _, one := range events {
		if strings.HasPrefix(one.Body, referring) && !slices.Contains(ids, one.Trigger) {
			ids = append(ids, one.Trigger)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := d.Records.Ledger.Triggers(ctx, appID, ids)
	records := map[string]*query.Record{}
	for i, one := range found {
		if one == nil {
			continue
		}
		stored, err := query.ReadStoredTrigger(one)
		if err != nil {
			return nil, fmt.Errorf("trigger %q: %w", ids[i], err)
		}
		records[ids[i]] = &stored.Record
	}
	return records, err
}

// publishInOrder tries events one after the other, up to the first that must be retried; after the time until
// it starts no more. It returns the tried events.
func (d *Deliveries) publishInOrder(ctx context.Context, run []attempt, until time.Time) []attempt {
	for i, a := range run {
		run[i] = d.try(ctx, a)
		if run[i].outcome.Verdict == effect.Retry || time.Now().After(until) {
			return run[:i+1]
		}
	}
	return run
}

// outbox names unpublished events that wait for each other; see keyspace.Box.
type outbox struct{ app, box string }

// waiting has the requests of this process whose events are behind others in an outbox: the worker that holds
// the outbox publishes them and notifies the requests.
type waiting struct {
	mu     sync.Mutex
	events map[outbox]map[string]chan<- attempt // by the event's id
}

// Expect subscribes a decision to the outcomes of its events. It is called before they are in the outbox, so
// that none is missed.
func (d *Deliveries) Expect(of *Decision) {
	of.outcomes = make(chan attempt, len(of.Effects)) // no sender is held up
	w := &d.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[of.outbox()]
	if here == nil {
		here = map[string]chan<- attempt{}
		w.events[of.outbox()] = here
	}
	for i := range of.Effects {
		if of.Owns(of.Effects[i]) {
			here[of.Effects[i].ID] = of.outcomes
		}
	}
}

// Unexpect ends Expect.
func (d *Deliveries) Unexpect(of *Decision) { d.waiting.leave(of) }

func (w *waiting) leave(of *Decision) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[of.outbox()]
	for i := range of.Effects {
		delete(here, of.Effects[i].ID) // effects of other outboxes are not listed
	}
	if len(here) == 0 {
		delete(w.events, of.outbox())
	}
}

// notify sends waiting requests the recorded outcomes of events. Waiting behind an event that will be retried
// is useless, so it ends that too.
func (w *waiting) notify(of outbox, attempts []attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	here := w.events[of]
	for _, a := range attempts {
		if a.Kind != effect.KindEvent {
			continue
		}
		if outcomes, waits := here[a.ID]; waits {
			outcomes <- a
			delete(here, a.ID)
		}
		if a.outcome.Verdict != effect.Retry {
			continue
		}
		for id, outcomes := range here {
			outcomes <- attempt{Planned: Planned{Effect: effect.Effect{ID: id}}, outcome: notTried}
			delete(here, id)
		}
	}
}
