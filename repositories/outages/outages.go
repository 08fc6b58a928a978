// Package outages keeps trouble that lasts from flooding a log: one line when it begins, one when
// it changes, and one when it is over, which says how many were suppressed. Those are written at the
// level debug.
package outages

import (
	"context"
	"log/slog"
	"sync"
)

// Log writes lines of trouble. It is safe for concurrent use.
type Log struct {
	logger *slog.Logger

	mu sync.Mutex
	on map[string]*spell
}

// spell is a time in which a thing is in one kind of trouble.
type spell struct {
	how  string
	held int
}

// mostThings bounds what is remembered. Lines of further things are not held back.
const mostThings = 4096

// New returns a log in which all is well.
func New(logger *slog.Logger) *Log { return &Log{logger: logger, on: map[string]*spell{}} }

// Trouble writes a line of warning, unless the thing has been in the same kind of trouble before.
// The kind, how, must not be a text that differs each time.
func (l *Log) Trouble(ctx context.Context, thing, how, event string, attributes ...any) {
	level := slog.LevelWarn
	if !l.begins(thing, how) {
		level = slog.LevelDebug
	}
	l.logger.Log(ctx, level, event, attributes...)
}

func (l *Log) begins(thing, how string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.on[thing]
	switch {
	case was == nil && len(l.on) < mostThings:
		l.on[thing] = &spell{how: how}
	case was == nil:
	case was.how != how:
		was.how = how
	default:
		was.held++
		return false
	}
	return true
}

// Over writes that a thing is well again, and how many lines were suppressed, if any were.
func (l *Log) Over(ctx context.Context, thing, event string, attributes ...any) {
	l.mu.Lock()
	was := l.on[thing]
	delete(l.on, thing)
	l.mu.Unlock()
	if was != nil && was.held > 0 {
		l.logger.InfoContext(ctx, event, append(attributes, "held", was.held)...)
	}
}
