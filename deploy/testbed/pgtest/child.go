package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// startLimit is far above the time that a start takes, for machines that do much else.
const startLimit = 60 * time.Second

// Child is a database server that runs as a process of the test.
type Child struct {
	process *exec.Cmd
	gone    chan struct{}
	output  bytes.Buffer // to be read when gone is closed
}

// StartChild starts a server in the folder dir, with Attributes, and returns when it answers.
func StartChild(dir string, command *exec.Cmd, answers func(ctx context.Context) error) (*Child, error) {
	c := &Child{process: command, gone: make(chan struct{})}
	command.Stdout, command.Stderr = &c.output, &c.output
	command.SysProcAttr, command.Dir = Attributes(), dir
	started := make(chan error, 1)
	go func() {
		// Linux sends the death signal of a child when the thread that made it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.gone)
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // all that matters is that it is gone
		}
	}()
	err := <-started
	if err == nil {
		err = c.ready(answers)
	}
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", filepath.Base(command.Path), err)
	}
	return c, nil
}

func (c *Child) ready(answers func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-c.gone:
			return fmt.Errorf("it ended at once: %s", &c.output)
		case <-ctx.Done():
			return fmt.Errorf("it does not answer after %s: %w", startLimit, err)
		}
	}
}

// Stop ends the server by a signal and returns when it is gone. It does nothing where it is nil.
func (c *Child) Stop(by os.Signal) error {
	if c == nil {
		return nil
	}
	if err := c.process.Process.Signal(by); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", filepath.Base(c.process.Path), err)
	}
	<-c.gone
	return nil
}
