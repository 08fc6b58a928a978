package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/trigger/explain"
	"earshot/trigger/kept"
	"earshot/trigger/ledger"
)

var (
	// ErrSuperseded means that a draft was replaced or taken back before it was matched.
	ErrSuperseded = errors.New("was replaced by a newer text of the same id, or taken back, before it was matched")
	// ErrNoDraft means that there is neither a draft nor a message of that id.
	ErrNoDraft = errors.New("there is no draft of that id, and no message: a draft is kept for 60 seconds")
)

// PostedError means that a message is accepted, and no draft any more.
type PostedError struct{ Entry }

// Error names the message and how far it has come.
func (e *PostedError) Error() string {
	return fmt.Sprintf("message %q is no draft any more: it is posted, and its state is %s", e.MessageID, e.State)
}

// draftLook is the interval at which a replica that matches a draft looks whether it is still
// the newest: another replica may have got a newer one.
const draftLook = 200 * time.Millisecond

// Draft matches a message that may still change, and fires nothing. It returns the JSON of an
// Answer whose states are all StateDraft. The match is kept for a minute, for CommitDraft or
// for Post of the same text. Another text of the same id replaces it, and cancels its match;
// the same text waits for the match, and later gets the same answer.
//
// Errors: those of Post but ErrReused and ErrClosed; ErrSuperseded, *PostedError.
func (e *Engine) Draft(ctx context.Context, m Message) (json.RawMessage, error) {
	t, err := e.pastTurn(ctx, m)
	if err != nil {
		return nil, err
	}
	t.message.Time, t.token = e.now().UTC(), e.token()
	text, claims, err := t.message.encode()
	if err != nil {
		return nil, err
	}
	draft := ledger.Draft{Turn: t.Turn, Token: t.token, Lease: e.lease, Message: text, Says: t.message.hash(), Claims: claims}
	for i := 0; ; i++ {
		begun, err := e.ledger.BeginDraft(ctx, draft)
		if err != nil {
			return nil, err
		}
		switch begun.Status {
		case ledger.NoApp:
			return nil, noApp(t.App)
		case ledger.Erasing:
			return nil, fmt.Errorf("session %q: %w", t.Session, repositories.ErrErasing)
		case ledger.Decided:
			return nil, e.posted(ctx, t.Turn)
		case ledger.Answered:
			return json.RawMessage(begun.Answer), nil
		case ledger.Taken:
			return e.toTheEnd(func() (json.RawMessage, error) { return e.matchDraft(t, begun.Since) })
		}
		if !e.drafts.await(ctx, t.Turn, turnPauses[min(i, len(turnPauses)-1)]) {
			return nil, ctx.Err()
		}
	}
}

