// Package testbed is what tests and rigs share: processes, free ports, the program under test and
// replicas of it, endpoints of tools, and a clock that only tests move. The packages below it start
// real servers: Redis, NATS, PostgreSQL and MariaDB.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// Patience bounds every wait, on machines that do much else. Glance is the pause between two looks.
const (
	Patience = 2 * time.Minute
	Glance   = 20 * time.Millisecond
)

// TB is what the test bed needs of a test. A *testing.T is one.
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

// Missing skips a test without what it needs, or fails it if EARSHOT_REQUIRE_SERVERS is set: a
// skipped test goes unnoticed.
func Missing(t TB, why string) {
	t.Helper()
	if os.Getenv("EARSHOT_REQUIRE_SERVERS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
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

// Main runs the tests of a package, and at the end removes what they have shared.
//
//	func TestMain(m *testing.M) { testbed.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if err := closeAll(); err != nil {
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

// AtEnd has Main call a function.
func AtEnd(end func() error) {
	shared.Lock()
	defer shared.Unlock()
	shared.ends = append(shared.ends, end)
}

// closeAll removes what was built and started for the whole of this process. Main calls it.
func closeAll() (err error) {
	shared.Lock()
	defer shared.Unlock()
	for _, end := range shared.ends {
		err = errors.Join(err, end())
	}
	shared.ends = nil
	return err
}
