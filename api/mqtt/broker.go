package mqtt

import (
	"context"
	"log/slog"
	"runtime"
	"strings"

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
	// ended is closed when no more events arrive, for any reason.
	ended chan struct{}
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
