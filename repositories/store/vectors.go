package store

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// vectorLife is how long a vector is kept after it was last looked up. Vectors belong to texts and
// not to repositories, so nothing else removes one.
const vectorLife = 30 * 24 * time.Hour

// vectorsAtOnce bounds what one round trip brings: 256 vectors of 1,536 numbers are 1.5 MB.
const vectorsAtOnce = 256

// Vectors returns what was kept of texts of an app under their digests, empty where nothing was.
// What is looked up is kept for another 30 days.
func (r *repositoryRecords) Vectors(ctx context.Context, appID string, digests []string) ([][]byte, error) {
	keys, found := keyspace.KeysOf(appID), make([][]byte, 0, len(digests))
	for len(digests) > 0 {
		n := min(len(digests), vectorsAtOnce)
		pipe := r.db.Pipeline()
		replies := make([]*redis.StringCmd, n)
		for i, digest := range digests[:n] {
			replies[i] = pipe.GetEx(ctx, keys.Vector(digest), vectorLife)
		}
		_, _ = pipe.Exec(ctx) // its error is that of the first reply, of which each is looked at
		for _, reply := range replies {
			vector, err := reply.Bytes()
			if err != nil && !errors.Is(err, redis.Nil) {
				return nil, keyspace.Unavailable(err)
			}
			found = append(found, vector)
		}
		digests = digests[n:]
	}
	return found, nil
}

// KeepVectors keeps vectors of an app under the digests of what they were made of.
func (r *repositoryRecords) KeepVectors(ctx context.Context, appID string, vectors map[string][]byte) error {
	keys, pipe := keyspace.KeysOf(appID), r.db.Pipeline()
	for digest, vector := range vectors {
		pipe.Set(ctx, keys.Vector(digest), vector, vectorLife)
	}
	_, err := pipe.Exec(ctx)
	return keyspace.Unavailable(err)
}
