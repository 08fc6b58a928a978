package trigger

import (
	"context"
	"encoding/json"
	"time"

	"earshot/repositories"
)

// Kind tells the effects apart by who delivers them.
type Kind string

// The kinds of effect.
const (
	KindEvent Kind = "event" // published on NATS JetStream
	KindCall  Kind = "call"  // sent over HTTP, or run as a statement
)

// Effect is one thing that a decision owes to the world. It is delivered at least
// once, and every attempt carries the same ID.
type Effect struct {
	// ID is the idempotency key: Nats-Msg-Id of an event. A call shows its
	// TriggerID instead, which is as stable.
	ID        string
	Kind      Kind
	AppID     string
	SessionID string // empty without a session
	// TriggerID is empty for an event that belongs to no trigger.
	TriggerID string
	// Attempt counts from 1.
	Attempt int
	// TraceParent continues the trace of the request that led here (W3C Trace
	// Context); may be empty.
	TraceParent string
	Event       *Event // of a KindEvent
	Call        *Call  // of a KindCall
}

// Event is what an event effect publishes.
type Event = repositories.Event

// Call is what a call effect sends.
type Call struct {
	// Tool is a tool of a type, as it was when it fired: it says what is done with its
	// source. It is nil for a call of a URL.
	Tool *repositories.Tool
	// URL may hold :param and :appId in its path and query.
	URL     string
	Request *repositories.Request // nil: an unauthenticated POST
	// Values fill the :params.
	Values map[string]any
	// App is the app as it was when the tool fired; nil where it is not at hand and
	// has to be looked up.
	App *repositories.App
	// Event is the trigger event, the body of the call.
	Event json.RawMessage
}

// Repeatable reports whether the call may be made again where it is not known what came
// of it.
func (c *Call) Repeatable() bool { return c.Request.Repeatable() }

// RunsStatement reports whether the call is of a SQL tool.
func (c *Call) RunsStatement() bool { return c.Tool != nil && c.Tool.RunsStatement() }

// newCall is the call that a tool makes.
func newCall(tool *repositories.Tool, values map[string]any, event json.RawMessage) *Call {
	call := &Call{URL: tool.URL, Request: tool.Request, Values: values, Event: event}
	if tool.Type != "" {
		call.Tool = tool
	}
	return call
}

// Verdict says how an attempt ended.
type Verdict int

// The ends of an attempt.
const (
	Done  Verdict = iota // delivered
	Retry                // to be tried again
	Dead                 // will never succeed
)

// Reason is why an effect was not delivered; a closed set.
type Reason string

// The reasons of the contract's tool.result.
const (
	ReasonAuth    Reason = "auth"    // no token was to be had, or the endpoint refused it
	ReasonRequest Reason = "request" // the endpoint or the connection refused
	ReasonTimeout Reason = "timeout" // no answer in time
	ReasonBlocked Reason = "blocked" // the address is one that calls must not reach
	// ReasonUnknown: a call that must not be made twice may have arrived.
	ReasonUnknown Reason = "outcome_unknown"
)

// Outcome is what came of one attempt.
type Outcome struct {
	Verdict Verdict
	// After is the pause that the other side asked for before a Retry; zero where
	// it asked for none.
	After time.Duration
	// Deferred marks a Retry that was not an attempt: the other side is known to be
	// down. It does not use up the effect's budget.
	Deferred bool
	// Forbidden marks a Retry of an event that the broker denies to us. It may be
	// allowed again, but not for ever be waited for: the event dies when a call would.
	Forbidden bool
	Status    int // HTTP status, zero where there was none
	// Result is the answer's body as JSON (a JSON string where it was text).
	Result    json.RawMessage
	Truncated bool
	Reason    Reason // of a Retry or Dead call
	Error     string // for people; holds no credential
}

// Deliverer delivers effects of one kind. Deliver makes one attempt and never
// retries by itself; the ledger decides when the next one is due. It must return
// soon after ctx ends.
//
// A Retry of a call that is not Repeatable says that nothing of it was sent; whatever
// else came of it, its Verdict is Done or Dead. Just before it is sent, Late is asked.
type Deliverer interface {
	Deliver(ctx context.Context, effect Effect) Outcome
}

// Late reports whether the time of an attempt is over, by the clock: a process that was
// frozen finds that out before ctx tells it, and another may have taken its lease by then.
func Late(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return limited && !time.Now().Before(deadline)
}
