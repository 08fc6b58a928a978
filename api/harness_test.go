package api_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

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

// atClinic is a world with the app clinic.
func atClinic(t *testing.T, change ...func(*api.Options)) apitest.World {
	w := apitest.Live(t, apitest.Everything, change...)
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	return w
}

// bodyOf reads the JSON of an answer.
func bodyOf[T any](got apitest.Answer) (body T) {
	got.T.Helper()
	require.NoError(got.T, json.Unmarshal(got.Body, &body), string(got.Body))
	return body
}

// pageOf is a page of a list.
type pageOf[T any] struct {
	Items []T
	Next  string
}

// keysOf wraps the keys of a real store, and creates none.
type keysOf struct {
	auth.Keys
	api.KeyKeeper
}

var _ api.KeyStore = keysOf{Keys: (*store.Store)(nil)}
