package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// mini is miniredis as "earshot dev" runs it: keys expire by the clock.
type mini struct {
	server *miniredis.Miniredis
	addr   string // a free port where it is empty
}

// Mini starts a miniredis that lives until the end of the test.
func Mini(t testing.TB) *Server {
	t.Helper()
	m := &mini{server: miniredis.NewMiniRedis()}
	m.server.ClockTTL(true)
	if err := m.start(); err != nil {
		t.Fatalf("start miniredis: %v", err)
	}
	s := &Server{t: t, addr: m.addr, backend: m}
	s.cleanUp()
	return s
}

func (m *mini) start() error {
	if m.addr != "" {
		return m.server.Restart()
	}
	if err := m.server.StartAddr("127.0.0.1:0"); err != nil {
		return err
	}
	m.addr = m.server.Addr()
	return nil
}

func (m *mini) stop() error {
	m.server.Close()
	return nil
}

func (m *mini) kill() error { return m.stop() }
