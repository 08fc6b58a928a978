package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/explain"
	"earshot/trigger/ledger"
)

// Turns take messages from their request to their answer.
type Turns struct {
	*core
	records    *Records
	scopes     *Scopes
	deliveries *Deliveries
	decisions  *decisions
	holds      *Holds
	pasts      pastCache
	restings   restings
}

// turnPauses are the pauses between two looks at a turn that another replica holds, growing
// up to the last.
var turnPauses = []time.Duration{10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}

// Post accepts a message and works on it until it is decided and the first attempt at its
// effects is over. It returns the JSON of an Answer. For a message that was posted before
// it returns the same answer again; if that message is still being processed, it waits.
//
// Processing goes on after ctx has ended, since the message is accepted by then, and Post with it.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable,
// *ledger.RateError, ErrReused, *matcher.Unavailable if the LLM gave no usable answer and
// nothing was decided, ErrClosed.
func (ts *Turns) Post(ctx context.Context, m Message) (json.RawMessage, error) {
	id, message, err := ts.prepare(ctx, m)
	if err != nil {
		return nil, err
	}
	return ts.post(ctx, id, message)
}

func (ts *Turns) post(ctx context.Context, id ledger.Turn, message *storedMessage) (json.RawMessage, error) {
	for i := 0; ; i++ {
		found, err := ts.acceptOnce(ctx, id, message)
		if err != nil {
			return nil, err
		}
		if found.Status != ledger.Busy {
			answer, err := ts.conclude(ctx, id, found)
			failpoint.At(failpoint.AnswerBefore)
			if !errors.Is(err, errLost) {
				return answer, err
			}
		}
		if !sleep(ctx, turnPauses[min(i, len(turnPauses)-1)]) {
			return nil, ctx.Err()
		}
	}
}

// PostAsync accepts a message and returns its id as soon as it is stored. The outcome
// comes as events and stands in the history. An LLM that is not available is tried
// again for two minutes.
func (ts *Turns) PostAsync(ctx context.Context, m Message) (string, error) {
	id, message, err := ts.prepare(ctx, m)
	if err != nil {
		return "", err
	}
	return id.Message, ts.postAsync(ctx, id, message)
}

func (ts *Turns) postAsync(ctx context.Context, id ledger.Turn, message *storedMessage) error {
	found, err := ts.acceptOnce(ctx, id, message)
	if err != nil {
		return err
	}
	switch found.Status {
	case ledger.NoApp:
		return noApp(id.App)
	case ledger.NoDraft:
		return noDraft(id)
	case ledger.Taken:
		ts.work(func() { ts.finishLater(found.turn) })
	}
	return nil
}

func noDraft(id ledger.Turn) error { return fmt.Errorf("message %q: %w", id.Message, ErrNoDraft) }

func (ts *Turns) prepare(ctx context.Context, m Message) (ledger.Turn, *storedMessage, error) {
	if m.ID == "" {
		m.ID = ts.newID()
	}
	claims, auth, err := ts.scopes.needed(ctx, m)
	m.Auth = auth
	return ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID},
		storedFrom(m, ts.now().UTC(), claims), err
}

// storedFrom is a message as its session keeps it.
func storedFrom(m Message, at time.Time, claims parameters.Claims) *storedMessage {
	return &storedMessage{
		Actor: m.Actor, Text: m.Text, Time: at, TraceParent: m.TraceParent,
		Language: m.Language, TimeZone: m.TimeZone, Metadata: m.Metadata, Auth: m.Auth, Acted: m.Acted, Relayed: m.Relayed, claims: claims,
	}
}

func (ts *Turns) acceptOnce(ctx context.Context, id ledger.Turn, message *storedMessage) (accepted, error) {
	canned := ""
	if message.Actor == matcher.ActorAgent {
		answer, err := exactjson.Encode(Answer{MessageID: id.Message, Matches: []Match{}, Rejected: []Rejected{}})
		if err != nil {
			return accepted{}, err
		}
		canned = string(answer)
	}
	ts.settling.waitFor(ctx, outbox{id.App, keyspace.Box(id.Session, "")})
	found, err := ts.accept(ctx, id, ts.token(), message, canned)
	if err != nil || !found.Few {
		return found, err
	}
	return found, ts.unsafe(found)
}

// unsafe returns an error for a request that was accepted but is not on enough replicas of
// Redis. The work goes on, so that a retry of the request finds it done when they have
// caught up.
func (ts *Turns) unsafe(found accepted) error {
	switch found.Status {
	case ledger.Taken:
		ts.work(func() { ts.finishLater(found.turn) })
	case ledger.Answered, ledger.Decided:
	default:
		return nil // nothing was written, or it is another's to refuse
	}
	return keyspace.ErrReplicas
}

// conclude processes a message until it has an answer, unless another replica holds it.
func (ts *Turns) conclude(ctx context.Context, id ledger.Turn, found accepted) (json.RawMessage, error) {
	switch found.Status {
	case ledger.NoApp:
		return nil, noApp(id.App)
	case ledger.NoDraft:
		return nil, noDraft(id)
	case ledger.Answered:
		return answered(found.Accepted)
	case ledger.Decided:
		return ts.rebuild(ctx, id, found.Decision)
	case ledger.Taken:
		return ts.toTheEnd(func() (json.RawMessage, error) { return ts.process(found.turn, clientRetries) })
	}
	return nil, &matcher.Unavailable{Reason: "the message was given up after several workers crashed on it"}
}

