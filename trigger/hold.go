package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/trigger/delivery"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/state"
	"earshot/trigger/worker"
)

// A trigger may hold its effects until it is confirmed, or until it can no longer be taken back. The deciding
// script makes each move; package state defines the possible ones.

// ErrDigest means that the confirmed digest is not the trigger's.
var ErrDigest = errors.New("the digest is not that of the trigger: it is a hash of the app, the session, the tool and the values in the question")

// Holds manages triggers that wait for confirmation, for their time, or, after a failure, for a retry.
type Holds struct{ *decider }

// heldTrigger is a trigger with its deferred effects.
type heldTrigger struct {
	*query.StoredTrigger
	state state.State
	deferredEffects
}

// trace returns the trace of the request that the trigger comes from; empty if it has no effects.
func (h *heldTrigger) trace(definitions *store.Store) (string, error) {
	if len(h.Effects) == 0 {
		return "", nil
	}
	first, err := delivery.HeldEffect(definitions, &h.Record, h.Effects[0], -1)
	return first.TraceParent, err
}

// readHeld reads a trigger that may be held; query.ErrNotFound if it is gone.
func (d *decider) readHeld(ctx context.Context, appID, triggerID string) (*heldTrigger, error) {
	raw, err := d.Ledger.Held(ctx, appID, triggerID)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("trigger %q: %w", triggerID, query.ErrNotFound)
	}
	stored, err := query.ReadStoredTrigger(&raw.StoredTrigger)
	if err != nil {
		return nil, fmt.Errorf("trigger %q cannot be read: %w", triggerID, err)
	}
	h := &heldTrigger{StoredTrigger: stored, state: state.State(raw.State)}
	if raw.Held != "" {
		err = exactjson.Unmarshal([]byte(raw.Held), &h.deferredEffects)
	}
	return h, err
}

// Confirm confirms a waiting trigger; digest identifies the question, and by is recorded. It makes the first
// attempts at its effects, unless the trigger settles first. A repetition changes nothing and returns the
// record as Repeated.
//
// Errors: query.ErrNotFound, ErrDigest, query.ErrEnded for one that ended in another way,
// keyspace.ErrUnavailable.
func (hs *Holds) Confirm(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error) {
	return hs.move(ctx, appID, triggerID, state.Confirm, digest, by)
}

// Deny ends a trigger that waits for confirmation. An empty digest stands for the trigger's.
//
// Errors: those of Confirm.
func (hs *Holds) Deny(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error) {
	return hs.move(ctx, appID, triggerID, state.Deny, digest, by)
}

// Cancel ends a trigger whose effects are deferred. It returns query.ErrEnded if an effect is in progress.
//
// Errors: query.ErrNotFound, query.ErrEnded, keyspace.ErrUnavailable.
func (hs *Holds) Cancel(ctx context.Context, appID, triggerID, by string) (query.Record, error) {
	return hs.move(ctx, appID, triggerID, state.Cancel, "", by)
}

// move applies an action to a held trigger, and returns its record.
func (hs *Holds) move(ctx context.Context, appID, triggerID string, action state.Action, digest, by string) (query.Record, error) {
	for range maxReplans {
		h, err := hs.readHeld(ctx, appID, triggerID)
		if err != nil {
			return query.Record{}, err
		}
		if digest != "" && digest != h.Record.Digest {
			return query.Record{}, fmt.Errorf("trigger %q: %w", triggerID, ErrDigest)
		}
		if _, possible := state.Next(h.state, action, false); !possible {
			return hs.repeatedMove(ctx, appID, triggerID, action)
		}
		status, err := hs.commitMove(ctx, h, action, by)
		switch {
		case err != nil:
			return query.Record{}, err
		case status == ledger.Committed:
			return hs.records.Trigger(ctx, appID, triggerID)
		case status == ledger.Closed:
			return query.Record{}, fmt.Errorf("trigger %q: %w", triggerID, repositories.ErrErasing)
		case status == ledger.Early:
			return h.Record, nil
		case status == ledger.Retracted: // its time is over, and a message has taken it back
			action = state.Retract
		}
	}
	return query.Record{}, fmt.Errorf("%w: trigger %q changes faster than it can be moved", keyspace.ErrUnavailable, triggerID)
}

// repeatedMove answers an action that is no longer possible for a trigger: with its record if its last action was the
// same, since the client may have lost the first answer.
func (hs *Holds) repeatedMove(ctx context.Context, appID, triggerID string, action state.Action) (query.Record, error) {
	record, err := hs.records.Trigger(ctx, appID, triggerID)
	if err != nil {
		return query.Record{}, err
	}
	for _, move := range slices.Backward(record.Moves) {
		if move.Action == action {
			record.Repeated = true
			return record, nil
		}
		if move.Action != state.Release { // it ended by another action since
			break
		}
	}
	detail := " before: it is " + record.State
	switch {
	case record.State == query.StatePending && record.DueAt != nil:
		detail = ": it is confirmed, and waits for its time; cancel takes it back"
	case record.State == query.StatePending:
		detail = " or has begun: it is pending, and an effect of it is under way"
	}
	return query.Record{}, &query.StateError{TriggerID: triggerID, State: record.State, Err: query.ErrEnded, Detail: detail}
}

