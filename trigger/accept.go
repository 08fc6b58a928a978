package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/scope"
	"earshot/trigger/worker"
)

// Message is one chat message as a client posts it.
type Message struct {
	AppID     string
	SessionID string
	// ID is the client's idempotency key; Post makes one if it is empty.
	ID    string
	Actor string // matcher.ActorUser or matcher.ActorAgent
	Text  string
	// Language (BCP 47) and TimeZone (IANA) are those of the speaker; those of the session, else of the
	// app, if they are empty.
	Language, TimeZone string
	Metadata           repositories.Metadata
	// User is whom the session is of; empty says nothing of it.
	User string
	// TraceParent is the trace that the request belongs to (W3C Trace Context).
	TraceParent string
	// Claims are what verified ID tokens say of the user. Those that tools in scope ask for are kept
	// until the message is decided.
	Claims parameters.Claims
	// Auth is why other ID tokens were not accepted: a word for each, by its service.
	Auth map[string]string
	// Acted says that the caller finds out what the message calls for, and fires it by Fire: it answers
	// a question with yes or no, and is matched against nothing.
	Acted bool
	// Relayed says that the user is not shown the answer: only what an agent says next puts a tool's
	// question to the user.
	Relayed bool
	// Explained says that the caller asks why it is decided as it is: that is kept then.
	Explained bool
	// History and Now are for dry runs alone: the messages before, in the place of the session's, and
	// the time of the message; nil and zero mean those of the session and of the clock.
	History []Earlier
	Now     time.Time
}

// Turns take messages from their request to their answer.
type Turns struct {
	*decider
	holds *Holds
	pasts *query.Pasts
	// preconditions are what the chat events of the last conversations rested on, by session, and by
	// app with its generation alone: the events are made before the script runs that stores the
	// message, and it says when they are stale.
	preconditions *lru.Cache[string, ledger.Precondition]
}

const cachedPreconditions = 4096

func newTurns(d *decider, holds *Holds) *Turns {
	preconditions, _ := lru.New[string, ledger.Precondition](cachedPreconditions) // fails for a size of 0 only
	t := &Turns{d, holds, query.NewPasts(), preconditions}
	d.Handle(keyspace.LaneTurns, t.takeTurn)
	return t
}

// ErrReused means that the idempotency key of a message belongs to another one.
var ErrReused = errors.New("belongs to another message of the session, with another text or actor: send this one under an id of its own")

// Post accepts a message and works on it until it is decided and the first attempt at its effects is
// over. It returns the JSON of an Answer. For a message that was posted before it returns the same
// answer again; if that message is still being processed, it waits.
//
// Processing goes on after ctx has ended, since the message is accepted by then, and Post with it.
//
// Errors: repositories.ErrNotFound without the app, keyspace.ErrUnavailable, *ledger.RateError,
// ErrReused, *repositories.UserError, *matcher.Unavailable if the LLM gave no usable answer and nothing was decided,
// ErrClosed.
func (ts *Turns) Post(ctx context.Context, m Message) (json.RawMessage, error) {
	id, message, err := ts.prepare(ctx, m)
	if err != nil {
		return nil, err
	}
	return ts.post(ctx, id, message, m.ID == "")
}

// PostAsync accepts a message and returns its id as soon as it is stored. The outcome comes as
// events and stands in the history. An LLM that is not available is tried again for two minutes.
func (ts *Turns) PostAsync(ctx context.Context, m Message) (string, error) {
	id, message, err := ts.prepare(ctx, m)
	if err != nil {
		return "", err
	}
	return id.Message, ts.postAsync(ctx, id, message)
}

// prepare makes a message as its session keeps it, with those of its claims that tools in scope ask
// for. That costs a round trip, only for messages with a token.
func (ts *Turns) prepare(ctx context.Context, m Message) (ledger.Turn, *query.StoredMessage, error) {
	if m.ID == "" {
		m.ID = ts.NewID()
	}
	id := ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID}
	stored := m.stored(ts.Now().UTC())
	switch {
	case m.Actor == matcher.ActorAgent: // it fires nothing
		stored.Auth = nil
	case len(m.Claims) > 0:
		s, err := ts.scopes.Read(ctx, m.AppID, m.SessionID)
		if err != nil {
			return id, nil, err
		}
		stored.Claims, stored.Auth = m.neededBy(s.Ranked())
	}
	return id, stored, nil
}

