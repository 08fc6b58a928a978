package redistest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// init silences the client: it tells of every connection that a killed server refuses, and buries what
// a failed test says.
func init() { redis.SetLogger(new(logging.VoidLogger)) }

// Run starts a redis-server that lives until the end of the test. Further arguments are added to its
// command line, as in Run(t, "--maxmemory", "4mb").
func Run(t testbed.TB, arguments ...string) *Server {
	t.Helper()
	return newServer(t, newProcess(Program(t), t.TempDir(), "redis", arguments...))
}

// RunReplica starts a server that follows master, and returns when it has all that the master has, and
// has written its own first append-only file: until then it does not obey a SIGTERM.
func RunReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	replica := Run(t, "--replicaof", host, strings.Split(master.Addr(), ":")[1])
	replica.must("have a master followed by", replica.process().until(func(ctx context.Context, client *redis.Client) error {
		return contains(client.Info(ctx, "replication", "persistence"),
			"master_link_status:up", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0")
	}))
	return replica
}

// Program is the path of the redis-server.
func Program(t testbed.TB) string {
	t.Helper()
	const variable = "EARSHOT_REDIS_SERVER"
	program := cmp.Or(os.Getenv(variable), "redis-server")
	found, err := exec.LookPath(program)
	if err != nil {
		testbed.Missing(t, fmt.Sprintf("no %s: install it (apt-get install redis-server, brew install redis) or set %s to its path", program, variable))
	}
	return found
}

// process is a redis-server in a child process.
type process struct {
	*testbed.Process
	folder string // of its data
	port   int    // 0 before the first start
	bus    int    // where the nodes of a cluster talk to each other
	client *redis.Client
	// arguments are its command line, made when the ports are known.
	arguments func() ([]string, error)
}

// newProcess is a server as Earshot asks for it. Its data are below dir, and its log is in dir.
func newProcess(program, dir, name string, further ...string) *process {
	p := &process{Process: testbed.NewProcess(dir, name, program), folder: filepath.Join(dir, name)}
	p.arguments = func() ([]string, error) {
		return append([]string{
			"--bind", host, "--port", strconv.Itoa(p.port), "--dir", p.folder, "--save", "",
			"--appendonly", "yes", "--appendfsync", "no", "--maxmemory-policy", "noeviction",
		}, further...), nil
	}
	return p
}

func (p *process) addr() string { return net.JoinHostPort(host, strconv.Itoa(p.port)) }

func (p *process) url() string { return "redis://" + p.addr() }

func (p *process) reach(options *redis.UniversalOptions) { options.Addrs = []string{p.addr()} }

// portTries is how many ports are tried: one that was free when it was looked for may be taken when the
// server comes to it.
const portTries = 5

// errForeign means that another server has taken the port.
var errForeign = errors.New("another process answers on its port")

// start starts it on the ports that it had; at first on some that are free.
func (p *process) start() error {
	if p.port != 0 {
		return p.run()
	}
	for try := 1; ; try++ {
		ports, err := testbed.Ports(2)
		if err == nil {
			p.port, p.bus = ports[0], ports[1]
			p.client = redis.NewClient(&redis.Options{Addr: p.addr(), PoolSize: 2, MaxRetries: -1, DialerRetries: 1})
			err = p.run()
		}
		if err == nil {
			return nil
		}
		p.port = 0
		if try == portTries || !errors.Is(err, errForeign) && !strings.Contains(err.Error(), "Address already in use") {
			return err
		}
	}
}

// run begins a run, and returns when this very process answers and has read its files.
func (p *process) run() (err error) {
	if p.Running() {
		return errors.New("it runs already")
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return err
	}
	if p.Args, err = p.arguments(); err != nil {
		return err
	}
	if err := p.Start(); err != nil {
		return err
	}
	foreign := false
	err = p.until(func(ctx context.Context, client *redis.Client) error {
		info, err := client.Info(ctx, "server", "persistence").Result()
		if err == nil && strings.Contains(info, "\nloading:1") {
			return errors.New("it is loading its files")
		}
		foreign = err == nil && !strings.Contains(info, fmt.Sprintf("\nprocess_id:%d\r", p.PID()))
		return err
	})
	if foreign {
		err = errForeign
	}
	if err != nil {
		return errors.Join(err, p.kill())
	}
	return nil
}

// until asks the server again and again, until there is no error.
func (p *process) until(holds func(context.Context, *redis.Client) error) error {
	return p.Until(context.Background(), func(ctx context.Context) error { return holds(ctx, p.client) })
}

// askAgain is the pause before Redis is asked again to end: one that writes its first append-only file,
// as a replica does that has just got everything, says no and forgets.
const askAgain = 200 * time.Millisecond

func (p *process) stop() error {
	for p.Running() {
		p.Signal(syscall.SIGTERM)
		select {
		case <-p.Gone():
		case <-time.After(askAgain):
		}
	}
	return nil
}

func (p *process) kill() error {
	p.Kill()
	return nil
}
