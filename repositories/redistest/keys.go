package redistest

import (
	"context"
	"sync"

	"github.com/redis/go-redis/v9"
)

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
