package delivery

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"earshot/repositories/tracing"
	"earshot/trigger/effect"
)

// beginSpan begins the span of an attempt: below the tool that fired, or, for a retry, in a trace of its own
// linked to it. The receiver of the effect continues the span. Looking for an answer has no span, since nothing
// is sent. A span has no text, value or credential.
func beginSpan(ctx context.Context, t *tracing.Tracer, delivery *effect.Effect) (context.Context, trace.Span) {
	if t == nil || delivery.Kind == effect.KindAnswer {
		return ctx, noop.Span{}
	}
	name, kind, attributes := describeSpan(delivery)
	begin := t.Below
	if delivery.Attempt > 1 {
		begin = t.Linked
	}
	ctx, span := begin(ctx, delivery.TraceParent, name, kind)
	if span.IsRecording() {
		span.SetAttributes(append(attributes, tracing.App.String(delivery.AppID), tracing.Effect.String(delivery.ID), tracing.Attempt.Int(delivery.Attempt))...)
		if delivery.TriggerID != "" {
			span.SetAttributes(tracing.Trigger.String(delivery.TriggerID))
		}
	}
	delivery.TraceParent = tracing.Parent(span, delivery.TraceParent)
	return ctx, span
}

// describeSpan returns the name, kind and attributes of an effect's span, by the conventions of messaging, HTTP
// and databases.
func describeSpan(delivery *effect.Effect) (name string, kind trace.SpanKind, attributes []attribute.KeyValue) {
	if delivery.Kind == effect.KindEvent {
		// The first two words of a subject, which no app chooses; for an emitter's, app.{appId}.…, the first.
		words := strings.SplitN(delivery.Event.Subject, ".", 3)
		if len(words) > 1 && words[0] != "app" {
			words[0] += "." + words[1]
		}
		return "send " + words[0], trace.SpanKindProducer, []attribute.KeyValue{
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
	if call.Request != nil {
		method = cmp.Or(call.Request.Method, method)
	}
	// The path and the query of a URL may contain a user's words.
	if parsed, err := url.Parse(call.URL); err == nil && parsed.Hostname() != "" {
		attributes = append(attributes, tracing.ServerAddress.String(parsed.Hostname()))
		if port, err := strconv.Atoi(parsed.Port()); err == nil {
			attributes = append(attributes, tracing.ServerPort.Int(port))
		}
	}
	attributes = append(attributes, tracing.HTTPMethod.String(method))
	if delivery.Attempt > 1 {
		attributes = append(attributes, tracing.HTTPResends.Int(delivery.Attempt-1))
	}
	return method, trace.SpanKindClient, attributes
}

// endSpan ends the span of an attempt with its outcome.
func endSpan(span trace.Span, o effect.Outcome) {
	if !span.IsRecording() {
		span.End()
		return
	}
	attributes := []attribute.KeyValue{tracing.Outcome.String(o.Verdict.String())}
	if o.Status != 0 {
		attributes = append(attributes, tracing.HTTPStatus.Int(o.Status))
	}
	fault := ""
	if o.Verdict != effect.Done {
		fault = cmp.Or(string(o.Reason), "unpublished")
	}
	tracing.End(span, fault, attributes...)
}
