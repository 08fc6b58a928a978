// Package redistest runs Redis for tests and rigs: a redis-server as a child process, a cluster, a master with sentinels, or
// miniredis, the embedded store of "earshot dev". The program is redis-server on the PATH, or what EARSHOT_REDIS_SERVER names.
//
// A real server can be killed and started on the same port and files. It never syncs its append-only file, and loses nothing
// when it is killed: the kernel has what it has answered. With everysec it would answer before it writes while a sync is slow.
package redistest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
)

// Server is one Redis server, or several that are one service. Its methods end the test if they fail.
type Server struct {
	t       testbed.TB
	backend backend
}

// backend is what differs between miniredis, a real server and several of them.
type backend interface {
	addr() string
	url() string
	reach(options *redis.UniversalOptions) // sets where and how clients connect
	start() error
	stop() error // orderly
	kill() error // at once
}

func newServer(t testbed.TB, behind backend) *Server {
	t.Helper()
	t.Cleanup(func() {
		if err := behind.kill(); err != nil {
			t.Errorf("end the test's Redis at %s: %v", behind.addr(), err)
		}
	})
	s := &Server{t: t, backend: behind}
	s.Start()
	return s
}

// Addr is the server's host and port, or several with commas. It stays the same over Kill, Stop and Start.
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

// Connect is Client with options. It sets where to connect.
func (s *Server) Connect(options redis.UniversalOptions) redis.UniversalClient {
	s.backend.reach(&options)
	client := redis.NewUniversalClient(&options)
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Start starts a server that was stopped or killed, with the data that it had, and returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	s.must("start", s.backend.start())
}

// Stop ends the server in good order. Stopping one that does not run does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	s.must("stop", s.backend.stop())
}

// Kill ends the server with SIGKILL. The connections of miniredis, which is no process, are cut.
func (s *Server) Kill() {
	s.t.Helper()
	s.must("kill", s.backend.kill())
}

func (s *Server) must(do string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s Redis at %s: %v", do, s.Addr(), err)
	}
}

// Process is the process of a single real server, and Folder that of its data.
func (s *Server) Process() *testbed.Process { return s.process().Process }

// Folder is where a single real server keeps its data.
func (s *Server) Folder() string { return s.process().folder }

func (s *Server) process() *process {
	s.t.Helper()
	p, is := s.backend.(*process)
	if !is {
		s.t.Fatalf("Redis at %s is no process", s.Addr())
	}
	return p
}

// Leads reports whether a single real server is a master.
func (s *Server) Leads(ctx context.Context) bool {
	return contains(s.process().client.Info(ctx, "replication"), "role:master") == nil
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
	switch client := s.Client().(type) {
	case *redis.ClusterClient:
		s.must("list the keys of", client.ForEachMaster(s.t.Context(), list))
	case *redis.Client:
		s.must("list the keys of", list(s.t.Context(), client))
	}
	return keys
}

// mini is miniredis as "earshot dev" runs it: keys expire by the clock.
type mini struct {
	server *miniredis.Miniredis
	at     string
}

// Mini starts a miniredis that lives until the end of the test.
func Mini(t testing.TB) *Server {
	t.Helper()
	m := &mini{server: miniredis.NewMiniRedis(), at: testbed.Address(t)}
	m.server.ClockTTL(true)
	return newServer(t, m)
}

func (m *mini) addr() string { return m.at }

func (m *mini) url() string { return "redis://" + m.at }

func (m *mini) reach(options *redis.UniversalOptions) { options.Addrs = []string{m.at} }

func (m *mini) start() error { return m.server.StartAddr(m.at) }

func (m *mini) stop() error {
	m.server.Close()
	return nil
}

func (m *mini) kill() error { return m.stop() }

// Trips is a hook of a client that counts its round trips to Redis, without the greetings of new connections.
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

func contains(info *redis.StringCmd, words ...string) error {
	for _, want := range words {
		if info.Err() == nil && !strings.Contains(info.Val(), want) {
			return errors.New("it says " + info.Val())
		}
	}
	return info.Err()
}
