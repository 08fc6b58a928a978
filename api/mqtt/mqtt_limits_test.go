package mqtt_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
)

// asks subscribes to filters and returns the answer.
func (c *subscriber) asks(filters ...string) packets.Packet {
	c.t.Helper()
	asked := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1}
	for _, filter := range filters {
		asked.Filters = append(asked.Filters, packets.Subscription{Filter: filter})
	}
	c.send(asked, (*packets.Packet).SubscribeEncode)
	return c.next(packets.Suback)
}

// leaves unsubscribes from filters.
func (c *subscriber) leaves(filters ...string) {
	c.t.Helper()
	asked := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Unsubscribe, Qos: 1}, PacketID: 2}
	for _, filter := range filters {
		asked.Filters = append(asked.Filters, packets.Subscription{Filter: filter})
	}
	c.send(asked, (*packets.Packet).UnsubscribeEncode)
	c.next(packets.Unsuback)
}

// granted counts the accepted filters, and checks the refusals.
func granted(t *testing.T, got packets.Packet, refusal byte) (n int) {
	t.Helper()
	for _, code := range got.ReasonCodes {
		if code == 0 {
			n++
			continue
		}
		require.Equal(t, refusal, code)
	}
	return n
}

// some returns n filters with a common name.
func some(name string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("app/clinic/%s/%d", name, i)
	}
	return list
}

func mqtt5(hello *packets.Packet) { hello.ProtocolVersion = 5 }

func named(id string) func(*packets.Packet) {
	return func(hello *packets.Packet) { hello.Connect.ClientIdentifier = id }
}

