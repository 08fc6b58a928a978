package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/crash"
	"earshot/repositories/exactjson"
	"earshot/repositories/keyspace"
	"earshot/repositories/tracing"
	"earshot/trigger/conversation"
	"earshot/trigger/ledger"
	"earshot/trigger/spans"
)

// replans bounds how many times a decision is made anew because a repository was changed
// while the message was matched.
const replans = 20

// process takes a turn from its lease to its answer: match, decide, deliver, reply. retry
// is the pause before the next try if nothing can be decided.
func (e *Engine) process(t *turn, retry time.Duration) (json.RawMessage, error) {
	crash.At(crash.TurnClaimed)
	ctx, release := e.hold(e.life, t)
	defer release()
	defer e.dropped(t)
	ctx, span := spans.Message(ctx, e.tracer, t.message.TraceParent, t.App, t.Session, t.Turn.Message)
	t.message.TraceParent = tracing.Parent(span, t.message.TraceParent)
	defer span.End()
	started := e.now()
	request := e.request(t)
	result, p, err := e.matchAndCommit(ctx, t, request)
	if err != nil {
		spans.Undecided(span, err)
		return nil, e.leaveUndecided(t, err, retry)
	}
	spans.Decided(span, result.Stage, len(p.answer.Matches), len(p.answer.Rejected))
	t.decided = true
	e.count(p)
	e.logDecision(t, p, result.Stage, e.now().Sub(started))
	answer, err := e.deliverDecision(e.life, t, p, request, result) // the decision stands, whoever has the turn
	if err == nil && p.few {
		return nil, keyspace.ErrReplicas
	}
	return answer, err
}

// matchAndCommit decides a turn: by a plain answer to what was asked last, else by what the
// matcher says of it.
func (e *Engine) matchAndCommit(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, p *plan, err error) {
	var plain bool
	if result, plain, err = e.consented(ctx, t, request); plain {
		p, err = e.decideAndCommit(ctx, t, result)
		if !errors.Is(err, ErrEnded) {
			return result, p, err
		}
		t.consents = nil // somebody else was faster: it is a message like any other
	}
	if err == nil || errors.Is(err, ErrEnded) {
		result, err = e.match(ctx, t, request)
	}
	if err == nil {
		p, err = e.decideAndCommit(ctx, t, result)
	}
	return result, p, err
}

// find is what a turn calls for that is not to be decided yet.
func (e *Engine) find(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	result, plain, err := e.consented(ctx, t, request)
	if plain || err != nil {
		return result, err
	}
	return e.match(ctx, t, request)
}

// consented is what a turn calls for that answers plainly what was asked last; false where it
// does not.
func (e *Engine) consented(ctx context.Context, t *turn, request matcher.Request) (result matcher.Result, plain bool, err error) {
	if t.consents, err = e.consents(ctx, t); len(t.consents) == 0 {
		return result, false, err
	}
	t.matching = matching{trace: &matcher.Trace{}, over: t.scope, candidates: len(request.Candidates)}
	return matcher.Result{Stage: matcher.StageExact}, true, nil
}

// dropped releases a turn after a panic. A turn that is decided is left to the ledger.
func (e *Engine) dropped(t *turn) {
	if fault := recover(); fault != nil {
		if !t.decided {
			e.handBack(ledger.Holding{Turn: t.Turn, Token: t.token})
		}
		panic(fault)
	}
}

func (e *Engine) request(t *turn) matcher.Request {
	reach, now := t.scope.candidates(), e.now()
	return matcher.Request{
		App: t.scope.app, History: t.history, Text: t.message.Text, Unfinished: conversation.Shown(t.unfinished, t.message.Text),
		Candidates: reach.all, Shared: t.scope.tools.shared, Own: reach.own,
		Now: now.In(t.zone(now.Location())), Language: t.language(), Chat: t.scope.chats() && !t.message.Acted,
	}
}

