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
	// Language (BCP 47) and TimeZone (IANA) are the speaker's; if empty, the session's or else the app's.
	Language, TimeZone string
	Metadata           repositories.Metadata
	// User is the session's user; empty if not named.
	User string
	// TraceParent is the trace that the request belongs to (W3C Trace Context).
	TraceParent string
	// Claims are the claims of verified ID tokens. Those that tools in scope need are kept until the message is
	// decided.
	Claims parameters.Claims
	// Auth is why other ID tokens were refused: a reason code by service.
	Auth map[string]string
	// CallerFires reports that the caller itself finds the tools and fires them with Fire: the message can answer a
	// question with yes or no, but is not matched.
	CallerFires bool
	// Relayed reports that the user does not see the answer: only the agent's next message puts a tool's
	// question to the user.
	Relayed bool
	// Explain requests that the explanation of the decision is kept.
	Explain bool
	// History and Now are for dry runs only: the earlier messages in place of the session's, and the time of
	// the message. If nil and zero, those of the session and of the clock are used.
	History []Earlier
	Now     time.Time
}

// Turns processes messages from the request to the answer.
type Turns struct {
	*decider
	holds *Holds
	// preconditions has the last preconditions of chat events by session, and by app with its generation alone. The
	// events are built before the script that stores the message, and the script reports stale preconditions.
	preconditions *lru.Cache[string, ledger.Precondition]
}

const cachedPreconditions = 4096

func newTurns(d *decider, holds *Holds) *Turns {
	preconditions, _ := lru.New[string, ledger.Precondition](cachedPreconditions) // fails for a size of 0 only
	t := &Turns{d, holds, preconditions}
	d.Handle(keyspace.LaneTurns, t.takeTurn)
	return t
}

// ErrReused means that the idempotency key of a message belongs to another message.
var ErrReused = errors.New("belongs to another message of the session, with another text or actor: send this one with a new messageId")

// Post accepts a message and processes it until it is decided and the first attempts at its effects have ended.
// It returns the JSON of an Answer. For a repeated message it returns the same answer; if that message is still
// being processed, it waits.
//
// Post and the processing continue after ctx has ended, since the message is accepted by then.
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

// PostAsync accepts a message and returns its id once it is stored. The outcome is published as events and is
// in the history. An unavailable LLM is retried for two minutes.
func (ts *Turns) PostAsync(ctx context.Context, m Message) (string, error) {
	id, message, err := ts.prepare(ctx, m)
	if err != nil {
		return "", err
	}
	return id.Message, ts.postAsync(ctx, id, message)
}

// prepare builds the stored form of a message, with the claims that tools in scope need. Only a message with a
// token costs a round trip.
func (ts *Turns) prepare(ctx context.Context, m Message) (ledger.Turn, *query.StoredMessage, error) {
	if m.ID == "" {
		m.ID = ts.NewID()
	}
	id := ledger.Turn{App: m.AppID, Session: m.SessionID, Message: m.ID}
	stored := m.toStored(ts.Now().UTC())
	switch {
	case m.Actor == matcher.ActorAgent: // it fires nothing
		stored.Auth = nil
	case len(m.Claims) > 0:
		s, err := ts.scopes.Read(ctx, m.AppID, m.SessionID)
		if err != nil {
			return id, nil, err
		}
		stored.Claims, stored.Auth = m.neededClaims(s.Ranked())
	}
	return id, stored, nil
}

func (m Message) toStored(at time.Time) *query.StoredMessage {
	return &query.StoredMessage{
		Actor: m.Actor, Text: m.Text, Time: at, TraceParent: m.TraceParent,
		Language: m.Language, TimeZone: m.TimeZone, Metadata: m.Metadata, User: m.User, Auth: m.Auth, CallerFires: m.CallerFires, Relayed: m.Relayed, Explain: m.Explain,
	}
}

// neededClaims returns the claims that the tools in scope need, and the reasons why the message's ID tokens do not
// suffice.
func (m Message) neededClaims(repositoriesInScope []*repositories.Repository) (parameters.Claims, map[string]string) {
	lacking, auth := repositories.Unfilled(m.Claims, repositoriesInScope), m.Auth
	if len(lacking) > 0 {
		auth = map[string]string{}
		for service := range lacking {
			auth[service] = "claim"
		}
		maps.Copy(auth, m.Auth)
	}
	return repositories.NeededClaims(m.Claims, repositoriesInScope), auth
}

