package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"earshot/deploy/testbed"
)

// host is where all servers listen.
const host = "127.0.0.1"

// portTries is how many ports are tried: a port that was free when it was looked for
// may be taken when the server comes to it.
const portTries = 5

// Environment variables that say where the program is, and that it must be there.
const (
	envProgram = "EARSHOT_REDIS_SERVER"
	envRequire = "EARSHOT_REQUIRE_SERVERS"
)

// process is a redis-server in a child process.
type process struct {
	program string
	port    int // 0 until it was started
	bus     int // where the nodes of a cluster talk to each other
	// arguments are its command line, made when the ports are known.
	arguments func(*process) ([]string, error)

	running *child // nil while it does not run
}

// init silences the client: it tells of every connection that a killed server refuses,
// and buries what a failed test says.
func init() { redis.SetLogger(new(logging.VoidLogger)) }

// Run starts a redis-server that lives until the end of the test. Further arguments
// are added to its command line, as in Run(t, "--maxmemory", "4mb").
func Run(t testing.TB, arguments ...string) *Server {
	t.Helper()
	p := newProcess(Program(t), t.TempDir(), arguments...)
	s := newServer(t, p)
	s.Start()
	return s
}

// newProcess is a server as Earshot asks for it.
func newProcess(program, dir string, extra ...string) *process {
	settings := append([]string{
		"--dir", dir,
		"--save", "",
		"--appendonly", "yes",
		"--appendfsync", "no",
		"--maxmemory-policy", "noeviction",
	}, extra...)
	return &process{program: program, arguments: func(p *process) ([]string, error) {
		return append([]string{"--bind", host, "--port", strconv.Itoa(p.port)}, settings...), nil
	}}
}

// Program is the path of the redis-server. Without one the test is skipped, or fails where
// servers are required.
func Program(t testing.TB) string {
	t.Helper()
	program := os.Getenv(envProgram)
	if program == "" {
		program = "redis-server"
	}
	found, err := exec.LookPath(program)
	if err == nil {
		return found
	}
	text := fmt.Sprintf("no %s: install it (apt-get install redis-server, brew install redis) or set %s to its path", program, envProgram)
	if os.Getenv(envRequire) != "" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

func taken(err error) bool {
	return errors.Is(err, errForeign) || strings.Contains(err.Error(), "Address already in use")
}

func (p *process) addr() string { return net.JoinHostPort(host, strconv.Itoa(p.port)) }

func (p *process) url() string { return "redis://" + p.addr() }

func (p *process) reach(options *redis.UniversalOptions) { options.Addrs = []string{p.addr()} }

// start starts it on the ports that it had; at first on some that are free.
func (p *process) start() error {
	if p.running != nil {
		return errors.New("it runs already")
	}
	if p.port != 0 {
		return p.run()
	}
	for try := 1; ; try++ {
		err := p.choosePorts()
		if err == nil {
			err = p.run()
		}
		if err == nil {
			return nil
		}
		p.port = 0
		if try == portTries || !taken(err) {
			return err
		}
	}
}

func (p *process) choosePorts() (err error) {
	if p.port, err = testbed.Port(); err == nil {
		p.bus, err = testbed.Port()
	}
	return err
}

func (p *process) run() error {
	arguments, err := p.arguments(p)
	if err != nil {
		return err
	}
	if p.running, err = launch(p.program, arguments); err != nil {
		p.running = nil
		return err
	}
	if err := p.running.ready(p.addr()); err != nil {
		return errors.Join(err, p.kill())
	}
	return nil
}

// askAgain is the pause before Redis is asked again to end: one that writes its first
// append-only file, as a replica does that has just got everything, says no and forgets.
const askAgain = 200 * time.Millisecond

func (p *process) stop() error { return p.end(syscall.SIGTERM) }

func (p *process) kill() error { return p.end(syscall.SIGKILL) }

func (p *process) end(signal os.Signal) error {
	if p.running == nil {
		return nil
	}
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		err := p.running.command.Process.Signal(signal)
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-p.running.gone:
			p.running = nil
			return nil
		case <-again.C:
		}
	}
}

// ask puts something to one process.
func (p *process) ask(what func(context.Context, *redis.Client) error) error {
	client := redis.NewClient(&redis.Options{Addr: p.addr()})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	return what(ctx, client)
}

// await asks again and again, until there is no error.
func (p *process) await(what string, holds func(context.Context, *redis.Client) error) error {
	return p.ask(func(ctx context.Context, client *redis.Client) error {
		again := time.NewTicker(5 * knock)
		defer again.Stop()
		for {
			err := holds(ctx, client)
			if err == nil {
				return nil
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return fmt.Errorf("not so at the Redis on %s after %s: %s: %w", p.addr(), startLimit, what, err)
			}
		}
	})
}
