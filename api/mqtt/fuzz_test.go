package mqtt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"

	"earshot/api/auth"
	"earshot/deploy/testbed"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

// given is a connection with received bytes.
type given struct {
	net.Conn
	bytes.Reader
}

func (g *given) Read(into []byte) (int, error) { return g.Reader.Read(into) }

// FuzzFirst sends packets that are not, or almost, CONNECT. An accepted one must be readable again, unchanged.
func FuzzFirst(f *testing.F) {
	f.Add([]byte("\x10\x11\x00\x04MQTT\x04\x82\x00\x3c\x00\x01c\x00\x02id"))
	f.Add([]byte("\x10\x13\x00\x04MQTT\x05\x82\x00\x3c\x00\x00\x01c\x00\x02id\x00"))
	f.Add([]byte("\x10\x00"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		from := &given{}
		from.Reset(sent)
		conn := &connection{Conn: from}
		if _, err := conn.first(); err != nil {
			return
		}
		if !bytes.HasPrefix(sent, conn.read) || len(conn.read) < 2 {
			t.Fatalf("%q was read of %q", conn.read, sent)
		}
	})
}

// wire is a network connection whose client has sent everything at once.
type wire struct {
	net.Conn
	sent  *bytes.Reader
	stays bool          // the client stays after all is read
	idle  chan struct{} // closed when all is read
	over  chan struct{} // closed with the connection
	done  func()        // closes idle
	// hangUp ends the connection.
	hangUp func()
	look   func() // called before each read, when earlier packets are processed

	mu       sync.Mutex
	answered bytes.Buffer
}

// atOnce is the size of a read, so that look is called often.
const atOnce = 64

func (w *wire) Read(into []byte) (int, error) {
	w.look()
	select {
	case <-w.over:
		return 0, net.ErrClosed
	default:
	}
	if w.sent.Len() > 0 {
		return w.sent.Read(into[:min(len(into), atOnce)])
	}
	w.done()
	if w.stays {
		<-w.over
	}
	return 0, io.EOF
}

func (w *wire) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered.Write(data)
}

func (w *wire) SetDeadline(time.Time) error     { return nil }
func (w *wire) SetReadDeadline(time.Time) error { return nil }
func (w *wire) RemoteAddr() net.Addr            { return &net.TCPAddr{} }

// kinds lists the types of the packets sent to the client.
func (w *wire) kinds(t testing.TB) (list []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := bytes.NewReader(w.answered.Bytes()); rest.Len() > 0; {
		first, _ := rest.ReadByte()
		length, _, err := packets.DecodeLength(rest)
		if _, short := io.CopyN(io.Discard, rest, int64(length)); err != nil || short != nil {
			t.Errorf("%q are no packets", w.answered.Bytes())
			break
		}
		list = append(list, first>>4)
	}
	return list
}

// oneKey accepts any credential as a key of the app clinic.
type oneKey struct{ auth.Keys }

func (oneKey) CheckKey(context.Context, secret.Secret) (string, store.AppKey, error) {
	return "clinic", store.AppKey{ID: "k", Scopes: []store.Permission{store.PermitTriggers}}, nil
}

// noEvents is a stream without events.
type noEvents struct{}

func (noEvents) Now(context.Context) (uint64, error) { return 0, nil }

func (noEvents) Follow(ctx context.Context, _, _ string, _ uint64) (<-chan effect.Published, error) {
	events := make(chan effect.Published)
	context.AfterFunc(ctx, func() { close(events) })
	return events, nil
}

const (
	roomOfApp = 80          // less than two clients may use
	patience  = time.Minute // far longer than a connection takes, even on a busy machine
)

// broking is a server with an observed broker for the app clinic.
type broking struct {
	t      testing.TB
	server *Server
	broker *broker
	log    testbed.Lines

	mu   sync.Mutex
	held map[string]bool // filters that existed
}