func TestClientOfMQTTHas64Filters(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	key := keyFor(s, "clinic", `"triggers"`)
	older, newer := connected(s, key, named("older")), connected(s, key, named("newer"), mqtt5)
	for client, refusal := range map[*subscriber]byte{older: 0x80, newer: 0x97} {
		got := client.asks(some("a", 2000)...)
		require.Len(t, got.ReasonCodes, 2000)
		require.Equal(t, 64, granted(t, got, refusal))
		require.Equal(t, 64, granted(t, client.asks(some("a", 64)...), refusal), "those that it has may be asked for again")
		client.leaves(some("a", 10)...)
		require.Equal(t, 10, granted(t, client.asks(some("b", 20)...), refusal))
	}
	require.Contains(t, newer.asks("app/other").Properties.ReasonString, "a client may have 64")
	older.leaves("app/clinic/b/0")
	require.Equal(t, byte(0), older.asks("app/clinic/dialogue/tool/+").ReasonCodes[0])
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"appId":"clinic","name":"book"}`)
	topic, _ := older.hears()
	require.Equal(t, "app/clinic/dialogue/tool/book", topic, "it hears what it has a filter for")
}

func TestFilterOverMQTTIsNoLongerThanATopicCouldBe(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	client := connected(s, keyFor(s, "clinic", `"triggers"`), mqtt5)
	long, deep := strings.Repeat("x", 512), "$share/g/a/b/c/d/e/f"
	got := client.asks(long, long+"x", deep, deep+"/g", "app/clinic/dialogue/tool/changed/"+strings.Repeat("r", 128))
	require.Equal(t, []byte{0, 0x97, 0, 0x97, 0}, got.ReasonCodes)
}

// A client that keeps asking gets the reason in MQTT if its version can express it, and always in the
// WebSocket.
func TestClientOfMQTTThatGoesOnAskingIsCutOff(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	key := keyFor(s, "clinic", `"triggers"`)
	for _, version := range []byte{4, 5} {
		client := connected(s, key, named(fmt.Sprint("v", version)), func(hello *packets.Packet) { hello.ProtocolVersion = version })
		client.asks(some("a", 64)...)
		for range 9 {
			require.NotZero(t, client.asks("app/clinic/more").ReasonCodes[0])
		}
		if version == 5 {
			require.EqualValues(t, 0x97, client.next(packets.Disconnect).ReasonCode)
		}
		_, err := client.in.ReadByte()
		if closed, ok := errors.AsType[websocket.CloseError](err); ok { // otherwise the client noticed it another way
			require.Equal(t, websocket.StatusPolicyViolation, closed.Code)
		}
		require.Error(t, err)
	}
	require.Equal(t, 64, granted(t, connected(s, key).asks(some("a", 64)...), 0), "another connection begins anew")
}

func TestAppHasRoomForSoManyFiltersOverMQTT(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas, func(o *api.Options) { o.Filters = 100 })
	for _, app := range []string{"b", "c"} {
		s.Call("PUT", "/v1/apps/"+app, `{}`).Is(201, "")
	}
	mine, b, c := keyFor(s, "clinic", `"triggers"`), keyFor(s, "b", `"triggers"`), keyFor(s, "c", `"triggers"`)
	first, second := connected(s, mine, named("1")), connected(s, mine, named("2"))
	require.Equal(t, 64, granted(t, first.asks(some("a", 64)...), 0x80))
	require.Equal(t, 36, granted(t, second.asks(some("b", 64)...), 0x80), "an app has 100 here")
	require.Equal(t, 64, granted(t, connected(s, b, named("1")).asks(some("a", 64)...), 0x80))
	require.Equal(t, 36, granted(t, connected(s, b, named("2")).asks(some("a", 64)...), 0x80))
	third := connected(s, c)
	require.Equal(t, 0, granted(t, third.asks(some("a", 1)...), 0x80), "and all apps 200")
	_ = first.conn.Close()
	require.Eventually(t, func() bool { return connected(s, c, named("later")).asks("app/c/y").ReasonCodes[0] == 0 }, time.Minute, 10*time.Millisecond, "what ends makes room")
	require.Zero(t, third.asks("app/c/x").ReasonCodes[0])
}

// A client that reconnects has only its new filters; the old ones are no longer counted, in any version and
// session mode.
func TestConnectionThatIsTakenOverLeavesNoFilters(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas, func(o *api.Options) { o.Filters = 64 })
	key := keyFor(s, "clinic", `"triggers"`)
	resumes := func(hello *packets.Packet) {
		hello.Connect.Clean = false
		hello.Properties.SessionExpiryInterval, hello.Properties.SessionExpiryIntervalFlag = 3600, true
	}
	for _, change := range [][]func(*packets.Packet){{}, {mqtt5}, {mqtt5, resumes}} {
		earlier := connected(s, key, change...)
		earlier.awaitsRoom()
		earlier.asks(some("a", 64)...)
		later := connected(s, key, change...)
		_, err := io.Copy(io.Discard, earlier.in)
		require.Error(t, err, "it ends")
		later.awaitsRoom()
		_ = later.conn.Close()
	}
}

// awaitsRoom waits until a client can have all filters of its app.
func (c *subscriber) awaitsRoom() {
	c.t.Helper()
	refusal := byte(0x80)
	if c.version == 5 {
		refusal = packets.ErrQuotaExceeded.Code
	}
	require.Eventually(c.t, func() bool {
		return granted(c.t, c.asks("app/clinic/z"), refusal) == 1
	}, time.Minute, 10*time.Millisecond)
	got := granted(c.t, c.asks(some("z", 63)...), refusal)
	c.leaves(append(some("z", 63), "app/clinic/z")...)
	require.Equal(c.t, 63, got)
}

func TestCallerHas100ConnectionsOverMQTT(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	key, other := keyFor(s, "clinic", `"triggers"`), keyFor(s, "clinic", `"messages"`)
	first := connected(s, key, named("0"))
	for i := range 99 {
		require.Zero(t, connected(s, key, named(fmt.Sprint(i+1))).code)
	}
	require.EqualValues(t, 3, connected(s, key, named("more")).code)
	require.EqualValues(t, 0x97, connected(s, key, named("more"), mqtt5).code)
	require.Zero(t, connected(s, other, named("other")).code, "another key has its own")
	_ = first.conn.Close()
	require.Eventually(t, func() bool { return connected(s, key, named("again")).code == 0 }, time.Minute, 10*time.Millisecond)
}

// A client publishes nothing, so nothing that it sends is kept.
func TestClientOfMQTTNamesNoTopicsByNumbers(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	client := connected(s, keyFor(s, "clinic", `"triggers"`), mqtt5)
	client.send(packets.Packet{
		FixedHeader: packets.FixedHeader{Type: packets.Publish}, TopicName: strings.Repeat("x", 60<<10), Payload: []byte(`{}`),
		Properties: packets.Properties{TopicAlias: 1, TopicAliasFlag: true},
	}, (*packets.Packet).PublishEncode)
	_, _ = client.conn.Write([]byte{packets.Pingreq << 4, 0})
	said, _ := io.ReadAll(client.in) // until the connection ends, possibly earlier
	require.NotContains(t, said, byte(packets.Pingresp<<4))
}

// A client's filters do not keep their packets in memory.
func TestFiltersOverMQTTKeepNoPackets(t *testing.T) {
	s := apitest.OnStage(t, sermas)
	key := keyFor(s, "clinic", `"triggers"`)
	before := heap()
	const clients = 16
	for i := range clients {
		client := connected(s, key, named(fmt.Sprint(i)), mqtt5)
		for _, filter := range some(fmt.Sprint(i), 64) {
			asked := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1, Filters: packets.Subscriptions{{Filter: filter}}}
			asked.Properties.User = []packets.UserProperty{{Key: "x", Val: strings.Repeat("x", 60<<10)}}
			client.send(asked, (*packets.Packet).SubscribeEncode)
			require.Zero(t, client.next(packets.Suback).ReasonCodes[0])
		}
	}
	require.Less(t, heap()-before, int64(clients<<20), "64 packets of each client would be 4 MiB")
}

// heap returns the bytes in use.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
