// Package effect has the types shared by the ledger and the deliverers: an effect that follows from a decision
// (an event on NATS, a call over HTTP, an SQL statement), and the outcome of one attempt to deliver it.
// Adapters (emitter, httpcall, sqlquery) import only this package of trigger.
package effect

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"earshot/repositories"
	"earshot/repositories/cloudevent"
)

// Kind is the kind of an effect, which determines its Deliverer.
type Kind string

// The kinds of effect.
const (
	KindEvent Kind = "event" // published on NATS JetStream
	KindCall  Kind = "call"  // sent over HTTP, or run as a statement
	// KindAnswer is an external answer about a trigger, in place of a call.
	KindAnswer Kind = "answer"
)

// Names of the effects of a trigger, which keyspace.EffectID appends to the firing's name.
const (
	PartEvent   = "event"
	PartEmitter = "emitter"
	PartCall    = "call"
	PartResult  = "result"
)

// Effect is an entry of the outbox that a Deliverer delivers: an event, a call, or an answer to look for. It is
// delivered at least once, and every attempt has the same ID.
type Effect struct {
	// ID is the idempotency key: Nats-Msg-Id of an event. A call sends its TriggerID instead, which is equally
	// stable.
	ID        string
	Kind      Kind
	AppID     string
	SessionID string // empty without a session
	// TriggerID is empty for an event without a trigger.
	TriggerID string
	// Attempt counts from 1.
	Attempt int
	// TraceParent continues the trace of the original request (W3C Trace Context); may be empty.
	TraceParent string
	Event       *Event // of a KindEvent
	// Call is the call of a KindCall; for a KindAnswer it lacks only a URL.
	Call    *Call
	Awaited *Awaited // of a KindAnswer
}

// Event is the event that an effect of KindEvent publishes.
type Event = cloudevent.Event

// Call is the HTTP request or the SQL statement of an effect of KindCall.
type Call struct {
	// Tool is a tool with a type, as it was when it fired: it determines the use of its source. It is nil for a
	// call of a URL.
	Tool *repositories.Tool
	// URL may contain :param and :appId in its path and query.
	URL     string
	Request *repositories.Request // nil: an unauthenticated POST
	// Values fill the :params; see Written.
	Values map[string]any
	// Quoted reports that the values already have the delimiters of their escapes, as earlier versions stored
	// them.
	Quoted bool
	// App is the app as it was when the tool fired; nil if it must be looked up.
	App *repositories.App
	// Event is the trigger event, the body of the call.
	Event json.RawMessage
	// Fence names the fence of its values in the ledger; empty for none.
	Fence string
}

// Repeatable reports whether the call may be repeated after an unknown outcome.
func (c *Call) Repeatable() bool { return c.Request.Repeatable() }

// Written returns the values as a tool with a type sends them in a statement or a request. Values and the event
// have them as the user gave them.
func (c *Call) Written() map[string]any {
	if c.Quoted || c.Tool == nil {
		return c.Values
	}
	return c.Tool.Escaped(c.Values)
}

// RunsStatement reports whether the call runs a SQL tool's statement.
func (c *Call) RunsStatement() bool { return c.Tool != nil && c.Tool.RunsStatement() }

// CallOf returns the call of a tool that fired with values; event is the trigger event.
func CallOf(tool *repositories.Tool, values map[string]any, event json.RawMessage) *Call {
	call := &Call{URL: tool.URL, Request: tool.Request, Values: values, Event: event}
	if tool.Type != "" {
		call.Tool = tool
	}
	return call
}

// Deliverer delivers effects of one kind. Deliver makes one attempt and never retries by itself; the ledger
// decides when the next one is due. It must return soon after ctx ends.
//
// A Retry of a call that is not Repeatable means that nothing was sent; after any other outcome, its Verdict is
// Done or Dead. Late is checked just before sending.
type Deliverer interface {
	Deliver(ctx context.Context, effect Effect) Outcome
}

// Apps finds apps by id. Its errors wrap repositories.ErrNotFound if there is none.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// AppOf returns the app of a call, from the effect or from apps. A deleted app is a permanent failure. If apps
// does not answer, the call is deferred and the error is logged as event. A call whose credentials this process cannot
// decrypt is tried again, since another replica may have the key.
func AppOf(ctx context.Context, apps Apps, delivery Effect, log *slog.Logger, event string) (*repositories.App, error) {
	app, err := delivery.Call.App, error(nil)
	if app == nil {
		ctx, cancel := context.WithTimeout(ctx, delivery.Call.Request.AttemptTimeout())
		defer cancel()
		app, err = apps.App(ctx, delivery.AppID)
	}
	switch {
	case errors.Is(err, repositories.ErrNotFound), err == nil && app == nil:
		return nil, Permanent(ReasonRequest, "app %q was deleted, with its sources and its signing secret", delivery.AppID)
	case err != nil:
		log.WarnContext(ctx, event, "app", delivery.AppID, "error", err.Error())
		return nil, Deferral(0, "app %s cannot be looked up now", delivery.AppID)
	}
	tool := delivery.Call.Tool
	if tool == nil {
		tool = &repositories.Tool{URL: delivery.Call.URL, Request: delivery.Call.Request}
	}
	if err := tool.CheckReadable(app); err != nil {
		return nil, Transient(ReasonAuth, "%s", err)
	}
	return app, nil
}

// Published is an event read from the stream. All readers share it, so it must not be changed.
type Published struct {
	// Sequence is the event's place in the stream. It grows, with gaps.
	Sequence uint64
	Subject  string
	// SessionID is its session; empty for none.
	SessionID string
	// Time is when what it tells of happened, by the clock of the replica that decided it.
	Time time.Time
	Data json.RawMessage
}

// StoredEvent is an event of the stream with its headers.
type StoredEvent struct {
	Published
	ID          string // unique and the same on every delivery: Nats-Msg-Id
	Kind        string // the first two words of its subject
	TraceParent string // may be empty
}
