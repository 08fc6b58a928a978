package trigger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
)

// A tool with an answer calls nothing: whoever hears of the trigger says what came of it. The
// first answer is kept in the ledger (ledger/given.go) and makes the effect due, which is
// claimed then like any call, here or on another replica, and ends as one does. Without an
// answer it is due when the time for one is over.

// Errors of Answer.
var (
	// ErrEnded means that the trigger was ended before: it is too late to answer, confirm,
	// deny or cancel it.
	ErrEnded = errors.New("was ended")
	// ErrNotAsked means that the trigger is not one that waits for an answer.
	ErrNotAsked = errors.New("waits for no answer")
)

// Answer gives the answer to a trigger, unless one was given before: then that one holds, and
// it is no error. It returns the record with the one that holds.
//
// Errors: ErrNotFound, ErrEnded if its time is over, ErrNotAsked, keyspace.ErrUnavailable.
func (d *Deliveries) Answer(ctx context.Context, appID, triggerID string, a effect.Answer) (Record, error) {
	status, err := ledger.Early, error(nil)
	for _, one := range append(d.published(ctx, appID, triggerID), a) {
		if status == ledger.Early && err == nil {
			status, err = d.give(ctx, appID, triggerID, one)
		}
	}
	switch {
	case err != nil:
		return Record{}, err
	case status == ledger.Gone:
		return Record{}, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	case status == ledger.Late:
		return Record{}, fmt.Errorf("trigger %q %w: the time for an answer is over", triggerID, ErrEnded)
	case status == ledger.NotAsked:
		return Record{}, fmt.Errorf("trigger %q %w", triggerID, ErrNotAsked)
	}
	return d.answeredRecord(ctx, appID, triggerID)
}

// published is the answer that was published before now, if there is one: it may not have come
// to anybody yet, and is the first all the same.
func (d *Deliveries) published(ctx context.Context, appID, triggerID string) []effect.Answer {
	of := &effect.Awaited{Subject: effect.AnswerSubject(appID, triggerID), Until: d.now()}
	found := d.outcome(ctx, d.answers, effect.Effect{Kind: effect.KindAnswer, AppID: appID, TriggerID: triggerID, Awaited: of})
	switch {
	case found.Verdict == effect.Done:
		return []effect.Answer{{OK: true, Result: found.Result, Truncated: found.Truncated}}
	case found.Verdict == effect.Dead && found.Reason == effect.ReasonRequest:
		return []effect.Answer{{Error: found.Error}}
	}
	return nil
}

// TakeAnswer gives an answer that was published some time ago. It reports whether the trigger
// needs no other: it is answered, by this one or an earlier one, or waits for none any more.
// After an error the answer is to be given again.
func (d *Deliveries) TakeAnswer(ctx context.Context, appID, triggerID string, a effect.Answer) (settled bool, err error) {
	status, err := d.give(ctx, appID, triggerID, a)
	return status != ledger.Early, err
}

// give keeps an answer, and has the trigger end with it at once, if no other replica does.
func (d *Deliveries) give(ctx context.Context, appID, triggerID string, a effect.Answer) (ledger.Status, error) {
	stored, err := d.records.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return "", err
	}
	if stored == nil {
		return ledger.Gone, nil
	}
	text, err := exactjson.Encode(a.Bounded())
	if err != nil {
		return "", err
	}
	g := ledger.GivenAnswer{App: appID, Trigger: triggerID, Effect: keyspace.EffectID(stored.firing, partCall), Answer: string(text), At: a.At}
	status, err := d.ledger.Answer(ctx, g)
	if status == ledger.Kept {
		if err := d.takeCall(ctx, appID, g.Effect); err != nil {
			d.log.Warn("ledger.unfinished", "app", appID, "effect", g.Effect, "error", err.Error())
			d.Wake(appID)
		}
	}
	return status, err
}

// answeredRecord is the record of a trigger to which an answer was given. Another replica may
// be about to write down what it makes of it, which is waited for a moment.
func (d *Deliveries) answeredRecord(ctx context.Context, appID, triggerID string) (Record, error) {
	for i := 0; ; i++ {
		record, err := d.records.Trigger(ctx, appID, triggerID)
		if err != nil || record.Call == nil || record.Call.State != StatePending || i > 2*len(turnPauses) {
			return record, err
		}
		if !sleep(ctx, turnPauses[min(i, len(turnPauses)-1)]) {
			return Record{}, ctx.Err()
		}
	}
}

// awaitAnswer waits for the answer to a trigger that has just fired, for as long as its
// request may take. Whoever takes the answer writes down what comes of it. Nobody waits while
// the event that asks for it cannot be published.
func (d *Deliveries) awaitAnswer(ctx context.Context, asked plannedEffect) attempt {
	ctx, cancel := context.WithTimeout(ctx, asked.Call.Request.AttemptTimeout())
	defer cancel()
	told := make(chan effect.Outcome, 1)
	d.heard.Store(asked.ID, told)
	defer d.heard.Delete(asked.ID)
	for i := 0; i == 0 || !d.stalled.Load(); i++ {
		select {
		case outcome := <-told:
			return asked.leave(outcome)
		case <-time.After(turnPauses[min(i, len(turnPauses)-1)]):
		case <-ctx.Done():
			return asked.unanswered()
		}
		stored, err := d.records.readTrigger(ctx, asked.AppID, asked.TriggerID)
		if err == nil && stored != nil && stored.record.Call != nil && stored.record.Call.State != StatePending {
			return asked.leave(outcomeOf(*stored.record.Call))
		}
	}
	return asked.unanswered()
}

// unanswered is the attempt at an answer that has not come yet.
func (p plannedEffect) unanswered() attempt {
	p.Attempt = 0
	return p.leave(effect.Outcome{Verdict: effect.Retry, Deferred: true})
}

// outcomeOf is the outcome that left a call in that state.
func outcomeOf(s CallState) effect.Outcome {
	o := effect.Outcome{Verdict: effect.Done, Status: s.Status, Result: s.Result, Truncated: s.Truncated, Reason: s.Reason, Error: s.Error}
	if s.State != StateDelivered {
		o.Verdict = effect.Dead
	}
	return o
}

// tellAnswered tells the request of this process that waits for the answer, if there is one.
func (d *Deliveries) tellAnswered(a attempt) {
	if told, waits := d.heard.Load(a.ID); waits {
		select {
		case told.(chan effect.Outcome) <- a.outcome:
		default: // it was told before
		}
	}
}

// awaited is the answer that a claimed effect waits for.
func (c *claimed) awaited() (*effect.Awaited, error) {
	of := &effect.Awaited{Subject: effect.AnswerSubject(c.AppID, c.TriggerID), Until: c.Until}
	if c.Revived > 0 {
		of.Since = c.Since
	}
	if c.Claimed.Given == "" {
		return of, nil
	}
	of.Given = &effect.Answer{}
	return of, decode(c.Claimed.Given, of.Given)
}

// given is the Deliverer of answers that are there.
type given struct{}

// Deliver makes the outcome of the answer.
func (given) Deliver(_ context.Context, delivery effect.Effect) effect.Outcome {
	return delivery.Awaited.Given.Outcome()
}

// noAnswers is the Deliverer of an engine to which answers come by Answer alone.
type noAnswers struct{}

// Deliver ends the waiting.
func (noAnswers) Deliver(context.Context, effect.Effect) effect.Outcome { return effect.Unanswered() }
