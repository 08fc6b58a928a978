package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// process is a child. It ends with close, and with the bench however that ends.
type process struct {
	name    string
	log     string // file with what it prints
	command *exec.Cmd
	gone    chan struct{} // closed when it is over
}

// start runs a program with further variables in its environment. The thread that makes
// a child lives as long as the child: the system's death signal is the thread's.
func start(dir, name string, env []string, path string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), command: exec.Command(path, args...), gone: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	p.command.Env = append(os.Environ(), env...)
	p.command.Stdout, p.command.Stderr, p.command.SysProcAttr = out, out, dieWithParent()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.gone)
		defer out.Close()
		err := p.command.Start()
		started <- err
		if err == nil {
			_ = p.command.Wait() // however it ends
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// stopLimit is how long a process may take to end in good order.
const stopLimit = 5 * time.Second

// close ends the process and returns when it is over.
func (p *process) close() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-p.gone:
	case <-time.After(stopLimit):
		_ = p.command.Process.Kill()
		<-p.gone
	}
}

// upLimit is how long a server may take until it answers.
const upLimit = time.Minute

// await asks again and again until ready says yes, or the process is over.
func (p *process) await(ctx context.Context, ready func() bool) error {
	limit, look := time.After(upLimit), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for !ready() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-p.gone:
			return fmt.Errorf("%s has ended by itself:\n%s", p.name, p.lastWords())
		case <-limit:
			return fmt.Errorf("%s does not answer after %s:\n%s", p.name, upLimit, p.lastWords())
		}
	}
	return nil
}

// lastWords is the end of what the process has printed.
func (p *process) lastWords() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-1000):])
}

// listens reports whether somebody takes connections at an address.
func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func portOf(address string) (int, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(port)
}
