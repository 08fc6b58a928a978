package natstest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/testbed"
)

// Cluster is several NATS servers that hold streams together.
type Cluster struct {
	Streams
	// Servers can be stopped and started one by one.
	Servers []*Server
}

// RunCluster starts a cluster of size servers and returns when it takes streams, some
// seconds later: its servers have to elect a leader first.
func RunCluster(t testing.TB, size int) *Cluster {
	t.Helper()
	ports := freePorts(t, 2*size)
	clients, peers := ports[:size], ports[size:]
	c := &Cluster{}
	for i := range size {
		c.Servers = append(c.Servers, prepare(t, func(options *server.Options) {
			options.ServerName = fmt.Sprintf("node-%d", i+1)
			options.Port = clients[i]
			options.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: peers[i]}
			options.Routes = routes(peers)
		}))
	}
	c.Streams = Streams{t: t, connect: func() *nats.Conn {
		t.Helper()
		return dial(t, c.URL())
	}}
	c.Start()
	return c
}

// URL lists all servers, separated by commas.
func (c *Cluster) URL() string {
	var urls []string
	for _, s := range c.Servers {
		urls = append(urls, s.URL())
	}
	return strings.Join(urls, ",")
}

// Start starts all servers, which must be stopped, and waits until they have a leader.
func (c *Cluster) Start() {
	c.t.Helper()
	for _, s := range c.Servers {
		s.launch()
	}
	for _, s := range c.Servers {
		s.await()
	}
	deadline := time.NewTimer(startLimit)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !c.settled() {
		select {
		case <-again.C:
		case <-deadline.C:
			c.t.Fatalf("the NATS cluster elected no leader within %s", startLimit)
		}
	}
}

// Stop stops all servers.
func (c *Cluster) Stop() {
	for _, s := range c.Servers {
		s.Stop()
	}
}

// Leader returns the server that leads a stream.
func (c *Cluster) Leader(stream string) *Server {
	c.t.Helper()
	leader := ""
	c.do("look at stream "+stream, func(ctx context.Context, js jetstream.JetStream) error {
		held, err := js.Stream(ctx, stream)
		if err == nil {
			leader = held.CachedInfo().Cluster.Leader
		}
		return err
	})
	for _, s := range c.Servers {
		if s.options.ServerName == leader {
			return s
		}
	}
	c.t.Fatalf("stream %s has no leader", stream)
	return nil
}

// settled tells whether the cluster takes a stream with a copy on every server: the leader
// refuses one as long as it has not heard of all of them.
func (c *Cluster) settled() bool {
	if !c.led() {
		return false
	}
	conn := c.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), requestLimit)
	defer cancel()
	const probe = "natstest-probe"
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: probe, Replicas: len(c.Servers)}); err != nil {
		return false
	}
	return js.DeleteStream(ctx, probe) == nil
}

// led tells whether all servers are up to date and a leader sees all of them.
func (c *Cluster) led() bool {
	leader := false
	for _, s := range c.Servers {
		if !s.running.JetStreamIsCurrent() {
			return false
		}
		leader = leader || s.running.JetStreamIsLeader() && c.seenBy(s)
	}
	return leader
}

// seenBy tells whether a server sees all others.
func (c *Cluster) seenBy(s *Server) bool {
	state, err := s.running.Jsz(nil)
	if err != nil || state.Meta == nil {
		return false
	}
	online := 0
	for _, other := range state.Meta.Replicas {
		if !other.Offline {
			online++
		}
	}
	return online == len(c.Servers)-1
}

func routes(ports []int) []*url.URL {
	var out []*url.URL
	for _, port := range ports {
		out = append(out, &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)})
	}
	return out
}

func freePorts(t testing.TB, count int) []int {
	t.Helper()
	ports, err := testbed.Ports(count)
	if err != nil {
		t.Fatal(err)
	}
	return ports
}
