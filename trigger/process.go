package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"earshot/matcher"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/tracing"
	"earshot/trigger/ledger"
	"earshot/trigger/spans"
)

// replans bounds how many times a decision is made anew because a repository was changed
// while the message was matched.
const replans = 20

// process takes a turn from its lease to its answer: match, decide, deliver, reply. retry
// is the pause before the next try if nothing can be decided.
func (ts *Turns) process(t *turn, retry time.Duration) (json.RawMessage, error) {
	failpoint.At(failpoint.TurnClaimed)
	ctx, release := ts.hold(ts.life, t)
	defer release()
	defer ts.dropped(t)
	ctx, span := spans.Message(ctx, ts.tracer, t.message.TraceParent, t.App, t.Session, t.Turn.Message)
	t.message.TraceParent = tracing.Parent(span, t.message.TraceParent)
	defer span.End()
	started := ts.now()
	request := ts.decisions.request(t)
	result, p, err := ts.decisions.matchAndCommit(ctx, t, request)
	if err != nil {
		spans.Undecided(span, err)
		return nil, ts.leaveUndecided(t, err, retry)
	}
	spans.Decided(span, result.Stage, len(p.answer.Matches), len(p.answer.Rejected))
	t.decided = true
	ts.records.count(p)
	ts.logDecision(t, p, result.Stage, ts.now().Sub(started))
	answer, err := ts.deliverDecision(ts.life, t, p, request, result) // the decision stands, whoever has the turn
	if err == nil && p.few {
		return nil, keyspace.ErrReplicas
	}
	return answer, err
}

// dropped releases a turn after a panic. A turn that is decided is left to the ledger.
func (ts *Turns) dropped(t *turn) {
	if fault := recover(); fault != nil {
		if !t.decided {
			ts.handBack(ledger.Holding{Turn: t.Turn, Token: t.token})
		}
		panic(fault)
	}
}

// leaveUndecided releases the turn, unless this process has lost it, and returns the cause.
func (ts *Turns) leaveUndecided(t *turn, cause error, retry time.Duration) error {
	kept, outcome := cause, "undecided"
	switch unavailable := (*matcher.Unavailable)(nil); {
	case errors.As(cause, &unavailable):
	case errors.Is(cause, keyspace.ErrUnavailable):
		ts.metrics.messages.WithLabelValues("error").Inc()
		ts.giveUp(ledger.Holding{Turn: t.Turn, Token: t.token}, cause)
		return cause
	case errors.Is(cause, errLost), errors.Is(cause, ErrClosed), errors.Is(cause, repositories.ErrNotFound):
		ts.metrics.messages.WithLabelValues("error").Inc()
		return cause
	default:
		kept, outcome = errWorker, "error" // its text is for the log
	}
	ts.metrics.messages.WithLabelValues(outcome).Inc()
	ctx, cancel := context.WithTimeout(ts.life, ts.lease)
	defer cancel()
	if err := ts.giveBack(ctx, t, kept, retry); err != nil {
		return err
	}
	return cause
}

// errLost means that the context of a turn ended because another replica has its lease.
var errLost = errors.New("the lease of the turn was lost")

// hold keeps the lease of a turn until the returned function is called. The context
// ends when the lease is lost: a process that was frozen must not go on.
func (ts *Turns) hold(ctx context.Context, t *turn) (context.Context, func()) {
	return ts.beat(ctx, ts.lease/heartbeats, func(ctx context.Context, cancel context.CancelCauseFunc) { ts.renew(ctx, t, cancel) })
}

func (ts *Turns) renew(ctx context.Context, t *turn, cancel context.CancelCauseFunc) {
	if held, err := ts.ledger.Extend(ctx, t.Turn, t.token, ts.lease); err == nil && !held {
		cancel(errLost)
	}
}

// failure is why a turn was not decided, as a session keeps it.
type failure struct {
	Error string `json:"error"`
}

// giveBack releases a turn and records its failure. A negative pause leaves the next try to
// the client.
func (ts *Turns) giveBack(ctx context.Context, t *turn, cause error, pause time.Duration) error {
	text, err := exactjson.Encode(failure{Error: cause.Error()})
	if err != nil {
		return err
	}
	says, err := ts.undecided(t, cause, pause)
	if err != nil {
		return err
	}
	failpoint.At(failpoint.GiveBackBefore)
	err = ts.retryUntilAvailable(ctx, func() error { return ts.ledger.Undecided(ctx, t.Turn, t.token, string(text), pause, says) })
	if says != nil {
		ts.Wake(t.App)
	}
	return err
}

// errWorker means that the work on a request panicked. Its work is taken up again when the
// lease has ended.
var errWorker = errors.New("the work on the request failed inside Earshot")
