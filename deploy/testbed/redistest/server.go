package redistest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/unraced"
)

// Server is what speaks Redis's protocol to a test: a server, or several that are one
// service. Its methods end the test where they fail.
type Server struct {
	t       testing.TB
	backend backend
}

// backend is what differs between miniredis, a real server and several of them.
type backend interface {
	addr() string
	url() string
	// reach sets where clients connect, and how they find what they look for there.
	reach(options *redis.UniversalOptions)
	start() error
	stop() error // orderly
	kill() error // at once
}

// newServer is a server that does not run yet, and is gone at the end of the test.
func newServer(t testing.TB, behind backend) *Server {
	t.Cleanup(func() {
		if err := behind.kill(); err != nil {
			t.Errorf("end the test's Redis at %s: %v", behind.addr(), err)
		}
	})
	return &Server{t: t, backend: behind}
}

// Each runs test as three subtests, "miniredis", "redis" and "cluster", each with an
// empty store: what holds for one has to hold for the others. With -short it leaves
// the cluster out, which needs seconds to form; see Main. With -race it leaves miniredis
// out, whose Lua takes ten times as long then; deploy/check runs that without.
func Each(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Run("miniredis", func(t *testing.T) {
		unraced.Only(t)
		test(t, Mini(t))
	})
	t.Run("redis", func(t *testing.T) { test(t, Run(t)) })
	t.Run("cluster", func(t *testing.T) {
		if testing.Short() {
			t.Skip("a cluster needs seconds to form")
		}
		test(t, borrow(t))
	})
}

// Addr is the server's host and port, or several with commas between them. It stays
// the same over Kill, Stop and Start.
func (s *Server) Addr() string { return s.backend.addr() }

// URL is where clients connect, as in REDIS_URL.
func (s *Server) URL() string { return s.backend.url() }

// Embedded reports whether it is miniredis.
func (s *Server) Embedded() bool {
	_, embedded := s.backend.(*mini)
	return embedded
}

// Client returns a client of the test's own, closed at the end of the test.
func (s *Server) Client() redis.UniversalClient { return s.Connect(redis.UniversalOptions{}) }

// Connect is Client with options; where to connect is set in them.
func (s *Server) Connect(options redis.UniversalOptions) redis.UniversalClient {
	s.backend.reach(&options)
	client := redis.NewUniversalClient(&options)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Start starts a server that was stopped or killed, with the data that it had, and
// returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.backend.start(); err != nil {
		s.t.Fatalf("start Redis at %s: %v", s.Addr(), err)
	}
}

// Stop ends the server in good order. Stopping one that does not run does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.backend.stop(); err != nil {
		s.t.Fatalf("stop Redis at %s: %v", s.Addr(), err)
	}
}

// Kill ends the server with SIGKILL, and returns when it is gone. Miniredis has no
// process of its own: its connections are cut.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.backend.kill(); err != nil {
		s.t.Fatalf("kill Redis at %s: %v", s.Addr(), err)
	}
}

// Keys lists all keys that the server holds, those of every master of a cluster.
func (s *Server) Keys() []string {
	s.t.Helper()
	var mu sync.Mutex
	var keys []string
	list := func(ctx context.Context, node *redis.Client) error {
		found, err := node.Keys(ctx, "*").Result()
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, found...)
		return err
	}
	var err error
	switch client := s.Client().(type) {
	case *redis.ClusterClient:
		err = client.ForEachMaster(s.t.Context(), list)
	case *redis.Client:
		err = list(s.t.Context(), client)
	}
	if err != nil {
		s.t.Fatalf("list the keys of Redis at %s: %v", s.Addr(), err)
	}
	return keys
}

// Snapshot returns a function that puts the server back to what it holds now, as the
// restore of a backup does, and as a failover to a replica that lags behind. Expiries
// are not kept. It is for real servers: miniredis dumps strings alone.
func (s *Server) Snapshot() (restore func()) {
	s.t.Helper()
	client, held := s.Client(), map[string]string{}
	for _, key := range s.Keys() {
		dump, err := client.Dump(s.t.Context(), key).Result()
		if errors.Is(err, redis.Nil) {
			continue // a service that is at rest still tidies up, and it went since it was listed
		}
		if err != nil {
			s.t.Fatalf("dump %s: %v", key, err)
		}
		held[key] = dump
	}
	return func() {
		s.t.Helper()
		for _, key := range s.Keys() {
			s.check(client.Del(s.t.Context(), key))
		}
		for key, dump := range held {
			s.check(client.Restore(s.t.Context(), key, 0, dump))
		}
	}
}

func (s *Server) check(command redis.Cmder) {
	s.t.Helper()
	if err := command.Err(); err != nil {
		s.t.Fatalf("Redis at %s: %v", s.Addr(), err)
	}
}

// RunReplica starts a server that follows master, and returns when it has all that the
// master has.
func RunReplica(t testing.TB, master *Server) *Server {
	t.Helper()
	address := strings.Split(master.Addr(), ":")
	replica := Run(t, "--replicaof", address[0], address[1], "--appenddirname", "replica", "--dbfilename", "replica.rdb")
	replica.follows()
	return replica
}

// follows returns when the server has caught up with its master and has written its own
// first append-only file: until then it takes no notice of being told to end.
func (s *Server) follows() {
	s.t.Helper()
	follower, is := s.backend.(*process)
	if !is {
		s.t.Fatalf("Redis at %s is no server that could follow another", s.Addr())
	}
	if err := follower.await("it follows its master", func(ctx context.Context, client *redis.Client) error {
		return says(client.Info(ctx, "replication", "persistence"),
			"master_link_status:up", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0")
	}); err != nil {
		s.t.Fatalf("Redis at %s: %v", s.Addr(), err)
	}
}

// Trips is a hook of a client that counts its round trips to Redis, without the
// greetings of new connections. The zero value is ready.
type Trips struct{ made atomic.Int64 }

// Made is the number of round trips: a command is one, and so is a pipeline.
func (c *Trips) Made() int64 { return c.made.Load() }

// DialHook implements redis.Hook.
func (c *Trips) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (c *Trips) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.made.Add(1)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (c *Trips) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name != "hello" && name != "client" {
			c.made.Add(1)
		}
		return next(ctx, cmds)
	}
}
