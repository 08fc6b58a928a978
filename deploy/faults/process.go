package main

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

// process is a child that can be killed and started again. Its output is appended to
// one file over all its lives.
type process struct {
	name string
	path string
	args []string
	log  string // file

	mu      sync.Mutex
	command *exec.Cmd
	gone    chan struct{} // closed when the present life is over
}

func newProcess(dir, name, path string, args ...string) *process {
	return &process{name: name, path: path, args: args, log: filepath.Join(dir, name+".log")}
}

// start begins a life, with further variables in its environment.
func (p *process) start(env ...string) error {
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
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

// life is closed when the present life is over.
func (p *process) life() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

func (p *process) signal(signal os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command != nil {
		_ = p.command.Process.Signal(signal) // it may be gone already
	}
}

// kill ends the present life with SIGKILL and waits until it is over.
func (p *process) kill() {
	gone := p.life() // of now: it may be started again before we look
	p.signal(syscall.SIGKILL)
	if gone != nil {
		<-gone
	}
}

// ending is how a life has ended.
type ending struct {
	killed bool // by SIGKILL
	code   int
}

// end says how the last life has ended.
func (p *process) end() ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	ended := p.command.ProcessState
	status, is := ended.Sys().(syscall.WaitStatus)
	return ending{killed: is && status.Signaled() && status.Signal() == syscall.SIGKILL, code: ended.ExitCode()}
}

// comeUp is how long a server may take until it answers; some tens of milliseconds on
// an idle machine.
const comeUp = 30 * time.Second

var errSilent = errors.New("it does not come up")

// until asks again and again until ready says yes.
func until(limit time.Duration, ready func() bool) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ready() {
			return nil
		}
	}
	return errSilent
}

// freePort returns a port of the loopback interface that nobody has at the moment.
func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