// draftMessage stands for the message of a draft.
var draftMessage = &query.StoredMessage{}

// post processes a turn, of a message or for draftMessage of a draft, and returns its answer. With ownID, the id was
// generated for this request, so no client can send it again before the answer. Then post returns once the calls are
// delivered, if they are repeatable and there is no reply; the remaining effects follow.
func (ts *Turns) post(ctx context.Context, id ledger.Turn, message *query.StoredMessage, ownID bool) (json.RawMessage, error) {
	for polls := 0; ; polls++ {
		accepted, t, err := ts.accept(ctx, id, message)
		if err != nil {
			return nil, err
		}
		var answer json.RawMessage
		switch accepted.Status {
		case ledger.Busy:
			err = errLost
		case ledger.NoApp:
			err = ledger.AppNotFound(id.App)
		case ledger.NoDraft:
			err = noDraft(id)
		case ledger.Answered:
			answer, err = storedAnswer(id, accepted)
		case ledger.Decided:
			answer, err = ts.rebuild(ctx, id, accepted.Decision)
		case ledger.Taken:
			answer, err = ts.Detached(func() (json.RawMessage, error) {
				if !ownID {
					return ts.process(t, clientRetries)
				}
				return ts.runAhead(func(send sendAnswer) (json.RawMessage, error) {
					t.sendAnswer = send
					return ts.process(t, clientRetries)
				})
			})
		default:
			err = &matcher.Unavailable{Reason: "the message was given up after several workers crashed on it"}
		}
		if accepted.Status != ledger.Busy {
			failpoint.At(failpoint.AnswerBefore)
		}
		if !errors.Is(err, errLost) {
			return answer, err
		}
		if !worker.Sleep(ctx, worker.Pause(polls)) { // another replica works on it
			return nil, ctx.Err()
		}
	}
}

func (ts *Turns) postAsync(ctx context.Context, id ledger.Turn, message *query.StoredMessage) error {
	accepted, t, err := ts.accept(ctx, id, message)
	switch {
	case err != nil:
		return err
	case accepted.Status == ledger.NoApp:
		return ledger.AppNotFound(id.App)
	case accepted.Status == ledger.NoDraft:
		return noDraft(id)
	case accepted.Status == ledger.Taken:
		ts.Go(func() { ts.processLater(t) })
	}
	return nil
}

func noDraft(id ledger.Turn) error { return fmt.Errorf("message %q: %w", id.Message, ErrNoDraft) }

// retryWithin is how long a message is retried if no client waits for it: a later reaction in a chat would be wrong.
const retryWithin = 2 * time.Minute

// processLater processes a turn that no client waits for. The pause before its retry grows with its age.
func (ts *Turns) processLater(t *turn) {
	retry := clientRetries
	if t.age < retryWithin {
		retry = ts.Jitter(max(time.Second, min(t.age, 30*time.Second)))
	}
	if _, err := ts.process(t, retry); err != nil {
		ts.LogFailure("turn.failed", err, "app", t.App, "session", t.Session, "message", t.Turn.Message)
	}
}

// memoryPause is the pause before a turn is claimed again after Redis had no memory left.
const memoryPause = 5 * time.Second

// takeTurn resumes a turn after a crash of its process, or one that could not be decided before.
func (ts *Turns) takeTurn(ctx context.Context, app, member string) error {
	session, message, _ := strings.Cut(member, "/")
	id := ledger.Turn{App: app, Session: session, Message: message}
	_, t, err := ts.accept(ctx, id, nil)
	if errors.Is(err, keyspace.ErrMemory) {
		return errors.Join(err, ts.Ledger.Postpone(ctx, app, keyspace.LaneTurns, member, ts.Jitter(memoryPause)))
	}
	if err != nil || t == nil {
		return err
	}
	ts.processLater(t)
	return nil
}

