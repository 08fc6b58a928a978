package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Process is a program that is started and ended more than once. It ends with the process that started it, on Linux even
// if that is killed. It is safe for concurrent use.
type Process struct {
	Name         string
	Path         string // of the program
	Args         []string
	Env          []string // in addition to the variables of this process
	Dir          string   // in which it runs
	Log          string   // file to which all that it writes is appended
	Unprivileged bool     // if this user is root, it runs as another
	Forks        bool     // it makes copies of itself: a run is over when they have ended, too

	mu      sync.Mutex
	command *exec.Cmd
	gone    chan struct{} // closed when the present run is over; nil before the first
}

// NewProcess returns a process that does not run yet. Its log is in a folder and has its name.
func NewProcess(folder, name, path string, args ...string) *Process {
	return &Process{Name: name, Path: path, Args: args, Log: filepath.Join(folder, name+".log")}
}

// Start begins a run, with further variables.
func (p *Process) Start(env ...string) error {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	command, gone := exec.Command(p.Path, p.Args...), make(chan struct{})
	command.Dir, command.Stdout, command.Stderr = p.Dir, out, out
	command.Env, command.SysProcAttr = slices.Concat(os.Environ(), p.Env, env), Attributes(p.Unprivileged)
	var ours, theirs *os.File // the ends of a pipe; nil ones hold nothing up
	if p.Forks {              // all copies have its end, and the kernel closes it when the last of them has ended
		if ours, theirs, err = os.Pipe(); err != nil {
			return errors.Join(err, out.Close())
		}
		command.ExtraFiles = []*os.File{theirs}
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // Linux sends the death signal when the thread ends that made the child
		defer runtime.UnlockOSThread()
		defer close(gone)
		defer out.Close()
		defer ours.Close()
		err := command.Start()
		_ = theirs.Close()
		started <- err
		if err == nil {
			_ = command.Wait() // however it ends
			_, _ = io.Copy(io.Discard, ours)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command, p.gone = command, gone
	return nil
}

// Gone is closed when the present run is over; nil before the first.
func (p *Process) Gone() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// Running reports whether it runs.
func (p *Process) Running() bool {
	gone := p.Gone()
	select {
	case <-gone:
		return false
	default:
		return gone != nil
	}
}

// PID is the id of the present run, or of the last.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.command.Process.Pid
}

// Until calls holds again and again until it returns nil. It fails when the process ends.
func (p *Process) Until(ctx context.Context, holds func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	gone := p.Gone()
	go func() {
		select {
		case <-gone:
			cancel(errors.New("it has ended"))
		case <-ctx.Done():
		}
	}()
	if err := Until(ctx, Patience, holds); err != nil {
		return fmt.Errorf("%s: %w\n%s", p.Name, err, p.lastLines())
	}
	return nil
}

func (p *Process) lastLines() string {
	text := p.String()
	return text[max(0, len(text)-2000):]
}

// Signal sends a signal to the present run.
func (p *Process) Signal(signal os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command != nil {
		_ = p.command.Process.Signal(signal) // it may be gone already
	}
}

// Freeze stops it in mid-air until Thaw. On systems that cannot do that, it is killed.
func (p *Process) Freeze() { p.Signal(freeze) }

// Thaw lets it go on.
func (p *Process) Thaw() { p.Signal(thaw) }

// Kill ends the present run with SIGKILL, and waits for its end.
func (p *Process) Kill() {
	gone := p.Gone() // now: it may be started again before we look
	p.Signal(syscall.SIGKILL)
	if gone != nil {
		<-gone
	}
}

// Stop ends the present run, if any, by a signal, and waits for its end. An exit code other than 0 is an error.
func (p *Process) Stop(by os.Signal) error {
	if !p.Running() {
		return nil
	}
	p.Signal(by)
	select {
	case <-p.Gone():
	case <-time.After(Patience):
		p.Kill()
		return fmt.Errorf("%s has not ended within %s; see %s", p.Name, Patience, p.Log)
	}
	if end := p.End(); end.Code != 0 {
		return fmt.Errorf("%s has ended with %d\n%s", p.Name, end.Code, p.lastLines())
	}
	return nil
}

// Ending is how a run has ended.
type Ending struct {
	Killed bool // by SIGKILL
	Code   int
}

// End says how the last run has ended.
func (p *Process) End() Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.command.ProcessState
	status, is := ended.Sys().(syscall.WaitStatus)
	return Ending{Killed: is && status.Signaled() && status.Signal() == syscall.SIGKILL, Code: ended.ExitCode()}
}

// String is all that it has written, over all runs.
func (p *Process) String() string {
	text, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Start runs a program in a folder until the end of the test, with further variables.
func Start(t testing.TB, folder string, variables []string, program string, args ...string) *Process {
	p := NewProcess(t.TempDir(), filepath.Base(program), program, args...)
	p.Dir, p.Env = folder, variables
	require.NoError(t, p.Start())
	t.Cleanup(func() { _ = p.Stop(os.Interrupt) }) // a process that has ended has said why
	return p
}

// Await waits until the process has written what fits a pattern, and returns its last group.
func (p *Process) Await(t testing.TB, pattern string) string {
	t.Helper()
	return awaitText(t, p, pattern)
}

func awaitText(t testing.TB, written fmt.Stringer, pattern string) string {
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(written.String())
		return found != nil
	}, Patience, Glance, "no %s in\n%s", pattern, written)
	return found[len(found)-1]
}
