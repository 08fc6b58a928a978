// Package tracing begins the spans of OpenTelemetry. One trace leads from a request over the
// message, its matching and the model's answer to each tool that fires, and on to its event and
// its calls; its place is stored with what is owed, so that another replica goes on with it.
//
// A span is never needed for the work: without a provider nothing is made, and nothing costs.
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

// Scope is the name of the instrumentation (OpenTelemetry's instrumentation scope).
const Scope = "earshot"

// Tracer begins spans. A nil one begins none.
type Tracer struct{ tracer trace.Tracer }

// New returns the tracer of a provider; nil if there is none.
func New(provider trace.TracerProvider) *Tracer {
	if provider == nil {
		return nil
	}
	return &Tracer{provider.Tracer(Scope)}
}

// Below begins a span below the place that parent writes (W3C Trace Context), or a trace of its
// own if that is empty.
func (t *Tracer) Below(ctx context.Context, parent, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	if t == nil {
		return ctx, noop.Span{}
	}
	above, _ := Read(parent)
	return t.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, above), name, trace.WithSpanKind(kind))
}

// Linked begins a trace of its own, with a link to the place that earlier writes: what is tried
// again long after would stretch the trace of the first try to no use.
func (t *Tracer) Linked(ctx context.Context, earlier, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	if t == nil {
		return ctx, noop.Span{}
	}
	options := []trace.SpanStartOption{trace.WithNewRoot(), trace.WithSpanKind(kind)}
	if to, is := Read(earlier); is {
		if !to.IsSampled() { // nobody keeps the trace that this belongs to
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

// End ends a span with attributes, and with what went wrong, as Fail has it.
func End(span trace.Span, fault string, attributes ...attribute.KeyValue) {
	span.SetAttributes(attributes...)
	Fail(span, fault)
	span.End()
}

// Fail says in a span what went wrong. fault is a short name from a closed set, the attribute
// error.type, and empty if nothing did: texts of errors may hold what a user said.
func Fail(span trace.Span, fault string) {
	if fault != "" {
		span.SetAttributes(ErrorType.String(fault))
		span.SetStatus(codes.Error, fault)
	}
}

// Parent writes the place of the span as others go on with it (W3C Trace Context), or otherwise
// if there is none.
func Parent(span trace.Span, otherwise string) string {
	if !span.SpanContext().IsValid() {
		return otherwise
	}
	return Of(trace.ContextWithSpan(context.Background(), span))
}

// Of writes the place of ctx's span; empty if there is none.
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

// IDOf is the id of the trace of a place; empty if it is none.
func IDOf(parent string) string {
	if len(parent) < len("00-")+32 {
		return ""
	}
	return parent[3:35]
}

// Read reads a place that somebody else has written; false if it is none.
func Read(parent string) (trace.SpanContext, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	found := trace.SpanContextFromContext(ctx)
	return found, found.IsValid()
}
