package api_test

import (
	"context"

	"earshot/api"
	"earshot/repositories"
	"earshot/trigger"
)

// keysOf knows the keys of a real store, and makes none.
type keysOf struct {
	api.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*repositories.Store)(nil)}

// quietEvents are a stream on which nothing happens, and which is over at once.
type quietEvents struct{}

func (quietEvents) Now(context.Context) (uint64, error) { return 0, nil }

func (quietEvents) Follow(context.Context, string, string, uint64) (<-chan trigger.Published, error) {
	over := make(chan trigger.Published)
	close(over)
	return over, nil
}