// match finds what a turn calls for; it asks no model where that was found out for its draft.
func (e *Engine) match(ctx context.Context, t *turn, request matcher.Request) (matcher.Result, error) {
	if t.message.Acted {
		t.matching = matching{trace: &matcher.Trace{}, over: t.scope}
		return matcher.Result{Stage: matcher.StageNone}, nil
	}
	if found, holds := e.matchOfDraft(ctx, t, request); holds {
		return found, nil
	}
	started := e.now()
	crash.At(crash.MatchBefore)
	ctx, span := spans.Match(ctx, len(request.Candidates))
	ctx, trace := matcher.Recorded(ctx)
	result, err := e.matcher.Match(ctx, request)
	spans.EndMatch(span, result.Stage, err)
	t.matching = matching{trace: complete(trace, &result), over: t.scope, candidates: len(request.Candidates)}
	crash.At(crash.MatchAfter)
	e.metrics.matchSeconds.Observe(e.now().Sub(started).Seconds())
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errLost) {
		return result, cause
	}
	return result, err
}

// leaveUndecided releases the turn, unless this process has lost it, and returns the cause.
func (e *Engine) leaveUndecided(t *turn, cause error, retry time.Duration) error {
	kept, outcome := cause, "undecided"
	switch unavailable := (*matcher.Unavailable)(nil); {
	case errors.As(cause, &unavailable):
	case errors.Is(cause, keyspace.ErrUnavailable):
		e.metrics.messages.WithLabelValues("error").Inc()
		e.giveUp(ledger.Holding{Turn: t.Turn, Token: t.token}, cause)
		return cause
	case errors.Is(cause, errLost), errors.Is(cause, ErrClosed), errors.Is(cause, repositories.ErrNotFound):
		e.metrics.messages.WithLabelValues("error").Inc()
		return cause
	default:
		kept, outcome = errWorker, "error" // its text is for the log
	}
	e.metrics.messages.WithLabelValues(outcome).Inc()
	ctx, cancel := context.WithTimeout(e.life, e.lease)
	defer cancel()
	if err := e.giveBack(ctx, t, kept, retry); err != nil {
		return err
	}
	return cause
}

// decideAndCommit decides, and decides again on the current state if a repository was
// changed in between.
func (e *Engine) decideAndCommit(ctx context.Context, t *turn, result matcher.Result) (*plan, error) {
	for range replans {
		p, err := e.decide(t, result)
		if err != nil {
			return nil, err
		}
		status, err := e.commitPersistently(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case status == ledger.Committed:
			e.wakeFor(p)
			return p, nil
		case status == ledger.Closed:
			return nil, e.gone(ctx, t)
		case status == ledger.Lost:
			return nil, errLost
		case status == ledger.Moved, status == ledger.NoTrigger, status == ledger.Retracted:
			return nil, ErrEnded
		case status == ledger.Differs:
			if err := e.learn(ctx, &t.standing, p); err != nil {
				return nil, err
			}
			continue
		}
		crash.At(crash.CommitStale)
		claims := t.scope.claims
		if t.scope, err = e.loadScope(ctx, t.App, t.Session); err != nil {
			return nil, err
		}
		t.scope.claims = claims
		if result, err = e.onward(ctx, t, result); err != nil {
			return nil, err
		}
	}
	return nil, &matcher.Unavailable{Reason: "the repositories in scope change faster than a message can be decided"}
}

// onward is the result in a scope that has changed since it was matched. That of a draft is
// matched anew: it was then that the scope changed.
func (e *Engine) onward(ctx context.Context, t *turn, result matcher.Result) (matcher.Result, error) {
	if t.retold == "" {
		return t.carriedOver(result), nil
	}
	t.draft = nil
	return e.match(ctx, t, e.request(t))
}

