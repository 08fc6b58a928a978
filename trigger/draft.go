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
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/trigger/ledger"
	"earshot/trigger/storedmatch"
)

// Drafts match messages that may still change.
type Drafts struct {
	*core
	records   *Records
	decisions *decisions
	turns     *Turns
}

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
func (d *Drafts) Draft(ctx context.Context, m Message) (json.RawMessage, error) {
	t, err := d.decisions.pastTurn(ctx, m)
	if err != nil {
		return nil, err
	}
	t.message.Time, t.token = d.now().UTC(), d.token()
	text, claims, err := t.message.encode()
	if err != nil {
		return nil, err
	}
	draft := ledger.Draft{Turn: t.Turn, Token: t.token, Lease: d.lease, Message: text, Says: t.message.hash(), Claims: claims}
	for i := 0; ; i++ {
		begun, err := d.ledger.BeginDraft(ctx, draft)
		if err != nil {
			return nil, err
		}
		switch begun.Status {
		case ledger.NoApp:
			return nil, noApp(t.App)
		case ledger.Erasing:
			return nil, fmt.Errorf("session %q: %w", t.Session, repositories.ErrErasing)
		case ledger.Decided:
			return nil, d.posted(ctx, t.Turn)
		case ledger.Answered:
			return json.RawMessage(begun.Answer), nil
		case ledger.Taken:
			return d.toTheEnd(func() (json.RawMessage, error) { return d.matchDraft(t, begun.Since) })
		}
		if !d.decisions.drafts.await(ctx, t.Turn, turnPauses[min(i, len(turnPauses)-1)]) {
			return nil, ctx.Err()
		}
	}
}

// matchDraft matches a draft that this process has the lease of, as long as it is the newest.
func (d *Drafts) matchDraft(t *turn, since int64) (answer json.RawMessage, err error) {
	ctx, over := d.decisions.drafts.begin(d.life, t.Turn, since)
	defer over()
	ctx, release := d.beat(ctx, draftLook, func(ctx context.Context, cancel context.CancelCauseFunc) {
		if held, err := d.ledger.ExtendDraft(ctx, t.Turn, t.token, d.lease); err == nil && !held {
			cancel(ErrSuperseded)
		}
	})
	defer release()
	matched := false
	defer func() {
		if !matched && !errors.Is(err, ErrSuperseded) {
			_ = d.ledger.LeaveDraft(d.life, t.Turn, t.token) // its lease ends anyway
		}
	}()
	request := d.decisions.request(t)
	result, err := d.decisions.find(ctx, t, request)
	if errors.Is(context.Cause(ctx), ErrSuperseded) {
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	if err != nil {
		return nil, err
	}
	answer, err = d.decisions.keepDraft(t, request, result)
	matched = err == nil
	return answer, err
}

// keepDraft stores what a draft was matched to, with its answer.
func (d *decisions) keepDraft(t *turn, request matcher.Request, result matcher.Result) (json.RawMessage, error) {
	p, err := d.decide(t, result)
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
		if match, err = storedmatch.Pack(basis, result); err != nil {
			return nil, err
		}
	}
	held, err := d.ledger.KeepDraft(d.life, ledger.MatchedDraft{
		Turn: t.Turn, Token: t.token, Match: match, Answer: string(answer),
		Explanation: ledger.Explanation{Body: p.explained.Body, Parts: p.explained.Parts, Keep: d.store.Retention().Explain},
	})
	switch {
	case err != nil:
		return nil, err
	case !held:
		return nil, fmt.Errorf("the draft %q %w", t.Turn.Message, ErrSuperseded)
	}
	d.packer.Wrote(p.explained)
	return answer, nil
}

// basis is what a match of the turn rests on.
func (t *turn) basis() (storedmatch.Basis, error) {
	parts := []string{t.scope.version}
	for _, repository := range t.scope.rankedSession() {
		parts = append(parts, repository.ID, repository.Revision)
	}
	on := storedmatch.Basis{Scope: hash(parts...), Locale: strings.TrimSpace(t.language() + " " + t.zoneName())}
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
func (d *Drafts) CommitDraft(ctx context.Context, appID, sessionID, messageID string) (json.RawMessage, error) {
	return d.turns.post(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, ofDraft)
}

// CommitDraftAsync is CommitDraft as PostAsync is Post.
func (d *Drafts) CommitDraftAsync(ctx context.Context, appID, sessionID, messageID string) error {
	return d.turns.postAsync(ctx, ledger.Turn{App: appID, Session: sessionID, Message: messageID}, ofDraft)
}

// RetractDraft takes a draft back, and cancels its match.
//
// Errors: repositories.ErrNotFound without the app, ErrNoDraft, *PostedError, and
// keyspace.ErrUnavailable.
func (d *Drafts) RetractDraft(ctx context.Context, appID, sessionID, messageID string) error {
	id := ledger.Turn{App: appID, Session: sessionID, Message: messageID}
	status, err := d.ledger.RetractDraft(ctx, id, d.token())
	switch {
	case err != nil:
		return err
	case status == ledger.NoApp:
		return noApp(appID)
	case status == ledger.Gone:
		return noDraft(id)
	case status == ledger.Decided:
		return d.posted(ctx, id)
	}
	d.decisions.drafts.cancel(id)
	return nil
}

// posted is the error about a draft that is a message by now.
func (d *Drafts) posted(ctx context.Context, id ledger.Turn) error {
	entry, err := d.records.Message(ctx, id.App, id.Session, id.Message)
	if err != nil {
		return err
	}
	return &PostedError{entry}
}

// matchOfDraft is what the draft of a turn was matched to, where that still holds. If its
// match is under way, it waits for that.
func (d *decisions) matchOfDraft(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, bool) {
	if t.draft == nil {
		return matcher.Result{}, false
	}
	for i := 0; t.draft.Matching && d.drafts.await(ctx, t.Turn, turnPauses[min(i, len(turnPauses)-1)]); i++ {
		if found, err := d.ledger.Draft(ctx, t.Turn, t.message.hash()); err == nil {
			t.draft = &found
		}
	}
	if t.draft.Match == "" || t.draft.Explained == "" {
		d.drafts.cancel(t.Turn) // of another text
		return matcher.Result{}, false
	}
	basis, err := t.basis()
	if err != nil {
		return matcher.Result{}, false
	}
	m, err := storedmatch.Read(t.draft.Match)
	if err != nil {
		return matcher.Result{}, false
	}
	result, holds := m.Result(basis, request)
	if holds {
		t.matching = matching{retold: t.draft.Explained, over: t.scope, candidates: len(request.Candidates)}
		failpoint.At(failpoint.DraftUsed)
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