func newBroking(t testing.TB) *broking {
	b := &broking{t: t, held: map[string]bool{}}
	door := auth.Authenticator{Keys: oneKey{}, Now: time.Now}
	b.server = New(Options{
		Events: noEvents{}, Filters: roomOfApp, Now: time.Now, Logger: slog.New(slog.NewTextHandler(&b.log, nil)),
		Principal: func(ctx context.Context, _ secret.Secret) (auth.Principal, error) {
			return door.Principal(ctx, secret.New(store.AppKeyPrefix+"clinic"))
		},
	})
	var err error
	if b.broker, err = b.server.join(t.Context(), "clinic"); err != nil {
		t.Fatal(err)
	}
	for i, filter := range []string{"#", "$SYS/#"} {
		b.broker.server.Topics.InlineSubscribe(mochi.InlineSubscription{
			Subscription: packets.Subscription{Filter: filter, Identifier: i + 1},
			Handler: func(_ *mochi.Client, _ packets.Subscription, packet packets.Packet) {
				t.Errorf("a client has published %q to %q", packet.Payload, packet.TopicName)
			},
		})
	}
	return b
}

// client serves a client that sends these bytes, as Serve does. The channel is closed when its connection ends.
func (b *broking) client(sent []byte, stays bool) (*wire, <-chan struct{}) {
	w := &wire{sent: bytes.NewReader(sent), stays: stays, idle: make(chan struct{}), over: make(chan struct{})}
	w.done = sync.OnceFunc(func() { close(w.idle) })
	conn := &connection{
		Conn: w, queue: make(chan []byte, maxQueued), inAll: &b.server.queued, cut: func() { close(w.over) }, ended: make(chan struct{}), finished: make(chan struct{}),
	}
	w.hangUp = conn.close
	w.look = func() {
		for conn.waits() { // later state would be gone with the connection
			runtime.Gosched()
		}
		b.bounded(conn)
	}
	gone := make(chan struct{})
	go conn.write()
	go func() {
		select {
		case <-conn.finished:
			conn.close()
		case <-conn.ended:
		}
	}()
	go func() {
		defer close(gone)
		defer conn.close()
		if who, no := b.server.admit(b.t.Context(), conn, ""); no != nil {
			no.send(w)
		} else if joined, err := b.server.join(b.t.Context(), who.AppID()); err == nil {
			defer b.server.leave(joined)
			joined.serve(conn)
		}
	}()
	return w, gone
}

// waits reports whether something is still to be written.
func (c *connection) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued > 0
}

