package redistest

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared are the clusters that tests lend each other, where the test program runs
// under Main. It is the one thing that outlives a test here, because the start of a
// cluster takes longer than most tests.
var shared *clusters

// Main runs the tests of a package whose tests use Each, so that they lend each other
// their clusters. Each test has one for itself, and finds it empty.
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// Without it every test starts a cluster of its own.
func Main(m *testing.M) {
	code, err := runShared(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the tests' Redis clusters:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func runShared(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return 1, err
	}
	shared = &clusters{dir: dir}
	defer func() { err = errors.Join(err, shared.close()) }()
	return m.Run(), nil
}

// clusters are as many as there were tests at the same time.
type clusters struct {
	dir string

	mu   sync.Mutex
	all  []nodes
	idle []nodes
}

// borrow gives the test a cluster that is empty and its own until it ends.
func borrow(t testing.TB) *Server {
	t.Helper()
	program := Program(t)
	if shared == nil {
		return RunCluster(t).Server
	}
	n, err := shared.take(program)
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := shared.give(n); err != nil {
			t.Errorf("bring the Redis cluster back in order: %v", err)
		}
	})
	return &Server{t: t, backend: n}
}

func (c *clusters) take(program string) (nodes, error) {
	if n := c.takeIdle(); n != nil {
		return n, n.empty()
	}
	n, err := c.add(program)
	if err != nil {
		return nil, err
	}
	return n, n.start()
}

func (c *clusters) takeIdle() nodes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		return nil
	}
	n := c.idle[len(c.idle)-1]
	c.idle = c.idle[:len(c.idle)-1]
	return n
}

func (c *clusters) add(program string) (nodes, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	dir, err := os.MkdirTemp(c.dir, "")
	if err != nil {
		return nil, err
	}
	n := newNodes(program, dir)
	c.all = append(c.all, n)
	return n, nil
}

// give takes a cluster back, and starts of it what a test has ended.
func (c *clusters) give(n nodes) error {
	err := n.every(func(node *process) error {
		if node.running != nil {
			return nil
		}
		return node.start()
	})
	if err == nil {
		err = n.settle()
	}
	if err != nil {
		return errors.Join(err, n.kill())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, n)
	return nil
}

func (c *clusters) close() error {
	var faults []error
	for _, n := range c.all {
		faults = append(faults, n.kill())
	}
	return errors.Join(append(faults, os.RemoveAll(c.dir))...)
}
