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
	"earshot/repositories/lists"
	"earshot/trigger/effect"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"

	"github.com/redis/go-redis/v9"
)

// Records reads the ledger. It is safe for concurrent use.
type Records struct {
	Ledger           *ledger.Reader
	Counter          *Counter
	Now              func() time.Time // the clock that bounds the time of a search
	ExplanationTTL   time.Duration    // how long explanations are kept
	UnexplainedShare float64          // the share of fully fired messages without an explanation
	// AwaitFlush waits until this process has written the outcomes of its answers in an app, so that a client that
	// reads after an answer sees the state that the answer reported.
	AwaitFlush func(ctx context.Context, appID string)
}

var (
	// ErrNotFound means that the app has no trigger of that id.
	ErrNotFound = errors.New("no such trigger")
	// ErrEnded means that the trigger has ended, or that an effect of it is under way: it is too late to answer,
	// confirm, deny or cancel it.
	ErrEnded = errors.New("was ended")
	// ErrNotAsked means that the trigger does not wait for an answer.
	ErrNotAsked = errors.New("does not wait for an answer")
	// ErrNoMessage means that the session's history has no message of that id.
	ErrNoMessage = errors.New("the history of the session has no such message")
	// ErrUnexplained means that there is no explanation of a message, or no longer one.
	ErrUnexplained = errors.New("no explanation is stored")
)

// StateError means that the state of a trigger does not allow the request.
type StateError struct {
	TriggerID, State string
	Err              error  // ErrEnded, or another
	Detail           string // follows the words of Err
}

// Error names the trigger and the cause.
func (e *StateError) Error() string {
	return fmt.Sprintf("trigger %q %s%s", e.TriggerID, e.Err, e.Detail)
}

// Unwrap returns Err.
func (e *StateError) Unwrap() error { return e.Err }

// Trigger returns the record of a trigger, with the next attempt at its call, or ErrNotFound.
func (r *Records) Trigger(ctx context.Context, appID, triggerID string) (Record, error) {
	stored, err := r.StoredTrigger(ctx, appID, triggerID)
	if err != nil {
		return Record{}, err
	}
	record := stored.Record
	if !record.callPending() {
		return record, nil
	}
	call, err := r.Ledger.CallDue(ctx, appID, keyspace.EffectID(stored.Firing, effect.PartCall))
	if err == nil && (call == nil || !call.Leased && !call.Awaiting && call.Tries != record.Call.Attempts) {
		// An outcome was recorded between both reads: the record lacks it.
		if stored, err = r.StoredTrigger(ctx, appID, triggerID); err != nil {
			return Record{}, err
		}
		record = stored.Record
	}
	switch {
	case err != nil || call == nil || !record.callPending():
	case call.Awaiting:
		record.ExpiresAt = &call.Due
	case call.Leased:
		record.Next = &NextAttempt{Number: call.Tries, UnderWay: true}
	default:
		record.Next = &NextAttempt{Number: call.Tries + 1, Due: &call.Due}
	}
	return record, err
}

// callPending reports whether the record's call may have a next attempt.
func (r Record) callPending() bool {
	return r.Call != nil && r.Call.State == StatePending && r.Due()
}

// FiredInSession reports whether a trigger was fired in the present generation of a session. Records outlive a
// session, but the list of its triggers ends with the session.
//
// Errors: keyspace.ErrUnavailable.
func (r *Records) FiredInSession(ctx context.Context, appID, sessionID, triggerID string) (bool, error) {
	r.AwaitFlush(ctx, appID)
	return r.Ledger.InList(ctx, keyspace.KeysOf(appID).Triggers(sessionID), triggerID)
}

// StoredTrigger returns a trigger as the ledger stores it, or ErrNotFound.
func (r *Records) StoredTrigger(ctx context.Context, appID, triggerID string) (*StoredTrigger, error) {
	triggers, err := r.storedTriggers(ctx, appID, []string{triggerID})
	if err != nil {
		return nil, err
	}
	if triggers[0] == nil {
		return nil, fmt.Errorf("trigger %q: %w", triggerID, ErrNotFound)
	}
	return triggers[0], nil
}