// gone explains why an accepted turn does not exist any more. A turn that Redis has lost is
// restored when its client sends the message again.
func (e *Engine) gone(ctx context.Context, t *turn) error {
	closed, err := e.store.Closed(ctx, t.App, t.Session)
	if err != nil {
		return err
	}
	if closed {
		return ErrClosed
	}
	return fmt.Errorf("%w: it has lost the message, as in a failover", keyspace.ErrUnavailable)
}

// commitPersistently commits within the lease, retrying while Redis is away for a moment.
// Each retry gives the same answer.
func (e *Engine) commitPersistently(ctx context.Context, p *plan) (status ledger.Status, err error) {
	e.settling.waitFor(ctx, p.outbox())
	p.begun = time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.lease/heartbeats)
	defer cancel()
	e.waiting.join(p)
	defer func() { e.giveUp(takenBy(p), err) }()
	err = e.retryUntilAvailable(ctx, func() error {
		status, err = e.commit(ctx, p)
		return err
	})
	if err != nil || status != ledger.Committed || p.first() {
		e.waiting.leave(p)
	}
	return status, err
}

// errLost means that the context of a turn ended because another replica has its lease.
var errLost = errors.New("the lease of the turn was lost")

// hold keeps the lease of a turn until the returned function is called. The context
// ends when the lease is lost: a process that was frozen must not go on.
func (e *Engine) hold(ctx context.Context, t *turn) (context.Context, func()) {
	return e.beat(ctx, e.lease/heartbeats, func(ctx context.Context, cancel context.CancelCauseFunc) { e.renew(ctx, t, cancel) })
}

// beat calls a function at every interval, until the returned function is called. The function
// may cancel the context.
func (e *Engine) beat(ctx context.Context, every time.Duration, look func(context.Context, context.CancelCauseFunc)) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	var renewing sync.Mutex // no goroutine waits for what most turns never need
	var timer *time.Timer
	renewing.Lock()
	defer renewing.Unlock()
	timer = time.AfterFunc(every, func() {
		look(ctx, cancel)
		renewing.Lock()
		defer renewing.Unlock()
		if ctx.Err() == nil {
			timer.Reset(every)
		}
	})
	return ctx, func() {
		renewing.Lock()
		defer renewing.Unlock()
		cancel(nil)
		timer.Stop()
	}
}

func (e *Engine) renew(ctx context.Context, t *turn, cancel context.CancelCauseFunc) {
	if held, err := e.ledger.Extend(ctx, t.Turn, t.token, e.lease); err == nil && !held {
		cancel(errLost)
	}
}

// failure is why a turn was not decided, as a session keeps it.
type failure struct {
	Error string `json:"error"`
}

// giveBack releases a turn and records its failure. A negative pause leaves the next try to
// the client.
func (e *Engine) giveBack(ctx context.Context, t *turn, cause error, pause time.Duration) error {
	text, err := exactjson.Encode(failure{Error: cause.Error()})
	if err != nil {
		return err
	}
	says, err := e.undecided(t, cause, pause)
	if err != nil {
		return err
	}
	crash.At(crash.GiveBackBefore)
	err = e.retryUntilAvailable(ctx, func() error { return e.ledger.Undecided(ctx, t.Turn, t.token, string(text), pause, says) })
	if says != nil {
		e.Wake(t.App)
	}
	return err
}

// errWorker means that the work on a request panicked. Its work is taken up again when the
// lease has ended.
var errWorker = errors.New("the work on the request failed inside Earshot")

// toTheEnd runs the work of a request, whether or not its client is still there: the message
// is accepted by then. It is the request's own goroutine that works, so that who asks and
// leaves has no more under way than who waits.
func (e *Engine) toTheEnd(work func() (json.RawMessage, error)) (answer json.RawMessage, err error) {
	e.running.Add(1)
	defer e.running.Done()
	defer func() {
		if fault := recover(); fault != nil {
			e.logPanic("worker.panicked", fault)
			answer, err = nil, errWorker
		}
	}()
	return work()
}
