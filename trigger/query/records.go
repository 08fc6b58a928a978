package query

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/keyspace"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
)

// Records reads the ledger. It is safe for concurrent use.
type Records struct {
	Ledger *ledger.Reader
	Uses   *Counter
	// Now is the clock that bounds the time of a search.
	Now func() time.Time
	// Explained is how long explanations are kept.
	Explained time.Duration
	// Unexplained is the share of fully fired messages without an explanation.
	Unexplained float64
	// Flushed waits until this process has written its answers in an app, so that a client that asks after an
	// answer reads its state.
	Flushed func(ctx context.Context, appID string)
}

var (
	// ErrNotFound means that the app has no trigger of that id.
	ErrNotFound = errors.New("no such trigger")
	// ErrEnded means that the trigger has ended, or that an effect of it is under way: it is too late to answer,
	// confirm, deny or cancel it.
	ErrEnded = errors.New("was ended")
	// ErrNotAsked means that the trigger does not wait for an answer.
	ErrNotAsked = errors.New("waits for no answer")
	// ErrNoMessage means that the session's history has no message of that id.
	ErrNoMessage = errors.New("no such message is in the history of the session")
	// ErrUnexplained means that there is no explanation of a message, or no longer one.
	ErrUnexplained = errors.New("there is no explanation")
)

// StateError means that the state of a trigger does not allow the request.
type StateError struct {
	TriggerID, State string
	Err              error  // ErrEnded, or another
	Why              string // follows the words of Err
}

// Error names the trigger and the cause.
func (e *StateError) Error() string { return fmt.Sprintf("trigger %q %s%s", e.TriggerID, e.Err, e.Why) }

// Unwrap returns Err.
func (e *StateError) Unwrap() error { return e.Err }

// Trigger returns the record of a trigger, with the next attempt at its call, or ErrNotFound.
func (r *Records) Trigger(ctx context.Context, appID, triggerID string) (Record, error) {
	stored, err := r.Stored(ctx, appID, triggerID)
	if err != nil {
		return Record{}, err
	}
	record := stored.Record
	if record.Call == nil || record.Call.State != StatePending || !record.Due() {
		return record, nil
	}
	call, err := r.Ledger.CallDue(ctx, appID, keyspace.EffectID(stored.Firing, effect.PartCall))
	switch {
	case err != nil || call == nil:
	case call.Awaiting:
		record.ExpiresAt = &call.Due
	case call.Leased:
		record.Next = &NextAttempt{Number: call.Tries, UnderWay: true}
	default:
		record.Next = &NextAttempt{Number: call.Tries + 1, Due: &call.Due}
	}
	return record, err
}

// FiredIn reports whether a trigger was fired in the present life of a session. Records outlive a session, but the list
// of its triggers ends with it.
//
// Errors: keyspace.ErrUnavailable.
func (r *Records) FiredIn(ctx context.Context, appID, sessionID, triggerID string) (bool, error) {
	r.Flushed(ctx, appID)
	return r.Ledger.Lists(ctx, keyspace.KeysOf(appID).Triggers(sessionID), triggerID)
}

