package emitter

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

var errLost = errors.New("the connection to NATS was lost before the answer came")

// link ends waiting for an answer when the connection that it would come over is
// gone. The client library goes on waiting until the time is up.
type link struct {
	conn   *nats.Conn
	events chan nats.Status

	mu   sync.Mutex
	up   context.Context // ends when the connection is lost
	down context.CancelFunc
}

func watch(conn *nats.Conn) *link {
	l := &link{conn: conn, events: conn.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED)}
	l.up, l.down = context.WithCancel(context.Background())
	go l.follow()
	return l
}

func (l *link) follow() {
	for range l.events {
		l.mu.Lock()
		l.down()
		l.up, l.down = context.WithCancel(context.Background())
		l.mu.Unlock()
	}
	l.down()
}

// bind returns a context that ends with ctx, or with the connection; errLost is its
// cause then. The caller must look at the connection's state after, not before: a
// loss in between would go unnoticed.
func (l *link) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	l.mu.Lock()
	up := l.up
	l.mu.Unlock()
	bound, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(up, func() { cancel(errLost) })
	return bound, func() { stop(); cancel(nil) }
}

// close stops watching. It must be called once.
func (l *link) close() { l.conn.RemoveStatusListener(l.events) }
