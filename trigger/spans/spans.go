// Package spans makes the spans of what the engine does: a message that is decided, a tool that
// fires, and each attempt at an event or a call. No text, value or credential is in them.
package spans

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/tracing"
	"earshot/trigger/effect"
)

// Message begins the span of a message, below the request that has brought it, on whichever
// replica that is decided.
func Message(ctx context.Context, t *tracing.Tracer, parent, app, session, message string) (context.Context, trace.Span) {
	ctx, span := t.Below(ctx, parent, "message", trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(tracing.App.String(app), tracing.Conversation.String(session), tracing.Message.String(message))
	}
	return ctx, span
}

// Match begins the span of matching a message with the tools that are offered.
func Match(ctx context.Context, offered int) (context.Context, trace.Span) {
	ctx, span := tracing.Start(ctx, "match", trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(tracing.Offered.Int(offered))
	}
	return ctx, span
}

// EndMatch ends the span of matching.
func EndMatch(span trace.Span, stage string, err error) {
	tracing.End(span, faultOf(err), tracing.Stage.String(stage))
}

// Decided says in the span of a message what it has come to.
func Decided(span trace.Span, stage string, matched, rejected int) {
	if span.IsRecording() {
		span.SetAttributes(tracing.Stage.String(stage), tracing.Matched.Int(matched), tracing.Rejected.Int(rejected))
	}
}

// Undecided says in the span of a message why it was not decided.
func Undecided(span trace.Span, err error) {
	tracing.Fail(span, faultOf(err))
}

// faultOf is the kind of an error, whose text may hold what a user said.
func faultOf(err error) string {
	switch unavailable := (*matcher.Unavailable)(nil); {
	case err == nil:
		return ""
	case errors.As(err, &unavailable):
		return "model_unavailable"
	case errors.Is(err, keyspace.ErrUnavailable):
		return "redis_unavailable"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "ended"
	default:
		return "_OTHER"
	}
}

// Firing is a tool that fires.
type Firing struct {
	App, Session, Trigger, Tool string
	Source                      string
}

// Execute begins the span of a tool that fires, below the message or the request. It is of a
// decision that may not stand: one that is never ended is never exported. Its effects go on with
// what Execute returns, which is parent where nothing is recorded.
func Execute(t *tracing.Tracer, parent string, of Firing) (span trace.Span, goesOn string) {
	if t == nil {
		return noop.Span{}, parent
	}
	_, span = t.Below(context.Background(), parent, "execute_tool "+of.Tool, trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(
			tracing.OperationName.String("execute_tool"), tracing.ToolName.String(of.Tool), tracing.ToolType.String("function"), tracing.ToolCallID.String(of.Trigger),
			tracing.App.String(of.App), tracing.Source.String(of.Source),
		)
		if of.Session != "" {
			span.SetAttributes(tracing.Conversation.String(of.Session))
		}
	}
	return span, tracing.Parent(span, parent)
}

// Attempt begins the span of an attempt at an effect: below the tool that fired, or, where it is
// tried again, in a trace of its own that is linked to it. Whoever receives the effect goes on
// with the span. An answer that is looked for has none: nothing is sent.
func Attempt(ctx context.Context, t *tracing.Tracer, delivery *effect.Effect) (context.Context, trace.Span) {
	if t == nil || delivery.Kind == effect.KindAnswer {
		return ctx, noop.Span{}
	}
	name, kind, about := described(delivery)
	begin := t.Below
	if delivery.Attempt > 1 {
		begin = t.Linked
	}
	ctx, span := begin(ctx, delivery.TraceParent, name, kind)
	if span.IsRecording() {
		span.SetAttributes(append(about, tracing.App.String(delivery.AppID), tracing.Effect.String(delivery.ID), tracing.Attempt.Int(delivery.Attempt))...)
		if delivery.TriggerID != "" {
			span.SetAttributes(tracing.Trigger.String(delivery.TriggerID))
		}
	}
	delivery.TraceParent = tracing.Parent(span, delivery.TraceParent)
	return ctx, span
}

// described names what is sent, by the conventions of messaging, HTTP and databases.
func described(delivery *effect.Effect) (name string, kind trace.SpanKind, about []attribute.KeyValue) {
	if delivery.Kind == effect.KindEvent {
		return "send " + kindOf(delivery.Event.Subject), trace.SpanKindProducer, []attribute.KeyValue{
			tracing.MessagingSystem.String("nats"), tracing.MessagingAction.String("send"),
			tracing.MessagingName.String(delivery.Event.Subject), tracing.MessagingID.String(delivery.ID),
		}
	}
	call := delivery.Call
	switch {
	case call.RunsStatement():
		return "query " + call.Tool.Source, trace.SpanKindClient, nil
	case call.Tool != nil:
		return "call " + call.Tool.Source, trace.SpanKindClient, nil
	}
	method := http.MethodPost
	if call.Request != nil && call.Request.Method != "" {
		method = call.Request.Method
	}
	about = append(serverOf(call.URL), tracing.HTTPMethod.String(method))
	if delivery.Attempt > 1 {
		about = append(about, tracing.HTTPResends.Int(delivery.Attempt-1))
	}
	return method, trace.SpanKindClient, about
}

// kindOf is the kind of event that a subject is of: its first two words, which no app chooses.
func kindOf(subject string) string {
	words := strings.SplitN(subject, ".", 3)
	if words[0] == "app" || len(words) < 2 { // an emitter's, app.{appId}.…
		return words[0]
	}
	return words[0] + "." + words[1]
}

// serverOf is the server of a URL, whose path and query may hold what a user said.
func serverOf(address string) []attribute.KeyValue {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Hostname() == "" {
		return nil
	}
	about := []attribute.KeyValue{tracing.ServerAddress.String(parsed.Hostname())}
	if port, err := strconv.Atoi(parsed.Port()); err == nil {
		about = append(about, tracing.ServerPort.Int(port))
	}
	return about
}

// EndAttempt ends the span of an attempt with what came of it.
func EndAttempt(span trace.Span, o effect.Outcome) {
	if !span.IsRecording() {
		span.End()
		return
	}
	about := []attribute.KeyValue{tracing.Outcome.String(o.Verdict.String())}
	if o.Status != 0 {
		about = append(about, tracing.HTTPStatus.Int(o.Status))
	}
	fault := ""
	if o.Verdict != effect.Done {
		if fault = string(o.Reason); fault == "" {
			fault = "unpublished"
		}
	}
	tracing.End(span, fault, about...)
}
