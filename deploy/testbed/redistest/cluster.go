package redistest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

const (
	// masters is the smallest number of masters that can agree on what has failed.
	masters = 3
	// slots is the number of hash slots that the masters share.
	slots = 16384
)

// Cluster is a Redis Cluster of three masters without replicas, as a whole.
type Cluster struct {
	*Server
	// Nodes are its masters, which can be killed and started one by one.
	Nodes []*Server
}

// RunCluster starts a cluster that lives until the end of the test, and returns when
// it serves: some three seconds later, two of which a master waits before it believes
// that its cluster is whole. Further arguments go to every node.
func RunCluster(t testing.TB, arguments ...string) *Cluster {
	t.Helper()
	n := newNodes(Program(t), t.TempDir(), arguments...)
	c := &Cluster{Server: newServer(t, n)}
	c.Start()
	for _, node := range n {
		c.Nodes = append(c.Nodes, &Server{t: t, backend: node})
	}
	return c
}

// Holding returns the node that holds a key.
func (c *Cluster) Holding(key string) *Server {
	c.t.Helper()
	slot, err := c.Client().ClusterKeySlot(context.Background(), key).Result()
	if err != nil {
		c.t.Fatalf("ask for the slot of %s: %v", key, err)
	}
	for i, node := range c.Nodes {
		if _, last := share(i); int(slot) <= last {
			return node
		}
	}
	return nil // the last node has the last slot
}

// share is the range of slots of a master.
func share(i int) (first, last int) { return slots * i / masters, slots*(i+1)/masters - 1 }

// nodes are the masters of a cluster, as one backend.
type nodes []*process

// newNodes are masters that know nothing of each other yet. Their timeout is so long
// that none is given up for being slow, as on a machine that does much else.
func newNodes(program, dir string, extra ...string) nodes {
	n := make(nodes, masters)
	for i := range n {
		n[i] = newProcess(program, dir, append([]string{
			"--cluster-enabled", "yes",
			"--cluster-config-file", fmt.Sprintf("nodes-%d.conf", i),
			"--cluster-node-timeout", "15000",
			"--appenddirname", fmt.Sprintf("aof-%d", i),
		}, extra...)...)
		settings := n[i].arguments
		n[i].arguments = func(p *process) ([]string, error) {
			list, err := settings(p)
			return append(list, "--cluster-port", strconv.Itoa(p.bus)), err
		}
	}
	return n
}

func (n nodes) addr() string {
	var list []string
	for _, node := range n {
		list = append(list, node.addr())
	}
	return strings.Join(list, ",")
}

func (n nodes) url() string { return "redis://" + n.addr() }

func (n nodes) reach(options *redis.UniversalOptions) {
	options.Addrs, options.IsClusterMode = strings.Split(n.addr(), ","), true
}

func (n nodes) stop() error { return n.every((*process).stop) }

func (n nodes) kill() error { return n.every((*process).kill) }

// start starts all nodes, lets them form the cluster when they are new, and waits
// until each of them serves.
func (n nodes) start() error {
	fresh := n[0].port == 0
	if err := n.every((*process).start); err != nil {
		return err
	}
	if fresh {
		if err := n.form(); err != nil {
			return fmt.Errorf("form the cluster: %w", err)
		}
	}
	return n.settle()
}

// every does something with all nodes at the same time.
func (n nodes) every(do func(*process) error) error {
	faults := make([]error, len(n))
	var group sync.WaitGroup
	for i, node := range n {
		group.Go(func() { faults[i] = do(node) })
	}
	group.Wait()
	return errors.Join(faults...)
}

// form shares the slots among the nodes and makes each of them known to all.
func (n nodes) form() error {
	for i, node := range n {
		first, last := share(i)
		err := node.ask(func(ctx context.Context, client *redis.Client) error {
			// Nodes with different epochs need not settle who is right first.
			epoch := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()
			return errors.Join(epoch, client.ClusterAddSlotsRange(ctx, first, last).Err())
		})
		if err != nil {
			return err
		}
	}
	return n.every(func(node *process) error {
		return node.ask(func(ctx context.Context, client *redis.Client) error {
			var faults []error
			for _, other := range n {
				if other != node {
					faults = append(faults, client.Do(ctx, "CLUSTER", "MEET", host, other.port, other.bus).Err())
				}
			}
			return errors.Join(faults...)
		})
	})
}

// settle waits until every node knows all others and serves.
func (n nodes) settle() error {
	return n.every(func(node *process) error {
		return node.await("its cluster is whole", func(ctx context.Context, client *redis.Client) error {
			info, err := client.ClusterInfo(ctx).Result()
			if err == nil && !(strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", len(n)))) {
				err = fmt.Errorf("it says %q", info)
			}
			return err
		})
	})
}

// empty removes all data. The nodes stay a cluster.
func (n nodes) empty() error {
	return n.every(func(node *process) error {
		return node.ask(func(ctx context.Context, client *redis.Client) error { return client.FlushAll(ctx).Err() })
	})
}
