package main

import (
	"context"
	"errors"
	"fmt"

	"earshot/cmd/earshot/redisdb"
	"earshot/repositories"
)

// admitKey refuses a Redis whose credentials were sealed with another secret key: every
// app with one would be an error, and what is stored meanwhile one for the others.
func (s *service) admitKey(ctx context.Context, db *repositories.DB) error {
	store := repositories.NewStore(db, repositories.StoreOptions{Sealer: s.sealer})
	err := store.AdoptSecretKey(ctx, !s.config.madeUpKey)
	if !errors.Is(err, repositories.ErrSecretKey) {
		return err
	}
	way := "start with that key as EARSHOT_SECRET_KEY (--secret-key), as all replicas do; to change it, give the new one there and that one as EARSHOT_SECRET_KEY_OLD (--secret-key-old)"
	if s.config.madeUpKey {
		way = "dev makes up a key at every start where none is given: " + way
	}
	return fmt.Errorf("%w: %w; %s", redisdb.ErrRefused, err, way)
}

// redisReady reports whether Redis answers and is the one that the secret key is for.
func (s *service) redisReady(ctx context.Context) error {
	if err := s.store.Ping(ctx); err != nil || s.db.Embedded {
		return err
	}
	err := s.store.CheckSecretKey(ctx)
	if errors.Is(err, repositories.ErrSecretKey) {
		return otherKey{err}
	}
	return err
}

// otherKey is the error of a Redis that belongs to another secret key.
type otherKey struct{ error }

// Public implements api.Public.
func (otherKey) Public() string { return "holds what another secret key has sealed" }
