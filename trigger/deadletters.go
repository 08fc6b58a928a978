package trigger

import (
	"context"
	"fmt"
	"time"

	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
)

// Dead letters are the triggers of which an effect was given up. They stay listed
// until they are retried or purged.

// CountFailed counts the failed triggers that match: those that RetryAll and Purge are
// about. The state of the query is StateFailed, whatever it says.
func (e *Engine) CountFailed(ctx context.Context, q Query) (int, error) {
	return e.eachFailed(ctx, q, func(int, Record) (bool, error) { return true, nil })
}

// RetryAll makes the failed effects of all triggers that match due again, and returns
// the number of triggers. The state of the query is StateFailed, whatever it says. The
// records say by whom. They are tried again in the order in which they fired.
func (e *Engine) RetryAll(ctx context.Context, q Query, by string) (int, error) {
	q.Oldest = true
	count, err := e.eachFailed(ctx, q, func(before int, record Record) (bool, error) {
		stored, err := e.readTrigger(ctx, q.AppID, record.TriggerID)
		if err != nil || stored == nil {
			return false, err
		}
		return true, e.revive(ctx, stored, by, time.Duration(before)*apart)
	})
	e.work(func() { e.wakeEach(q.AppID, count) })
	return count, err
}

// apart is how far the calls are apart that are retried together: enough for each to begin
// before the next one does, which other workers and replicas may have.
const apart = 10 * time.Millisecond

// wakeEach has this process look at an app whenever the next of so many calls is due.
func (e *Engine) wakeEach(appID string, count int) {
	for e.Wake(appID); count > 1 && sleep(e.life, apart); count-- {
		e.Wake(appID)
	}
}

// Purge removes all failed triggers that match, with their undelivered effects, and returns
// their number. A trigger with an effect that is being delivered stays.
func (e *Engine) Purge(ctx context.Context, q Query) (int, error) {
	return e.eachFailed(ctx, q, func(_ int, record Record) (bool, error) { return e.purge(ctx, q.AppID, record.TriggerID) })
}

// eachFailed applies a function to each failed trigger that matches, and counts those that
// it succeeded for, which the function is told; newest first unless the query asks for the
// oldest.
func (e *Engine) eachFailed(ctx context.Context, q Query, do func(before int, record Record) (bool, error)) (int, error) {
	q.State, q.Closed, q.Page = StateFailed, true, Page{Limit: chunk}
	count := 0
	for {
		records, next, err := e.Triggers(ctx, q)
		if err != nil {
			return count, err
		}
		for _, record := range records {
			done, err := do(count, record)
			if err != nil {
				return count, err
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

func (e *Engine) purge(ctx context.Context, appID, triggerID string) (bool, error) {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil || stored == nil {
		return false, err
	}
	return e.ledger.Purge(ctx, appID, stored.record.SessionID, triggerID, stored.firing, true)
}

// Remove removes the record of a trigger that owes nothing: one that is delivered, has failed or
// was ended. What its session has of it stays.
//
// Errors: ErrNotFound, ErrOwes, keyspace.ErrUnavailable.
func (e *Engine) Remove(ctx context.Context, appID, triggerID string) error {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	removed, err := e.ledger.Purge(ctx, appID, stored.record.SessionID, triggerID, stored.firing, false)
	if err == nil && !removed {
		return fmt.Errorf("trigger %q %w: it is %s", triggerID, ErrOwes, stored.record.State)
	}
	return err
}

// Retry makes the failed effects of a trigger due again. It fails with ErrNotFound, and
// with ErrDelivered where it has none and owes nothing; one that is pending is tried again
// as it is, and that is no error: a client that lost the answer asks twice. The record says
// by whom.
func (e *Engine) Retry(ctx context.Context, appID, triggerID, by string) error {
	stored, err := e.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	if stored.record.Match.State != "" {
		return fmt.Errorf("trigger %q %w or has not begun: it is %s, and has failed in nothing", triggerID, ErrEnded, stored.record.State)
	}
	if stored.record.State == StateDelivered {
		return fmt.Errorf("trigger %q %w", triggerID, ErrDelivered)
	}
	if err := e.revive(ctx, stored, by, 0); err != nil {
		return err
	}
	e.Wake(appID)
	return nil
}

// revive makes the dead effects of a trigger due again, under the ids that they had; its call
// after a wait.
func (e *Engine) revive(ctx context.Context, stored *storedTrigger, by string, wait time.Duration) error {
	again := stored.record.Match
	for _, event := range []*EventState{again.Event, again.Emitter} {
		if event != nil {
			event.State, event.Error = StatePending, ""
		}
	}
	if call := again.Call; call != nil {
		call.State, call.Reason, call.Error = StatePending, "", ""
	}
	states, err := statesOf(again)
	if err != nil {
		return err
	}
	line, err := exactjson.Encode(Retried{Time: e.now().UTC(), By: by})
	if err != nil {
		return err
	}
	of := stored.record
	return e.ledger.Revive(ctx, ledger.Revival{
		App: of.AppID, Session: of.SessionID, Trigger: of.TriggerID, Name: stored.firing, States: states, Line: string(line), Wait: wait,
	})
}
