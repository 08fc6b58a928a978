// Package effect is what the ledger and those who deliver for it have in common: an effect
// that a decision owes to the world (an event on NATS, a call over HTTP, an SQL statement),
// and the outcome of one attempt to deliver it. Adapters (emitter, httpcall, sqlquery)
// import this, and nothing else of trigger.
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

// Kind is the kind of an effect, and says who delivers it.
type Kind string

// The kinds of effect.
const (
	KindEvent Kind = "event" // published on NATS JetStream
	KindCall  Kind = "call"  // sent over HTTP, or run as a statement
	// KindAnswer is what somebody outside says came of a trigger, in the place of a call.
	KindAnswer Kind = "answer"
)

// Names of the effects of a trigger, which keyspace.EffectID joins to that of its firing.
const (
	PartEvent   = "event"
	PartEmitter = "emitter"
	PartCall    = "call"
	PartResult  = "result"
)

// Effect is an entry of the outbox that a Deliverer delivers, an event or a call, or an answer
// that it looks for. It is delivered at least once, and every attempt carries the same ID.
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
	// Call is the call of a KindCall; of a KindAnswer it has all but a URL.
	Call    *Call
	Awaited *Awaited // of a KindAnswer
}

// Event is the event that an effect of KindEvent publishes.
type Event = cloudevent.Event

// Call is the HTTP request or the SQL statement of an effect of KindCall.
type Call struct {
	// Tool is a tool of a type, as it was when it fired: it says what is done with its
	// source. It is nil for a call of a URL.
	Tool *repositories.Tool
	// URL may hold :param and :appId in its path and query.
	URL     string
	Request *repositories.Request // nil: an unauthenticated POST
	// Values fill the :params; see Written.
	Values map[string]any
	// Quoted says that they are in the delimiters of their escapes already, as
	// earlier versions kept them.
	Quoted bool
	// App is the app as it was when the tool fired; where it is nil, it has to be looked
	// up.
	App *repositories.App
	// Event is the trigger event, the body of the call.
	Event json.RawMessage
	// Fence is the name of the fence of its values in the ledger; empty for none.
	Fence string
}

// Repeatable reports whether the call may be made again where it is not known what came
// of it.
func (c *Call) Repeatable() bool { return c.Request.Repeatable() }

// Written returns the values as they stand in what a tool of a type sends: a statement or a
// request. Values themselves, and the event, are what was said.
func (c *Call) Written() map[string]any {
	if c.Quoted || c.Tool == nil {
		return c.Values
	}
	return c.Tool.Escaped(c.Values)
}

// RunsStatement reports whether the call is of a SQL tool.
func (c *Call) RunsStatement() bool { return c.Tool != nil && c.Tool.RunsStatement() }

// CallOf returns the call of a tool that fired with values; event is the trigger event.
func CallOf(tool *repositories.Tool, values map[string]any, event json.RawMessage) *Call {
	call := &Call{URL: tool.URL, Request: tool.Request, Values: values, Event: event}
	if tool.Type != "" {
		call.Tool = tool
	}
	return call
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

// Apps finds apps by their ids. Its errors wrap repositories.ErrNotFound if there is none.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// AppOf returns the app of a call, from the effect or from apps. A deleted app is a permanent
// failure; apps that do not answer defer the call, and the log has their error as an event.
func AppOf(ctx context.Context, apps Apps, delivery Effect, log *slog.Logger, event string) (*repositories.App, error) {
	if delivery.Call.App != nil {
		return delivery.Call.App, nil
	}
	ctx, cancel := context.WithTimeout(ctx, delivery.Call.Request.AttemptTimeout())
	defer cancel()
	app, err := apps.App(ctx, delivery.AppID)
	switch {
	case errors.Is(err, repositories.ErrNotFound), err == nil && app == nil:
		return nil, Permanent(ReasonRequest, "app %q is gone, and with it its sources and the keys that its calls are signed with", delivery.AppID)
	case err != nil:
		log.WarnContext(ctx, event, "app", delivery.AppID, "error", err.Error())
		return nil, Deferral(0, "app %s cannot be looked up now", delivery.AppID)
	}
	return app, nil
}

// Published is an event that was read from the stream. All readers share it, so it must
// not be changed.
type Published struct {
	// Sequence is the event's place in the stream. It grows, with gaps.
	Sequence uint64
	Subject  string
	// SessionID is the session that it is of; empty without one.
	SessionID string
	Data      json.RawMessage
}

// StoredEvent is an event of the stream with its headers.
type StoredEvent struct {
	Published
	ID          string // the same on every delivery, and of no other event: Nats-Msg-Id
	Kind        string // the first two words of its subject
	Time        time.Time
	TraceParent string // may be empty
}