// storedTriggers reads triggers in one round trip; a missing one is nil. A duplicate shows the result of the first
// trigger of its values.
func (r *Records) storedTriggers(ctx context.Context, appID string, ids []string) ([]*StoredTrigger, error) {
	r.AwaitFlush(ctx, appID)
	raw, err := r.Ledger.Triggers(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	triggers, firstIDs := make([]*StoredTrigger, len(ids)), []string{}
	for i, trigger := range raw {
		if trigger == nil {
			continue
		}
		if triggers[i], err = ReadStoredTrigger(trigger); err != nil {
			return nil, fmt.Errorf("trigger %q cannot be read: %w", ids[i], err)
		}
		if firstID := triggers[i].Record.Of; firstID != "" {
			firstIDs = append(firstIDs, firstID)
		}
	}
	if len(firstIDs) == 0 {
		return triggers, nil
	}
	if raw, err = r.Ledger.Triggers(ctx, appID, firstIDs); err != nil {
		return triggers, err
	}
	for _, trigger := range triggers {
		if trigger == nil || trigger.Record.Of == "" {
			continue
		}
		if first := raw[0]; first != nil && first.Call != "" {
			if err := decodePart(&trigger.Record.Call, first.Call); err != nil {
				return triggers, err
			}
		}
		raw = raw[1:]
	}
	return triggers, nil
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
		q := Triggers{AppID: appID, SessionID: sessionID, State: state, Page: Page{Limit: mostWaiting}}
		for found := 0; ; { // a page may end early
			page, next, err := r.Triggers(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, record := range page {
				if state == StateConfirming || record.DueAt != nil {
					waiting = append(waiting, record)
				} else if record.Call != nil && record.Call.State == StatePending {
					calls, ids = append(calls, record), append(ids, record.TriggerID)
				}
			}
			if found += len(page); next == "" || found >= mostWaiting {
				break
			}
			q.Page.After = next
		}
	}
	deadlines, err := r.answerDeadlines(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	for i, record := range calls {
		if !deadlines[i].IsZero() {
			record.ExpiresAt = &deadlines[i]
			waiting = append(waiting, record)
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
	r.AwaitFlush(ctx, appID)
	index, sieve := keyspace.KeysOf(appID).InState(keyspace.Pending), ledger.Filter{}
	switch state {
	case StateFailed:
		index = keyspace.KeysOf(appID).InState(keyspace.Failed)
	case StateConfirming:
		sieve.State = state
	}
	members, err := r.Ledger.ReadList(ctx, index, ledger.TimeRange{From: math.Inf(-1), To: math.Inf(1), Oldest: true, Most: mostUnsettled})
	if err != nil || len(members) == mostUnsettled {
		return nil, err
	}
	sessions := map[string]bool{}
	for batch := range slices.Chunk(members, largestBatch) {
		ids := lists.Map(batch, func(place redis.Z) string { return place.Member.(string) })
		if sieve.State != "" {
			selected, err := r.Ledger.FilterTriggers(ctx, appID, ids, sieve)
			if err != nil {
				return nil, err
			}
			ids = lists.Map(selected, func(place int) string { return ids[place] })
		}
		sessionIDs, err := r.Ledger.SessionsOf(ctx, appID, ids)
		if err != nil {
			return nil, err
		}
		for _, id := range sessionIDs {
			sessions[id] = true
		}
	}
	return sessions, nil
}

// answerDeadlines returns the time until which the call of each trigger waits for an answer; the zero time for a call
// that does not wait.
func (r *Records) answerDeadlines(ctx context.Context, appID string, ids []string) ([]time.Time, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stored, err := r.Ledger.Triggers(ctx, appID, ids)
	if err != nil {
		return nil, err
	}
	effects := make([]string, len(stored))
	for i, trigger := range stored {
		if trigger != nil { // it may have been removed since
			effects[i] = keyspace.EffectID(trigger.Name, effect.PartCall)
		}
	}
	return r.Ledger.Awaiting(ctx, appID, effects)
}

// FillStates sets the states of matches to the current ones. A trigger whose record is gone keeps the state of
// the answer.
func (r *Records) FillStates(ctx context.Context, appID string, matches []Match) error {
	stored, err := r.storedTriggers(ctx, appID, triggerIDs(matches))
	if err != nil {
		return err
	}
	for i := range matches {
		if stored[i] != nil {
			current := stored[i].Record.Match
			matches[i].Event, matches[i].Emitter, matches[i].Call = current.Event, current.Emitter, current.Call
			matches[i].State, matches[i].DueAt = current.State, current.DueAt
		}
	}
	return nil
}

func triggerIDs(matches []Match) []string {
	return lists.Map(matches, func(match Match) string { return match.TriggerID })
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
		explanation, err := r.unpack(ctx, appID, sessionID, messageID, stored.Explanation)
		var calls []string // after the decision
		for _, match := range readLines[Match](stored.Called) {
			calls = append(calls, match.RepositoryID+"/"+match.Name)
		}
		if len(calls) > 0 {
			explanation.Why += " The model called " + strings.Join(calls, ", ") + "."
		}
		return explanation, err
	}
	if stored.Message == "" {
		if err := r.Ledger.CheckApp(ctx, appID); err != nil {
			return explain.Explanation{}, err
		}
		return explain.Explanation{}, fmt.Errorf("message %q: %w", messageID, ErrNoMessage)
	}
	entry, err := readEntry(messageID, ledger.StoredMessage{Message: stored.Message, Decision: stored.Decision, Answer: stored.Answer, Failure: stored.Failure})
	if err != nil {
		return explain.Explanation{}, err
	}
	reason := fmt.Sprintf("explanations are kept for %s", r.ExplanationTTL)
	if r.UnexplainedShare > 0 {
		reason += fmt.Sprintf("; if all tools of a message fired, for a share of %.3g of the messages (EARSHOT_EXPLAIN_SHARE), or if explain=true requests one", 1-r.UnexplainedShare)
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
	return r.unpack(ctx, appID, sessionID, messageID, body)
}

func (r *Records) unpack(ctx context.Context, appID, sessionID, messageID, body string) (explain.Explanation, error) {
	parts := func(names []string) (map[string]string, error) { return r.Ledger.ExplainedParts(ctx, appID, names) }
	return explain.Unpack(messageID, body, parts, func(earlierID string) (string, error) {
		earlier, err := r.Ledger.Explained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: earlierID})
		return earlier.Explanation, err
	})
}

// mostShown bounds the bytes of a found message that are shown.
const mostShown = 1000

// MessageExcerpt is a message of a session, possibly cut.
type MessageExcerpt struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"`
	Text      string    `json:"text"`
	Time      time.Time `json:"ts"`
}

// LatestMessages finds the latest message of each session that contains a text, in any letter case; without a text, the
// user's latest message. A session without one is not in the map. It searches the last 200 messages of each.
//
// Errors: keyspace.ErrUnavailable.
func (r *Records) LatestMessages(ctx context.Context, appID string, sessions []string, text string) (map[string]MessageExcerpt, error) {
	r.AwaitFlush(ctx, appID)
	var variants []string
	if text != "" {
		variants = anyCase(text)
	}
	ids, err := r.Ledger.FindMessages(ctx, appID, sessions, variants)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	var turns []ledger.Turn
	for i, session := range sessions {
		for _, id := range ids[i] {
			turns = append(turns, ledger.Turn{App: appID, Session: session, Message: id})
		}
	}
	messages, err := r.Ledger.MessageTexts(ctx, turns)
	if err != nil {
		return nil, err
	}
	latest := map[string]MessageExcerpt{}
	for i, turn := range turns { // latest first within a session
		var message StoredMessage
		if _, has := latest[turn.Session]; has || exactjson.Unmarshal([]byte(messages[i]), &message) != nil {
			continue
		}
		if strings.Contains(folded(message.Text), folded(text)) {
			latest[turn.Session] = MessageExcerpt{turn.Message, message.Actor, fault.ClipTo(message.Text, mostShown), message.Time}
		}
	}
	return latest, nil
}

// Backlog is the outstanding work of an app.
type Backlog = ledger.AppBacklog

// Backlog counts the outstanding work of an app.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable.
func (r *Records) Backlog(ctx context.Context, appID string) (b Backlog, err error) {
	if err := r.Ledger.CheckApp(ctx, appID); err != nil {
		return b, err
	}
	r.AwaitFlush(ctx, appID)
	return r.Ledger.Backlog(ctx, appID)
}
