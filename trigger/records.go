package trigger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/trigger/ledger"
	"earshot/trigger/state"
	"earshot/trigger/usage"
)

// Records are what messages left: their answers, their triggers, and why. They can be listed, and calls
// that have failed tried again or dropped.
type Records struct {
	*core
	uses *usage.Counter
}

// storedTrigger is a trigger as it stands in the ledger.
type storedTrigger struct {
	record Record
	// decided is its match as it was decided, whatever has become of it since.
	decided Match
	firing  string // what its effects are named after
	answer  string
	// answering says that the replica that fired it may still be about to answer.
	answering bool
}

// Trigger returns the record of a trigger, or ErrNotFound.
func (r *Records) Trigger(ctx context.Context, appID, triggerID string) (Record, error) {
	stored, err := r.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return Record{}, err
	}
	if stored == nil {
		return Record{}, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	return stored.record, nil
}

func (r *Records) readTrigger(ctx context.Context, appID, triggerID string) (*storedTrigger, error) {
	list, err := r.readTriggers(ctx, appID, []string{triggerID})
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// readTriggers reads records in one round trip; nil stands for one that is gone.
func (r *Records) readTriggers(ctx context.Context, appID string, ids []string) ([]*storedTrigger, error) {
	r.settling.waitForApp(ctx, appID)
	found, err := r.ledger.Triggers(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	list := make([]*storedTrigger, len(ids))
	for i, one := range found {
		if one == nil {
			continue
		}
		if list[i], err = readStored(one); err != nil {
			return nil, fmt.Errorf("trigger %q cannot be read: %w", ids[i], err)
		}
	}
	return list, r.join(ctx, appID, list)
}

func readStored(found *ledger.StoredTrigger) (*storedTrigger, error) {
	stored := &storedTrigger{firing: found.Name, answer: found.Answer, answering: found.Answering}
	if err := decode(found.Record, &stored.record); err != nil {
		return nil, err
	}
	stored.decided, stored.decided.State = stored.record.Match, stored.record.State
	stored.record.Attempts = readLines[Attempt](found.Attempts)
	if found.Moves != "" {
		stored.record.Moves = readLines[Moved](found.Moves)
	}
	if found.Retries != "" {
		stored.record.Retries = readLines[Retried](found.Retries)
	}
	match := &stored.record.Match
	match.State, match.DueAt = shownState(state.State(found.State)), nil
	if state.State(found.State) == state.Settling {
		due := time.UnixMilli(found.Due).UTC()
		match.DueAt = &due
	}
	err := errors.Join(match.fill(found.Event, found.Emitter, found.Call), fillPart(&stored.record.ResultEvent, found.Result))
	*match = match.shown()
	if of := stored.record.ResultEvent; of != nil && of.State != StateFailed {
		stored.record.ResultEvent = nil // it is on its way, or there
	} else if of != nil && state.State(found.State) == state.Due {
		match.State = StateFailed
	}
	stored.record.State = match.State
	return stored, err
}

// answered is the match as it is answered when nobody has kept an answer: as far as it has
// come, or as it was decided where it was not due.
func (s *storedTrigger) answered() Match {
	if !s.decided.due() {
		return s.decided
	}
	return s.record.Match
}

// shownState is how a match shows its state.
func shownState(s state.State) string {
	if s == state.Settling {
		return StatePending
	}
	return string(s)
}

// setEvents shows a state in the events of a match; setStates in all of its effects.
func (m *Match) setEvents(to string) {
	for _, event := range []*EventState{m.Event, m.Emitter} {
		if event != nil {
			event.State = to
		}
	}
}

func (m *Match) setStates(to string) {
	m.setEvents(to)
	if m.Call != nil {
		m.Call.State = to
	}
}

// join shows the result of the first trigger in those that had its values again.
func (r *Records) join(ctx context.Context, appID string, list []*storedTrigger) error {
	var of []string
	for _, one := range list {
		if one != nil && one.record.Of != "" {
			of = append(of, one.record.Of)
		}
	}
	if len(of) == 0 {
		return nil
	}
	firsts, err := r.ledger.Triggers(ctx, appID, of)
	for _, one := range list {
		if err != nil || one == nil || one.record.Of == "" {
			continue
		}
		if first := firsts[0]; first != nil && first.Call != "" {
			err = fillPart(&one.record.Call, first.Call)
		}
		firsts = firsts[1:]
	}
	return err
}

// NextAttempt is the attempt at a call that is under way, or comes next.
type NextAttempt struct {
	Number   int // from 1; 0 if there is none
	UnderWay bool
	Due      time.Time // of one that is not under way
}

// NextAttempt says which attempt at the call of a trigger is under way, or due next, and when.
func (r *Records) NextAttempt(ctx context.Context, record Record) (NextAttempt, error) {
	stored, err := r.readTrigger(ctx, record.AppID, record.TriggerID)
	if err != nil || stored == nil {
		return NextAttempt{}, err
	}
	tries, due, leased, err := r.ledger.CallDue(ctx, record.AppID, keyspace.EffectID(stored.firing, partCall))
	switch {
	case err != nil || tries == 0:
		return NextAttempt{}, err
	case leased:
		return NextAttempt{Number: tries, UnderWay: true}, nil
	}
	return NextAttempt{Number: tries + 1, Due: due}, nil
}

// readLines reads a line of JSON each.
func readLines[T any](lines string) []T {
	list := []T{}
	for line := range strings.Lines(lines) {
		var made T
		if decode(line, &made) == nil {
			list = append(list, made)
		}
	}
	return list
}

// fill sets the states of a match to the stored ones; empty ones are left unchanged.
func (m *Match) fill(event, emitter, call string) error {
	return errors.Join(fillPart(&m.Event, event), fillPart(&m.Emitter, emitter), fillPart(&m.Call, call))
}

func fillPart[T any](part **T, text string) error {
	if text == "" {
		return nil
	}
	*part = new(T)
	return decode(text, *part)
}

// fillStates sets the states of matches to the current ones. A trigger whose record is gone
// keeps the state that it had in the answer.
func (r *Records) fillStates(ctx context.Context, appID string, matches []Match) error {
	stored, err := r.readTriggers(ctx, appID, triggerIDs(matches))
	if err != nil {
		return err
	}
	for i := range matches {
		if stored[i] != nil {
			matches[i].Event, matches[i].Emitter, matches[i].Call = stored[i].record.Event, stored[i].record.Emitter, stored[i].record.Call
			matches[i].State, matches[i].DueAt = stored[i].record.Match.State, stored[i].record.DueAt
		}
	}
	return nil
}

func triggerIDs(matches []Match) []string {
	ids := make([]string, len(matches))
	for i, match := range matches {
		ids[i] = match.TriggerID
	}
	return ids
}

func (r *Records) appExists(ctx context.Context, appID string) error {
	there, err := r.ledger.AppExists(ctx, appID)
	if err == nil && !there {
		return noApp(appID)
	}
	return err
}

// decode reads what this package has encoded. Numbers keep their digits: a value of
// 9007199254740993 must not pass through a float.
func decode(text string, into any) error {
	return exactjson.Unmarshal([]byte(text), into)
}

// Dead letters are the triggers of which an effect was given up. They stay listed
// until they are retried or purged.

// CountFailed counts the failed triggers that match: those that RetryAll and Purge are
// about. The state of the query is StateFailed, whatever it says.
func (r *Records) CountFailed(ctx context.Context, q Query) (int, error) {
	return r.eachFailed(ctx, q, func(int, Record) (bool, error) { return true, nil })
}

// RetryAll makes the failed effects of all triggers that match due again, and returns
// the number of triggers. The state of the query is StateFailed, whatever it says. The
// records say by whom. They are tried again in the order in which they fired.
func (r *Records) RetryAll(ctx context.Context, q Query, by string) (int, error) {
	q.Oldest = true
	count, err := r.eachFailed(ctx, q, func(before int, record Record) (bool, error) {
		stored, err := r.readTrigger(ctx, q.AppID, record.TriggerID)
		if err != nil || stored == nil {
			return false, err
		}
		return true, r.revive(ctx, stored, by, time.Duration(before)*apart)
	})
	r.work(func() { r.wakeEach(q.AppID, count) })
	return count, err
}

// apart is how far the calls are apart that are retried together: enough for each to begin
// before the next one does, which other workers and replicas may have.
const apart = 10 * time.Millisecond

// wakeEach has this process look at an app whenever the next of so many calls is due.
func (r *Records) wakeEach(appID string, count int) {
	for r.Wake(appID); count > 1 && sleep(r.life, apart); count-- {
		r.Wake(appID)
	}
}

// Purge removes all failed triggers that match, with their undelivered effects, and returns
// their number. A trigger with an effect that is being delivered stays.
func (r *Records) Purge(ctx context.Context, q Query) (int, error) {
	return r.eachFailed(ctx, q, func(_ int, record Record) (bool, error) { return r.purge(ctx, q.AppID, record.TriggerID) })
}

// eachFailed applies a function to each failed trigger that matches, and counts those that
// it succeeded for, which the function is told; newest first unless the query asks for the
// oldest.
func (r *Records) eachFailed(ctx context.Context, q Query, do func(before int, record Record) (bool, error)) (int, error) {
	q.State, q.Closed, q.Page = StateFailed, true, Page{Limit: chunk}
	count := 0
	for {
		records, next, err := r.Triggers(ctx, q)
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

func (r *Records) purge(ctx context.Context, appID, triggerID string) (bool, error) {
	stored, err := r.readTrigger(ctx, appID, triggerID)
	if err != nil || stored == nil {
		return false, err
	}
	return r.ledger.Purge(ctx, appID, stored.record.SessionID, triggerID, stored.firing, true)
}

// Remove removes the record of a trigger that owes nothing: one that is delivered, has failed or
// was ended. What its session has of it stays.
//
// Errors: ErrNotFound, ErrOwes, keyspace.ErrUnavailable.
func (r *Records) Remove(ctx context.Context, appID, triggerID string) error {
	stored, err := r.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	removed, err := r.ledger.Purge(ctx, appID, stored.record.SessionID, triggerID, stored.firing, false)
	if err == nil && !removed {
		return fmt.Errorf("trigger %q %w: it is %s", triggerID, ErrOwes, stored.record.State)
	}
	return err
}

// Retry makes the failed effects of a trigger due again. It fails with ErrNotFound, and
// with ErrDelivered where it has none and owes nothing; one that is pending is tried again
// as it is, and that is no error: a client that lost the answer asks twice. The record says
// by whom.
func (r *Records) Retry(ctx context.Context, appID, triggerID, by string) error {
	stored, err := r.readTrigger(ctx, appID, triggerID)
	if err != nil {
		return err
	}
	if stored == nil {
		return fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	if !stored.record.Match.due() {
		return fmt.Errorf("trigger %q %w or has not begun: it is %s, and has failed in nothing", triggerID, ErrEnded, stored.record.State)
	}
	if stored.record.State == StateDelivered {
		return fmt.Errorf("trigger %q %w", triggerID, ErrDelivered)
	}
	if err := r.revive(ctx, stored, by, 0); err != nil {
		return err
	}
	r.Wake(appID)
	return nil
}

// revive makes the dead effects of a trigger due again, under the ids that they had; its call
// after a wait.
func (r *Records) revive(ctx context.Context, stored *storedTrigger, by string, wait time.Duration) error {
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
	line, err := exactjson.Encode(Retried{Time: r.now().UTC(), By: by})
	if err != nil {
		return err
	}
	of := stored.record
	return r.ledger.Revive(ctx, ledger.Revival{
		App: of.AppID, Session: of.SessionID, Trigger: of.TriggerID, Name: stored.firing, States: states, Line: string(line), Wait: wait,
	})
}

// Count counts what a request takes of the limits of a minute where nothing else does.
//
// Errors: *ledger.RateError, repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Records) Count(ctx context.Context, appID, sessionID string, use ledger.Use) error {
	return r.ledger.Count(ctx, appID, sessionID, use)
}

// Usage tells how often each tool of an app was set off in the last 24 hours, or called for in
// vain, by name.
func (r *Records) Usage(ctx context.Context, appID string) ([]usage.Tool, error) {
	if err := r.appExists(ctx, appID); err != nil {
		return nil, err
	}
	return r.uses.Read(ctx, appID)
}

// count counts the use of the tools of a plan that was committed.
func (r *Records) count(p *plan) {
	for i, match := range p.answer.Matches {
		if p.firings[i].repository != nil { // it is new
			r.uses.Fired(p.App, match.Name)
		}
	}
	for _, rejected := range p.answer.Rejected {
		r.uses.Rejected(p.App, rejected.Name)
	}
}

// writeUses writes down how often tools were set off here.
func (r *Records) writeUses(ctx context.Context) {
	if err := r.uses.Flush(ctx); err == nil {
		r.troubles.Over(ctx, "uses", "uses.written")
	} else if ctx.Err() == nil {
		r.troubles.Trouble(ctx, "uses", "", "uses.unwritten", "error", err.Error())
	}
}
