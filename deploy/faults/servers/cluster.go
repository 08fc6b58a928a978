package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"

	"earshot/deploy/testbed"
)

// init silences the client, which tells of every connection that a dead node refuses.
func init() { redis.SetLogger(new(logging.VoidLogger)) }

const (
	masters = 3
	// slots is the number of hash slots that the masters share.
	slots = 16384
	// nodeTimeout is how long a node may be silent before the others give it up, in ms.
	nodeTimeout = 3000
)

// Cluster is a Redis Cluster of three masters with a replica each, that writes to its disks before
// it answers. A master refuses writes while no replica follows it (min-replicas-to-write 1) unless
// it is told otherwise.
type Cluster struct {
	// Nodes are all, whatever they are at the moment.
	Nodes []*Node
	// Client reads the cluster, and finds a new master within a second.
	Client *redis.ClusterClient
}

// Node is one server of a cluster.
type Node struct {
	*Process
	// Client asks this node alone.
	Client *redis.Client

	port, bus int
}

// StartCluster starts a cluster of a program and returns when it serves, with all replicas in
// step. Logs and data are in a folder dir, the data of the nth node in the folder redis-n.
func StartCluster(dir, program string, further ...string) (*Cluster, error) {
	c := &Cluster{}
	for i := range 2 * masters {
		node, err := newNode(dir, program, i, further)
		if err == nil {
			c.Nodes = append(c.Nodes, node)
			err = node.Up()
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	c.Client = redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.addrs(), ClusterStateReloadInterval: time.Second, PoolSize: 4})
	if err := c.form(); err != nil {
		c.Close()
		return nil, fmt.Errorf("form a Redis Cluster: %w", err)
	}
	return c, nil
}

func newNode(dir, program string, i int, further []string) (*Node, error) {
	port, err := testbed.Port()
	if err != nil {
		return nil, err
	}
	bus, err := testbed.Port()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("redis-%d", i)
	data := filepath.Join(dir, name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	arguments := append([]string{
		"--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", data, "--save", "", "--appendonly", "yes", "--appendfsync", "always",
		"--maxmemory-policy", "noeviction", "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(bus), "--cluster-node-timeout", fmt.Sprint(nodeTimeout),
		"--repl-diskless-sync-delay", "0", "--min-replicas-to-write", "1", "--min-replicas-max-lag", "10",
	}, further...)
	return &Node{
		Process: New(dir, name, program, arguments...), port: port, bus: bus,
		Client: redis.NewClient(&redis.Options{Addr: Address(port), PoolSize: 2, MaxRetries: -1, DialerRetries: 1}),
	}, nil
}

// Up starts the node, and returns when it answers.
func (n *Node) Up() error {
	if err := n.Start(); err != nil {
		return err
	}
	return Until(ComeUp, func() bool { return n.Client.Ping(context.Background()).Err() == nil })
}

// Addr is its host and port.
func (n *Node) Addr() string { return Address(n.port) }

func (c *Cluster) addrs() (list []string) {
	for _, node := range c.Nodes {
		list = append(list, node.Addr())
	}
	return list
}

// URL is where clients connect, as in REDIS_URL.
func (c *Cluster) URL() string { return "redis://" + strings.Join(c.addrs(), ",") }

// Close ends all nodes.
func (c *Cluster) Close() {
	for _, node := range c.Nodes {
		node.Thaw()
		node.Kill()
		_ = node.Client.Close() // its server is gone
	}
	if c.Client != nil {
		_ = c.Client.Close()
	}
}

// form makes a cluster of nodes that know nothing of each other.
func (c *Cluster) form() error {
	ctx, cancel := context.WithTimeout(context.Background(), ComeUp)
	defer cancel()
	var ids []string
	for i, node := range c.Nodes {
		id, err := node.Client.Do(ctx, "CLUSTER", "MYID").Text()
		if i < masters {
			// Masters with different epochs need not settle who is right first.
			epoch := node.Client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err()
			err = errors.Join(err, epoch, node.Client.ClusterAddSlotsRange(ctx, slots*i/masters, slots*(i+1)/masters-1).Err())
		}
		for _, other := range c.Nodes[:i] {
			err = errors.Join(err, node.Client.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.bus).Err())
		}
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for i, node := range c.Nodes[masters:] {
		follows := func() bool { return node.Client.ClusterReplicate(ctx, ids[i]).Err() == nil } // when it knows its master
		if err := Until(ComeUp, follows); err != nil {
			return err
		}
	}
	return c.Whole()
}

// Whole returns when every master has a replica that is in step, and all nodes say that the
// cluster serves.
func (c *Cluster) Whole() error {
	ctx, cancel := context.WithTimeout(context.Background(), ComeUp)
	defer cancel()
	return Until(ComeUp, func() bool {
		serving := 0
		for _, node := range c.Nodes {
			state, _ := node.Client.ClusterInfo(ctx).Result()
			stands, _ := node.Client.Info(ctx, "replication").Result()
			if strings.Contains(state, "cluster_state:ok") && strings.Contains(state, fmt.Sprintf("cluster_known_nodes:%d\r", len(c.Nodes))) && inStep(stands) {
				serving++
			}
		}
		return serving == len(c.Nodes)
	})
}

// inStep reports whether a node is a master that is followed, or a replica that follows.
func inStep(replication string) bool {
	if strings.Contains(replication, "role:master") {
		return strings.Contains(replication, "state=online")
	}
	return strings.Contains(replication, "master_link_status:up")
}

// Shard returns the master that holds a key, and its replica. Its error means that the cluster has
// no such pair at the moment.
func (c *Cluster) Shard(ctx context.Context, key string) (master, replica *Node, err error) {
	slot, err := c.Client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return nil, nil, err
	}
	all, err := c.Client.ClusterShards(ctx).Result()
	if err != nil {
		return nil, nil, err
	}
	holds := func(r redis.SlotRange) bool { return r.Start <= slot && slot <= r.End }
	at := slices.IndexFunc(all, func(s redis.ClusterShard) bool { return slices.ContainsFunc(s.Slots, holds) })
	if at < 0 {
		return nil, nil, fmt.Errorf("nobody holds the slot of %s", key)
	}
	for _, one := range all[at].Nodes {
		switch node := c.at(int(one.Port)); {
		case one.Health != "online" || node == nil:
		case one.Role == "master":
			master = node
		default:
			replica = node
		}
	}
	if master == nil || replica == nil {
		return nil, nil, fmt.Errorf("the slot of %s has no master with a replica: %v", key, all[at].Nodes)
	}
	return master, replica, nil
}

// at is the node on a port; nil for none.
func (c *Cluster) at(port int) *Node {
	i := slices.IndexFunc(c.Nodes, func(n *Node) bool { return n.port == port })
	if i < 0 {
		return nil
	}
	return c.Nodes[i]
}

// Leads reports whether the node is a master.
func (n *Node) Leads(ctx context.Context) bool {
	stands, err := n.Client.Info(ctx, "replication").Result()
	return err == nil && strings.Contains(stands, "role:master")
}
