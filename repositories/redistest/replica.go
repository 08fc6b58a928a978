package redistest

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

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
