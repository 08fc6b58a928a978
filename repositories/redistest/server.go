package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
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
func newServer(t testing.TB, backend backend) *Server {
	t.Cleanup(func() {
		if err := backend.kill(); err != nil {
			t.Errorf("end the test's Redis at %s: %v", backend.addr(), err)
		}
	})
	return &Server{t: t, backend: backend}
}

// Each runs test as three subtests, "miniredis", "redis" and "cluster", each with an
// empty store: what holds for one has to hold for the others. With -short it leaves
// the cluster out, which needs seconds to form; see Main.
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

// Addr is the server's host and port, or several with commas between them. It stays
// the same over Kill, Stop and Start.
func (s *Server) Addr() string { return s.backend.addr() }

// URL is where clients connect, as in REDIS_URL.
func (s *Server) URL() string { return s.backend.url() }

// Embedded reports whether it is miniredis.
func (s *Server) Embedded() bool {
	_, mini := s.backend.(*mini)
	return mini
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
