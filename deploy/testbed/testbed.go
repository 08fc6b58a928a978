// Package testbed is what tests and rigs share: it starts programs and reads what they write, finds
// free ports, and has a clock that only tests move. Its folders start real servers.
package testbed

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// AdminKey is that of a service that Environment is for.
	AdminKey = "admin-key-of-the-tests"
	// Patience bounds what is waited for, on machines that do much else.
	Patience = 2 * time.Minute
	// Glance is the pause between two looks.
	Glance = 20 * time.Millisecond
)

// Environment lets an earshot dev ask for AdminKey, and use nothing that is configured
// on the machine.
func Environment() []string {
	return []string{"EARSHOT_ADMIN_KEY=" + AdminKey, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "REDIS_URL=", "NATS_URL="}
}

// Missing skips a test without what it needs, or fails it where everything has to be there.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("EARSHOT_REQUIRE_SERVERS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Start runs a program in a folder until the end of the test, with these variables beside
// those of the test.
func Start(t testing.TB, folder string, variables []string, program string, arguments ...string) *Lines {
	t.Helper()
	cmd, written := exec.Command(program, arguments...), &Lines{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, written, written
	cmd.Env = append(os.Environ(), variables...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // one that has ended has said why
		_ = cmd.Wait()
	})
	return written
}

// Lines are what a program has written, readable while it runs.
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

// Await waits until the program has written what fits, and returns its first group.
func (l *Lines) Await(t testing.TB, pattern string) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(l.String())
		return found != nil
	}, Patience, Glance, "no %s in\n%s", pattern, l)
	return found[len(found)-1]
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
