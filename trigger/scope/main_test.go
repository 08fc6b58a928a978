package scope_test

import (
	"testing"

	"earshot/deploy/testbed/enginetest"
	"earshot/deploy/testbed/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const booking = enginetest.Booking

var session = enginetest.Session

// world is a service, with what the tests of this package do with it.
type world struct{ *enginetest.World }

func each(t *testing.T, test func(t *testing.T, w *world)) {
	enginetest.Each(t, func(t *testing.T, w *enginetest.World) { test(t, &world{w}) })
}

func newWorld(t testing.TB, server *redistest.Server) *world {
	return &world{enginetest.New(t, server)}
}

func idleWorld(t testing.TB, server *redistest.Server, workers int) *world {
	return &world{enginetest.Idle(t, server, workers)}
}
