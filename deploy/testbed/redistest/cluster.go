package redistest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/repositories/lists"
)

const (
	masters = 3 // the smallest number of masters that can agree on what has failed
	slots   = 16384
)

// Cluster is a Redis Cluster of three masters, as a whole.
type Cluster struct {
	*Server
	Nodes []*Server // the masters, then their replicas in the same order; each can be killed and started
}

// RunCluster starts a cluster without replicas, in some three seconds: a master waits for two before it serves. No node is given
// up for being slow. Further arguments go to every node.
func RunCluster(t testing.TB, arguments ...string) *Cluster {
	t.Helper()
	return runCluster(t, newNodes(t, t.TempDir(), masters, arguments...))
}

// RunReplicated is RunCluster with a replica for each master. Without its replica a master refuses writes, unless the arguments
// say otherwise.
func RunReplicated(t testbed.TB, arguments ...string) *Cluster {
	t.Helper()
	return runCluster(t, newNodes(t, t.TempDir(), 2*masters, append([]string{
		"--cluster-node-timeout", "3000", "--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10",
	}, arguments...)...))
}

func runCluster(t testbed.TB, n nodes) *Cluster {
	t.Helper()
	c := &Cluster{Server: newServer(t, n)}
	for _, node := range n {
		c.Nodes = append(c.Nodes, &Server{t: t, backend: node})
	}
	return c
}

// Holding returns the master that holds a key, before any has died.
func (c *Cluster) Holding(key string) *Server {
	c.t.Helper()
	slot, err := c.Client().ClusterKeySlot(context.Background(), key).Result()
	c.must("ask for the slot of "+key+" of", err)
	for i, node := range c.Nodes {
		if _, last := share(i); int(slot) <= last {
			return node
		}
	}
	return nil // the last master has the last slot
}

func share(i int) (first, last int) { return slots * i / masters, slots*(i+1)/masters - 1 }

// Shard returns the master that holds a key, and its replica; an error if there is no such pair at the moment.
func (c *Cluster) Shard(ctx context.Context, client redis.UniversalClient, key string) (master, replica *Server, err error) {
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, nil, err
	}
	all, err := client.ClusterShards(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	for _, shard := range all {
		if !slices.ContainsFunc(shard.Slots, func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }) {
			continue
		}
		for _, one := range shard.Nodes {
			at := slices.IndexFunc(c.Nodes, func(s *Server) bool { return s.process().port == int(one.Port) })
			switch {
			case one.Health != "online" || at < 0:
			case one.Role == "master":
				master = c.Nodes[at]
			default:
				replica = c.Nodes[at]
			}
		}
	}
	if master == nil || replica == nil {
		return nil, nil, fmt.Errorf("the slot of %s has no master with a replica: %v", key, all)
	}
	return master, replica, nil
}

// Whole returns when all nodes say that the cluster serves, and every replica is in step.
func (c *Cluster) Whole() error { return c.backend.(nodes).settle() }

type nodes []*process

func newNodes(t testbed.TB, dir string, count int, further ...string) (n nodes) {
	t.Helper()
	for i, bus := range testbed.Ports(t, count) {
		n = append(n, newProcess(t, dir, fmt.Sprintf("redis-%d", i), append([]string{
			"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus), "--cluster-node-timeout", "15000",
		}, further...)...))
	}
	return n
}

func (n nodes) addr() string {
	list := lists.Map(n, func(node *process) string { return node.addr() })
	return strings.Join(list, ",")
}

func (n nodes) url() string { return "redis://" + n.addr() }

func (n nodes) reach(options *redis.UniversalOptions) {
	options.Addrs, options.IsClusterMode = strings.Split(n.addr(), ","), true
}

func (n nodes) stop() error { return n.every((*process).stop) }

func (n nodes) kill() error { return n.every((*process).kill) }

func (n nodes) start() error {
	err := n.every((*process).start)
	if err == nil && contains(n[0].client.ClusterInfo(context.Background()), "cluster_known_nodes:1\r") == nil {
		err = n.form()
	}
	return errors.Join(err, n.settle())
}

func (n nodes) every(do func(*process) error) error {
	faults := make([]error, len(n))
	var group sync.WaitGroup
	for i, node := range n {
		group.Go(func() { faults[i] = do(node) })
	}
	group.Wait()
	return errors.Join(faults...)
}

func (n nodes) form() error {
	ctx := context.Background()
	for i, node := range n {
		var err error
		if i < masters {
			// Masters with different epochs need not settle who is right first.
			epoch := node.client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()
			first, last := share(i)
			err = errors.Join(epoch, node.client.ClusterAddSlotsRange(ctx, first, last).Err())
		}
		for _, other := range n[:i] {
			err = errors.Join(err, node.client.Do(ctx, "CLUSTER", "MEET", host, other.port, other.Args[slices.Index(other.Args, "--cluster-port")+1]).Err())
		}
		if err != nil {
			return err
		}
	}
	for i, node := range n[masters:] {
		id, err := n[i].client.Do(ctx, "CLUSTER", "MYID").Text()
		if err == nil { // it knows its master some time later
			err = node.until(func(ctx context.Context, client *redis.Client) error { return client.ClusterReplicate(ctx, id).Err() })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n nodes) settle() error {
	return n.every(func(node *process) error {
		return node.until(func(ctx context.Context, client *redis.Client) error {
			if err := contains(client.ClusterInfo(ctx), "cluster_state:ok", "cluster_slots_assigned:16384\r", fmt.Sprintf("cluster_known_nodes:%d\r", len(n))); err != nil || len(n) == masters {
				return err
			}
			info := client.Info(ctx, "replication")
			if contains(info, "role:master") == nil {
				return contains(info, "state=online")
			}
			return contains(info, "master_link_status:up")
		})
	})
}
