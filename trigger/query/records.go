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
	// Now bounds the time that a search takes.
	Now func() time.Time
	// Explained is how long explanations are kept.
	Explained time.Duration
	// Unexplained is the share of messages, where all has fired, that have none.
	Unexplained float64
	// Flushed waits until this process has written what it has answered in an app, so that a client
	// that asks after an answer reads what the answer said.
	Flushed func(ctx context.Context, appID string)
}

var (
	// ErrNotFound means that there is no trigger of that id in the app.
	ErrNotFound = errors.New("no such trigger")
	// ErrEnded means that the trigger was ended before: it is too late to answer, confirm, deny or
	// cancel it.
	ErrEnded = errors.New("was ended")
	// ErrNotAsked means that the trigger is not one that waits for an answer.
	ErrNotAsked = errors.New("waits for no answer")
	// ErrNoMessage means that there is no message of that id in the history of the session.
	ErrNoMessage = errors.New("no such message is in the history of the session")
	// ErrUnexplained means that there is nothing, or nothing any more, that explains a message.
	ErrUnexplained = errors.New("there is no explanation")
)

// StateError says that the state of a trigger does not let it do what was asked for.
type StateError struct {
	TriggerID, State string
	Err              error  // ErrEnded, or another
	Why              string // follows the words of Err
}

// Error names the trigger and says why.
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

// Stored returns a trigger as it stands in the ledger, or ErrNotFound.
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

// stored reads triggers in one round trip; nil stands for one that is gone. A duplicate shows the
// result of the first trigger of its values.
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

// mostWaiting is how many triggers of a session are listed as waiting.
const mostWaiting = 200

// Waiting lists the triggers of a session that wait: for a confirmation, for the end of the time in which they can be
// taken back, or for an answer; the newest first, and at most 200 of them.
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

// mostUnsettled is how many triggers are looked at for the sessions that they are of.
const mostUnsettled = 100_000

// SessionsIn are the sessions of an app with triggers that are pending, confirming or failed; the pending ones include
// those that are held back: in other sessions, no trigger waits. It is nil where there are too many to say.
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

// awaiting says until when the calls of triggers wait for an answer; it is the zero time of one that does not.
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

// FillStates sets the states of matches to the current ones. A trigger whose record is gone keeps
// the state that it had in the answer.
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

// Explain says why a decided message came out as it did, for as long as that is kept.
//
// Errors: repositories.ErrNotFound without the app, ErrNoMessage, ErrUnexplained,
// keyspace.ErrUnavailable.
func (r *Records) Explain(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	stored, err := r.Ledger.Explained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if stored.Explanation != "" {
		return r.unpack(ctx, appID, messageID, stored.Explanation)
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

// ExplainDraft says why a draft was matched as it is, as far as it is.
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

// mostShown is how many bytes of a message are shown where it is found.
const mostShown = 1000

// Said is something that was said in a session, or how it begins.
type Said struct {
	MessageID string    `json:"messageId"`
	Actor     string    `json:"actor"`
	Text      string    `json:"text"`
	Time      time.Time `json:"ts"`
}

// Said finds the latest message of each session that has a text in it, in any case of its letters; without a text, the
// latest one of the user. A session that has none is not in the map. The last 200 messages of each are looked at.
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
	for i, one := range of { // the latest of a session first
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

// Backlog is what an app has to do.
type Backlog struct {
	Pending Stock `json:"pending"`
	Failed  Stock `json:"failed"`
	// What the pending ones wait for is counted of the oldest 5,000.
	Confirming int `json:"confirming"` // a yes
	Settling   int `json:"settling"`   // the end of the time in which they can be taken back
	FirstTries int `json:"firstAttempts"`
	Retries    int `json:"laterAttempts"`
	Looked     int `json:"looked"`
}

// Stock is how many triggers are in a state, and when the oldest of them fired.
type Stock struct {
	Count  int64      `json:"count"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// Backlog counts what an app has to do.
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
