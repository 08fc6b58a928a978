package sqlquery

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"strings"

	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

// lostAnswer is the error of an attempt that ended without an answer of the database, after
// the statement was sent: it may have run.
type lostAnswer struct{ cause error }

// Error returns the text of the cause.
func (l *lostAnswer) Error() string { return l.cause.Error() }

// Unwrap returns the cause.
func (l *lostAnswer) Unwrap() error { return l.cause }

// failureAfterSending is a failure that the database answered after the statement was sent.
type failureAfterSending struct{ failure error }

// Error returns the text of the failure.
func (a *failureAfterSending) Error() string { return a.failure.Error() }

// Unwrap returns the failure.
func (a *failureAfterSending) Unwrap() error { return a.failure }

// finalFailure makes the failure of a statement that must not run twice permanent: its
// database has answered, so it may have run.
func finalFailure(failure *effect.Failure) error {
	outcome := failure.Outcome
	outcome.Verdict, outcome.After = effect.Dead, 0
	return &effect.Failure{Outcome: outcome}
}

// unanswered turns the error of a run into a failure with an outcome: a timeout, a broken
// connection, or a statement that must not run twice.
func unanswered(ctx context.Context, source repositories.Source, tool *repositories.Tool, err error) error {
	var judged *effect.Failure
	if errors.As(err, &judged) {
		if !tool.Request.Repeatable() && errors.As(err, new(*failureAfterSending)) {
			return finalFailure(judged)
		}
		return err
	}
	var sent *lostAnswer
	isLost := errors.As(err, &sent)
	stopping := errors.Is(ctx.Err(), context.Canceled)
	reason, said := effect.ReasonRequest, "broke off: "+cmp.Or(neterr.Reason(err), effect.Clip(err.Error()))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason, said = effect.ReasonTimeout, "did not answer in time"
	} else if stopping {
		said = "was left, as the service is stopping"
	}
	switch {
	case isLost && !tool.Request.Repeatable():
		return effect.Permanent(effect.ReasonUnknown, "the source %q %s; the tool is not idempotent, so the statement does not run again by itself", source.Name, said)
	case stopping && !isLost:
		return effect.Deferral(0, "the source %q %s", source.Name, said)
	default:
		return effect.Transient(reason, "the source %q %s", source.Name, said)
	}
}

// refusal returns what the dialer says of an address, where the source names its host by
// that address: what a name leads to is for the log alone.
func refusal(source repositories.Source, err error) string {
	if _, not := netip.ParseAddr(source.Host); not != nil {
		return ErrRefused.Error() + ": " + source.Host + " does not lead to a public one; an operator, whose log has it, can open it with EARSHOT_PRIVATE_URLS=ADDRESS/BITS"
	}
	said := err.Error()
	if at := strings.Index(said, ErrRefused.Error()); at >= 0 {
		said = said[at:]
	}
	line, _, _ := strings.Cut(said, "\n")
	return effect.Clip(line)
}

// publicText says why the server was not reached, without the addresses, the user and the
// database that the driver names.
func publicText(err error) string {
	if reason := neterr.Reason(err); reason != "" {
		return reason
	}
	said := err.Error()
	if at := strings.LastIndex(said, ": "); at >= 0 {
		said = said[at+2:]
	}
	return effect.Clip(said)
}
