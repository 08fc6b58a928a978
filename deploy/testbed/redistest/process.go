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

const host = "127.0.0.1"

// init silences the client, which reports every connection that a killed server refuses.
func init() { redis.SetLogger(new(logging.VoidLogger)) }

// Run starts a redis-server that lives until the end of the test, with further arguments.
func Run(t testbed.TB, arguments ...string) *Server {
	t.Helper()
	return newServer(t, newProcess(t, t.TempDir(), "redis", arguments...))
}

// RunReplica starts a server that follows master, and returns when it has all data and its own append-only file.
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

type process struct {
	*testbed.Process
	folder string // of its data
	port   int
	client *redis.Client
}

// newProcess is a server as Earshot asks for it. Its data are below dir, and its log is in dir.
func newProcess(t testbed.TB, dir, name string, further ...string) *process {
	t.Helper()
	p := &process{Process: testbed.NewProcess(dir, name, Program(t)), folder: filepath.Join(dir, name), port: testbed.Ports(t, 1)[0]}
	p.Forks = true // a copy that writes its files outlives it
	p.client = redis.NewClient(&redis.Options{Addr: p.addr(), PoolSize: 2, MaxRetries: -1, DialerRetries: 1})
	p.Args = append([]string{
		"--bind", host, "--port", strconv.Itoa(p.port), "--dir", p.folder, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--maxmemory-policy", "noeviction",
	}, further...)
	return p
}

func (p *process) addr() string { return net.JoinHostPort(host, strconv.Itoa(p.port)) }

func (p *process) url() string { return "redis://" + p.addr() }

func (p *process) reach(options *redis.UniversalOptions) { options.Addrs = []string{p.addr()} }

// start returns when this very process answers and has read its files.
func (p *process) start() error {
	if p.Running() {
		return errors.New("it runs already")
	}
	if err := errors.Join(os.MkdirAll(p.folder, 0o700), p.Start()); err != nil {
		return err
	}
	err := p.until(func(ctx context.Context, client *redis.Client) error {
		info := client.Info(ctx, "server", "persistence")
		if strings.Contains(info.Val(), "\nloading:1") {
			return errors.New("it reads its files")
		}
		return contains(info, fmt.Sprintf("\nprocess_id:%d\r", p.PID()))
	})
	if err != nil {
		return errors.Join(err, p.kill())
	}
	return nil
}

func (p *process) until(holds func(context.Context, *redis.Client) error) error {
	return p.Until(context.Background(), func(ctx context.Context) error { return holds(ctx, p.client) })
}

// askAgain is the pause before Redis is asked again to end: while it writes its first append-only file it refuses.
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
