package sqlquery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// afterSending is the error of an attempt whose statement was sent, so that it may have run. It wraps the
// effect.Failure that the database returned; any other error means a lost answer.
type afterSending struct{ error }

// Unwrap returns the error of the attempt.
func (a *afterSending) Unwrap() error { return a.error }

// attempt is one use of a connection to a server.
type attempt struct {
	sent     bool // the statement itself was sent, so that it may have run
	unusable bool // the connection must not be used again
}

// failed returns the error of the attempt, and marks whether its connection is unusable.
func (a *attempt) failed(err error, unusable bool) error {
	a.unusable = unusable
	if a.sent {
		return &afterSending{err}
	}
	return err
}

// failureOf returns the error of a run with an outcome: the failure that the database returned, a timeout, a
// broken connection, or a statement that must not run twice.
func failureOf(ctx context.Context, source string, repeatable bool, err error) error {
	sent := errors.As(err, new(*afterSending))
	var judged *effect.Failure
	if errors.As(err, &judged) {
		if !repeatable && sent {
			outcome := judged.Outcome
			outcome.Verdict, outcome.After = effect.Dead, 0
			return &effect.Failure{Outcome: outcome}
		}
		return err
	}
	stopping := errors.Is(ctx.Err(), context.Canceled)
	reason, detail := effect.ReasonRequest, "broke off: "+cmp.Or(neterr.Reason(err), effect.Clip(err.Error()))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reason, detail = effect.ReasonTimeout, "did not answer in time"
	} else if stopping {
		detail = "was left, as the service is stopping"
	}
	switch {
	case sent && !repeatable:
		return effect.Permanent(effect.ReasonUnknown, "the source %q %s; the tool is not idempotent, so the statement does not run again by itself", source, detail)
	case stopping && !sent:
		return effect.Deferral(0, "the source %q %s", source, detail)
	default:
		return effect.Transient(reason, "the source %q %s", source, detail)
	}
}

// answerKind is the meaning of a database's error for the statement.
type answerKind int

const (
	statementRefused answerKind = iota
	userRefused
	timedOut
	unavailable // another attempt may succeed
)

// answered returns the failure for a database's error, with its code.
func answered(kind answerKind, source, message, code string) error {
	switch kind {
	case userRefused:
		return effect.Permanent(effect.ReasonAuth, "the source %q refuses the user: %s (%s)", source, message, code)
	case timedOut:
		return effect.Transient(effect.ReasonTimeout, "the source %q: %s (%s)", source, message, code)
	case unavailable:
		return effect.Transient(effect.ReasonRequest, "the source %q: %s (%s)", source, message, code)
	default:
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s (%s)", source, message, code)
	}
}

// unreached returns the failure for a connection that was not opened. The full error is logged; the failure
// names the host as the source does, and no resolved address. answer is the failure that the server itself
// returned, nil if none.
func (o Options) unreached(ctx context.Context, source repositories.Source, err, answer error) error {
	o.Logger.InfoContext(ctx, "source.unreached", "source", source.Name, "error", err.Error())
	detail := err.Error()
	if !errors.Is(err, ErrRefused) {
		if answer != nil {
			return answer
		}
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		detail = detail[strings.LastIndex(detail, ": ")+1:] // drivers name the user and the database before it
		return effect.Transient(effect.ReasonRequest, "the source %q cannot be reached: %s", source.Name, cmp.Or(neterr.Reason(err), effect.Clip(strings.TrimSpace(detail))))
	}
	if _, parseErr := netip.ParseAddr(source.Host); parseErr != nil {
		detail = ErrRefused.Error() + ": " + source.Host + " does not lead to a public one; an operator, whose log has it, can open it with EARSHOT_PRIVATE_URLS=ADDRESS/BITS"
	} else {
		detail, _, _ = strings.Cut(detail[max(0, strings.Index(detail, ErrRefused.Error())):], "\n")
		detail = effect.Clip(detail)
	}
	return effect.Permanent(effect.ReasonBlocked, "the source %q: %s", source.Name, detail)
}

var quotedText = regexp.MustCompile(`"[^"]*"`)

// minHidden is the least length of a value that is masked in a message: a shorter one would match ordinary
// words.
const minHidden = 4

// withoutValues masks the values of a call in a database's message: all texts equal to a value, and all quoted
// texts of a message about data. Details and hints, which quote whole rows, are never part of a message.
func withoutValues(message string, aboutData bool, s statement) string {
	if aboutData {
		message = quotedText.ReplaceAllString(message, `"`+secret.Masked+`"`)
	}
	for _, value := range slices.Concat(s.values, s.pasted) {
		for _, hidden := range textsOf(value) {
			if len(hidden) >= minHidden {
				message = strings.ReplaceAll(message, hidden, secret.Masked)
			}
		}
	}
	return effect.Clip(message)
}

// textsOf returns the forms that a value may have in a message: each of its members, and without the delimiters
// that an escape has added.
func textsOf(value any) []string {
	switch value := value.(type) {
	case string:
		if len(value) < 2 {
			return []string{value}
		}
		closing := value[len(value)-1:]
		return []string{value, strings.ReplaceAll(value[1:len(value)-1], closing+closing, closing)}
	case json.Number:
		return []string{value.String()}
	case []any:
		var texts []string
		for _, member := range value {
			texts = append(texts, textsOf(member)...)
		}
		return texts
	default:
		return nil
	}
}
