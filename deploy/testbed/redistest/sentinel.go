package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// sentinels is the smallest number of sentinels of which one may be away.
const sentinels = 3

// masterName is what sentinels call the master.
const masterName = "earshot"

// Sentinel is a master and its replica under the watch of three sentinels. As a Server
// it is reached through them.
type Sentinel struct {
	*Server
	watch *watch
}

// RunSentinel starts a master, a replica and three sentinels that live until the end
// of the test, and returns when the replica is one that may be promoted.
func RunSentinel(t testing.TB) *Sentinel {
	t.Helper()
	w := newWatch(Program(t), t.TempDir())
	s := &Sentinel{Server: newServer(t, w), watch: w}
	s.Start()
	return s
}

// Failover has the replica promoted, and returns when all sentinels name it as the
// master. What the old master had taken and not passed on yet is lost, as it is when a
// master dies. The old one follows some ten seconds later.
func (s *Sentinel) Failover() {
	s.t.Helper()
	if err := s.watch.failOver(); err != nil {
		s.t.Fatalf("fail over: %v", err)
	}
}

// Replicate returns when the replica has what the master has taken so far.
func (s *Sentinel) Replicate() {
	s.t.Helper()
	client := s.Connect(redis.UniversalOptions{PoolSize: 1}) // WAIT is for the writes of its own connection
	ctx := context.Background()
	err := client.Set(ctx, "redistest", "replicated", 0).Err()
	if err == nil {
		err = client.Do(ctx, "WAIT", 1, 0).Err()
	}
	if err != nil {
		s.t.Fatalf("wait for the replica: %v", err)
	}
}

// Master returns the server that the sentinels name as the master.
func (s *Sentinel) Master() *Server {
	s.t.Helper()
	master, _, err := s.watch.roles()
	if err != nil {
		s.t.Fatalf("ask for the master: %v", err)
	}
	return &Server{t: s.t, backend: master}
}

// watch is the backend of a Sentinel.
type watch struct {
	data  [2]*process // the first is the master at first
	watch [sentinels]*process
}

func newWatch(program, dir string) *watch {
	w := &watch{}
	for i := range w.data {
		w.data[i] = newProcess(program, dir, "--appenddirname", fmt.Sprintf("aof-%d", i),
			"--dbfilename", fmt.Sprintf("dump-%d.rdb", i), "--repl-diskless-sync-delay", "0")
	}
	follow := w.data[1].arguments
	w.data[1].arguments = func(p *process) ([]string, error) {
		list, err := follow(p)
		return append(list, "--replicaof", host, strconv.Itoa(w.data[0].port)), err
	}
	for i := range w.watch {
		file := filepath.Join(dir, fmt.Sprintf("sentinel-%d.conf", i))
		w.watch[i] = &process{program: program, arguments: func(p *process) ([]string, error) {
			return []string{file, "--sentinel"}, w.configure(file, p.port)
		}}
	}
	return w
}

// configure writes the file that a sentinel is started with and keeps its state in.
func (w *watch) configure(file string, port int) error {
	return os.WriteFile(file, fmt.Appendf(nil, `bind %[1]s
port %[2]d
dir %[3]s
sentinel monitor %[4]s %[1]s %[5]d 2
sentinel down-after-milliseconds %[4]s 1000
sentinel failover-timeout %[4]s 10000
`, host, port, filepath.Dir(file), masterName, w.data[0].port), 0o600)
}

func (w *watch) addr() string {
	var list []string
	for _, sentinel := range w.watch {
		list = append(list, sentinel.addr())
	}
	return strings.Join(list, ",")
}

func (w *watch) url() string { return "redis+sentinel://" + w.addr() + "/" + masterName }

func (w *watch) reach(options *redis.UniversalOptions) {
	options.Addrs, options.MasterName = strings.Split(w.addr(), ","), masterName
}

// start starts all; as a backend that is stopped it is started as it was at first.
func (w *watch) start() error {
	for _, p := range w.all() {
		if err := p.start(); err != nil {
			return err
		}
	}
	return w.settle(w.data[0], w.data[1])
}

func (w *watch) stop() error { return w.every((*process).stop) }

func (w *watch) kill() error { return w.every((*process).kill) }

func (w *watch) every(do func(*process) error) error {
	var faults []error
	for _, p := range w.all() {
		faults = append(faults, do(p))
	}
	return errors.Join(faults...)
}

func (w *watch) all() []*process { return append(w.data[:], w.watch[:]...) }

// settle waits until the replica follows, and every sentinel knows the others and both.
func (w *watch) settle(master, replica *process) error {
	if err := replica.await("it follows its master", func(ctx context.Context, client *redis.Client) error {
		return says(client.Info(ctx, "replication"), fmt.Sprintf("master_port:%d\r", master.port), "master_link_status:up")
	}); err != nil {
		return err
	}
	for _, sentinel := range w.watch {
		if err := sentinel.await("it watches all", func(ctx context.Context, client *redis.Client) error {
			return says(client.Info(ctx, "sentinel"), "status=ok,address="+master.addr()+",slaves=1,sentinels="+strconv.Itoa(sentinels))
		}); err != nil {
			return err
		}
	}
	return nil
}

func says(info *redis.StringCmd, words ...string) error {
	for _, want := range words {
		if info.Err() == nil && !strings.Contains(info.Val(), want) {
			return fmt.Errorf("it says %q", info.Val())
		}
	}
	return info.Err()
}

// roles tells the master from the replica, as the first sentinel sees them.
func (w *watch) roles() (master, replica *process, err error) {
	var named []string
	err = w.watch[0].ask(func(ctx context.Context, client *redis.Client) error {
		command := redis.NewStringSliceCmd(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)
		err := client.Process(ctx, command)
		named = command.Val()
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if net.JoinHostPort(named[0], named[1]) == w.data[0].addr() {
		return w.data[0], w.data[1], nil
	}
	return w.data[1], w.data[0], nil
}

// failOver asks for a failover until a sentinel takes it up: it does not before it has
// seen that the replica is up to date.
func (w *watch) failOver() error {
	_, replica, err := w.roles()
	if err != nil {
		return err
	}
	if err := w.watch[0].await("it takes a failover up", func(ctx context.Context, client *redis.Client) error {
		return client.Do(ctx, "SENTINEL", "FAILOVER", masterName).Err()
	}); err != nil {
		return err
	}
	for _, sentinel := range w.watch {
		if err := sentinel.await("it names the new master", func(ctx context.Context, client *redis.Client) error {
			return says(client.Info(ctx, "sentinel"), "address="+replica.addr()+",")
		}); err != nil {
			return err
		}
	}
	return nil
}
