// Package servers runs the servers that stand around replicas of the service, as processes that
// can be killed, frozen and started again: one Redis, a Redis Cluster, NATS, and a proxy that
// loses replies. The replicas are such processes as well.
package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Process is a child that can be killed and started again. Its output is appended to
// one file over all its lives.
type Process struct {
	// Log is the file.
	Log string

	name string
	path string
	args []string

	mu      sync.Mutex
	command *exec.Cmd
	gone    chan struct{} // closed when the present life is over
}

// New is a process that does not run yet: the program at a path, with arguments. Its log is in
// the folder dir and has its name.
func New(dir, name, path string, args ...string) *Process {
	return &Process{name: name, path: path, args: args, Log: filepath.Join(dir, name+".log")}
}

// Start begins a life, with further variables in its environment.
func (p *Process) Start(env ...string) error {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	command, gone := exec.Command(p.path, p.args...), make(chan struct{})
	command.Env = append(os.Environ(), env...)
	command.Stdout, command.Stderr, command.SysProcAttr = out, out, dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the death signal comes when the thread ends that made the child
		defer runtime.UnlockOSThread()
		defer close(gone)
		defer out.Close()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // however it ends
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command, p.gone = command, gone
	return nil
}

// Life is closed when the present life is over; nil before the first.
func (p *Process) Life() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// Signal sends a signal to the present life.
func (p *Process) Signal(signal os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command != nil {
		_ = p.command.Process.Signal(signal) // it may be gone already
	}
}

// Freeze stops it in mid-air, until Thaw. Where that cannot be done, it is killed.
func (p *Process) Freeze() { p.Signal(freeze) }

// Thaw lets it go on.
func (p *Process) Thaw() { p.Signal(thaw) }

// Kill ends the present life with SIGKILL and waits until it is over.
func (p *Process) Kill() {
	gone := p.Life() // of now: it may be started again before we look
	p.Signal(syscall.SIGKILL)
	if gone != nil {
		<-gone
	}
}

// Ending is how a life has ended.
type Ending struct {
	Killed bool // by SIGKILL
	Code   int
}

// End says how the last life has ended.
func (p *Process) End() Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.command.ProcessState
	status, is := ended.Sys().(syscall.WaitStatus)
	return Ending{Killed: is && status.Signaled() && status.Signal() == syscall.SIGKILL, Code: ended.ExitCode()}
}

// ComeUp is how long a server may take until it answers; some tens of milliseconds on
// an idle machine.
const ComeUp = 30 * time.Second

var errSilent = errors.New("it does not come up")

// Until asks again and again until ready says yes. It is an error where the limit is over
// before.
func Until(limit time.Duration, ready func() bool) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ready() {
			return nil
		}
	}
	return errSilent
}

// Address is a port of the loopback interface, as host:port.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
