package effect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"earshot/repositories/fault"
)

// Verdict is the result of an attempt: delivered, to be retried, or dead.
type Verdict int

// The verdicts on an attempt.
const (
	Done  Verdict = iota // delivered
	Retry                // to be tried again
	Dead                 // will never succeed
)

// String returns the name in the ledger, metrics, logs and traces.
func (v Verdict) String() string { return [...]string{"done", "retry", "dead"}[v] }

// Reason is the reason code of an undelivered effect; a closed set.
type Reason string

// The reasons of the contract's tool.result.
const (
	ReasonAuth    Reason = "auth"    // no token was available, or the endpoint refused it
	ReasonRequest Reason = "request" // the endpoint or the connection refused
	ReasonTimeout Reason = "timeout" // no answer in time
	ReasonBlocked Reason = "blocked" // calls must not reach the address
	// ReasonUnknown: a call that must not be repeated may have arrived.
	ReasonUnknown Reason = "outcome_unknown"
	// ReasonCancelled: the requester has ended the wait for an answer.
	ReasonCancelled Reason = "cancelled"
)

// Outcome is the result of one attempt to deliver an effect.
type Outcome struct {
	Verdict Verdict
	// After is the pause that the other side requested before a Retry; zero for none.
	After time.Duration
	// Deferred marks a Retry without an attempt: the other side is known to be unavailable. It uses up no
	// attempt, and no record counts it. The time for attempts runs on.
	Deferred bool
	// Forbidden marks a Retry of an event that the broker denies. It may permit it later, but the retries are
	// bounded: the event is dead when a call would be.
	Forbidden bool
	Status    int // HTTP status, zero for none
	// Result is the response body as JSON (a JSON string for text).
	Result    json.RawMessage
	Truncated bool
	Reason    Reason // of a Retry or Dead call
	Error     string // for people; has no credential
	Sent      *Sent  // of an attempted call over HTTP, connected or not
	Host      string // of the call; empty for none
	// Reached reports that a call over HTTP had a connection, so that its endpoint may have acted.
	Reached bool
}

// Sent is a request as shown to people: credentials are masked, and texts are cut.
type Sent struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers,omitempty"` // the tool's and the source's own
	Bytes   int               `json:"bytes"`             // length of the body
	Body    string            `json:"body,omitempty"`    // its beginning, if the call was not delivered
}

// Failure is an error that carries the Outcome of an attempt, inside a Deliverer.
type Failure struct{ Outcome Outcome }

// Error returns the outcome's text, which is fit for people and has no credential.
func (f *Failure) Error() string { return f.Outcome.Error }

// Permanent returns the Failure of an attempt that can never succeed. Its text is formatted as by fmt.Sprintf.
func Permanent(reason Reason, format string, args ...any) error {
	return &Failure{Outcome: Outcome{Verdict: Dead, Reason: reason, Error: fmt.Sprintf(format, args...)}}
}

// Transient returns the Failure of an attempt that may succeed later.
func Transient(reason Reason, format string, args ...any) error {
	return &Failure{Outcome: Outcome{Verdict: Retry, Reason: reason, Error: fmt.Sprintf(format, args...)}}
}

// Deferral returns the Failure of an attempt that was not made: it is due after the pause, or for zero as the
// ledger decides.
func Deferral(pause time.Duration, format string, args ...any) error {
	return &Failure{Outcome: Outcome{
		Verdict: Retry, Deferred: true, After: pause, Reason: ReasonRequest, Error: fmt.Sprintf(format, args...),
	}}
}

// OutcomeOf returns the Outcome of the Failure that err wraps. Any other error counts as permanent.
func OutcomeOf(err error) Outcome {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Outcome
	}
	return Outcome{Verdict: Dead, Reason: ReasonRequest, Error: Clip(err.Error())}
}

// Clip bounds a text that the other side may have written.
func Clip(text string) string { return fault.ClipTo(text, maxText) }

// maxText is the bound of such a text in bytes.
const maxText = 400

// Late reports whether the time of an attempt is over, by the clock: a process that was frozen notices that
// before ctx ends, and another may have its lease by then.
func Late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
