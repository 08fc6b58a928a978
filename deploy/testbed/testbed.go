// Package testbed is what tests and rigs share: processes, ports, the program with its replicas, endpoints, and a clock. The
// packages below it start real servers.
package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience bounds every wait, on machines that do much else. Glance is the pause between two looks.
const (
	Patience = 2 * time.Minute
	Glance   = 20 * time.Millisecond
)

// TB is what the test bed needs of a test. A *testing.T is one, and a program has a Rig.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	TempDir() string
	Cleanup(func())
	Skip(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Missing skips a test that lacks something, or fails it if EARSHOT_REQUIRE_SERVERS is set.
func Missing(t TB, why string) {
	t.Helper()
	if os.Getenv("EARSHOT_REQUIRE_SERVERS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Need calls Missing if one of some programs is not on the path.
func Need(t TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			Missing(t, "install "+program)
		}
	}
}

// Python is an interpreter that can run a statement; empty for none. The system's has what apt-get installs.
func Python(statement string) string {
	for _, program := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(program, "-c", statement).Run() == nil {
			return program
		}
	}
	return ""
}

// Must ends a test that cannot do something.
func Must(t TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// Got is a value that comes with an error, which ends the test.
func Got[T any](value T, err error) func(require.TestingT) T {
	return func(t require.TestingT) T {
		require.NoError(t, err)
		return value
	}
}

// Read is the text of a file.
func Read(t require.TestingT, path string) string { return string(Got(os.ReadFile(path))(t)) }

// Kept requires that a generated file holds a text, or writes it there. how is the command that writes it.
func Kept(t testing.TB, write bool, path, text, how string) {
	t.Helper()
	if write {
		Must(t, "write what was generated", os.WriteFile(path, []byte(text), 0o644))
	}
	require.True(t, text == Read(t, path), "%s is not what it follows from; write it with: %s", path, how)
}

// Background runs something until the test ends, or stop is called, which waits for its end.
func Background(t TB, run func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	stop = func() {
		cancel()
		running.Wait()
	}
	t.Cleanup(stop)
	return stop
}

// Until calls holds again and again until it returns nil. It fails when ctx ends or the limit is over.
func Until(ctx context.Context, limit time.Duration, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not within %s", limit))
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}

// Wait pauses, or not so long if ctx ends.
func Wait(ctx context.Context, pause time.Duration) {
	if pause <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(pause):
	}
}

// Main runs the tests of a package, and at the end removes what they have shared.
//
//	func TestMain(m *testing.M) { testbed.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if err := Close(); err != nil {
		fmt.Fprintln(os.Stderr, "remove what the tests have shared:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// shared are functions that remove what lasts until the end of this process.
var shared struct {
	sync.Mutex
	ends []func() error
}

// AtEnd has Close call a function.
func AtEnd(end func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.ends = append(shared.ends, end)
}

// Close removes what was built and started for the whole process. Main calls it; a rig calls it at its end.
func Close() (err error) {
	shared.Lock()
	defer shared.Unlock()
	for _, end := range shared.ends {
		err = errors.Join(err, end())
	}
	shared.ends = nil
	return err
}

// Rig is to a program what a *testing.T is to a test. A server that cannot be started ends it.
type Rig struct {
	ctx context.Context
	dir string

	mu       sync.Mutex
	cleanups []func()
	failed   error
}

type failure struct{ error }

// Run gives do a rig whose folders are below dir, and ends it afterwards. It returns the error of do, or of the rig.
func Run(ctx context.Context, dir string, do func(*Rig) error) (err error) {
	r := &Rig{ctx: ctx, dir: dir}
	defer func() {
		for _, cleanup := range slices.Backward(r.cleanups) {
			cleanup()
		}
		err = errors.Join(err, r.failed)
	}()
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case failure:
			err = reason.error
		default:
			panic(reason)
		}
	}()
	return do(r)
}

// Helper does nothing.
func (r *Rig) Helper() {}

// Name is the same for all rigs.
func (r *Rig) Name() string { return "rig" }

// Context is the context that Run was given.
func (r *Rig) Context() context.Context { return r.ctx }

// TempDir makes a folder, which stays.
func (r *Rig) TempDir() string {
	folder, err := os.MkdirTemp(r.dir, "")
	if err != nil {
		r.Fatal(err)
	}
	return folder
}

// Cleanup has a function called at the end, before those that were given earlier.
func (r *Rig) Cleanup(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, do)
}

// Errorf notes an error, and goes on.
func (r *Rig) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = errors.Join(r.failed, fmt.Errorf(format, args...))
}

// Skip is Fatal: a program cannot go on without what it needs.
func (r *Rig) Skip(args ...any) { r.Fatal(args...) }

// Fatal ends do with an error.
func (r *Rig) Fatal(args ...any) { panic(failure{errors.New(fmt.Sprint(args...))}) }

// Fatalf is Fatal with a format.
func (r *Rig) Fatalf(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

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
