package api_test

import (
	"context"

	"earshot/api"
	"earshot/api/auth"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// keysOf knows the keys of a real store, and makes none.
type keysOf struct {
	auth.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*store.Store)(nil)}

// quietEvents are a stream on which nothing happens, and which is over at once.
type quietEvents struct{}

func (quietEvents) Now(context.Context) (uint64, error) { return 0, nil }

func (quietEvents) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	over := make(chan effect.Published)
	close(over)
	return over, nil
}