func (m Message) stored(at time.Time) *query.StoredMessage {
	return &query.StoredMessage{
		Actor: m.Actor, Text: m.Text, Time: at, TraceParent: m.TraceParent,
		Language: m.Language, TimeZone: m.TimeZone, Metadata: m.Metadata, User: m.User, Auth: m.Auth, Acted: m.Acted, Relayed: m.Relayed, Explained: m.Explained,
	}
}

// neededBy are the claims that the tools in scope ask for, and what is wrong with the message's ID
// tokens for them.
func (m Message) neededBy(in []*repositories.Repository) (parameters.Claims, map[string]string) {
	lacking, auth := repositories.Unfilled(m.Claims, in), m.Auth
	if len(lacking) > 0 {
		auth = map[string]string{}
		for service := range lacking {
			auth[service] = "claim"
		}
		maps.Copy(auth, m.Auth)
	}
	return repositories.NeededClaims(m.Claims, in), auth
}

// ofDraft stands for the message that a draft is.
var ofDraft = &query.StoredMessage{}

// post takes a turn to its answer: of a message, or of a draft for ofDraft. If its id is anew, made for
// this request alone, no client can ask for the answer again before it has come: it comes as soon as the
// calls are delivered, if they may be made again and there is no reply. What is owed follows.
func (ts *Turns) post(ctx context.Context, id ledger.Turn, message *query.StoredMessage, anew bool) (json.RawMessage, error) {
	for look := 0; ; look++ {
		found, t, err := ts.accept(ctx, id, message)
		if err != nil {
			return nil, err
		}
		var answer json.RawMessage
		switch found.Status {
		case ledger.Busy:
			err = errLost
		case ledger.NoApp:
			err = ledger.AppNotFound(id.App)
		case ledger.NoDraft:
			err = noDraft(id)
		case ledger.Answered:
			answer, err = answered(id, found)
		case ledger.Decided:
			answer, err = ts.rebuild(ctx, id, found.Decision)
		case ledger.Taken:
			answer, err = ts.Detached(func() (json.RawMessage, error) {
				if !anew {
					return ts.process(t, clientRetries)
				}
				return ts.ahead(id.App, keyspace.Box(id.Session, ""), func(tell func(json.RawMessage)) (json.RawMessage, error) {
					t.answered = tell
					return ts.process(t, clientRetries)
				})
			})
		default:
			err = &matcher.Unavailable{Reason: "the message was given up after several workers crashed on it"}
		}
		if found.Status != ledger.Busy {
			failpoint.At(failpoint.AnswerBefore)
		}
		if !errors.Is(err, errLost) {
			return answer, err
		}
		if !worker.Sleep(ctx, worker.Pause(look)) { // another replica works on it
			return nil, ctx.Err()
		}
	}
}

func (ts *Turns) postAsync(ctx context.Context, id ledger.Turn, message *query.StoredMessage) error {
	found, t, err := ts.accept(ctx, id, message)
	switch {
	case err != nil:
		return err
	case found.Status == ledger.NoApp:
		return ledger.AppNotFound(id.App)
	case found.Status == ledger.NoDraft:
		return noDraft(id)
	case found.Status == ledger.Taken:
		ts.Go(func() { ts.finishLater(t) })
	}
	return nil
}

func noDraft(id ledger.Turn) error { return fmt.Errorf("message %q: %w", id.Message, ErrNoDraft) }

// patience is how long a message that no client waits for is retried: a late reaction in a chat is a
// wrong one.
const patience = 2 * time.Minute

// finishLater processes a turn that no client waits for. The pause before its next try grows with
// its age.
func (ts *Turns) finishLater(t *turn) {
	retry := clientRetries
	if t.age < patience {
		retry = ts.Jitter(max(time.Second, min(t.age, 30*time.Second)))
	}
	if _, err := ts.process(t, retry); err != nil {
		ts.Log.Warn("turn.failed", "app", t.App, "session", t.Session, "message", t.Turn.Message, "error", err.Error())
	}
}

// untilMemory is the pause before a turn that a full Redis has no memory for is claimed again.
const untilMemory = 5 * time.Second

