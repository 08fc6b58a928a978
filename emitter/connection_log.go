package emitter

import (
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go"
)

// maxTold bounds the lines of one outage. Its tries go on for as long as it lasts, and
// may fail in some ways by turns, as when servers of a cluster start one by one.
const maxTold = 5

// connectionLog writes a line for each change of the connection, and one for each
// reason why it does not come back.
type connectionLog struct {
	logger  *slog.Logger
	denials *denials

	mu   sync.Mutex
	told map[string]bool // reasons of this outage
}

func newConnectionLog(logger *slog.Logger, denials *denials) *connectionLog {
	return &connectionLog{logger: logger, denials: denials, told: map[string]bool{}}
}

func (l *connectionLog) connected(conn *nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.told)
	l.logger.Info("connected to NATS", "server", conn.ConnectedServerName())
}

func (l *connectionLog) lost(_ *nats.Conn, err error) {
	if err == nil {
		return // closed by ourselves
	}
	l.denials.reset()
	l.logger.Warn("the connection to NATS is lost; events wait until it is back", "error", err)
}

func (l *connectionLog) failed(_ *nats.Conn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	reason := err.Error()
	if l.told[reason] || len(l.told) == maxTold {
		return
	}
	l.told[reason] = true
	l.logger.Warn("NATS is not reached; events wait until it is", "error", err)
}

// trouble is told of what the server refuses: a connection, over and over, or a
// request, once for each.
func (l *connectionLog) trouble(conn *nats.Conn, _ *nats.Subscription, err error) {
	if !conn.IsConnected() {
		l.failed(conn, err)
		return
	}
	if l.denials.take(err) {
		return
	}
	l.logger.Error("NATS reports an error", "error", err)
}