// Stored returns a trigger as the ledger has it, or ErrNotFound.
func (r *Records) Stored(ctx context.Context, appID, triggerID string) (*Stored, error) {
	list, err := r.stored(ctx, appID, []string{triggerID})
	if err != nil {
		return nil, err
	}
	if list[0] == nil {
		return nil, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	return list[0], nil
}

// stored reads triggers in one round trip; a missing one is nil. A duplicate shows the result of the first
// trigger of its values.
func (r *Records) stored(ctx context.Context, appID string, ids []string) ([]*Stored, error) {
	r.Flushed(ctx, appID)
	found, err := r.Ledger.Triggers(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	list, firsts := make([]*Stored, len(ids)), []string{}
	for i, one := range found {
		if one == nil {
			continue
		}
		if list[i], err = ReadStored(one); err != nil {
			return nil, fmt.Errorf("trigger %q cannot be read: %w", ids[i], err)
		}
		if of := list[i].Record.Of; of != "" {
			firsts = append(firsts, of)
		}
	}
	if len(firsts) == 0 {
		return list, nil
	}
	if found, err = r.Ledger.Triggers(ctx, appID, firsts); err != nil {
		return list, err
	}
	for _, one := range list {
		if one == nil || one.Record.Of == "" {
			continue
		}
		if first := found[0]; first != nil && first.Call != "" {
			if err := decodePart(&one.Record.Call, first.Call); err != nil {
				return list, err
			}
		}
		found = found[1:]
	}
	return list, nil
}

// mostWaiting bounds the listed waiting triggers of a session.
const mostWaiting = 200

// Waiting lists the waiting triggers of a session, newest first, at most 200: those that wait for a
// confirmation, for the end of the time in which they can be taken back, or for an answer.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Records) Waiting(ctx context.Context, appID, sessionID string) ([]Record, error) {
	var waiting, calls []Record
	var ids []string // of the triggers of calls
	for _, state := range []string{StateConfirming, StatePending} {
		found, _, err := r.Triggers(ctx, Triggers{AppID: appID, SessionID: sessionID, State: state, Page: Page{Limit: mostWaiting}})
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			if state == StateConfirming || one.DueAt != nil {
				waiting = append(waiting, one)
			} else if one.Call != nil && one.Call.State == StatePending {
				calls, ids = append(calls, one), append(ids, one.TriggerID)
			}
		}
	}
	until, err := r.awaiting(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	for i, one := range calls {
		if !until[i].IsZero() {
			one.ExpiresAt = &until[i]
			waiting = append(waiting, one)
		}
	}
	slices.SortStableFunc(waiting, func(x, y Record) int { return y.Time.Compare(x.Time) })
	return waiting[:min(len(waiting), mostWaiting)], nil
}

// mostUnsettled bounds the triggers that are searched for their sessions.
const mostUnsettled = 100_000

// SessionsIn returns the sessions of an app with triggers in a state: pending (including held ones), confirming
// or failed. It returns nil if there are too many triggers to tell.
//
// Errors: keyspace.ErrUnavailable.
func (r *Records) SessionsIn(ctx context.Context, appID, state string) (map[string]bool, error) {
	r.Flushed(ctx, appID)
	index, by := keyspace.KeysOf(appID).InState(keyspace.Pending), ledger.Sieve{}
	switch state {
	case StateFailed:
		index = keyspace.KeysOf(appID).InState(keyspace.Failed)
	case StateConfirming:
		by.State = state
	}
	list, err := r.Ledger.Listed(ctx, index, ledger.Span{From: math.Inf(-1), To: math.Inf(1), Oldest: true, Most: mostUnsettled})
	if err != nil || len(list) == mostUnsettled {
		return nil, err
	}
	sessions := map[string]bool{}
	for some := range slices.Chunk(list, window) {
		ids := make([]string, len(some))
		for i, place := range some {
			ids[i] = place.Member.(string)
		}
		if by.State != "" {
			places, err := r.Ledger.Sift(ctx, appID, ids, by)
			if err != nil {
				return nil, err
			}
			for i, place := range places {
				ids[i] = ids[place] // they are in order
			}
			ids = ids[:len(places)]
		}
		found, err := r.Ledger.SessionsOf(ctx, appID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			sessions[id] = true
		}
	}
	return sessions, nil
}

// awaiting returns until when the calls of triggers wait for an answer; the zero time for one that does not.
func (r *Records) awaiting(ctx context.Context, appID string, ids []string) ([]time.Time, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := r.Ledger.Triggers(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	effects := make([]string, len(stored))
	for i, one := range stored {
		if one != nil { // it may have gone since
			effects[i] = keyspace.EffectID(one.Name, effect.PartCall)
		}
	}
	return r.Ledger.Awaiting(ctx, appID, effects)
}

// FillStates sets the states of matches to the current ones. A trigger whose record is gone keeps the state of
// the answer.
func (r *Records) FillStates(ctx context.Context, appID string, matches []Match) error {
	stored, err := r.stored(ctx, appID, triggerIDs(matches))
	if err != nil {
		return err
	}
	for i := range matches {
		if stored[i] != nil {
			now := stored[i].Record.Match
			matches[i].Event, matches[i].Emitter, matches[i].Call = now.Event, now.Emitter, now.Call
			matches[i].State, matches[i].DueAt = now.State, now.DueAt
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
	there, err := r.Ledger.AppExists(ctx, appID)
	if err == nil && !there {
		return ledger.AppNotFound(appID)
	}
	return err
}

// Explain returns the explanation of a decided message, while it is kept.
//
// Errors: repositories.ErrNotFound without the app, ErrNoMessage, ErrUnexplained,
// keyspace.ErrUnavailable.
func (r *Records) Explain(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	stored, err := r.Ledger.Explained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if stored.Explanation != "" {
		explained, err := r.unpack(ctx, appID, messageID, stored.Explanation)
		var called []string // after the decision
		for _, match := range readLines[Match](stored.Called) {
			called = append(called, match.RepositoryID+"/"+match.Name)
		}
		if len(called) > 0 {
			explained.Why += " The model called " + strings.Join(called, ", ") + "."
		}
		return explained, err
	}
	if stored.Message == "" {
		if err := r.appExists(ctx, appID); err != nil {
			return explain.Explanation{}, err
		}
		return explain.Explanation{}, fmt.Errorf("message %q: %w", messageID, ErrNoMessage)
	}
	entry, err := readEntry(messageID, ledger.StoredMessage{Message: stored.Message, Decision: stored.Decision, Answer: stored.Answer, Failure: stored.Failure})
	if err != nil {
		return explain.Explanation{}, err
	}
	reason := fmt.Sprintf("explanations are kept for %s", r.Explained)
	if r.Unexplained > 0 {
		reason += fmt.Sprintf("; where all that was called for has fired, for a share of %.3g of the messages (EARSHOT_EXPLAIN_SHARE), and where explain=true asks for it", 1-r.Unexplained)
	}
	switch {
	case entry.Actor == matcher.ActorAgent:
		reason = "what an agent says is matched against nothing"
	case entry.State == EntryPending:
		reason = "it is not decided yet"
	case entry.State == EntryFailed:
		reason = "it is not decided: " + entry.Error
	}
	return explain.Explanation{}, fmt.Errorf("message %q: %w: %s", messageID, ErrUnexplained, reason)
}

// ExplainDraft returns the explanation of a draft's match so far.
//
// Errors: ErrUnexplained, keyspace.ErrUnavailable.
func (r *Records) ExplainDraft(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	body, err := r.Ledger.DraftExplained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if body == "" {
		return explain.Explanation{}, fmt.Errorf("draft %q: %w", messageID, ErrUnexplained)
	}
	return r.unpack(ctx, appID, messageID, body)
}

func (r *Records) unpack(ctx context.Context, appID, messageID, body string) (explain.Explanation, error) {
	return explain.Unpack(messageID, body, func(names []string) (map[string]string, error) {
		return r.Ledger.ExplainedParts(ctx, appID, names)
	})
}

// mostShown bounds the bytes of a found message that are shown.
const mostShown = 1000

// Said is a message of a session, possibly cut.
type Said struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"`
	Text      string    `json:"text"`
	Time      time.Time `json:"ts"`
}

// Said finds the latest message of each session that contains a text, in any letter case; without a text, the
// user's latest message. A session without one is not in the map. It searches the last 200 messages of each.
//
// Errors: keyspace.ErrUnavailable.
func (r *Records) Said(ctx context.Context, appID string, sessions []string, text string) (map[string]Said, error) {
	r.Flushed(ctx, appID)
	var texts []string
	if text != "" {
		texts = anyCase(text)
	}
	found, err := r.Ledger.Said(ctx, appID, sessions, texts)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	var of []ledger.Turn
	for i, session := range sessions {
		for _, id := range found[i] {
			of = append(of, ledger.Turn{App: appID, Session: session, Message: id})
		}
	}
	messages, err := r.Ledger.MessageTexts(ctx, of)
	if err != nil {
		return nil, err
	}
	said := map[string]Said{}
	for i, one := range of { // latest first within a session
		var message StoredMessage
		if _, has := said[one.Session]; has || exactjson.Unmarshal([]byte(messages[i]), &message) != nil {
			continue
		}
		if strings.Contains(folded(message.Text), folded(text)) {
			said[one.Session] = Said{one.Message, message.Actor, fault.ClipTo(message.Text, mostShown), message.Time}
		}
	}
	return said, nil
}

// Backlog is the outstanding work of an app.
type Backlog struct {
	Pending Stock `json:"pending"`
	Failed  Stock `json:"failed"`
	// The waits are counted for the oldest 5,000 pending triggers.
	Confirming int `json:"confirming"` // they wait for a yes
	Settling   int `json:"settling"`   // they can be taken back
	FirstTries int `json:"firstAttempts"`
	Retries    int `json:"laterAttempts"`
	Looked     int `json:"looked"`
}

// Stock is the number of triggers in a state, and the time when the oldest fired.
type Stock struct {
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Backlog counts the outstanding work of an app.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Records) Backlog(ctx context.Context, appID string) (b Backlog, err error) {
	if err := r.appExists(ctx, appID); err != nil {
		return b, err
	}
	r.Flushed(ctx, appID)
	found, err := r.Ledger.Backlog(ctx, appID)
	stock := func(of ledger.Stock) Stock {
		s := Stock{Count: of.Count}
		if !of.Oldest.IsZero() {
			s.Oldest = &of.Oldest
		}
		return s
	}
	return Backlog{
		Pending: stock(found.Pending), Failed: stock(found.Failed), Confirming: found.Confirming, Settling: found.Settling,
		FirstTries: found.FirstTries, Retries: found.Retries, Looked: found.Looked,
	}, err
}