// takeTurn resumes a turn whose process has died, or that could not be decided before.
func (ts *Turns) takeTurn(ctx context.Context, app, member string) error {
	session, message, _ := strings.Cut(member, "/")
	id := ledger.Turn{App: app, Session: session, Message: message}
	_, t, err := ts.accept(ctx, id, nil)
	if errors.Is(err, keyspace.ErrMemory) {
		return errors.Join(err, ts.Ledger.SetAside(ctx, app, keyspace.LaneTurns, member, ts.Jitter(untilMemory)))
	}
	if err != nil || t == nil {
		return err
	}
	ts.finishLater(t)
	return nil
}

// accept stores a message, or finds what became of it, and takes the lease of its turn if no other
// process has it: then it returns the turn. If message is nil, it claims a turn that is there; if it
// is ofDraft, that of a draft.
func (ts *Turns) accept(ctx context.Context, id ledger.Turn, message *query.StoredMessage) (found ledger.Accepted, t *turn, err error) {
	known := ts.scopes.Known(id.App)
	a, err := ts.acceptance(id, message, known)
	if err != nil {
		return found, nil, err
	}
	heard := ts.pasts.Known(id)
	a.Recalled = heard.Recalled
	ts.deliveries.AwaitFollowing(ctx, id.App, keyspace.Box(id.Session, ""))
	ts.deliveries.AwaitFlush(ctx, id.App, keyspace.Box(id.Session, ""))
	for range maxReplans {
		found, err = ts.Ledger.Accept(ctx, a)
		if err != nil || found.Status != ledger.StalePrecondition {
			break
		}
		of := *found.Precondition
		if a.Chat, err = chatOf(a, message, of); err != nil {
			break
		}
		of.Message = ""
		ts.preconditions.Add(id.App+"/"+id.Session, of)
		ts.preconditions.Add(id.App, ledger.Precondition{AppGeneration: of.AppGeneration})
	}
	if found.Told {
		ts.Go(func() { ts.deliveries.PublishMessage(a) })
	}
	limit := (*ledger.RateError)(nil)
	switch {
	case errors.As(err, &limit):
	case err != nil:
		ts.GiveUp(ledger.Holding{Turn: id, Token: a.Token}, err)
	case found.Status == ledger.StalePrecondition:
		err = fmt.Errorf("%w: what is known of session %q changes faster than a message can be stored", keyspace.ErrUnavailable, id.Session)
	case found.Status == ledger.Erasing:
		err = fmt.Errorf("session %q: %w", id.Session, repositories.ErrErasing)
	case found.Status == ledger.OtherUser:
		err = &repositories.UserError{SessionID: id.Session, User: found.User}
	case found.Status == ledger.Reused:
		err = fmt.Errorf("messageId %q %w", id.Message, ErrReused)
	case found.Status == ledger.Taken:
		t, err = ts.readTurn(a, message, known, heard, found.Taken)
	}
	if err != nil || !found.Few {
		return found, t, err
	}
	// It is accepted, but not on enough replicas of Redis. The work goes on, so that a retry of the
	// request finds it done when they have caught up.
	switch found.Status {
	case ledger.Taken:
		taken := t // the result is set to nil below
		ts.Go(func() { ts.finishLater(taken) })
	case ledger.Answered, ledger.Decided:
	default:
		return found, t, nil // nothing was written, or it is another process's to refuse
	}
	return found, nil, keyspace.ErrReplicas
}

// acceptance is what the ledger is asked for, by the known state of the app.
func (ts *Turns) acceptance(id ledger.Turn, message *query.StoredMessage, known *scope.State) (a ledger.Acceptance, err error) {
	a = ledger.Acceptance{
		Turn: id, Token: ts.Token(), Lease: ts.Lease, OfDraft: message == ofDraft, History: ts.history, Version: known.Version,
		Life: ts.Store.SessionTTL(), Remembers: ts.Store.Remembers(), Messages: ts.Store.Retention().Messages,
	}
	if message == nil || message == ofDraft {
		return a, nil
	}
	if err = encode(message, &a); err == nil && known.App != nil && known.App.Settings.ChatEvents {
		precondition, hit := ts.preconditions.Get(id.App + "/" + id.Session)
		if !hit {
			precondition, _ = ts.preconditions.Get(id.App)
		}
		a.Chat, err = chatOf(a, message, precondition)
	}
	return a, err
}

