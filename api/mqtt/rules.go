package mqtt

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// rules is the broker's hook: clients may only subscribe to some filters.
type rules struct {
	mochi.HookBase
	appID  string
	limits *limits
	server *mochi.Server

	mu    sync.Mutex
	named map[string]*mochi.Client // by the id that clients chose
	made  uint64                   // clients so far
}

// Provides implements mochi.Hook.
func (*rules) Provides(question byte) bool {
	return slices.Contains([]byte{
		mochi.OnConnect, mochi.OnConnectAuthenticate, mochi.OnSubscribe, mochi.OnSubscribed, mochi.OnUnsubscribed,
		mochi.OnPacketEncode, mochi.OnPacketProcessed, mochi.OnACLCheck, mochi.OnPublish,
	}, question)
}

// OnConnect disconnects another client with the same id, and assigns an internal id. Otherwise the broker would
// transfer the earlier connection's filters while it may still subscribe: later filters would belong to no
// connection and leak.
func (r *rules) OnConnect(client *mochi.Client, _ packets.Packet) error {
	chosen := strings.Clone(client.ID) // it aliases the whole packet
	r.mu.Lock()
	earlier := r.named[chosen]
	r.named[chosen] = client
	r.made++
	client.ID = strconv.FormatUint(r.made, 10)
	r.mu.Unlock()
	conn := connectionOf(client)
	conn.chosen, conn.client = chosen, client
	if earlier != nil {
		_ = r.server.DisconnectClient(earlier, packets.ErrSessionTakenOver) // it closes the connection in any case
	}
	return nil
}

