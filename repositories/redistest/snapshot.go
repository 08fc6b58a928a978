package redistest

import (
	"github.com/redis/go-redis/v9"
)

// Snapshot returns a function that puts the server back to what it holds now, as the
// restore of a backup does, and as a failover to a replica that lags behind. Expiries
// are not kept. It is for real servers: miniredis dumps strings alone.
func (s *Server) Snapshot() (restore func()) {
	s.t.Helper()
	client, held := s.Client(), map[string]string{}
	for _, key := range s.Keys() {
		dump, err := client.Dump(s.t.Context(), key).Result()
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