// encode writes a new message as the ledger keeps it. One of an agent has a fixed answer, and may ask
// the user about a trigger that its metadata names.
func encode(message *query.StoredMessage, a *ledger.Acceptance) error {
	text, err := exactjson.Encode(message)
	if err != nil {
		return err
	}
	a.Message, a.Says, a.User = string(text), saysHash(message), message.User
	if len(message.Claims) > 0 {
		claims, err := exactjson.Encode(message.Claims)
		if err != nil {
			return err
		}
		a.Claims = string(claims)
	}
	if message.Actor != matcher.ActorAgent {
		return nil
	}
	answer, err := exactjson.Encode(query.Answer{MessageID: a.Turn.Message, Matches: []query.Match{}, Rejected: []query.Rejected{}})
	var named struct {
		Asks any `json:"asks"`
	}
	_ = json.Unmarshal(message.Metadata, &named) // any other metadata names no trigger
	a.AsksFor, _ = named.Asks.(string)
	a.Answer, a.Words = string(answer), conversation.Plain(message.Text)
	return err
}

// readTurn reads a turn whose lease was taken, by what was known of its app and heard of its session before. message is
// the one that the caller had stored; nil for another.
func (ts *Turns) readTurn(a ledger.Acceptance, message *query.StoredMessage, known *scope.State, heard query.Known, found *ledger.TakenTurn) (*turn, error) {
	t := &turn{
		Turn: a.Turn, token: a.Token, age: found.Age, at: found.At, asked: found.Asked, unasked: found.Unasked, takesBack: found.Retracted, draft: &found.Draft,
		generation: store.Generation{App: found.AppGeneration, Session: found.SessionGeneration},
	}
	for _, triggerID := range t.takesBack {
		failpoint.At(failpoint.NextBefore)
		t.taking.Add(1)
		ts.Go(func() {
			defer t.taking.Done()
			ts.holds.retract(a.App, triggerID)
		})
	}
	var err error
	if message != nil && found.Message == a.Message {
		t.message = *message
	} else if err = exactjson.Unmarshal([]byte(found.Message), &t.message); err != nil {
		return nil, err
	}
	if t.scope, err = ts.scopes.Of(a.App, known, found.App, found.Own); err != nil {
		return nil, err
	}
	if found.Claims != "" {
		if err := exactjson.Unmarshal([]byte(found.Claims), &t.scope.Claims); err != nil {
			return nil, err
		}
	}
	t.history = ts.pasts.Utterances(a.Turn, heard, found.History)
	if found.Unfinished != "" {
		t.unfinished = conversation.Read(found.Unfinished, t.scope.Candidates().All, t.at)
	}
	return t, nil
}

// answered is the stored answer of a message.
func answered(id ledger.Turn, found ledger.Accepted) (json.RawMessage, error) {
	if found.Answer != ledger.AsDecided {
		return json.RawMessage(found.Answer), nil
	}
	answer, err := query.AsDecided(id.Message, found.Decision)
	if err != nil {
		return nil, err
	}
	if found.Reply != "" {
		answer.Reply = json.RawMessage(found.Reply)
		answer.ReplyType = query.ReplyType(answer.Reply)
	}
	return exactjson.Encode(answer)
}

// rebuild makes the answer of a turn whose process died after the decision: what was decided, with
// the current states.
func (ts *Turns) rebuild(ctx context.Context, id ledger.Turn, decision string) (json.RawMessage, error) {
	answer, err := query.ReadDecision(id.Message, decision)
	if err != nil {
		return nil, fmt.Errorf("the decision of message %q cannot be read: %w", id.Message, err)
	}
	// What that process may have answered is so by then, if the broker takes it.
	ts.deliveries.Drain(id.App, keyspace.Box(id.Session, ""), ts.Token())
	decided := slices.Clone(answer.Matches)
	if err := ts.records.FillStates(ctx, id.App, answer.Matches); err != nil {
		return nil, err
	}
	for i, match := range decided {
		if !match.Due() { // not due then: what came of it since was no part of the answer
			answer.Matches[i] = match
		}
	}
	return keepAnswer(answer, func(text string) (string, error) { return ts.Ledger.KeepAnswer(ctx, id, decision, text) })
}

// keepAnswer stores an answer that was made anew, unless another process was faster, and returns the
// one that holds.
func keepAnswer(answer any, store func(text string) (string, error)) (json.RawMessage, error) {
	text, err := exactjson.Encode(answer)
	if err != nil {
		return nil, err
	}
	failpoint.At(failpoint.RebuildBefore)
	kept, err := store(string(text))
	if kept == ledger.AsDecided {
		return nil, errLost // the process that was taken for dead is not, and has answered
	}
	return json.RawMessage(kept), err
}
