package trigger

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"earshot/trigger/effect"
)

// logDecision writes the one line that a decided message gets.
func (e *Engine) logDecision(t *turn, p *plan, stage string, took time.Duration) {
	outcome := "unmatched"
	switch {
	case len(p.answer.Matches) > 0:
		outcome = "matched"
	case len(p.answer.Rejected) > 0:
		outcome = "rejected"
	}
	e.metrics.messages.WithLabelValues(outcome).Inc()
	attributes := []any{
		"app", p.App, "session", p.Session, "message", p.Message, "outcome", outcome, "stage", stage,
		"tools", toolsOf(p.answer), "ms", took.Milliseconds(),
	}
	if e.logTexts {
		attributes = append(attributes, "text", t.message.Text)
	}
	e.log.Info("message.decided", attributes...)
}

func toolsOf(answer Answer) []string {
	names := []string{}
	for _, match := range answer.Matches {
		names = append(names, match.Name)
	}
	return names
}

// logAttempt writes the one line that an attempt at an effect gets. Values and
// results are not in it.
func (e *Engine) logAttempt(a attempt, took time.Duration) {
	outcome := verdicts[a.outcome.Verdict]
	e.metrics.effects.WithLabelValues(string(a.Kind), outcome).Inc()
	level := slog.LevelInfo
	if a.outcome.Verdict != effect.Done {
		level = slog.LevelWarn
	}
	attributes := []any{
		"app", a.AppID, "session", a.SessionID, "effect", a.ID, "kind", string(a.Kind), "trigger", a.TriggerID,
		"attempt", a.Attempt, "outcome", outcome, "ms", took.Milliseconds(),
	}
	if a.Event != nil {
		attributes = append(attributes, "subject", a.Event.Subject)
	}
	if a.outcome.Verdict != effect.Done {
		attributes = append(attributes, "status", a.outcome.Status, "reason", string(a.outcome.Reason),
			"error", a.outcome.Error, "next", a.pause.String())
	}
	e.log.Log(e.life, level, "effect.attempted", attributes...)
}

// logPanic writes where a panic came from. Its value is left out, since it may hold
// what a user said.
func (e *Engine) logPanic(event string, fault any) {
	e.log.Error(event, "type", fmt.Sprintf("%T", fault), "stack", string(debug.Stack()))
}
