// Package tracing begins the spans of OpenTelemetry. One trace leads from a request over the message, its matching
// and the model's answer to each tool that fires, and on to its event and its calls. Pending effects store its
// trace context, so that another replica can continue it.
//
// Work never depends on a span: without a provider there are no spans and no costs.
package tracing

import (
	"context"
	"encoding/hex"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Scope is OpenTelemetry's instrumentation scope.
const Scope = "earshot"

// Tracer begins spans; a nil one none.
type Tracer struct{ tracer trace.Tracer }

// New returns the tracer of a provider; nil without one.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer(Scope)}
}

// Below begins a span below parent (W3C Trace Context), or a new trace if parent is empty.
func (t *Tracer) Below(ctx context.Context, parent, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	if t == nil {
		return ctx, noop.Span{}
	}
	above, _ := Read(parent)
	return t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, above), name, trace.WithSpanKind(kind))
}

// Linked begins a new trace with a link to earlier: a late retry in the same trace would only stretch it.
func (t *Tracer) Linked(ctx context.Context, earlier, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	if t == nil {
		return ctx, noop.Span{}
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(kind)}
	if to, ok := Read(earlier); ok {
		if !to.IsSampled() { // the earlier trace is not recorded
			return ctx, noop.Span{}
		}
		options = append(options, trace.WithLinks(trace.Link{SpanContext: to}))
	}
	return t.tracer.Start(ctx, name, options...)
}

// Start begins a span below that of ctx, if that is recorded.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	above := trace.SpanFromContext(ctx)
	if !above.IsRecording() {
		return ctx, noop.Span{}
	}
	return above.TracerProvider().Tracer(Scope).Start(ctx, name, trace.WithSpanKind(kind))
}

// End ends a span with attributes and a fault, as in Fail.
func End(span trace.Span, fault string, attributes ...attribute.KeyValue) {
	span.SetAttributes(attributes...)
	Fail(span, fault)
	span.End()
}

// Fail records a fault in a span: a short name from a closed set, for the attribute error.type, or empty for none.
// Error texts could contain a user's words.
func Fail(span trace.Span, fault string) {
	if fault != "" {
		span.SetAttributes(ErrorType.String(fault))
		span.SetStatus(codes.Error, fault)
	}
}

// Parent returns the trace context of the span (W3C Trace Context), or otherwise without a span.
func Parent(span trace.Span, otherwise string) string {
	if !span.SpanContext().IsValid() {
		return otherwise
	}
	return Of(trace.ContextWithSpan(context.Background(), span))
}

// Of returns the trace context of ctx's span; empty without one.
func Of(ctx context.Context) string {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsValid() {
		return ""
	}
	id, span := at.TraceID(), at.SpanID()
	text := append(make([]byte, 0, len("00-")+2*len(id)+1+2*len(span)+len("-01")), "00-"...)
	text = append(hex.AppendEncode(text, id[:]), '-')
	text = append(hex.AppendEncode(text, span[:]), "-0"...)
	return string(append(text, '0'+byte(at.TraceFlags()&trace.FlagsSampled)))
}

// IDOf returns the trace id of a trace context; empty if it is invalid.
func IDOf(parent string) string {
	if len(parent) < len("00-")+32 {
		return ""
	}
	return parent[3:35]
}

// Read parses another program's trace context; false if it is invalid.
func Read(parent string) (trace.SpanContext, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	found := trace.SpanContextFromContext(ctx)
	return found, found.IsValid()
}

// Keys of the conventions for generative AI. They are in development, and Go has no package for them: these are
// from open-telemetry/semantic-conventions-genai at the commit ac48b1f9df15fdf281b96cccf15eb707e1fc1868.
const (
	OperationName = attribute.Key("gen_ai.operation.name")
	ProviderName  = attribute.Key("gen_ai.provider.name")
	RequestModel  = attribute.Key("gen_ai.request.model")
	InputTokens   = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens  = attribute.Key("gen_ai.usage.output_tokens")
	CachedTokens  = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	ToolName      = attribute.Key("gen_ai.tool.name")
	ToolType      = attribute.Key("gen_ai.tool.type")
	ToolCallID    = attribute.Key("gen_ai.tool.call.id")
	Conversation  = attribute.Key("gen_ai.conversation.id")
)

// Keys of the general conventions (1.43), which are stable or, for messaging, in development.
const (
	ErrorType       = attribute.Key("error.type")
	HTTPMethod      = attribute.Key("http.request.method")
	HTTPRoute       = attribute.Key("http.route")
	HTTPStatus      = attribute.Key("http.response.status_code")
	HTTPResends     = attribute.Key("http.request.resend_count")
	MessagingSystem = attribute.Key("messaging.system")
	MessagingName   = attribute.Key("messaging.destination.name")
	MessagingID     = attribute.Key("messaging.message.id")
	MessagingAction = attribute.Key("messaging.operation.type")
	ServerAddress   = attribute.Key("server.address")
	ServerPort      = attribute.Key("server.port")
	MCPMethod       = attribute.Key("mcp.method.name")
)

// Keys of Earshot. None contains texts, values, credentials or endpoints' answers.
const (
	App      = attribute.Key("earshot.app.id")
	Message  = attribute.Key("earshot.message.id")
	Trigger  = attribute.Key("earshot.trigger.id")
	Source   = attribute.Key("earshot.trigger.source")
	Effect   = attribute.Key("earshot.effect.id")
	Attempt  = attribute.Key("earshot.effect.attempt")
	Outcome  = attribute.Key("earshot.outcome")
	Stage    = attribute.Key("earshot.match.stage")
	Offered  = attribute.Key("earshot.match.candidates")
	Matched  = attribute.Key("earshot.match.tools")
	Rejected = attribute.Key("earshot.match.rejected")
)
