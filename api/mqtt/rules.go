package mqtt

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// rules are what the clients of a broker may do: subscribe to some filters, and nothing else.
type rules struct {
	mochi.HookBase
	appID  string
	limits *limits
	server *mochi.Server

	mu    sync.Mutex
	named map[string]*mochi.Client // by the id that they chose
	made  uint64                   // clients so far
}

// Provides says which questions of the broker are answered here.
func (*rules) Provides(question byte) bool {
	return slices.Contains([]byte{
		mochi.OnConnect, mochi.OnConnectAuthenticate, mochi.OnSubscribe, mochi.OnSubscribed, mochi.OnUnsubscribed,
		mochi.OnPacketEncode, mochi.OnPacketProcessed, mochi.OnACLCheck, mochi.OnPublish,
	}, question)
}

// OnConnect ends the connection of another client with that id, and gives the new one an id of its
// own within the broker. The broker itself would hand the filters of the earlier connection over
// while that may still subscribe: what came after would belong to no connection, and stay.
func (r *rules) OnConnect(client *mochi.Client, _ packets.Packet) error {
	chosen := strings.Clone(client.ID) // it is a part of the whole packet
	r.mu.Lock()
	earlier := r.named[chosen]
	r.named[chosen] = client
	r.made++
	client.ID = strconv.FormatUint(r.made, 10)
	r.mu.Unlock()
	conn := connectionOf(client)
	conn.chosen, conn.client = chosen, client
	if earlier != nil {
		_ = r.server.DisconnectClient(earlier, packets.ErrSessionTakenOver) // it is closed in any case
	}
	return nil
}

// forget takes from the broker what it still has of a connection that is over.
func (r *rules) forget(conn *connection) {
	if conn.client == nil {
		return
	}
	r.server.UnsubscribeClient(conn.client) // of MQTT 5 it would keep them, to be taken over
	r.server.Clients.Delete(conn.client.ID)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.named[conn.chosen] == conn.client {
		delete(r.named, conn.chosen)
	}
}

// OnConnectAuthenticate accepts every client, since admit has authenticated it. A last will would be
// published without a check, and a session that outlives its connection would be on this
// replica alone: both are taken from the client. So is its token, with the packet that it is part of.
func (*rules) OnConnectAuthenticate(client *mochi.Client, _ packets.Packet) bool {
	client.Properties.Will, client.Properties.Clean, client.Properties.Username = mochi.Will{}, true, nil
	return true
}

// OnSubscribe refuses the filters that are over the limits: it empties them, and an empty filter is
// never valid. It takes the others out of the packet, since each would keep all of it.
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

// OnSubscribed counts the filters that a client has by now: the broker may have refused more.
func (r *rules) OnSubscribed(client *mochi.Client, _ packets.Packet, _ []byte) { r.count(client) }

// OnUnsubscribed counts the filters that a client still has.
func (r *rules) OnUnsubscribed(client *mochi.Client, _ packets.Packet) { r.count(client) }

func (r *rules) count(client *mochi.Client) {
	conn, left := connectionOf(client), client.State.Subscriptions.Len()
	r.limits.addFilters(r.appID, left-conn.filters)
	conn.filters = left
}

// OnPacketEncode says of filters that were refused here that they are too many, too long or too deep.
// Versions before 5 have no word for it.
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

// OnACLCheck lets everything pass: there are no topics here but those of the app. It lets
// publications pass too, since a refusal would end the connection.
func (*rules) OnACLCheck(*mochi.Client, string, bool) bool { return true }

// OnPacketProcessed ends the connection of a client that goes on to ask for more than it may have.
func (*rules) OnPacketProcessed(client *mochi.Client, packet packets.Packet, _ error) {
	conn := connectionOf(client)
	if packet.FixedHeader.Type != packets.Subscribe || !slices.Contains(conn.refused, true) {
		return
	}
	if conn.refusals++; conn.refusals <= maxRefused {
		return
	}
	if client.Properties.ProtocolVersion >= 5 {
		_ = client.WritePacket(packets.Packet{ // fails where it has gone already
			FixedHeader: packets.FixedHeader{Type: packets.Disconnect}, ReasonCode: packets.ErrQuotaExceeded.Code,
			Properties: packets.Properties{ReasonString: quotaReason},
		})
	}
	if !conn.enqueue(nil) { // it ends when the queue is written
		conn.close()
	}
}

// OnPublish acknowledges what a client publishes, and drops it.
func (*rules) OnPublish(client *mochi.Client, packet packets.Packet) (packets.Packet, error) {
	if client.Net.Inline {
		return packet, nil
	}
	return packet, packets.CodeSuccessIgnore
}

// connectionOf is the connection of a client; nil of the one by which this process publishes, which
// sends and gets no packets.
func connectionOf(client *mochi.Client) *connection {
	conn, _ := client.Net.Conn.(*connection)
	return conn
}
