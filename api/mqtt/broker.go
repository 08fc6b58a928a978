package mqtt

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	mochi "github.com/mochi-mqtt/server/v2"

	"earshot/repositories/panics"
	"earshot/trigger/effect"
)

// broker is the broker of one app while it has clients on this replica.
type broker struct {
	appID   string
	server  *mochi.Server
	rules   *rules
	log     *slog.Logger
	clients int // guarded by Server.mu
	stop    context.CancelFunc
	ended   chan struct{} // closed when no more events arrive, for any reason
}

// join registers a client with the app's broker, and starts the broker if needed. It delivers events from now
// on.
func (s *Server) join(ctx context.Context, appID string) (*broker, error) {
	if b := s.enter(appID, nil); b != nil {
		return b, nil
	}
	// The lock covers all apps: do not wait under it.
	after, err := s.Events.Now(ctx)
	if err != nil {
		return nil, err
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	events, err := s.Events.Follow(following, appID, "", after)
	if err != nil {
		stop()
		return nil, err
	}
	made := s.newBroker(appID, stop)
	b := s.enter(appID, made)
	if b != made {
		stop() // another client was faster
		return b, nil
	}
	go s.feed(following, b, events, after)
	return b, nil
}

// enter registers a client with the app's running broker, or else with made; nil if both are nil.
func (s *Server) enter(appID string, made *broker) *broker {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, running := s.brokers[appID]
	if !running {
		b = made
	}
	if b != nil {
		s.brokers[appID] = b
		b.clients++
	}
	return b
}

func (s *Server) leave(b *broker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.clients--; b.clients > 0 {
		return
	}
	b.stop()
	_ = b.server.Close()
	s.forget(b)
}

// forget lets the next client of the app start a new broker. The caller holds s.mu.
func (s *Server) forget(b *broker) {
	if s.brokers[b.appID] == b {
		delete(s.brokers, b.appID)
	}
}

// feed publishes the app's events on its broker. If it was too slow it continues after the last event; if the
// stream ends, clients must reconnect.
func (s *Server) feed(ctx context.Context, b *broker, events <-chan effect.Published, after uint64) {
	defer close(b.ended)
	for err := error(nil); err == nil && ctx.Err() == nil; events, err = s.Events.Follow(ctx, b.appID, "", after) {
		for published := range events {
			panics.Run(s.Logger, "mqtt", published.Subject, func() {
				topic, payload := s.messageOf(ctx, published)
				if topic == "" {
					return
				}
				if err := b.server.Publish("app/"+b.appID+"/"+topic, payload, false, 0); err != nil {
					b.log.Warn("mqtt.publish", "app", b.appID, "topic", topic, "error", err.Error())
				}
			})
			after = published.Sequence
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(b)
}

func (b *broker) serve(conn *connection) {
	defer func() {
		// The library decodes packets: a panic there may only cost the client's connection.
		if fault := recover(); fault != nil && !whileDecoding() {
			panics.Caught(b.log, "mqtt", b.appID, fault)
		}
		_ = conn.Close()
		b.rules.forget(conn)
	}()
	if err := b.server.EstablishConnection(b.appID, conn); err != nil {
		b.log.Debug("mqtt.over", "app", b.appID, "error", err.Error())
	}
}

// whileDecoding reports whether a recovered panic comes from the library's decoder, which fails on some
// truncated packets. It is the client's fault and not logged.
func whileDecoding() bool {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.Contains(frame.Function, "/packets.(*Packet).") && strings.HasSuffix(frame.Function, "Decode") {
			return true
		}
	}
	return false
}

// newBroker returns an app's broker, on which only this process publishes. Its Serve is not called: it has no
// listeners, and its status messages would belong to no app.
func (s *Server) newBroker(appID string, stop context.CancelFunc) *broker {
	can := mochi.NewDefaultServerCapabilities()
	can.MaximumPacketSize, can.MaximumClientWritesPending, can.MaximumSessionExpiryInterval = maxPacket, maxQueued, 0
	// Clients publish nothing: they need no topic aliases and no properties in acknowledgements, which the
	// broker would keep in memory.
	can.TopicAliasMaximum, can.Compatibilities.NoInheritedPropertiesOnAck = 0, true
	server := mochi.New(&mochi.Options{Capabilities: can, InlineClient: true, Logger: slog.New(quiet{s.Logger.Handler()})})
	own := &rules{appID: appID, limits: s.limits, server: server, named: map[string]*mochi.Client{}}
	if err := server.AddHook(own, nil); err != nil {
		panic("the hook of the broker takes no configuration: " + err.Error())
	}
	return &broker{appID: appID, server: server, rules: own, log: s.Logger, stop: stop, ended: make(chan struct{})}
}

// quiet passes only errors of the broker's log: the rest is about packets of clients.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError && q.Handler.Enabled(ctx, level)
}

// Queues to clients are bounded as in event streams: in messages and bytes per client, and in bytes per
// replica. A slower client is disconnected.
const (
	maxQueued      = 256
	maxQueuedBytes = 1 << 20
	maxBytesInAll  = 64 << 20
)

var errSlow = errors.New("the client is too slow")

// connection adapts a client's WebSocket to net.Conn. The first packet, which admit has read, is read again by
// the broker. Writes are queued, as the broker would otherwise copy each message without a bound on memory.
type connection struct {
	net.Conn
	read    []byte
	version byte

	cut      func()
	queue    chan []byte   // nil marks its end
	ended    chan struct{} // closed with the connection
	finished chan struct{} // closed when the queue is written

	// Used only by the broker's goroutine for the connection.
	client   *mochi.Client // nil until it has started
	chosen   string        // the id that the client chose
	filters  int           // counted filters
	refused  []bool        // refused filters of the last SUBSCRIBE
	refusals int           // of SUBSCRIBE packets with a refused filter

	mu     sync.Mutex
	closed bool
	queued int64         // bytes in the queue, without the message that is written: the client may have it
	inAll  *atomic.Int64 // bytes in all queues
}

// Read implements net.Conn.
func (c *connection) Read(into []byte) (int, error) {
	if len(c.read) > 0 {
		n := copy(into, c.read)
		if c.read = c.read[n:]; len(c.read) == 0 {
			c.read = nil
		}
		return n, nil
	}
	return c.Conn.Read(into)
}

// Write queues data without blocking. One message always fits.
func (c *connection) Write(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, nil
	}
	if !c.enqueue(append([]byte(nil), data...)) {
		c.close()
		return 0, errSlow
	}
	return len(data), nil
}

func (c *connection) enqueue(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := int64(len(data))
	if c.closed || c.queued > 0 && (c.queued+size > maxQueuedBytes || c.inAll.Load()+size > maxBytesInAll) {
		return false
	}
	select {
	case c.queue <- data:
		c.count(size)
		return true
	default:
		return false
	}
}

// count changes the queued bytes. The caller holds c.mu.
func (c *connection) count(size int64) {
	c.queued += size
	c.inAll.Add(size)
}

func (c *connection) write() {
	for {
		select {
		case data := <-c.queue:
			if data == nil {
				close(c.finished)
				return
			}
			c.mu.Lock()
			c.count(-min(int64(len(data)), c.queued)) // close has reset the count
			c.mu.Unlock()
			if _, err := c.Conn.Write(data); err != nil {
				c.close()
				return
			}
		case <-c.ended:
			return
		}
	}
}

func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	c.closed = true
	c.count(-c.queued)
	close(c.ended)
	c.cut()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.close()
	return nil
}
