package redistest

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// mini is miniredis as "earshot dev" runs it: keys expire by the clock.
type mini struct {
	server *miniredis.Miniredis
	at     string // a free port where it is empty
}

// Mini starts a miniredis that lives until the end of the test.
func Mini(t testing.TB) *Server {
	t.Helper()
	m := &mini{server: miniredis.NewMiniRedis()}
	m.server.ClockTTL(true)
	s := newServer(t, m)
	s.Start()
	return s
}

func (m *mini) addr() string { return m.at }

func (m *mini) url() string { return "redis://" + m.at }

func (m *mini) reach(options *redis.UniversalOptions) { options.Addrs = []string{m.at} }

func (m *mini) start() error {
	if m.at != "" {
		return m.server.Restart()
	}
	if err := m.server.StartAddr("127.0.0.1:0"); err != nil {
		return err
	}
	m.at = m.server.Addr()
	return nil
}

func (m *mini) stop() error {
	m.server.Close()
	return nil
}

func (m *mini) kill() error { return m.stop() }
