package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"earshot/repositories/fault"
)

// Verdict is how an attempt ended: delivered, to be retried, or dead.
type Verdict int

// The verdicts on an attempt.
const (
	Done  Verdict = iota // delivered
	Retry                // to be tried again
	Dead                 // will never succeed
)

// String is the name that the ledger, metrics, logs and traces have for it.
func (v Verdict) String() string { return [...]string{"done", "retry", "dead"}[v] }

// Reason is the reason code of an effect that was not delivered; a closed set.
type Reason string

// The reasons of the contract's tool.result.
const (
	ReasonAuth    Reason = "auth"    // no token was to be had, or the endpoint refused it
	ReasonRequest Reason = "request" // the endpoint or the connection refused
	ReasonTimeout Reason = "timeout" // no answer in time
	ReasonBlocked Reason = "blocked" // the address is one that calls must not reach
	// ReasonUnknown: a call that must not be made twice may have arrived.
	ReasonUnknown Reason = "outcome_unknown"
	// ReasonCancelled: whoever asked for an answer has ended the waiting for it.
	ReasonCancelled Reason = "cancelled"
)

// Outcome is the result of one attempt to deliver an effect.
type Outcome struct {
	Verdict Verdict
	// After is the pause that the other side asked for before a Retry; zero where
	// it asked for none.
	After time.Duration
	// Deferred marks a Retry that was not an attempt: the other side is known to be
	// down. It does not use up the effect's budget, and no record counts it.
	Deferred bool
	// Forbidden marks a Retry of an event that the broker does not permit. It may permit it
	// later, but is not waited for for ever: the event is dead when a call would be.
	Forbidden bool
	Status    int // HTTP status, zero where there was none
	// Result is the answer's body as JSON (a JSON string where it was text).
	Result    json.RawMessage
	Truncated bool
	Reason    Reason // of a Retry or Dead call
	Error     string // for people; holds no credential
	Sent      *Sent  // of a call over HTTP that was made, whether anybody was there or not
	Host      string // that the call is to; empty where there is none
	// Reached says that a call over HTTP had a connection, so that its endpoint may have acted.
	Reached bool
}

// Sent is what people are shown of a request: credentials are masked, and texts are cut.
type Sent struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // the tool's and the source's own
	Bytes   int               `json:"bytes"`             // length of the body
	Body    string            `json:"body,omitempty"`    // how it begins, where the call was not delivered
}

// Failure is an error that carries the Outcome of an attempt, inside a Deliverer.
type Failure struct{ Outcome Outcome }

// Error returns the outcome's text, which is fit for people and holds no credential.
func (f *Failure) Error() string { return f.Outcome.Error }

// Permanent returns the Failure of an attempt that will never succeed as it is. Its text
// is formatted as by fmt.Sprintf.
func Permanent(reason Reason, format string, args ...any) error {
	return &Failure{Outcome: Outcome{Verdict: Dead, Reason: reason, Error: fmt.Sprintf(format, args...)}}
}

// Transient returns the Failure of an attempt that may succeed later.
func Transient(reason Reason, format string, args ...any) error {
	return &Failure{Outcome: Outcome{Verdict: Retry, Reason: reason, Error: fmt.Sprintf(format, args...)}}
}

// Deferral returns the Failure of an attempt that was not made: it is due again after the
// pause, or when the ledger says so where that is zero.
func Deferral(pause time.Duration, format string, args ...any) error {
	return &Failure{Outcome: Outcome{
		Verdict: Retry, Deferred: true, After: pause, Reason: ReasonRequest, Error: fmt.Sprintf(format, args...),
	}}
}

// OutcomeOf returns the Outcome of the Failure that err wraps. Another error is taken for
// that of an attempt that will never succeed.
func OutcomeOf(err error) Outcome {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Outcome
	}
	return Outcome{Verdict: Dead, Reason: ReasonRequest, Error: Clip(err.Error())}
}

// Clip bounds a text that the other side had a hand in.
func Clip(text string) string { return fault.ClipTo(text, maxText) }

// maxText is how much of such a text an Outcome tells, in bytes.
const maxText = 400

// Late reports whether the time of an attempt is over, by the clock: a process that was
// frozen finds that out before ctx tells it, and another may have taken its lease by then.
func Late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