// bounded checks what the broker holds for a connection.
func (b *broking) bounded(conn *connection) {
	if conn.client == nil {
		return
	}
	held := conn.client.State.Subscriptions.GetAll()
	if len(held) != conn.filters || len(held) > 64 {
		b.t.Errorf("%d filters are held, and %d are counted", len(held), conn.filters)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for filter := range held {
		b.held[filter] = true
		if len(filter) > 512 || strings.Count(filter, "/") > 7 {
			b.t.Errorf("the filter %q is held", filter)
		}
	}
	b.server.limits.mu.Lock()
	defer b.server.limits.mu.Unlock()
	if all := b.server.limits.all; all > roomOfApp || all < len(held) {
		b.t.Errorf("%d filters are counted in all", all)
	}
}

func (b *broking) await(what string, events ...<-chan struct{}) {
	within := time.NewTimer(patience)
	defer within.Stop()
	var either <-chan struct{}
	if len(events) > 1 {
		either = events[1]
	}
	select {
	case <-events[0]:
	case <-either:
	case <-within.C:
		b.t.Fatalf("%s takes more than %s", what, patience)
	}
}

// empty checks that nothing is left of clients that are gone.
func (b *broking) empty() {
	limits, rules, server := b.server.limits, b.broker.rules, b.broker.server
	if limits.all != 0 || len(limits.filters) != 0 || b.server.queued.Load() != 0 {
		b.t.Errorf("%d filters and %d bytes are counted for nobody", limits.all, b.server.queued.Load())
	}
	if len(rules.named) != 0 || server.Clients.Len() != 1 || server.Topics.Retained.Len() != 0 {
		b.t.Errorf("the broker keeps %v, %v and %d messages", rules.named, server.Clients.GetAll(), server.Topics.Retained.Len())
	}
	for filter := range b.held { // each filter is also a topic that it matches
		topic := filter
		if shared, is := strings.CutPrefix(filter, "$share/"); is {
			_, topic, _ = strings.Cut(shared, "/")
		}
		if left := server.Topics.Subscribers(topic); len(left.Subscriptions)+len(left.Shared) > 0 {
			b.t.Errorf("the filter %q is still one of %v, %v", filter, left.Subscriptions, left.Shared)
		}
	}
	b.server.leave(b.broker)
	b.await("the end of the broker", b.broker.ended)
	if len(b.server.brokers) != 0 || strings.Contains(b.log.String(), "level=ERROR") {
		b.t.Errorf("%v: %s", b.server.brokers, b.log.String())
	}
}

// FuzzConnections serves a client that sends everything and stays, besides another that sends and leaves. No
// client publishes a message or exceeds its filters, and both leave nothing behind: no filter, queued byte,
// name, or panic.
func FuzzConnections(f *testing.F) {
	for _, seed := range connectionSeeds(f) {
		if !slices.Contains(bothTalk(f, seed[0], seed[1]), packets.Connack) {
			f.Fatalf("%q is no connection", seed)
		}
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, first, second []byte) { bothTalk(t, first, second) })
}

// A panic that no client has caused is logged with its stack, and costs only a connection.
func TestPanicOfABrokerIsToldWithItsStack(t *testing.T) {
	b := newBroking(t)
	w, gone := b.client(encoded(t, 4, greeting("x")), true)
	b.await("what is sent", w.idle)
	w.hangUp()
	b.await("the client", gone)
	b.broker.rules.named = nil // OnConnect writes to it
	w, gone = b.client(encoded(t, 4, greeting("x")), true)
	b.await("the end of the connection", gone)
	select {
	case <-w.over:
	default:
		t.Error("the connection is open")
	}
	for _, part := range []string{"panic.caught", "in=mqtt", "entry=clinic", "OnConnect"} {
		require.Contains(t, b.log.String(), part)
	}
}

// bothTalk serves two clients, and lists the packets sent to them.
func bothTalk(t testing.TB, first, second []byte) []byte {
	b := newBroking(t)
	staying, gone := b.client(first, true)
	b.await("what the first sends", staying.idle, gone)
	leaving, left := b.client(second, false)
	b.await("the second", left)
	b.await("what is left of the first", staying.idle, gone)
	staying.hangUp()
	b.await("the first", gone)
	kinds := append(staying.kinds(t), leaving.kinds(t)...)
	if slices.Contains(kinds, packets.Publish) {
		t.Errorf("messages came back: %v", kinds)
	}
	b.empty()
	return kinds
}

func encoded(t testing.TB, version byte, list ...packets.Packet) []byte {
	var text bytes.Buffer
	encode := map[byte]func(*packets.Packet, *bytes.Buffer) error{
		packets.Connect: (*packets.Packet).ConnectEncode, packets.Subscribe: (*packets.Packet).SubscribeEncode,
		packets.Unsubscribe: (*packets.Packet).UnsubscribeEncode, packets.Publish: (*packets.Packet).PublishEncode,
		packets.Pubrel: (*packets.Packet).PubrelEncode, packets.Pingreq: (*packets.Packet).PingreqEncode,
		packets.Disconnect: (*packets.Packet).DisconnectEncode, packets.Auth: (*packets.Packet).AuthEncode,
	}
	for _, packet := range list {
		packet.ProtocolVersion = version
		if err := encode[packet.FixedHeader.Type](&packet, &text); err != nil {
			t.Fatal(err)
		}
	}
	return text.Bytes()
}

