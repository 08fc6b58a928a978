package activity

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"earshot/cmd/earshot/terminal"
	"earshot/trigger/effect"
)

// Watch returns a deliverer that shows every attempt of another. Without a screen it is
// that other.
func (s *Screen) Watch(by effect.Deliverer) effect.Deliverer {
	if s == nil {
		return by
	}
	return watched{by, s}
}

// watched is a deliverer whose attempts are shown.
type watched struct {
	by     effect.Deliverer
	screen *Screen
}

// Deliver implements effect.Deliverer.
func (w watched) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	outcome := w.by.Deliver(ctx, delivery)
	switch {
	case outcome.Deferred: // there was no attempt
	case delivery.Event != nil:
		w.screen.showEvent(delivery, outcome)
	case delivery.Call != nil:
		w.screen.showCall(delivery, outcome)
	}
	return outcome
}

// Handler returns a handler of the service's log that shows what was decided of each
// message, and of all other lines those of the level and above, as faults.
func (s *Screen) Handler(level slog.Level) slog.Handler { return handler{screen: s, level: level} }

// handler is the log as a person at a terminal wants it.
type handler struct {
	screen *Screen
	level  slog.Level
	with   []slog.Attr
}

const (
	decided   = "message.decided"
	attempted = "effect.attempted" // is shown by Watch, which knows more of it
)

// Enabled implements slog.Handler.
func (h handler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= min(h.level, slog.LevelInfo)
}

// WithAttrs implements slog.Handler.
func (h handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	h.with = append(slices.Clip(h.with), attributes...)
	return h
}

// WithGroup implements slog.Handler. Nothing here groups attributes.
func (h handler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h handler) Handle(_ context.Context, record slog.Record) error {
	switch {
	case record.Message == decided:
		h.screen.Show(decisionOf(record))
	case record.Message != attempted && record.Level >= h.level:
		h.screen.Fault(strings.ToLower(record.Level.String()), h.text(record))
	}
	return nil
}

// text is a line of the log in words.
func (h handler) text(record slog.Record) string {
	var b strings.Builder
	b.WriteString(record.Message)
	add := func(a slog.Attr) bool {
		b.WriteString("  " + a.Key + "=" + a.Value.String())
		return true
	}
	for _, attribute := range h.with {
		add(attribute)
	}
	record.Attrs(add)
	return b.String()
}

// decisionOf is what was decided of a message. What fired, and why something did not, is in
// the events that follow.
func decisionOf(record slog.Record) terminal.Event {
	of := map[string]string{}
	record.Attrs(func(a slog.Attr) bool {
		of[a.Key] = a.Value.String()
		return true
	})
	e := terminal.Event{Kind: "message", App: of["app"], Session: of["session"], Code: terminal.Bold}
	said := map[string]string{"matched": "match", "rejected": "values missing", "unmatched": "no match"}[of["outcome"]]
	if of["stage"] == "none" {
		said = "no tool in scope"
	} else {
		said += " (" + of["stage"] + ")"
	}
	e.Says = said
	if of["text"] != "" {
		e.Says += `  "` + terminal.OneLine(of["text"]) + `"`
	}
	return e
}
