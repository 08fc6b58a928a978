package emitter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// reconnectWait is the pause between two rounds over the servers. It is short,
	// as every event of every user waits for it, and its jitter is as long, so that
	// the replicas do not all come at once to a server that has just started.
	reconnectWait = 500 * time.Millisecond
	// pingInterval times maxPings is how long a connection may be dead unnoticed,
	// when the network drops packets. The library's own numbers make it 4 minutes.
	pingInterval = 10 * time.Second
	maxPings     = 2
)

// Connect returns an emitter with a connection of its own to a comma-separated list
// of NATS servers. It does not wait for them: as long as none is reached, deliveries
// ask to be tried again, and the connection goes on trying for ever. The error is
// one of list or options, and never shows a credential.
func Connect(list string, options Options) (*Emitter, error) {
	options = options.withDefaults()
	hosts, err := servers(list)
	if err != nil {
		return nil, err
	}
	denied := newDenials(options)
	conn, err := nats.Connect(list, connection(newConnectionLog(options.Logger.With("servers", hosts), denied))...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, withoutURL(err))
	}
	emitter, err := newEmitter(conn, options, denied)
	if err != nil {
		conn.Close()
		return nil, err
	}
	emitter.owned = true
	return emitter, nil
}

func connection(log *connectionLog) []nats.Option {
	return []nats.Option{
		nats.Name("earshot"),
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.ReconnectBufSize(-1), // see the package's comment
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		// Credentials are changed on servers and clients at different times.
		nats.IgnoreAuthErrorAbort(),
		nats.ConnectHandler(log.connected),
		nats.ReconnectHandler(log.connected),
		nats.DisconnectErrHandler(log.lost),
		nats.ReconnectErrHandler(log.failed),
		nats.ErrorHandler(log.trouble),
	}
}

// withoutURL takes off the wrapping in which net/url repeats the whole URL.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

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

func newConnectionLog(logger *slog.Logger, denied *denials) *connectionLog {
	return &connectionLog{logger: logger, denials: denied, told: map[string]bool{}}
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
	text := err.Error()
	if l.told[text] || len(l.told) == maxTold {
		return
	}
	l.told[text] = true
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