// matchDraft matches a draft that this process has the lease of, as long as it is the newest.
func (e *Engine) matchDraft(t *turn, since int64) (answer json.RawMessage, err error) {
	ctx, over := e.drafts.begin(e.life, t.Turn, since)
	defer over()
	ctx, release := e.beat(ctx, draftLook, func(ctx context.Context, cancel context.CancelCauseFunc) {
		if held, err := e.ledger.ExtendDraft(ctx, t.Turn, t.token, e.lease); err == nil && !held {
			cancel(ErrSuperseded)
		}
	})
	defer release()
	matched := false
	defer func() {
		if !matched && !errors.Is(err, ErrSuperseded) {
			_ = e.ledger.LeaveDraft(e.life, t.Turn, t.token) // its lease ends anyway
		}
	}()
	request := e.request(t)
	result, err := e.find(ctx, t, request)
	if errors.Is(context.Cause(ctx), ErrSuperseded) {
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	if err != nil {
		return nil, err
	}
	answer, err = e.keepDraft(t, request, result)
	matched = err == nil
	return answer, err
}

// keepDraft stores what a draft was matched to, with its answer.
func (e *Engine) keepDraft(t *turn, request matcher.Request, result matcher.Result) (json.RawMessage, error) {
	p, err := e.decide(t, result)
	if err != nil {
		return nil, err
	}
	p.answer.replyWith(directReply(t.scope, p.answer, result.Text, request.Chat))
	answer, err := exactjson.Encode(undone(p.answer, StateDraft))
	if err != nil {
		return nil, err
	}
	basis, err := t.basis()
	if err != nil {
		return nil, err
	}
	match := "" // what was asked may be answered by somebody else before the draft is decided
	if len(t.consents) == 0 {
		if match, err = kept.Pack(basis, result); err != nil {
			return nil, err
		}
	}
	held, err := e.ledger.KeepDraft(e.life, ledger.MatchedDraft{
		Turn: t.Turn, Token: t.token, Match: match, Answer: string(answer),
		Explanation: ledger.Explanation{Body: p.explained.Body, Parts: p.explained.Parts, Keep: e.store.Retention().Explain},
	})
	switch {
	case err != nil:
		return nil, err
	case !held:
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	e.packer.Wrote(p.explained)
	return answer, nil
}

// basis is what a match of the turn rests on.
func (t *turn) basis() (kept.Basis, error) {
	parts := []string{t.scope.version}
	for _, repository := range t.scope.rankedSession() {
		parts = append(parts, repository.ID, repository.Revision)
	}
	on := kept.Basis{Scope: hash(parts...), Locale: strings.TrimSpace(t.language() + " " + t.zoneName())}
	if len(t.scope.claims) == 0 {
		return on, nil
	}
	claims, err := exactjson.Encode(t.scope.claims)
	on.Claims = hash(string(claims))
	return on, err
}

// CommitDraft decides a draft as Post does a message, from what it was matched to; where that
// is under way, it waits for it. A message that is decided has its stored answer.
//
// Errors: those of Post, ErrNoDraft.
func (e *Engine) CommitDraft(ctx context.Context, appID, sessionID, messageID string) (json.RawMessage, error) {
	return e.post(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, ofDraft)
}

// CommitDraftAsync is CommitDraft as PostAsync is Post.
func (e *Engine) CommitDraftAsync(ctx context.Context, appID, sessionID, messageID string) error {
	return e.postAsync(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, ofDraft)
}

// RetractDraft takes a draft back, and cancels its match.
//
// Errors: repositories.ErrNotFound without the app, ErrNoDraft, *PostedError, and
// keyspace.ErrUnavailable.
func (e *Engine) RetractDraft(ctx context.Context, appID, sessionID, messageID string) error {
	id := ledger.Turn{App: appID, Session: sessionID, Message: messageID}
	status, err := e.ledger.RetractDraft(ctx, id, e.token())
	switch {
	case err != nil:
		return err
	case status == ledger.NoApp:
		return noApp(appID)
	case status == ledger.Gone:
		return noDraft(id)
	case status == ledger.Decided:
		return e.posted(ctx, id)
	}
	e.drafts.cancel(id)
	return nil
}

// posted is the error about a draft that is a message by now.
func (e *Engine) posted(ctx context.Context, id ledger.Turn) error {
	entry, err := e.Message(ctx, id.App, id.Session, id.Message)
	if err != nil {
		return err
	}
	return &PostedError{entry}
}

// ExplainDraft says why a draft was matched as it is, as far as it is.
//
// Errors: ErrUnexplained, keyspace.ErrUnavailable.
func (e *Engine) ExplainDraft(ctx context.Context, appID, sessionID, messageID string) (explain.Explanation, error) {
	body, err := e.ledger.DraftExplained(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID})
	if err != nil {
		return explain.Explanation{}, err
	}
	if body == "" {
		return explain.Explanation{}, fmt.Errorf("draft %q: %w", messageID, ErrUnexplained)
	}
	return e.unpack(ctx, appID, messageID, body)
}

// matchOfDraft is what the draft of a turn was matched to, where that still holds. If its
// match is under way, it waits for that.
func (e *Engine) matchOfDraft(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, bool) {
	if t.draft == nil {
		return matcher.Result{}, false
	}
	for i := 0; t.draft.Matching && e.drafts.await(ctx, t.Turn, turnPauses[min(i, len(turnPauses)-1)]); i++ {
		if found, err := e.ledger.Draft(ctx, t.Turn, t.message.hash()); err == nil {
			t.draft = &found
		}
	}
	if t.draft.Match == "" || t.draft.Explained == "" {
		e.drafts.cancel(t.Turn) // of another text
		return matcher.Result{}, false
	}
	basis, err := t.basis()
	if err != nil {
		return matcher.Result{}, false
	}
	m, err := kept.Read(t.draft.Match)
	if err != nil {
		return matcher.Result{}, false
	}
	result, holds := m.Result(basis, request)
	if holds {
		t.matching = matching{retold: t.draft.Explained, over: t.scope, candidates: len(request.Candidates)}
		crash.At(crash.DraftUsed)
	}
	return result, holds
}

// drafting are the matches of drafts that this process has under way, the newest of each id.
type drafting struct {
	mu   sync.Mutex
	open map[ledger.Turn]*draftMatch
}

type draftMatch struct {
	since  int64
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// begin notes a match, and cancels that of an older draft of the same id. The context ends
// with the match, or when a newer one begins.
func (d *drafting) begin(ctx context.Context, id ledger.Turn, since int64) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	own := &draftMatch{since, cancel, make(chan struct{})}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch had := d.open[id]; {
	case had != nil && had.since > since:
		cancel(ErrSuperseded)
	case had != nil:
		had.cancel(ErrSuperseded)
		fallthrough
	default:
		d.open[id] = own
	}
	return ctx, func() {
		cancel(nil)
		close(own.over)
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.open[id] == own {
			delete(d.open, id)
		}
	}
}

func (d *drafting) of(id ledger.Turn) *draftMatch {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[id]
}

// cancel ends the match of a draft that is none any more.
func (d *drafting) cancel(id ledger.Turn) {
	if had := d.of(id); had != nil {
		had.cancel(ErrSuperseded)
	}
}

// await waits until the match of a draft by this process is over, or as long as a pause where
// another may have it. It is false when ctx has ended.
func (d *drafting) await(ctx context.Context, id ledger.Turn, pause time.Duration) bool {
	own := d.of(id)
	if own == nil {
		return sleep(ctx, pause)
	}
	select {
	case <-own.over:
		return true
	case <-ctx.Done():
		return false
	}
}