// accept stores a message or finds its outcome. If it takes the lease of the turn, it returns the turn. With a
// nil message it claims an existing turn; with draftMessage the turn of a draft.
func (ts *Turns) accept(ctx context.Context, id ledger.Turn, message *query.StoredMessage) (accepted ledger.Accepted, t *turn, err error) {
	cached := ts.scopes.CachedState(id.App)
	a, err := ts.acceptance(id, message, cached)
	if err != nil {
		return accepted, nil, err
	}
	parsed := ts.conversations.Get(id)
	a.Cached = parsed.CachedMessages
	ts.deliveries.AwaitPendingWrites(ctx, id.App, keyspace.Box(id.Session, ""))
	ts.deliveries.AwaitFlush(ctx, id.App, keyspace.Box(id.Session, ""))
	for range maxReplans {
		accepted, err = ts.Ledger.Accept(ctx, a)
		if err != nil || accepted.Status != ledger.StalePrecondition {
			break
		}
		precondition := *accepted.Precondition
		if a.Chat, err = chatOf(a, message, precondition); err != nil {
			break
		}
		precondition.Message = ""
		ts.preconditions.Add(id.App+"/"+id.Session, precondition)
		ts.preconditions.Add(id.App, ledger.Precondition{AppGeneration: precondition.AppGeneration})
	}
	if accepted.MustPublish {
		ts.Go(func() { ts.deliveries.PublishMessage(a) })
	}
	_, limited := errors.AsType[*ledger.RateError](err)
	switch {
	case limited:
	case err != nil:
		ts.ReleaseIfTaken(ledger.HeldLeases{Turn: id, Token: a.Token}, err)
	case accepted.Status == ledger.StalePrecondition:
		err = fmt.Errorf("%w: the preconditions of session %q change faster than a message can be stored", keyspace.ErrUnavailable, id.Session)
	case accepted.Status == ledger.Erasing:
		err = fmt.Errorf("session %q: %w", id.Session, repositories.ErrErasing)
	case accepted.Status == ledger.OtherUser:
		err = &repositories.UserError{SessionID: id.Session, User: accepted.User}
	case accepted.Status == ledger.Reused:
		err = fmt.Errorf("messageId %q %w", id.Message, ErrReused)
	case accepted.Status == ledger.Taken:
		t, err = ts.readTurn(a, message, cached, parsed, accepted.Taken)
	}
	if err != nil || !accepted.UnderReplicated {
		return accepted, t, err
	}
	// Too few Redis replicas have the message. The work continues, so that a retry of the request finds it done
	// once they have caught up.
	switch accepted.Status {
	case ledger.Taken:
		taken := t // the result is set to nil below
		ts.Go(func() { ts.processLater(taken) })
	case ledger.Answered, ledger.Decided:
	default:
		return accepted, t, nil // nothing was written, or another process has the turn
	}
	return accepted, nil, keyspace.ErrReplicas
}

// acceptance builds the ledger's request from the cached state of the app.
func (ts *Turns) acceptance(id ledger.Turn, message *query.StoredMessage, cached *scope.State) (a ledger.Acceptance, err error) {
	a = ledger.Acceptance{
		Turn: id, Token: ts.Token(), Lease: ts.Lease, OfDraft: message == draftMessage, History: ts.history, Version: cached.Version,
		SessionTTL: ts.Store.SessionTTL(), GenerationTTL: ts.Store.GenerationTTL(), Messages: ts.Store.Retention().Messages,
	}
	if message == nil || message == draftMessage {
		return a, nil
	}
	if err = encode(message, &a); err == nil && cached.App != nil && cached.App.Settings.ChatEvents {
		precondition, hit := ts.preconditions.Get(id.App + "/" + id.Session)
		if !hit {
			precondition, _ = ts.preconditions.Get(id.App)
		}
		a.Chat, err = chatOf(a, message, precondition)
	}
	return a, err
}

// encode adds a new message in stored form to a. An agent's message has a fixed answer, and may ask the user
// about a trigger named in its metadata.
func encode(message *query.StoredMessage, a *ledger.Acceptance) error {
	var err error
	if a.Message, err = exactjson.Text(message); err != nil {
		return err
	}
	a.WordsHash, a.User = contentHash(message), message.User
	if len(message.Claims) > 0 {
		if a.Claims, err = exactjson.Text(message.Claims); err != nil {
			return err
		}
	}
	if message.Actor != matcher.ActorAgent {
		return nil
	}
	var metadata struct {
		Asks any `json:"asks"`
	}
	_ = json.Unmarshal(message.Metadata, &metadata) // any other metadata names no trigger
	a.AsksFor, _ = metadata.Asks.(string)
	a.Words = conversation.Sentences(message.Text)
	a.Answer, err = exactjson.Text(query.Answer{MessageID: a.Turn.Message, Matches: []query.Match{}, Rejected: []query.Rejected{}})
	return err
}