// DryRun matches a message as Post does and leaves no trace: it stores, fires and publishes
// nothing, and counts to no limit. The answer has the form of a real one, with the ids that the
// triggers would have. The id of a message that is in the history stands for its place there:
// what came before it counts, and the time is that of the message, as are the language and the
// time zone where none is given.
//
// Errors: those of Post that concern the app and the model.
func (ts *Turns) DryRun(ctx context.Context, m Message) (Answer, explain.Explanation, error) {
	t, err := ts.decisions.pastTurn(ctx, m)
	if err != nil {
		return Answer{}, explain.Explanation{}, err
	}
	t.dry = true
	if answer, why, plain := ts.decisions.consentTold(t, m); plain {
		return answer, why, nil
	}
	if m.Actor == matcher.ActorAgent {
		return Answer{MessageID: t.Turn.Message, Matches: []Match{}, Rejected: []Rejected{}}, explain.Unmatched(t.Turn.Message, ts.now().UTC()), nil
	}
	request := ts.decisions.request(t)
	request.Now = t.message.Time.In(request.Now.Location())
	if !m.Now.IsZero() {
		request.Now = m.Now.In(t.zone(m.Now.Location()))
	}
	result, err := ts.decisions.find(ctx, t, request)
	if err != nil {
		return Answer{}, explain.Explanation{}, err
	}
	p, err := ts.decisions.decide(t, result)
	if err != nil {
		return Answer{}, explain.Explanation{}, err
	}
	p.answer.replyWith(directReply(t.scope, p.answer, result.Text, request.Chat))
	explained, err := explain.Unpack(t.Turn.Message, p.explained.Body, func([]string) (map[string]string, error) { return p.explained.Parts, nil })
	return undone(p.answer, stateDry), explained, err
}

// pastTurn is the turn that the message would be, or was.
func (d *decisions) pastTurn(ctx context.Context, m Message) (*turn, error) {
	if m.ID == "" {
		m.ID = d.newID()
	}
	id, had := ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID}, d.scopes.apps.get(m.AppID)
	found, err := d.ledger.Peek(ctx, id, d.historyLimit, had.version)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, noApp(m.AppID)
	}
	t := &turn{Turn: id, at: found.At, message: *storedFrom(m, d.now(), nil)}
	t.generation = store.Generation{App: found.AppGeneration, Session: found.SessionGeneration}
	if t.scope, err = d.scopes.scopeOf(id, had, found); err != nil {
		return nil, err
	}
	t.scope.claims = repositories.NeededClaims(m.Claims, t.scope.ranked())
	t.message.claims, t.message.Auth = t.scope.claims, m.authIn(t.scope.ranked())
	if m.History != nil {
		return t, d.told(t, m.History)
	}
	for _, past := range found.History {
		t.history = append(t.history, utterances(past)...)
	}
	if found.Message == "" {
		t.unfinished, t.asked, t.unasked = waitingCalls(found.Unfinished, t.scope, t.at), found.Asked, found.Unasked
		return t, nil
	}
	var was storedMessage
	if err := json.Unmarshal([]byte(found.Message), &was); err != nil {
		return nil, err
	}
	t.message.Time = was.Time
	t.message.Language, t.message.TimeZone = cmp.Or(m.Language, was.Language), cmp.Or(m.TimeZone, was.TimeZone)
	t.unfinished = unfinishedBefore(was.Time, found.History, t.scope)
	return t, nil
}

// undone shows an answer as one of which nothing was done, with that state.
func undone(answer Answer, state string) Answer {
	for i := range answer.Matches {
		match := &answer.Matches[i]
		if state == StateDraft { // there is nothing yet to confirm, to wait for or to take back
			match.State, match.DueAt, match.Of, match.Digest, match.Question, match.ExpiresAt = state, nil, "", "", "", nil
		}
		match.setStates(state)
		*match = match.shown()
	}
	return answer
}

// finishLater processes a turn that nobody waits for.
func (ts *Turns) finishLater(t *turn) {
	if _, err := ts.process(t, ts.nextTry(t)); err != nil {
		ts.log.Warn("turn.failed", "app", t.App, "session", t.Session, "message", t.Turn.Message, "error", err.Error())
	}
}

// clientRetries, as a pause, leaves the next try of a turn to its client.
const clientRetries time.Duration = -1

// deadline is how long a message that nobody waits for is retried: a late reaction in a
// chat is a wrong one.
const deadline = 2 * time.Minute

// sleep waits, and reports whether it waited for the whole time.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// takeTurn resumes a turn whose process has died, or that could not be decided before.
func (ts *Turns) takeTurn(ctx context.Context, app, member string) error {
	session, message, _ := strings.Cut(member, "/")
	id := ledger.Turn{App: app, Session: session, Message: message}
	found, err := ts.accept(ctx, id, ts.token(), nil, "")
	if errors.Is(err, keyspace.ErrMemory) {
		return errors.Join(err, ts.ledger.Postpone(ctx, id, ts.jitter(untilRoom)))
	}
	if err != nil || found.turn == nil {
		return err
	}
	ts.finishLater(found.turn)
	return nil
}