func head(kind, qos byte) packets.FixedHeader { return packets.FixedHeader{Type: kind, Qos: qos} }

func greeting(id string) packets.Packet {
	lasting := packets.Properties{SessionExpiryInterval: 600, SessionExpiryIntervalFlag: true} // of version 5
	return packets.Packet{FixedHeader: head(packets.Connect, 0), Properties: lasting, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Keepalive: 60, ClientIdentifier: id, UsernameFlag: true, Username: []byte("ek_x"), PasswordFlag: true, Password: []byte("p"),
		WillFlag: true, WillTopic: "app/clinic/dialogue/tool/will", WillPayload: []byte("{}"), WillRetain: true,
	}}
}

// asking is a SUBSCRIBE or UNSUBSCRIBE packet.
func asking(kind byte, id uint16, filters ...string) packets.Packet {
	packet := packets.Packet{FixedHeader: head(kind, 1), PacketID: id}
	for _, filter := range filters {
		packet.Filters = append(packet.Filters, packets.Subscription{Filter: filter})
	}
	return packet
}

func publishing(qos byte, id uint16, topic string) packets.Packet {
	packet := packets.Packet{FixedHeader: head(packets.Publish, qos), PacketID: id, TopicName: topic, Payload: []byte("{}")}
	packet.FixedHeader.Retain = true
	return packet
}

// connectionSeeds are the packets of two clients.
func connectionSeeds(f *testing.F) (seeds [][2][]byte) {
	var many []string
	for i := range 70 {
		many = append(many, fmt.Sprintf("app/clinic/%d", i))
	}
	deep, long := strings.Repeat("a/", 8)+"#", strings.Repeat("x", 513)
	for _, version := range []byte{3, 4, 5} {
		hello := greeting("same")
		if version == 3 {
			hello.Connect.ProtocolName = []byte("MQIsdp")
		}
		whole := encoded(f, version, hello,
			asking(packets.Subscribe, 1, "app/clinic/dialogue/tool/#", "+/+", "$share/g/app/#", "", "a#"),
			publishing(0, 0, "app/clinic/dialogue/tool/x"), publishing(1, 7, "#"), publishing(2, 8, "$SYS/x"),
			packets.Packet{FixedHeader: head(packets.Pubrel, 1), PacketID: 8}, asking(packets.Unsubscribe, 2, "+/+", "none"),
			packets.Packet{FixedHeader: head(packets.Pingreq, 0)}, packets.Packet{FixedHeader: head(packets.Disconnect, 0)})
		asks := encoded(f, version, hello, asking(packets.Subscribe, 2, deep, long), asking(packets.Subscribe, 1, many...), asking(packets.Subscribe, 3, many[3:6]...))
		hello.Connect.ClientIdentifier = "other"
		other := encoded(f, version, hello, asking(packets.Subscribe, 1, many...), asking(packets.Unsubscribe, 2, many[:9]...), asking(packets.Subscribe, 2, "x", "y"))
		var again []byte
		for range 10 {
			again = append(again, encoded(f, version, asking(packets.Subscribe, 4, deep))...)
		}
		seeds = append(seeds, [2][]byte{whole, whole}, [2][]byte{asks, other}, [2][]byte{asks, append(asks, again...)}, [2][]byte{whole[:len(whole)/2], asks[:len(asks)-3]})
	}
	named := publishing(0, 0, "a")
	named.Properties.TopicAlias, named.Properties.TopicAliasFlag = 1, true
	short := encoded(f, 5, greeting("short"), asking(packets.Subscribe, 1, "a", "b"))
	short = short[:len(short)-1]
	short[bytes.Index(short, []byte("\x00\x01a"))-4]-- // the length of the packet
	return append(seeds, [2][]byte{short, short}, [2][]byte{
		encoded(f, 5, greeting(""), named, packets.Packet{FixedHeader: head(packets.Auth, 0), ReasonCode: 0x18}),
		encoded(f, 5, greeting(""), greeting("")),
	})
}
