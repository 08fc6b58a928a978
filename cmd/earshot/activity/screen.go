// Package activity shows a person at a terminal what a service does while it does it: a line
// for each message with what was decided, for each event with its values, for each call with
// its status. It stands in the place of the log, whose warnings and errors it writes apart.
package activity

import (
	"fmt"
	"io"
	"net/url"
	"sync"
	"time"

	"earshot/cmd/earshot/terminal"
	"earshot/trigger/effect"
)

// Screen is where it is shown. It is safe for concurrent use: a line is written whole.
type Screen struct {
	mu     sync.Mutex
	out    io.Writer // what happens
	err    io.Writer // what goes wrong with the service itself
	lookup func(variable string) (string, bool)
	now    func() time.Time
	style  terminal.Style
	faults terminal.Style
}

// NewScreen returns a screen. lookup finds the environment variables that say how it looks.
func NewScreen(out, err io.Writer, lookup func(string) (string, bool), now func() time.Time) *Screen {
	return &Screen{
		out: out, err: err, lookup: lookup, now: now,
		style: terminal.StyleOf(out, lookup), faults: terminal.StyleOf(err, lookup),
	}
}

// Show writes what happened as a line, cut where the screen ends.
func (s *Screen) Show(e terminal.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, e.Line(s.style, s.time(), terminal.Width(s.out, s.lookup)))
}

// Fault writes what went wrong, in full.
func (s *Screen) Fault(level, text string) {
	code := terminal.Yellow
	if level == "error" {
		code = terminal.Red
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.err, "%s  %s  %s\n", s.faults.Paint(terminal.Faint, s.time()), s.faults.Paint(code, level), terminal.OneLine(text))
}

func (s *Screen) time() string { return s.now().Local().Format(time.TimeOnly) }

// showEvent shows an event as it was published, or why it was not yet.
func (s *Screen) showEvent(e effect.Effect, o effect.Outcome) {
	shown := terminal.EventOf(e.Event.Subject, e.Event.Data)
	if o.Verdict != effect.Done {
		shown.Says, shown.Code = undelivered(o), codes[o.Verdict]
	}
	s.Show(shown)
}

// showCall shows a call and how its attempt ended.
func (s *Screen) showCall(e effect.Effect, o effect.Outcome) {
	ended := undelivered(o)
	if o.Verdict == effect.Done {
		ended = "done"
	}
	if o.Status != 0 {
		ended = fmt.Sprint(o.Status)
		if o.Verdict != effect.Done {
			ended += " " + undelivered(o)
		}
	}
	s.Show(terminal.Event{Kind: "call", App: e.AppID, Session: e.SessionID, Name: target(e.Call), Says: ended, Code: codes[o.Verdict]})
}

var codes = map[effect.Verdict]string{effect.Done: terminal.Green, effect.Retry: terminal.Yellow, effect.Dead: terminal.Red}

// undelivered says why an effect was not delivered, and what comes of it.
func undelivered(o effect.Outcome) string {
	if o.Verdict == effect.Dead {
		return "failed: " + o.Error
	}
	return "is tried again: " + o.Error
}

// target is what a call calls, without what the query may hold.
func target(call *effect.Call) string {
	if call.Tool != nil {
		return call.Tool.Type + " " + call.Tool.Source
	}
	method := "POST"
	if call.Request != nil && call.Request.Method != "" {
		method = call.Request.Method
	}
	at, err := url.Parse(call.URL)
	if err != nil {
		return method
	}
	return method + " " + at.Host + at.Path
}
