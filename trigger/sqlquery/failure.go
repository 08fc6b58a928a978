package sqlquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/repositories/unreached"
	"earshot/trigger/effect"
)

// dead returns the failure of a statement that will never succeed as it is.
func dead(reason effect.Reason, format string, args ...any) error {
	return effect.Fail(effect.Dead, reason, format, args...)
}

// retry returns the failure of a statement that may succeed later.
func retry(reason effect.Reason, format string, args ...any) error {
	return effect.Fail(effect.Retry, reason, format, args...)
}

// deferred returns the failure of an attempt that was not made.
func deferred(pause time.Duration, format string, args ...any) error {
	return &effect.Failure{Outcome: effect.Outcome{
		Verdict: effect.Retry, Deferred: true, After: pause, Reason: effect.ReasonRequest, Error: fmt.Sprintf(format, args...),
	}}
}

// outcomeOf returns the outcome that err carries.
func outcomeOf(err error) effect.Outcome {
	var carried *effect.Failure
	if errors.As(err, &carried) {
		return carried.Outcome
	}
	return effect.Outcome{Verdict: effect.Dead, Reason: effect.ReasonRequest, Error: clip(err.Error())}
}

// lost is an attempt that ended without a word of the database, after the statement
// was sent: it may have run.
type lost struct{ cause error }

// Error returns the text of the cause.
func (l *lost) Error() string { return l.cause.Error() }

// Unwrap returns the cause.
func (l *lost) Unwrap() error { return l.cause }

// answered is a failure that the database has told of, after the statement was sent.
type answered struct{ failure error }

// Error returns the text of the failure.
func (a *answered) Error() string { return a.failure.Error() }

// Unwrap returns the failure.
func (a *answered) Unwrap() error { return a.failure }

// ended is the failure of a statement that must not run twice, where its database has
// answered: whatever it said, there is no second time.
func ended(failure *effect.Failure) error {
	outcome := failure.Outcome
	outcome.Verdict, outcome.After = effect.Dead, 0
	return &effect.Failure{Outcome: outcome}
}

// unanswered turns the failure of a run into one with an outcome: time that is up, a
// connection that broke, and statements that must not run twice.
func unanswered(ctx context.Context, source repositories.Source, tool *repositories.Tool, err error) error {
	var judged *effect.Failure
	if errors.As(err, &judged) {
		if !tool.Request.Repeatable() && errors.As(err, new(*answered)) {
			return ended(judged)
		}
		return err
	}
	var sent *lost
	isLost := errors.As(err, &sent)
	stopping := errors.Is(ctx.Err(), context.Canceled)
	reason, said := effect.ReasonRequest, "broke off: "+cmp.Or(unreached.Reason(err), clip(err.Error()))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason, said = effect.ReasonTimeout, "did not answer in time"
	} else if stopping {
		said = "was left, as the service is stopping"
	}
	switch {
	case isLost && !tool.Request.Repeatable():
		return dead(effect.ReasonUnknown, "the source %q %s; the tool is not idempotent, so the statement does not run again by itself", source.Name, said)
	case stopping && !isLost:
		return deferred(0, "the source %q %s", source.Name, said)
	default:
		return retry(reason, "the source %q %s", source.Name, said)
	}
}

// clip bounds a text that the other side had a hand in.
func clip(s string) string {
	const most = 400
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
