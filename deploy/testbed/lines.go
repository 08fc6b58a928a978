package testbed

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Lines are what is written, readable at the same time.
type Lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

// String returns all that was written up to now.
func (l *Lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Await waits until what fits a pattern is written, and returns its last group.
func (l *Lines) Await(t testing.TB, pattern string) string {
	t.Helper()
	return awaitText(t, l, pattern)
}

// Clock is a time that only tests move. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands still.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now is the time to which it was moved.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves it.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}
