package natstest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"earshot/deploy/testbed"
	"earshot/repositories/lists"
)

// Cluster is several NATS servers that hold streams together.
type Cluster struct {
	Streams
	Servers []*Server // which can be stopped and started one by one
}

// size is the least of a cluster that goes on without one of its servers.
const size = 3

// RunCluster starts a cluster, and returns when it takes streams, some seconds later.
func RunCluster(t testing.TB) *Cluster {
	t.Helper()
	c := &Cluster{}
	c.Streams = Streams{t, c.URL, nats.UserInfo("", "")}
	ports := testbed.Ports(t, 2*size)
	routes := lists.Map(ports[size:], func(port int) *url.URL { return &url.URL{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", port)} })
	for i := range size {
		c.Servers = append(c.Servers, prepare(t, func(options *server.Options) {
			options.ServerName, options.Port = fmt.Sprintf("node-%d", i+1), ports[i]
			options.Cluster = server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[size+i]}
			options.Routes = routes
		}))
	}
	c.Start()
	return c
}

// URL lists all servers, separated by commas.
func (c *Cluster) URL() string {
	urls := lists.Map(c.Servers, func(s *Server) string { return s.URL() })
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
	testbed.Must(c.t, "form a NATS cluster", testbed.Until(context.Background(), startLimit, c.settled))
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
	info := c.info(stream)
	for _, s := range c.Servers {
		if info != nil && s.options.ServerName == info.Cluster.Leader {
			return s
		}
	}
	c.t.Fatalf("stream %s has no leader", stream)
	return nil
}

// settled fails until the cluster takes a stream with a copy on every server.
func (c *Cluster) settled(ctx context.Context) error {
	led := false
	for _, s := range c.Servers {
		if !s.running.JetStreamIsCurrent() {
			return errors.New("a server is not up to date")
		}
		led = led || s.running.JetStreamIsLeader() && c.seenBy(s)
	}
	if !led {
		return errors.New("no leader sees all servers")
	}
	conn := c.connect()
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	const probe = "natstest-probe"
	if _, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: probe, Replicas: len(c.Servers)}); err != nil {
		return err
	}
	return js.DeleteStream(ctx, probe)
}

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
