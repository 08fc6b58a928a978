package main

import (
	"context"
	"fmt"
	"io"
	"time"
)

// version is set at build time: -ldflags "-X main.version=v1.2.3".
var version = "development"

// environment holds the inputs and outputs of a command beside its arguments, so that
// tests can run commands as main does.
type environment struct {
	out    io.Writer
	err    io.Writer
	lookup func(variable string) (string, bool)
	in     io.Reader // what a user types
	now    func() time.Time
	// pause waits until the duration is over, or returns the error of ctx, which ended.
	pause func(ctx context.Context, d time.Duration) error
}

// pause is the pause of an environment that is measured by the clock of the machine.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// exitWith is an error that only sets the exit code; nothing is printed for it.
type exitWith int

// Error returns the code, for whoever prints it all the same.
func (e exitWith) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
