package emitter

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
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
	login, err := options.Login.Options()
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, err)
	}
	denied := newDenials(options)
	log := newConnectionLog(options.Logger.With("servers", hosts), denied)
	conn, err := nats.Connect(list, append(connection(log), login...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, withoutURL(err))
	}
	emitter, err := newEmitter(conn, options, denied)
	if err != nil {
		conn.Close()
		return nil, err
	}
	emitter.owned, emitter.log = true, log
	return emitter, nil
}

// Dial connects to a comma-separated list of NATS servers, as Connect does, for what is no
// event: a name for those who look at the connections of a server, and what is told what goes
// wrong beside requests. The error shows no credential.
func Dial(list, name string, login Login, trouble nats.ErrHandler) (*nats.Conn, error) {
	hosts, err := servers(list)
	if err != nil {
		return nil, err
	}
	options, err := login.Options()
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, err)
	}
	conn, err := nats.Connect(list, append(append(lasting(), nats.Name(name), nats.ErrorHandler(trouble)), options...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", hosts, withoutURL(err))
	}
	return conn, nil
}

func connection(log *connectionLog) []nats.Option {
	return append(lasting(),
		nats.Name("earshot"),
		nats.ReconnectBufSize(-1), // see the package's comment
		nats.ConnectHandler(log.connected),
		nats.ReconnectHandler(log.connected),
		nats.DisconnectErrHandler(log.lost),
		nats.ReconnectErrHandler(log.failed),
		nats.ErrorHandler(log.trouble),
	)
}

// lasting are the options of a connection that is tried again for ever.
func lasting() []nats.Option {
	return []nats.Option{
		nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPings),
		// Credentials are changed on servers and clients at different times.
		nats.IgnoreAuthErrorAbort(),
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

// connectionWatch ends requests when the connection that their answers would come over is
// lost. They must look at the connection's state after they have begun, not before: a loss
// in between would go unnoticed.
type connectionWatch struct {
	conn     *nats.Conn
	events   chan nats.Status
	requests *requests
}

func watch(conn *nats.Conn, all *requests) *connectionWatch {
	w := &connectionWatch{conn, conn.StatusChanged(nats.RECONNECTING, nats.DISCONNECTED, nats.CLOSED), all}
	go w.follow()
	return w
}

func (w *connectionWatch) follow() {
	for range w.events {
		w.requests.end(errLost, func(string) bool { return true })
	}
}

// close stops watching. It must be called once.
func (w *connectionWatch) close() { w.conn.RemoveStatusListener(w.events) }

// maxReported bounds the lines of one outage. Its tries go on for as long as it lasts, and
// may fail in some ways by turns, as when servers of a cluster start one by one.
const maxReported = 5

// connectionLog logs the state of the connection: a line for each change of it, and one
// for each reason why it does not come back.
type connectionLog struct {
	logger  *slog.Logger
	denials *denials

	mu       sync.Mutex
	reported map[string]bool // reasons of this outage
	last     error           // the last of them
}

func newConnectionLog(logger *slog.Logger, denied *denials) *connectionLog {
	return &connectionLog{logger: logger, denials: denied, reported: map[string]bool{}}
}

func (l *connectionLog) connected(conn *nats.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.reported)
	l.last = nil
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
	l.last = err
	text := err.Error()
	if l.reported[text] || len(l.reported) == maxReported {
		return
	}
	l.reported[text] = true
	l.logger.Warn("NATS is not reached; events wait until it is", "error", err)
}

// why is the last reason for which NATS was not reached, nil where it is.
func (l *connectionLog) why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// trouble is told of what the server refuses: a connection, over and over, or a
// request, once for each.
func (l *connectionLog) trouble(conn *nats.Conn, _ *nats.Subscription, err error) {
	if !conn.IsConnected() {
		l.failed(conn, err)
		return
	}
	if l.denials.observe(err) {
		return
	}
	l.logger.Error("NATS reports an error", "error", err)
}

// CheckURLs returns an error for a comma-separated list of NATS servers that Connect
// would refuse. It shows nothing of a credential.
func CheckURLs(list string) error {
	_, err := servers(list)
	return err
}

// servers returns the hosts of a comma-separated list of NATS URLs, fit for logs: an
// URL's user part holds a password or a token. Its own error says nothing of the URL
// either, since a password that is not escaped may stand anywhere in a broken one.
func servers(list string) (string, error) {
	var hosts []string
	for i, one := range strings.Split(list, ",") {
		host, err := hostOf(strings.TrimSpace(one))
		if err != nil {
			return "", fmt.Errorf("NATS URL %d cannot be read: %w", i+1, err)
		}
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, ","), nil
}

var errAddress = errors.New("it should look like nats://host:4222 or nats://user:password@host:4222, " +
	"with : / ? # and @ in the user or the password percent-encoded")

// schemes are those that nats.go makes a difference of. It takes any other for nats,
// so that a server would be spoken to without TLS where https was meant to ask for it.
var schemes = []string{"nats", "tls", "ws", "wss"}

// errScheme does not repeat the scheme: of a broken URL it may be anything.
var errScheme = errors.New("its scheme must be nats://, tls:// for TLS, or ws:// and wss:// for NATS over WebSocket")

func hostOf(address string) (string, error) {
	parsed, err := parseServer(address)
	if err != nil || parsed.Hostname() == "" || strings.Contains(parsed.Path+parsed.RawQuery, "@") || parsed.Fragment != "" {
		return "", errAddress
	}
	if !slices.Contains(schemes, parsed.Scheme) {
		return "", errScheme
	}
	if parsed.RawQuery != "" || parsed.ForceQuery {
		return "", fmt.Errorf("it has the parameters %q after a ?, and takes none: credentials, authorities and certificates are files that NATS_CREDS_FILE, NATS_CA_FILE, NATS_CERT_FILE and NATS_KEY_FILE name",
			slices.Sorted(maps.Keys(parsed.Query())))
	}
	return parsed.Host, nil
}
