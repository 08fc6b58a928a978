package api_test

import (
	"testing"

	"earshot/api"
	"earshot/api/auth"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/store"
)

// faked is a service on fakes.
type faked struct {
	*apitest.Service
	store  *storeDouble
	engine *engineDouble
}

func start(t testing.TB, change ...func(*api.Options)) faked {
	keys, engine := &storeDouble{}, &engineDouble{}
	return faked{apitest.Serve(t, append([]func(*api.Options){func(o *api.Options) {
		o.Keys, o.Store, o.Engine, o.NewID = keys, keys, engine, func() string { return "made-1" }
		o.Webhooks, o.Rehearser = &webhooksDouble{}, rehearserDouble{}
	}}, change...)...), keys, engine}
}

// keysOf wraps the keys of a real store, and creates none.
type keysOf struct {
	auth.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*store.Store)(nil)}
