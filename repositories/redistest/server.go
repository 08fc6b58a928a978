package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
)

// Server is a server that speaks Redis's protocol. Its methods end the test where
// they fail.
type Server struct {
	t       testing.TB
	addr    string
	backend backend
}

// backend is what differs between a real server and miniredis.
type backend interface {
	start() error
	stop() error // orderly
	kill() error // at once
}

func (s *Server) cleanUp() {
	s.t.Cleanup(func() {
		if err := s.backend.kill(); err != nil {
			s.t.Errorf("end the test's Redis at %s: %v", s.addr, err)
		}
	})
}

// Each runs test as two subtests, "miniredis" and "redis", each with a fresh server:
// what holds for one store has to hold for the other.
func Each(t *testing.T, test func(t *testing.T, server *Server)) {
	t.Run("miniredis", func(t *testing.T) { test(t, Mini(t)) })
	t.Run("redis", func(t *testing.T) { test(t, Run(t)) })
}

// Addr is the server's host and port. It stays the same over Kill, Stop and Start.
func (s *Server) Addr() string { return s.addr }

// URL is where clients connect, as in REDIS_URL.
func (s *Server) URL() string { return "redis://" + s.addr }

// Embedded reports whether it is miniredis.
func (s *Server) Embedded() bool {
	_, mini := s.backend.(*mini)
	return mini
}

// Client returns a client of the test's own, closed at the end of the test.
func (s *Server) Client() *redis.Client {
	client := redis.NewClient(&redis.Options{Addr: s.addr})
	s.t.Cleanup(func() { _ = client.Close() })
	return client
}

// Start starts a server that was stopped or killed, with the data that it had, and
// returns when it answers.
func (s *Server) Start() {
	s.t.Helper()
	if err := s.backend.start(); err != nil {
		s.t.Fatalf("start Redis at %s: %v", s.addr, err)
	}
}

// Stop ends the server in good order. Stopping one that does not run does nothing.
func (s *Server) Stop() {
	s.t.Helper()
	if err := s.backend.stop(); err != nil {
		s.t.Fatalf("stop Redis at %s: %v", s.addr, err)
	}
}

// Kill ends the server with SIGKILL, and returns when it is gone. Miniredis has no
// process of its own: its connections are cut.
func (s *Server) Kill() {
	s.t.Helper()
	if err := s.backend.kill(); err != nil {
		s.t.Fatalf("kill Redis at %s: %v", s.addr, err)
	}
}