// commitMove commits an action on a held trigger, and makes the first attempts at the effects that become due.
func (hs *Holds) commitMove(ctx context.Context, h *heldTrigger, action state.Action, by string) (ledger.Status, error) {
	record := h.Record
	p := hs.planner(ledger.Turn{App: record.AppID, Session: record.SessionID}, hs.Token(), &scope.State{}, record.Text, "")
	p.Box, p.Unawaited = keyspace.Box(record.SessionID, record.TriggerID), action == state.Release
	if err := p.move(h, action, by); err != nil {
		return "", err
	}
	failpoint.At(failpoint.MoveBefore)
	status, err := hs.commit(ctx, p)
	failpoint.At(failpoint.MoveReply)
	if err == nil && p.Committed.Status == ledger.Moved && p.Committed.State == "expired" {
		err = &query.StateError{TriggerID: record.TriggerID, State: query.StateCancelled, Err: query.ErrEnded, Detail: ": it was not confirmed within " + confirmWithin.String()}
	}
	if err != nil || status != ledger.Committed {
		return status, err
	}
	_, err = hs.Detached(func() (json.RawMessage, error) { return hs.deliverPlan(&p.plan, ledger.Report{}, nil) })
	return status, err
}

// deliverPlan makes the first attempts at the effects of a plan without a message, and returns the valid answer.
// send, if not nil, gets the answer once the calls are delivered, if it is allowed then.
func (d *decider) deliverPlan(p *plan, closing ledger.Report, send sendAnswer) (json.RawMessage, error) {
	first := d.deliveries.First(&p.Decision)
	if send != nil {
		first.OnDelivered(func() bool {
			answer, err := exactjson.Encode(p.Answer.Matches[0].WithState())
			if err == nil {
				closing.Answer = string(answer)
				send(&p.Decision, answer)
			}
			return err == nil
		})
	}
	if err := first.Run(d.Context); err != nil {
		return nil, err
	}
	if closing.Trigger != "" && closing.Answer == "" {
		var err error
		if closing.Answer, err = exactjson.Text(p.Answer.Matches[0].WithState()); err != nil {
			return nil, err
		}
	}
	stored, err := first.Save(d.Context, closing)
	if err == nil && p.Committed.UnderReplicated {
		return nil, keyspace.ErrReplicas
	}
	return json.RawMessage(stored), err
}

// takeHeld releases or expires a held trigger when its time is over.
func (hs *Holds) takeHeld(_ context.Context, appID, triggerID string) error {
	h, err := hs.readHeld(hs.Context, appID, triggerID)
	switch {
	case errors.Is(err, query.ErrNotFound), err == nil && !h.state.Held():
		return hs.Ledger.DropFromHeld(hs.Context, appID, triggerID)
	case err != nil:
		return err
	}
	failpoint.At(failpoint.HeldClaimed)
	action := state.Release
	if h.state == state.Confirming {
		action = state.Expire
	}
	if _, err = hs.move(hs.Context, appID, triggerID, action, "", ""); overtaken(err) {
		return nil
	}
	return err
}

// retract takes back a settling trigger after the user's next message.
func (hs *Holds) retract(appID, triggerID string) {
	_, err := hs.move(hs.Context, appID, triggerID, state.Retract, "", "")
	if err != nil && !overtaken(err) && hs.Context.Err() == nil {
		hs.Log.Warn("trigger.unretracted", "app", appID, "trigger", triggerID, "error", err.Error())
	}
}

// overtaken reports whether a move failed because another request was faster or removes the trigger.
func overtaken(err error) bool {
	return errors.Is(err, query.ErrEnded) || errors.Is(err, query.ErrNotFound) || errors.Is(err, repositories.ErrErasing)
}

// Dead letters are the triggers with an abandoned effect. They stay listed until they are retried or purged.

var (
	// ErrDelivered means that there is nothing to retry.
	ErrDelivered = errors.New("is delivered: nothing of it has failed, so that nothing can be retried")
	// ErrOwes means that the record of a trigger is still needed.
	ErrOwes = errors.New("still has pending effects; cancel it, or remove it after it is delivered or has failed")
)

