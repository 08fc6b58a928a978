package redistest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
)

const (
	sentinels  = 3 // the smallest number of which one may be away
	masterName = "earshot"
)

// Sentinel is a master and its replica that three sentinels watch. As a Server it is reached through them.
type Sentinel struct {
	*Server
	watch *watch
}

// RunSentinel starts a master, a replica and three sentinels that live until the end of the test.
func RunSentinel(t testing.TB) *Sentinel {
	t.Helper()
	w := newWatch(t, t.TempDir())
	return &Sentinel{Server: newServer(t, w), watch: w}
}

// Failover promotes the replica, and returns when all sentinels name it. What the old master had not passed on is lost.
func (s *Sentinel) Failover() {
	s.t.Helper()
	_, replica, err := s.watch.roles()
	s.must("ask for the roles of", err)
	// A sentinel refuses before it has seen that the replica is up to date.
	s.must("fail over", s.watch.sentinels[0].until(func(ctx context.Context, client *redis.Client) error {
		return client.Do(ctx, "SENTINEL", "FAILOVER", masterName).Err()
	}))
	s.must("fail over", s.watch.say("address="+replica.addr()+","))
}

// Replicate returns when the replica has what the master has taken so far.
func (s *Sentinel) Replicate() {
	s.t.Helper()
	client := s.Connect(redis.UniversalOptions{PoolSize: 1}) // WAIT is for the writes of its own connection
	ctx := context.Background()
	s.must("write to", client.Set(ctx, "redistest", "replicated", 0).Err())
	s.must("wait for the replica of", client.Do(ctx, "WAIT", 1, 0).Err())
}

// Master returns the server that the sentinels name as the master.
func (s *Sentinel) Master() *Server {
	s.t.Helper()
	master, _, err := s.watch.roles()
	s.must("ask for the master of", err)
	return &Server{t: s.t, backend: master}
}

type watch struct {
	data      [2]*process // the first is the master at first
	sentinels [sentinels]*process
}

func newWatch(t testbed.TB, dir string) *watch {
	w := &watch{}
	w.data[0] = newProcess(t, dir, "redis-0", "--repl-diskless-sync-delay", "0")
	w.data[1] = newProcess(t, dir, "redis-1", "--repl-diskless-sync-delay", "0", "--replicaof", host, strconv.Itoa(w.data[0].port))
	for i := range w.sentinels {
		p := newProcess(t, dir, fmt.Sprintf("sentinel-%d", i))
		p.Args = []string{filepath.Join(dir, p.Name+".conf"), "--sentinel"}
		w.sentinels[i] = p
	}
	return w
}

func (w *watch) addr() string { return nodes(w.sentinels[:]).addr() }

func (w *watch) url() string { return "redis+sentinel://" + w.addr() + "/" + masterName }

func (w *watch) reach(options *redis.UniversalOptions) {
	options.Addrs, options.MasterName = strings.Split(w.addr(), ","), masterName
}

func (w *watch) start() error {
	master := w.data[0]
	for _, sentinel := range w.sentinels {
		// It keeps its state in its file as well.
		if err := os.WriteFile(sentinel.Args[0], fmt.Appendf(nil, `bind %[1]s
port %[2]d
dir %[3]s
sentinel monitor %[4]s %[1]s %[5]d 2
sentinel down-after-milliseconds %[4]s 1000
sentinel failover-timeout %[4]s 10000
`, host, sentinel.port, filepath.Dir(sentinel.folder), masterName, master.port), 0o600); err != nil {
			return err
		}
	}
	if err := w.all().every((*process).start); err != nil {
		return err
	}
	if err := w.data[1].until(func(ctx context.Context, client *redis.Client) error {
		return contains(client.Info(ctx, "replication"), fmt.Sprintf("master_port:%d\r", master.port), "master_link_status:up")
	}); err != nil {
		return err
	}
	return w.say("status=ok,address=" + master.addr() + ",slaves=1,sentinels=" + strconv.Itoa(sentinels))
}

func (w *watch) say(words string) error {
	for _, sentinel := range w.sentinels {
		if err := sentinel.until(func(ctx context.Context, client *redis.Client) error {
			return contains(client.Info(ctx, "sentinel"), words)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (w *watch) stop() error { return w.all().stop() }

func (w *watch) kill() error { return w.all().kill() }

func (w *watch) all() nodes { return slices.Concat(w.data[:], w.sentinels[:]) }

// roles tells the master from the replica, as the first sentinel sees them.
func (w *watch) roles() (master, replica *process, err error) {
	named, err := w.sentinels[0].client.Do(context.Background(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
	switch {
	case err != nil:
		return nil, nil, err
	case named[1] == strconv.Itoa(w.data[0].port):
		return w.data[0], w.data[1], nil
	default:
		return w.data[1], w.data[0], nil
	}
}
