package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

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
	dir     string
	port    int
	extra   []string

	running *child // nil while it does not run
}

// Run starts a redis-server that lives until the end of the test. Further arguments
// are added to its command line, as in Run(t, "--maxmemory", "4mb").
func Run(t testing.TB, arguments ...string) *Server {
	t.Helper()
	p := &process{program: find(t), dir: t.TempDir(), extra: arguments}
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			t.Fatalf("find a free port for redis-server: %v", err)
		}
		p.port = port
		err = p.start()
		if err == nil {
			break
		}
		if try == portTries || !taken(err) {
			t.Fatalf("start redis-server at %s: %v", p.addr(), err)
		}
	}
	s := &Server{t: t, addr: p.addr(), backend: p}
	s.cleanUp()
	return s
}

func find(t testing.TB) string {
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

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return listener.Addr().(*net.TCPAddr).Port, listener.Close()
}

func taken(err error) bool {
	return errors.Is(err, errForeign) || strings.Contains(err.Error(), "Address already in use")
}

func (p *process) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }

func (p *process) start() error {
	if p.running != nil {
		return errors.New("it runs already")
	}
	c, err := launch(p.program, append([]string{
		"--bind", "127.0.0.1",
		"--port", strconv.Itoa(p.port),
		"--dir", p.dir,
		"--save", "",
		"--appendonly", "yes",
		"--maxmemory-policy", "noeviction",
	}, p.extra...))
	if err != nil {
		return err
	}
	p.running = c
	if err := c.ready(p.addr()); err != nil {
		return errors.Join(err, p.kill())
	}
	return nil
}

func (p *process) stop() error { return p.end(syscall.SIGTERM) }

func (p *process) kill() error { return p.end(syscall.SIGKILL) }

func (p *process) end(signal os.Signal) error {
	if p.running == nil {
		return nil
	}
	err := p.running.command.Process.Signal(signal)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.running.gone
	p.running = nil
	return nil
}