// readTurn builds a turn whose lease was taken, with the cached state of its app and the cached history of its session.
// message is the one that the caller stored; nil for another.
func (ts *Turns) readTurn(a ledger.Acceptance, message *query.StoredMessage, cached *scope.State, parsed query.ParsedConversation, taken *ledger.TakenTurn) (*turn, error) {
	t := &turn{
		Turn: a.Turn, token: a.Token, age: taken.Age, now: taken.At, lastQuestions: taken.LastQuestions, otherQuestions: taken.OtherQuestions, toRetract: taken.Retracted, draft: &taken.Draft,
		generation: store.Generation{App: taken.AppGeneration, Session: taken.SessionGeneration}, stored: taken.Message,
	}
	for _, triggerID := range t.toRetract {
		failpoint.At(failpoint.NextBefore)
		t.retractions.Add(1)
		ts.Go(func() {
			defer t.retractions.Done()
			ts.holds.retract(a.App, triggerID)
		})
	}
	var err error
	if message != nil && taken.Message == a.Message {
		t.message = *message
	} else if err = exactjson.Unmarshal([]byte(taken.Message), &t.message); err != nil {
		return nil, err
	}
	if t.scope, err = ts.scopes.Build(a.App, cached, taken.App, taken.Own); err != nil {
		return nil, err
	}
	if taken.Claims != "" {
		if err := exactjson.Unmarshal([]byte(taken.Claims), &t.scope.Claims); err != nil {
			return nil, err
		}
	}
	t.history = ts.conversations.Utterances(a.Turn, parsed, taken.History)
	if taken.Unfinished != "" {
		t.unfinished = conversation.Read(taken.Unfinished, t.scope.Candidates().All, t.now)
	}
	return t, nil
}

func storedAnswer(id ledger.Turn, accepted ledger.Accepted) (json.RawMessage, error) {
	if accepted.Answer != ledger.AsDecided {
		return json.RawMessage(accepted.Answer), nil
	}
	answer, err := query.ReadPublishedDecision(id.Message, accepted.Decision)
	if err != nil {
		return nil, err
	}
	if accepted.Reply != "" {
		answer.Reply = json.RawMessage(accepted.Reply)
		answer.ReplyType = query.ReplyType(answer.Reply)
	}
	return exactjson.Encode(answer)
}

// rebuild builds the answer of a turn whose process died after the decision: the decision with the current
// states.
func (ts *Turns) rebuild(ctx context.Context, id ledger.Turn, decision string) (json.RawMessage, error) {
	answer, err := query.ReadDecision(id.Message, decision)
	if err != nil {
		return nil, fmt.Errorf("the decision of message %q cannot be read: %w", id.Message, err)
	}
	// That process may have answered that its events are published: this publishes them, if the broker accepts them.
	ts.deliveries.Drain(id.App, keyspace.Box(id.Session, ""), ts.Token())
	original := slices.Clone(answer.Matches)
	if err := ts.records.FillStates(ctx, id.App, answer.Matches); err != nil {
		return nil, err
	}
	for i, match := range original {
		if !match.Due() { // it was not due at the decision: its later outcome is not part of the answer
			answer.Matches[i] = match
		}
	}
	return storeAnswer(answer, func(text string) (string, error) { return ts.Ledger.StoreAnswer(ctx, id, decision, text) })
}

// storeAnswer stores a rebuilt answer, unless another process was faster, and returns the valid one.
func storeAnswer(answer any, store func(text string) (string, error)) (json.RawMessage, error) {
	text, err := exactjson.Encode(answer)
	if err != nil {
		return nil, err
	}
	failpoint.At(failpoint.RebuildBefore)
	stored, err := store(string(text))
	if stored == ledger.AsDecided {
		return nil, errLost // the process considered dead is alive and has answered
	}
	return json.RawMessage(stored), err
}
