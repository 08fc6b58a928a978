package redistest

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"

	"earshot/deploy/testbed"
)

// Each runs test as three subtests, "miniredis", "redis" and "cluster", each with an empty store: it is for scripts and stores,
// which must work on all. -short leaves out the cluster, which takes seconds to form; see Main.
func Each(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Run("miniredis", func(t *testing.T) { test(t, Mini(t)) })
	t.Run("redis", func(t *testing.T) { test(t, Run(t)) })
	t.Run("cluster", func(t *testing.T) {
		if testing.Short() {
			t.Skip("a cluster needs seconds to form")
		}
		test(t, borrow(t))
	})
}

// OnRedis runs test as the subtest "redis", or as Each with the tag nightly. It is for code on scripts that Each tests.
func OnRedis(t *testing.T, test func(t *testing.T, server *Server)) {
	if testbed.Nightly {
		Each(t, test)
		return
	}
	t.Run("redis", func(t *testing.T) { test(t, Run(t)) })
}

// shared are the clusters that tests lend each other under Main: starting one takes longer than most tests.
var shared *clusters

// Main runs the tests of a package whose tests use Each, so that they lend each other their clusters.
// Each test has one for itself, and finds it empty. Without it every test starts a cluster of its own.
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M) {
	shared = &clusters{}
	testbed.Main(m)
}

type clusters struct {
	mu   sync.Mutex
	idle []nodes
}

func borrow(t *testing.T) *Server {
	t.Helper()
	if shared == nil {
		return RunCluster(t).Server
	}
	n, err := shared.take(t)
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

// lasting keeps what a test reserves until all tests have ended.
type lasting struct{ *testing.T }

func (lasting) Cleanup(end func()) {
	testbed.AtEnd(func() error {
		end()
		return nil
	})
}

func (c *clusters) take(t *testing.T) (n nodes, err error) {
	c.mu.Lock()
	if last := len(c.idle) - 1; last >= 0 {
		n, c.idle = c.idle[last], c.idle[:last]
		c.mu.Unlock()
		return n, n.every(func(node *process) error { return node.client.FlushAll(context.Background()).Err() })
	}
	c.mu.Unlock()
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, err
	}
	n = newNodes(lasting{t}, dir, masters)
	testbed.AtEnd(func() error { return errors.Join(n.kill(), os.RemoveAll(dir)) })
	return n, n.start()
}

// give takes a cluster back, and starts the nodes that a test has ended.
func (c *clusters) give(n nodes) error {
	err := n.every(func(node *process) error {
		if node.Running() {
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
