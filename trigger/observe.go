package trigger

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"earshot/matcher"
	"earshot/repositories/keyspace"
	"earshot/repositories/tracing"
	"earshot/trigger/payload"
	"earshot/trigger/usage"
)

// firingSpan begins the span of a tool that fires, below the message or the request. The decision may yet be
// refused: a span that never ends is never exported. It has no text, value or credential. The second result is
// the parent for its effects, which is parent if nothing is recorded.
func firingSpan(tracer *tracing.Tracer, parent string, event payload.Trigger) (trace.Span, string) {
	if tracer == nil {
		return noop.Span{}, parent
	}
	_, span := tracer.Below(context.Background(), parent, "execute_tool "+event.Name, trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(
			tracing.OperationName.String("execute_tool"), tracing.ToolName.String(event.Name), tracing.ToolType.String("function"), tracing.ToolCallID.String(event.ID),
			tracing.App.String(event.AppID), tracing.Source.String(event.Source),
		)
		if event.SessionID != "" {
			span.SetAttributes(tracing.Conversation.String(event.SessionID))
		}
	}
	return span, tracing.Parent(span, parent)
}

// faultOf returns the kind of an error, whose text may contain a user's words.
func faultOf(err error) string {
	if err == nil {
		return ""
	}
	switch unavailable := (*matcher.Unavailable)(nil); {
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

// countFired counts a trigger whose effects have become due. A duplicate, and one that is taken back before, never
// fires.
func (d *decider) countFired(appID, tool string) {
	d.Metrics.Triggers.WithLabelValues("due").Inc()
	d.records.Counter.CountFired(appID, tool)
	d.Usage.Add(appID, usage.Triggers, 1)
}

// outcomes are the outcomes of messages in metrics and in the usage, by letters of keyspace.OutcomeTo.
var outcomes = map[string]struct {
	name string
	kind usage.Kind
}{
	keyspace.OutcomeFired:     {"matched", usage.Matched},
	keyspace.OutcomeRejected:  {"rejected", usage.Rejected},
	keyspace.OutcomeUnmatched: {"unmatched", usage.Unmatched},
}

// countMessage counts a message by the letter of its outcome.
func (d *decider) countMessage(appID, letter string) {
	d.Usage.Add(appID, usage.Messages, 1)
	d.Usage.Add(appID, outcomes[letter].kind, 1)
	d.Metrics.Messages.WithLabelValues(outcomes[letter].name).Inc()
}

// observe logs a decided message, counts it, and completes its span.
func (d *decider) observe(span trace.Span, t *turn, p *plan, stage string, duration time.Duration) {
	if span.IsRecording() {
		span.SetAttributes(tracing.Stage.String(stage), tracing.Matched.Int(len(p.Answer.Matches)), tracing.Rejected.Int(len(p.Answer.Rejected)))
	}
	outcome, names := outcomes[p.outcome()].name, make([]string, 0, len(p.Answer.Matches))
	d.Usage.CountDecision(p.App, max(duration, d.Now().Sub(t.message.Time)))
	if p.callerFires { // the chat's model calls tools afterwards: EndChat counts
		outcome = "acted"
	} else {
		d.countMessage(p.App, p.outcome())
	}
	for _, match := range p.Answer.Matches {
		names = append(names, match.Name)
	}
	for _, rejected := range p.Answer.Rejected {
		d.records.Counter.CountRejected(p.App, rejected.Name)
	}
	attributes := append(make([]slog.Attr, 0, 9),
		slog.String("app", p.App), slog.String("session", p.Session), slog.String("message", t.Turn.Message), slog.String("outcome", outcome),
		slog.String("stage", stage), slog.Any("tools", names), slog.Int64("ms", duration.Milliseconds()), slog.String("trace", tracing.IDOf(t.message.TraceParent)))
	if d.logTexts {
		attributes = append(attributes, slog.String("text", t.message.Text))
	}
	d.Log.LogAttrs(context.Background(), slog.LevelInfo, "message.decided", attributes...)
}
