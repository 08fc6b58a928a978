package query_test

import (
	"testing"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/store"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// world is a service, with what the tests of this package do with it.
type world struct{ *enginetest.World }

func each(t *testing.T, test func(t *testing.T, w *world)) {
	enginetest.Each(t, func(t *testing.T, w *enginetest.World) { test(t, &world{w}) })
}

func keeping(t *testing.T, keep store.Retention, test func(t *testing.T, w *world)) {
	enginetest.Keeping(t, keep, func(t *testing.T, w *enginetest.World) { test(t, &world{w}) })
}
