package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/ledger"
	"earshot/trigger/query"
	"earshot/trigger/worker"
)

var (
	// ErrSuperseded means that a draft was replaced or withdrawn before it was matched.
	ErrSuperseded = errors.New("was replaced by a newer text with the same id, or withdrawn, before it was matched")
	// ErrNoDraft means that no draft and no message has that id.
	ErrNoDraft = errors.New("there is no draft and no message with this id: a draft is kept for 60 seconds")
)

// PostedError means that a draft has become an accepted message.
type PostedError struct{ query.Entry }

// Error names the message and its state.
func (e *PostedError) Error() string {
	return fmt.Sprintf("message %q is not a draft any more: it was posted, and its state is %s", e.MessageID, e.State)
}

// draftPoll is the interval at which a replica that matches a draft checks whether another replica has a newer
// one.
const draftPoll = 200 * time.Millisecond

// Draft matches a message that may still change, and fires nothing. It returns the JSON of an Answer whose
// states are all query.StateDraft. The match is kept for a minute, for CommitDraft or for Post of the same
// text. Another text of the same id replaces the draft and cancels its match. The same text waits for the
// match, and later gets the same answer.
//
// Errors: those of Post but ErrReused and ErrClosed; ErrSuperseded, *PostedError.
func (ts *Turns) Draft(ctx context.Context, m Message) (json.RawMessage, error) {
	t, _, err := ts.dryTurn(ctx, m)
	if err != nil {
		return nil, err
	}
	t.message.Time, t.token = ts.Now().UTC(), ts.Token()
	var a ledger.Acceptance
	if err := encode(&t.message, &a); err != nil {
		return nil, err
	}
	draft := ledger.Draft{Turn: t.Turn, Token: t.token, Lease: ts.Lease, Message: a.Message, WordsHash: a.WordsHash, Claims: a.Claims, User: a.User}
	for polls := 0; ; polls++ {
		registration, err := ts.Ledger.BeginDraft(ctx, draft)
		if err != nil {
			return nil, err
		}
		switch registration.Status {
		case ledger.NoApp:
			return nil, ledger.AppNotFound(t.App)
		case ledger.Erasing:
			return nil, fmt.Errorf("session %q: %w", t.Session, repositories.ErrErasing)
		case ledger.OtherUser:
			return nil, &repositories.UserError{SessionID: t.Session, User: draft.User}
		case ledger.Decided:
			return nil, ts.postedError(ctx, t.Turn)
		case ledger.Answered:
			return json.RawMessage(registration.Answer), nil
		case ledger.Taken:
			return ts.Detached(func() (json.RawMessage, error) { return ts.matchDraft(t, registration.Since) })
		}
		if !ts.drafts.await(ctx, t.Turn, worker.Pause(polls)) {
			return nil, ctx.Err()
		}
	}
}

// matchDraft matches a draft that this process has leased, while it is the newest.
func (ts *Turns) matchDraft(t *turn, since int64) (answer json.RawMessage, err error) {
	ctx, end := ts.drafts.begin(ts.Context, t.Turn, since)
	defer end()
	ctx, release := ts.Every(ctx, draftPoll, func(ctx context.Context, cancel context.CancelCauseFunc) {
		if extended, err := ts.Ledger.ExtendDraft(ctx, t.Turn, t.token, ts.Lease); err == nil && !extended {
			cancel(ErrSuperseded)
		}
	})
	defer release()
	matched := false
	defer func() {
		if !matched && !errors.Is(err, ErrSuperseded) {
			_ = ts.Ledger.AbandonDraft(ts.Context, t.Turn, t.token) // its lease ends anyway
		}
	}()
	request := t.request(ts.Now())
	result, err := ts.matchOnly(ctx, t, request)
	if errors.Is(context.Cause(ctx), ErrSuperseded) {
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	if err == nil {
		answer, err = ts.keepDraft(t, request, result)
	}
	matched = err == nil
	return answer, err
}

// keepDraft stores the match of a draft with its answer.
func (ts *Turns) keepDraft(t *turn, request matcher.Request, result matcher.Result) (json.RawMessage, error) {
	p, err := t.decide(newPlanner(t.Turn, t.token, t.scope.State, ts.Now(), t.message.Text, t.message.TraceParent), result)
	if err != nil {
		return nil, err
	}
	p.explain(ts.packer, ts.Log, t, t.owner())
	answer, err := exactjson.Encode(p.dryAnswer(t, result, request, query.StateDraft))
	if err != nil {
		return nil, err
	}
	basis := t.basis()
	if len(t.consents) > 0 { // another request may answer the question before the draft is decided: then the draft is matched again
		basis = matchBasis{}
	}
	match, err := storeMatch(basis, result, t.nearest, t.lastQuestions)
	if err != nil {
		return nil, err
	}
	stored, err := ts.Ledger.StoreDraftMatch(ts.Context, ledger.MatchedDraft{
		Turn: t.Turn, Token: t.token, Match: match, Answer: string(answer),
		Explanation: ledger.Explanation{Body: p.packed.Body, Parts: p.packed.Parts, Keep: ts.Store.Retention().Explain},
	})
	switch {
	case err != nil:
		return nil, err
	case !stored:
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	ts.packer.MarkDraft(p.packed)
	return answer, nil
}

// CommitDraft decides a draft as Post decides a message, from its match, and waits for a match in progress. A
// decided message returns its stored answer.
//
// Errors: those of Post, ErrNoDraft.
func (ts *Turns) CommitDraft(ctx context.Context, appID, sessionID, messageID string) (json.RawMessage, error) {
	return ts.post(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, draftMessage, false)
}

// CommitDraftAsync relates to CommitDraft as PostAsync does to Post.
func (ts *Turns) CommitDraftAsync(ctx context.Context, appID, sessionID, messageID string) error {
	return ts.postAsync(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, draftMessage)
}

// WithdrawDraft takes a draft back, and cancels its match.
//
// Errors: repositories.ErrNotFound without the app, ErrNoDraft, *PostedError, and
// keyspace.ErrUnavailable.
func (ts *Turns) WithdrawDraft(ctx context.Context, appID, sessionID, messageID string) error {
	id := ledger.Turn{App: appID, Session: sessionID, Message: messageID}
	status, err := ts.Ledger.WithdrawDraft(ctx, id, ts.Token())
	switch {
	case err != nil:
		return err
	case status == ledger.NoApp:
		return ledger.AppNotFound(appID)
	case status == ledger.Gone:
		return fmt.Errorf("message %q: %w", messageID, ErrNoDraft)
	case status == ledger.Decided:
		return ts.postedError(ctx, id)
	}
	ts.drafts.cancel(id)
	return nil
}

// postedError returns the error for a draft that has become a message.
func (ts *Turns) postedError(ctx context.Context, id ledger.Turn) error {
	entry, err := ts.records.Message(ctx, id.App, id.Session, id.Message)
	if err != nil {
		return err
	}
	return &PostedError{entry}
}
