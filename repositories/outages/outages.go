// Package outages keeps lasting trouble from flooding a log: it writes one line when trouble begins, one when it
// changes, and one when it is over, with the number of suppressed lines. Suppressed lines have the level debug.
package outages

import (
	"context"
	"log/slog"
	"sync"
)

// Log writes lines about trouble. It is safe for concurrent use.
type Log struct {
	logger *slog.Logger

	mu sync.Mutex
	on map[string]*outage
}

// outage is a period of one kind of trouble with a thing.
type outage struct {
	how  string
	held int
}

// maxThings bounds the remembered things. Lines about others are not suppressed.
const maxThings = 4096

// New returns a log without trouble.
func New(logger *slog.Logger) *Log { return &Log{logger: logger, on: map[string]*outage{}} }

// Trouble writes a warning, unless the thing already has the same kind of trouble. The kind, how, must not differ
// each time.
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
	before := l.on[thing]
	switch {
	case before == nil && len(l.on) < maxThings:
		l.on[thing] = &outage{how: how}
	case before == nil:
	case before.how != how:
		before.how = how
	default:
		before.held++
		return false
	}
	return true
}

// Over writes that a thing works again and how many lines were suppressed, if any.
func (l *Log) Over(ctx context.Context, thing, event string, attributes ...any) {
	l.mu.Lock()
	before := l.on[thing]
	delete(l.on, thing)
	l.mu.Unlock()
	if before != nil && before.held > 0 {
		l.logger.InfoContext(ctx, event, append(attributes, "held", before.held)...)
	}
}