// forget removes the state of an ended connection from the broker.
func (r *rules) forget(conn *connection) {
	if conn.client == nil {
		return
	}
	r.server.UnsubscribeClient(conn.client) // in MQTT 5 the broker would keep them for a takeover
	r.server.Clients.Delete(conn.client.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named[conn.chosen] == conn.client {
		delete(r.named, conn.chosen)
	}
}

// OnConnectAuthenticate accepts every client, since admit has authenticated it. It drops the last will, which
// would be published unchecked, and the persistent session, which would exist on this replica only. It also
// drops the token, which keeps its packet in memory.
func (*rules) OnConnectAuthenticate(client *mochi.Client, _ packets.Packet) bool {
	client.Properties.Will, client.Properties.Clean, client.Properties.Username = mochi.Will{}, true, nil
	return true
}

// OnSubscribe empties filters over the limits, as an empty filter is invalid. It copies the others, which would
// keep the whole packet in memory.
func (r *rules) OnSubscribe(client *mochi.Client, packet packets.Packet) packets.Packet {
	conn, fresh := connectionOf(client), map[string]bool{}
	conn.refused = make([]bool, len(packet.Filters))
	for i, asked := range packet.Filters {
		if !mochi.IsValidFilter(asked.Filter, false) {
			continue
		}
		_, has := client.State.Subscriptions.Get(asked.Filter)
		switch kept := strings.Clone(asked.Filter); {
		case has || fresh[asked.Filter]:
			packet.Filters[i].Filter = kept
		case len(kept) <= maxFilterBytes && strings.Count(kept, "/") < maxFilterLevels && conn.filters < maxFilters && r.limits.addFilters(r.appID, 1):
			packet.Filters[i].Filter, fresh[kept] = kept, true
			conn.filters++
		default:
			packet.Filters[i].Filter, conn.refused[i] = "", true
		}
	}
	return packet
}

// OnSubscribed counts the client's filters: the broker may have refused more.
func (r *rules) OnSubscribed(client *mochi.Client, _ packets.Packet, _ []byte) { r.count(client) }

// OnUnsubscribed counts the client's remaining filters.
func (r *rules) OnUnsubscribed(client *mochi.Client, _ packets.Packet) { r.count(client) }

func (r *rules) count(client *mochi.Client) {
	conn, left := connectionOf(client), client.State.Subscriptions.Len()
	r.limits.addFilters(r.appID, left-conn.filters)
	conn.filters = left
}

// OnPacketEncode reports the refusal reason of filters. Versions before 5 have none.
func (*rules) OnPacketEncode(client *mochi.Client, packet packets.Packet) packets.Packet {
	if packet.FixedHeader.Type != packets.Suback || client.Properties.ProtocolVersion < 5 {
		return packet
	}
	for i, no := range connectionOf(client).refused {
		if no {
			packet.ReasonCodes[i], packet.Properties.ReasonString = packets.ErrQuotaExceeded.Code, quotaReason
		}
	}
	return packet
}

// OnACLCheck allows everything: all topics belong to the app. A refused publication would end the connection.
func (*rules) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnPacketProcessed disconnects a client that keeps exceeding the limits.
func (*rules) OnPacketProcessed(client *mochi.Client, packet packets.Packet, _ error) {
	conn := connectionOf(client)
	if packet.FixedHeader.Type != packets.Subscribe || !slices.Contains(conn.refused, true) {
		return
	}
	if conn.refusals++; conn.refusals <= maxRefused {
		return
	}
	if client.Properties.ProtocolVersion >= 5 {
		_ = client.WritePacket(packets.Packet{ // fails if the client is gone
			FixedHeader: packets.FixedHeader{Type: packets.Disconnect}, ReasonCode: packets.ErrQuotaExceeded.Code,
			Properties: packets.Properties{ReasonString: quotaReason},
		})
	}
	if !conn.enqueue(nil) { // it ends when the queue is written
		conn.close()
	}
}

// OnPublish acknowledges and drops publications of clients.
func (*rules) OnPublish(client *mochi.Client, packet packets.Packet) (packets.Packet, error) {
	if client.Net.Inline {
		return packet, nil
	}
	return packet, packets.CodeSuccessIgnore
}

// connectionOf returns a client's connection; nil for this process's own client, which uses no packets.
func connectionOf(client *mochi.Client) *connection {
	conn, _ := client.Net.Conn.(*connection)
	return conn
}

// Filters are bounded, since a replica keeps each while its client is connected: some 1 KiB per level.
const (
	maxFilters = 64
	// maxFilterBytes bounds a filter: the longest topic has less than 300 bytes.
	maxFilterBytes = 512
	// maxFilterLevels bounds the levels of a filter: topics have at most 6, and a shared subscription 2 more.
	maxFilterLevels = 8
	// maxRefused is how many SUBSCRIBE packets of a client may exceed the limits. The next one ends its
	// connection.
	maxRefused = 8
	// defaultFilters bounds the filters of an app's clients on a replica.
	defaultFilters = 1 << 15
	appsWorth      = 2
	// maxOfCaller bounds the connections of a replica per key, including keys made by it, or per access token,
	// including its renewals. Event streams of a session have the same bound.
	maxOfCaller = 100
)

// limits counts what the clients of a replica use. It is safe for concurrent use.
type limits struct {
	ofApp, inAll int // the most filters
	mu           sync.Mutex
	filters      map[string]int // by app
	all          int
	callers      map[string]int // connections by caller
}

// addFilters adds n filters of an app; n may be negative. It refuses more than the limit.
func (l *limits) addFilters(appID string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n > 0 && (l.filters[appID] >= l.ofApp || l.all >= l.inAll) {
		return false
	}
	l.all += n
	if l.filters[appID] += n; l.filters[appID] == 0 {
		delete(l.filters, appID)
	}
	return true
}

// enter counts a connection of a caller until leave; false if the limit is reached.
func (l *limits) enter(caller string) (leave func(), room bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers[caller] >= maxOfCaller {
		return nil, false
	}
	l.callers[caller]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.callers[caller]--; l.callers[caller] == 0 {
			delete(l.callers, caller)
		}
	}, true
}
