package stage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// limit is how long a program may take to come up, or to end: far above what it takes, for
// machines that do much else.
const limit = time.Minute

// process is a program that is started and ended, more than once. What it writes is appended
// to one file.
type process struct {
	name, log string
	command   []string

	running *exec.Cmd
	gone    chan struct{} // closed when it has ended
}

func (p *process) start(env []string) error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.running, p.gone = exec.Command(p.command[0], p.command[1:]...), make(chan struct{})
	p.running.Env, p.running.Stdout, p.running.Stderr = env, out, out
	if err := errors.Join(p.running.Start(), out.Close()); err != nil {
		p.running = nil
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	go func(running *exec.Cmd, gone chan struct{}) {
		defer close(gone)
		_ = running.Wait() // however it ends
	}(p.running, p.gone)
	return nil
}

// until asks again and again whether something holds.
func (p *process) until(what string, holds func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !holds(ctx) {
		select {
		case <-again.C:
		case <-p.gone:
			return fmt.Errorf("%s has ended at once; see %s", p.name, p.log)
		case <-ctx.Done():
			return fmt.Errorf("%s: not so after %s: %s; see %s", p.name, limit, what, p.log)
		}
	}
	return nil
}

func (p *process) stop() error {
	if p.running == nil {
		return nil
	}
	if err := p.running.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end %s: %w", p.name, err)
	}
	select {
	case <-p.gone:
	case <-time.After(limit):
		p.kill()
		return fmt.Errorf("%s has not ended %s after SIGTERM; see %s", p.name, limit, p.log)
	}
	code := p.running.ProcessState.ExitCode()
	p.running = nil
	if code != 0 {
		return fmt.Errorf("%s has ended with %d; see %s", p.name, code, p.log)
	}
	return nil
}

func (p *process) kill() {
	if p.running == nil {
		return
	}
	_ = p.running.Process.Kill() // it may be gone already
	<-p.gone
	p.running = nil
}