// Retry makes the failed effects of a trigger due again, or its call if that waits for its next attempt. It
// fails with query.ErrNotFound, and with ErrDelivered if nothing has failed or is pending. An attempt in
// progress is left alone without an error: a client that lost the answer asks twice. by is recorded.
func (hs *Holds) Retry(ctx context.Context, appID, triggerID, by string) error {
	stored, err := hs.records.StoredTrigger(ctx, appID, triggerID)
	switch {
	case err != nil:
		return err
	case !stored.Record.Match.Due():
		return &query.StateError{TriggerID: triggerID, State: stored.Record.State, Err: query.ErrEnded, Detail: " or has not begun: it is " + stored.Record.State + ", and has failed in nothing"}
	case stored.Record.State == query.StateDelivered:
		return &query.StateError{TriggerID: triggerID, State: stored.Record.State, Err: ErrDelivered}
	}
	if err := hs.revive(ctx, stored, by, 0); err != nil {
		return err
	}
	hs.Wake(appID)
	return nil
}

// retryInterval is the interval between calls that are retried together, so that each begins before the next, even on
// other workers and replicas.
const retryInterval = 10 * time.Millisecond

// RetryAll makes the failed effects of all matching triggers due again, in the order in which they fired, and
// returns the number of triggers. It sets the state of the query to StateFailed. by is recorded.
func (hs *Holds) RetryAll(ctx context.Context, q query.Triggers, by string) (int, error) {
	q.Oldest = true
	count, err := hs.eachFailed(ctx, q, func(index int, stored *query.StoredTrigger) (bool, error) {
		return true, hs.revive(ctx, stored, by, time.Duration(index)*retryInterval)
	})
	hs.Go(func() { // poll whenever the next call is due
		hs.Wake(q.AppID)
		for remaining := count; remaining > 1 && worker.Sleep(hs.Context, retryInterval); remaining-- {
			hs.Wake(q.AppID)
		}
	})
	return count, err
}

// revive makes the dead effects of a trigger due again, under the same ids; its call after a wait.
func (hs *Holds) revive(ctx context.Context, stored *query.StoredTrigger, by string, wait time.Duration) error {
	match := stored.Record.Match
	for _, event := range []*query.EventState{match.Event, match.Emitter} {
		if event != nil {
			event.State, event.Error = query.StatePending, ""
		}
	}
	if call := match.Call; call != nil {
		call.State, call.Reason, call.Error, call.Until = query.StatePending, "", "", nil
	}
	states, err := match.States()
	if err != nil {
		return err
	}
	line, err := exactjson.Text(query.Retry{Time: hs.Now().UTC(), By: by})
	if err != nil {
		return err
	}
	record := stored.Record
	return hs.Ledger.Revive(ctx, ledger.Revival{
		App: record.AppID, Session: record.SessionID, Trigger: record.TriggerID, Name: stored.Firing, States: states, Line: line, Wait: wait,
	})
}

// CountFailed counts the matching failed triggers, as RetryAll and Purge select them. It sets the state of the
// query to StateFailed.
func (hs *Holds) CountFailed(ctx context.Context, q query.Triggers) (int, error) {
	return hs.eachFailed(ctx, q, nil)
}

// Purge removes all matching failed triggers with their undelivered effects, and returns their number. A
// trigger with an effect in delivery stays.
func (hs *Holds) Purge(ctx context.Context, q query.Triggers) (int, error) {
	return hs.eachFailed(ctx, q, func(_ int, stored *query.StoredTrigger) (bool, error) {
		return hs.Ledger.Purge(ctx, q.AppID, stored.Record.SessionID, stored.Record.TriggerID, stored.Firing, true)
	})
}

// failedPage is the number of failed triggers read together.
const failedPage = 100

// eachFailed applies action, if not nil, to each matching failed trigger that still exists, and counts those for which it
// succeeded; newest first unless the query asks for the oldest.
func (hs *Holds) eachFailed(ctx context.Context, q query.Triggers, action func(index int, stored *query.StoredTrigger) (bool, error)) (count int, err error) {
	q.State, q.AllLives, q.Page = query.StateFailed, true, query.Page{Limit: failedPage}
	for {
		records, next, err := hs.records.Triggers(ctx, q)
		if err != nil {
			return count, err
		}
		for _, record := range records {
			done := action == nil
			if action != nil {
				stored, err := hs.records.StoredTrigger(ctx, q.AppID, record.TriggerID)
				if errors.Is(err, query.ErrNotFound) {
					continue
				}
				if err == nil {
					done, err = action(count, stored)
				}
				if err != nil {
					return count, err
				}
			}
			if done {
				count++
			}
		}
		if next == "" {
			return count, nil
		}
		q.Page.After = next
	}
}

// Remove removes the record of a trigger without pending effects: a delivered, failed or ended one. The
// session's history of it stays.
//
// Errors: query.ErrNotFound, ErrOwes, keyspace.ErrUnavailable.
func (hs *Holds) Remove(ctx context.Context, appID, triggerID string) error {
	stored, err := hs.records.StoredTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	removed, err := hs.Ledger.Purge(ctx, appID, stored.Record.SessionID, triggerID, stored.Firing, false)
	if err == nil && !removed {
		return &query.StateError{TriggerID: triggerID, State: stored.Record.State, Err: ErrOwes, Detail: ": it is " + stored.Record.State}
	}
	return err
}
