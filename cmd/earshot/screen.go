package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"earshot/cmd/earshot/terminal"
	"earshot/trigger/effect"
)

// screen shows the service's activity at a terminal: a line per message with its decision, per event with its
// values, per call with its status. It replaces the log, whose warnings and errors go to env.err. It is safe
// for concurrent use.
type screen struct {
	env environment
	mu  sync.Mutex
}

func (s *screen) show(e terminal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.env.out, e.Line(s.style(s.env.out), s.time(), terminal.Width(s.env.out, s.env.lookup)))
}

func (s *screen) style(out io.Writer) terminal.Style { return terminal.StyleOf(out, s.env.lookup) }

func (s *screen) time() string { return s.env.now().Local().Format(time.TimeOnly) }

// watch returns a deliverer that shows the attempts of another; without a screen, it returns the other.
func (s *screen) watch(by effect.Deliverer) effect.Deliverer {
	if s == nil {
		return by
	}
	return shownDeliverer{by, s}
}

type shownDeliverer struct {
	effect.Deliverer
	screen *screen
}

func (w shownDeliverer) Deliver(ctx context.Context, e effect.Effect) effect.Outcome {
	outcome := w.Deliverer.Deliver(ctx, e)
	code := map[effect.Verdict]string{effect.Done: terminal.Green, effect.Retry: terminal.Yellow, effect.Dead: terminal.Red}[outcome.Verdict]
	ended := "" // the error of a failed attempt
	switch outcome.Verdict {
	case effect.Done:
	case effect.Dead:
		ended = "failed: " + outcome.Error
	default:
		ended = "is tried again: " + outcome.Error
	}
	switch {
	case outcome.Deferred: // there was no attempt
	case e.Event != nil:
		shown := terminal.EventOf(e.Event.Subject, e.Event.Data)
		if ended != "" {
			shown.Says, shown.Code = ended, code
		}
		w.screen.show(shown)
	case e.Call != nil:
		if outcome.Status != 0 {
			ended = strings.TrimSpace(fmt.Sprint(outcome.Status, " ", ended))
		}
		target := "POST"
		if e.Call.Request != nil {
			target = cmp.Or(e.Call.Request.Method, target)
		}
		if e.Call.Tool != nil {
			target = e.Call.Tool.Type + " " + e.Call.Tool.Source
		} else if at, err := url.Parse(e.Call.URL); err == nil {
			target += " " + at.Host + at.Path // the query may contain personal data
		}
		w.screen.show(terminal.Event{Kind: "call", App: e.AppID, Session: e.SessionID, Name: target, Says: cmp.Or(ended, "done"), Code: code})
	}
	return outcome
}

// screenLog is a slog.Handler that shows each message's decision, and lines of at least its level as faults.
type screenLog struct {
	screen *screen
	level  slog.Level
	with   []slog.Attr
}

func (h screenLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= min(h.level, slog.LevelInfo)
}

func (h screenLog) WithAttrs(attributes []slog.Attr) slog.Handler {
	h.with = append(slices.Clip(h.with), attributes...)
	return h
}

// WithGroup implements slog.Handler. No caller uses groups.
func (h screenLog) WithGroup(string) slog.Handler { return h }

func (h screenLog) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "message.decided" {
		of := map[string]string{}
		record.Attrs(func(a slog.Attr) bool {
			of[a.Key] = a.Value.String()
			return true
		})
		e := terminal.Event{Kind: "message", App: of["app"], Session: of["session"], Code: terminal.Bold, Says: "no tool in scope"}
		switch {
		case of["outcome"] == "acted":
			e.Says = "the chat's model calls tools"
		case of["stage"] != "none":
			outcome := map[string]string{"matched": "match", "rejected": "values missing", "unmatched": "no match"}[of["outcome"]]
			e.Says = outcome + " (" + of["stage"] + ")"
		}
		if of["text"] != "" {
			e.Says += `  "` + terminal.OneLine(of["text"]) + `"`
		}
		h.screen.show(e) // the events show what fired
		return nil
	}
	if record.Message == "effect.attempted" || record.Level < h.level { // shownDeliverer shows attempts
		return nil
	}
	text := record.Message
	add := func(a slog.Attr) bool {
		text += "  " + a.Key + "=" + a.Value.String()
		return true
	}
	for _, attribute := range h.with {
		add(attribute)
	}
	record.Attrs(add)

	level, code := strings.ToLower(record.Level.String()), terminal.Yellow
	if record.Level == slog.LevelError {
		code = terminal.Red
	}
	s := h.screen
	s.mu.Lock()
	defer s.mu.Unlock()
	style := s.style(s.env.err)
	fmt.Fprintf(s.env.err, "%s  %s  %s\n", style.Paint(terminal.Faint, s.time()), style.Paint(code, level), terminal.OneLine(text))
	return nil
}
