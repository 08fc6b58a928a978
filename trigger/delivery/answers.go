package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

// A tool with an answer makes no call: a subscriber of the trigger's event reports the outcome. The first
// answer is stored in the ledger (ledger/finish.go) and makes the effect due. Any replica then claims and ends
// it like a call. Without an answer it is due when the time for one is over.

// Answer stores the answer to a trigger. An earlier answer stays valid, which is no error. It returns the record with
// the valid answer.
//
// Errors: query.ErrNotFound, query.ErrEnded if its time is over or it was cancelled, query.ErrNotAsked, keyspace.ErrUnavailable.
func (d *Deliveries) Answer(ctx context.Context, appID, triggerID string, answer effect.Answer) (query.Record, error) {
	stored, err := d.Records.StoredTrigger(ctx, appID, triggerID)
	if err != nil {
		return query.Record{}, err
	}
	// An answer published earlier may not have arrived yet, and still counts as the first.
	awaited := &effect.Awaited{Subject: effect.AnswerSubject(appID, triggerID), Until: d.Now()}
	if retries := stored.Record.Retries; len(retries) > 0 {
		awaited.Since = retries[len(retries)-1].Time // a retry asks again: what was published before it is no answer to that
	}
	published := d.deliver(ctx, d.Answers, effect.Effect{Kind: effect.KindAnswer, AppID: appID, TriggerID: triggerID, Awaited: awaited})
	first := answer
	switch {
	case published.Verdict == effect.Done:
		first = effect.Answer{OK: true, Result: published.Result, Truncated: published.Truncated}
	case published.Verdict == effect.Dead && published.Reason == effect.ReasonRequest:
		first = effect.Answer{Error: published.Error}
	}
	status, err := d.storeAnswer(ctx, appID, triggerID, stored.Firing, first)
	switch {
	case err != nil:
		return query.Record{}, err
	case status == ledger.Gone:
		return query.Record{}, fmt.Errorf("trigger %q: %w", triggerID, query.ErrNotFound)
	case status == ledger.Late:
		record, err := d.Records.Trigger(ctx, appID, triggerID)
		if err != nil {
			return query.Record{}, err
		}
		return query.Record{}, &query.StateError{TriggerID: triggerID, State: record.State, Err: query.ErrEnded, Detail: ": the time for an answer is over"}
	case status == ledger.NotExpected:
		return query.Record{}, fmt.Errorf("trigger %q %w", triggerID, query.ErrNotAsked)
	}
	for polls := 0; ; polls++ { // another replica may be about to record the outcome
		record, err := d.Records.Trigger(ctx, appID, triggerID)
		if err != nil || record.Call == nil {
			return record, err
		}
		if record.Call.Reason == effect.ReasonCancelled && !answer.Cancelled {
			return query.Record{}, &query.StateError{TriggerID: triggerID, State: record.State, Err: query.ErrEnded, Detail: ": its requester has cancelled it"}
		}
		if record.Call.State != query.StatePending || polls > 8 {
			return record, nil
		}
		if !worker.Sleep(ctx, worker.Pause(polls)) {
			return query.Record{}, ctx.Err()
		}
	}
}

// TakeAnswer stores an answer that was published some time ago. It reports whether the trigger needs no other:
// it is answered, or no longer waits for an answer. After an error, the caller must call it again.
func (d *Deliveries) TakeAnswer(ctx context.Context, appID, triggerID string, answer effect.Answer) (settled bool, err error) {
	stored, err := d.Records.StoredTrigger(ctx, appID, triggerID)
	if errors.Is(err, query.ErrNotFound) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	status, err := d.storeAnswer(ctx, appID, triggerID, stored.Firing, answer)
	return status != ledger.Early, err
}

// storeAnswer stores an answer, and ends the trigger with it at once unless another replica does.
func (d *Deliveries) storeAnswer(ctx context.Context, appID, triggerID, firing string, answer effect.Answer) (ledger.Status, error) {
	text, err := exactjson.Text(answer.Bounded())
	if err != nil {
		return "", err
	}
	given := ledger.ExternalAnswer{App: appID, Trigger: triggerID, Effect: keyspace.EffectID(firing, effect.PartCall), Answer: text, At: answer.At}
	status, err := d.Ledger.Answer(ctx, given)
	if status == ledger.Stored {
		if err := d.takeCall(ctx, appID, given.Effect); err != nil {
			d.Log.Warn("ledger.unfinished", "app", appID, "effect", given.Effect, "error", err.Error())
			d.Wake(appID)
		}
	}
	return status, err
}

// awaitAnswer waits for the answer to a newly fired trigger, for its request's attempt timeout. The worker that
// takes the answer records the outcome. It does not wait while the event that asks for the answer cannot be
// published.
func (d *Deliveries) awaitAnswer(ctx context.Context, a attempt) attempt {
	ctx, cancel := context.WithTimeout(ctx, a.Call.Request.AttemptTimeout())
	defer cancel()
	outcomes := make(chan effect.Outcome, 1)
	d.answerWaiters.Store(a.ID, outcomes)
	defer d.answerWaiters.Delete(a.ID)
	for polls := 0; polls == 0 || !d.eventsStalled.Load(); polls++ {
		select {
		case a.outcome = <-outcomes:
			a.deferred = true
			return a
		case <-time.After(worker.Pause(polls)):
		case <-ctx.Done():
			return a.unanswered()
		}
		stored, err := d.Records.StoredTrigger(ctx, a.AppID, a.TriggerID)
		if err == nil && stored.Record.Call != nil && stored.Record.Call.State != query.StatePending {
			call := stored.Record.Call
			a.outcome, a.deferred = effect.Outcome{Verdict: effect.Done, Status: call.Status, Result: call.Result, Truncated: call.Truncated, Reason: call.Reason, Error: call.Error}, true
			if call.State != query.StateDelivered {
				a.outcome.Verdict = effect.Dead
			}
			return a
		}
	}
	return a.unanswered()
}

// unanswered returns the attempt at an answer that has not arrived yet.
func (a attempt) unanswered() attempt {
	a.Attempt, a.outcome, a.deferred = 0, effect.Outcome{Verdict: effect.Retry, Deferred: true}, true
	return a
}
