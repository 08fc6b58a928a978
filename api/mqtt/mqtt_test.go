package mqtt_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

func sermas(o *api.Options) { o.SERMAS = true }

// subscriber is an MQTT client over WebSocket.
type subscriber struct {
	t       *testing.T
	conn    net.Conn
	in      *bufio.Reader
	version byte
	code    byte // the server's answer
}

// knock opens a WebSocket at /mqtt.
func knock(s apitest.Stage) *subscriber { return knockFrom(s, nil) }

// knockFrom is knock with the headers of a browser.
func knockFrom(s apitest.Stage, header http.Header) *subscriber {
	s.T.Helper()
	socket, _, err := websocket.Dial(s.T.Context(), strings.Replace(s.URL, "http", "ws", 1)+"/mqtt", &websocket.DialOptions{Subprotocols: []string{"mqtt"}, HTTPHeader: header})
	require.NoError(s.T, err)
	require.Equal(s.T, "mqtt", socket.Subprotocol())
	s.T.Cleanup(func() { _ = socket.CloseNow() })
	conn := websocket.NetConn(context.Background(), socket, websocket.MessageBinary)
	return &subscriber{t: s.T.(*testing.T), conn: conn, in: bufio.NewReader(conn), version: 4}
}

// connected is a client after CONNECT; change may alter that packet.
func connected(s apitest.Stage, token string, change ...func(*packets.Packet)) *subscriber {
	s.T.Helper()
	return greeting(knock(s), token, change...)
}

// greeting sends CONNECT.
func greeting(client *subscriber, token string, change ...func(*packets.Packet)) *subscriber {
	client.t.Helper()
	hello := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, ProtocolVersion: 4, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Clean: true, Keepalive: 60, ClientIdentifier: "client", UsernameFlag: true, Username: []byte(token),
	}}
	for _, alter := range change {
		alter(&hello)
	}
	client.version = hello.ProtocolVersion
	client.send(hello, (*packets.Packet).ConnectEncode)
	client.code = client.next(packets.Connack).ReasonCode
	return client
}

func (c *subscriber) send(pk packets.Packet, encode func(*packets.Packet, *bytes.Buffer) error) {
	c.t.Helper()
	pk.ProtocolVersion = c.version
	var text bytes.Buffer
	require.NoError(c.t, encode(&pk, &text))
	_, err := c.conn.Write(text.Bytes())
	require.NoError(c.t, err)
}

// next reads the next packet, which must have that type.
func (c *subscriber) next(kind byte) (pk packets.Packet) {
	c.t.Helper()
	first, err := c.in.ReadByte()
	require.NoError(c.t, err)
	require.NoError(c.t, pk.FixedHeader.Decode(first))
	length, _, err := packets.DecodeLength(c.in)
	require.NoError(c.t, err)
	body := make([]byte, length)
	for at := 0; at < length; {
		n, err := c.in.Read(body[at:])
		require.NoError(c.t, err)
		at += n
	}
	pk.ProtocolVersion, pk.FixedHeader.Remaining = c.version, length
	require.Equal(c.t, kind, pk.FixedHeader.Type)
	switch kind {
	case packets.Connack:
		err = pk.ConnackDecode(body)
	case packets.Suback:
		err = pk.SubackDecode(body)
	case packets.Publish:
		err = pk.PublishDecode(body)
	case packets.Puback:
		err = pk.PubackDecode(body)
	case packets.Disconnect:
		err = pk.DisconnectDecode(body)
	}
	require.NoError(c.t, err)
	return pk
}

func (c *subscriber) subscribe(filters ...string) *subscriber {
	c.t.Helper()
	asked := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1}
	for _, filter := range filters {
		asked.Filters = append(asked.Filters, packets.Subscription{Filter: filter})
	}
	c.send(asked, (*packets.Packet).SubscribeEncode)
	require.Len(c.t, c.next(packets.Suback).ReasonCodes, len(filters))
	return c
}

// hears returns the topic and the payload of the next message.
func (c *subscriber) hears() (string, map[string]any) {
	c.t.Helper()
	got := c.next(packets.Publish)
	var payload map[string]any
	require.NoError(c.t, json.Unmarshal(got.Payload, &payload), "%s", got.Payload)
	return got.TopicName, payload
}

// ended checks that the server ended the connection.
func (c *subscriber) ended() {
	c.t.Helper()
	_, err := c.in.ReadByte()
	require.Error(c.t, err)
}

func keyFor(s apitest.Stage, app, scopes string) string {
	s.T.Helper()
	var made struct{ Key string }
	require.NoError(s.T, json.Unmarshal(s.Call("POST", "/v1/apps/"+app+"/keys", `{"name":"k","scopes":[`+scopes+`]}`).Is(201, "").Body, &made))
	return made.Key
}

func TestEventsComeOverMQTTAsSERMASWritesThem(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	follower := connected(s, keyFor(s, "clinic", `"triggers"`)).subscribe("app/clinic/dialogue/tool/#")
	require.Zero(t, follower.code)

	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"id":"e1","ts":"2026-01-02T03:04:05Z","text":"on monday","appId":"clinic","sessionId":"s1","repositoryId":"desk",
		"source":"message","name":"book","schema":[{"parameter":"day","type":"string","description":"when"},{"name":"people","type":"integer"}],"values":{"day":"monday","people":12345678901234567890,"extra":true}}`)
	topic, says := follower.hears()
	require.Equal(t, "app/clinic/dialogue/tool/book", topic)
	require.Equal(t, "s1", says["sessionId"])
	require.NotContains(t, says, "text", "what one visitor says is not for all clients of the app")
	require.Equal(t, map[string]any{"name": "book", "schema": []any{
		map[string]any{"parameter": "day", "type": "string", "description": "when", "value": "monday"},
		map[string]any{"parameter": "people", "type": "integer", "value": 12345678901234567890.0},
		map[string]any{"parameter": "extra", "value": true},
	}}, says["tool"])

	s.Publish("tool.result.clinic.s1.book", "s1", `{}`)
	s.Publish("tool.trigger.clinic.s1.bad", "s1", `"no object"`)
	s.Publish("tool.changed.clinic.desk", "s1", `{"appId":"clinic","sessionId":"s1","operation":"created","record":{"repositoryId":"desk"},"ts":"2026-01-02T03:04:05Z"}`)
	topic, says = follower.hears()
	require.Equal(t, "app/clinic/dialogue/tool/changed/desk", topic)
	require.Equal(t, map[string]any{"appId": "clinic", "sessionId": "s1", "operation": "created", "record": map[string]any{"repositoryId": "desk"}, "ts": "2026-01-02T03:04:05Z"}, says)

	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","description":"books","emitter":"calendar.request",
		"parameters":{"type":"object","properties":{"day":{"type":"string","description":"when"}}},"url":"https://example.org","request":{"auth":"basic","basic":{"username":"u","password":"planted"}}}]}`).Is(201, "")
	s.Publish("tool.notmatching.clinic.s1", "s1", `{"appId":"clinic","sessionId":"s1","messageId":"m1","repositories":["desk"],"tools":["book","gone"],"ts":"2026-01-02T03:04:05Z"}`)
	topic, says = follower.hears()
	require.Equal(t, "app/clinic/dialogue/tool/not-matching", topic)
	require.Equal(t, []any{"desk"}, says["repositories"])
	require.Equal(t, []any{
		map[string]any{"name": "book", "description": "books", "emitter": "calendar.request", "schema": []any{map[string]any{"parameter": "day", "type": "string", "description": "when"}}},
		map[string]any{"name": "gone", "schema": []any{}},
	}, says["tools"])
}

func TestClientOfMQTTSeesItsOwnAppAlone(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	s.Call("PUT", "/v1/apps/other", `{}`).Is(201, "")
	mine, theirs := keyFor(s, "clinic", `"messages"`), keyFor(s, "other", `"triggers"`)
	takesOver := connected(s, theirs) // another app's client with the same id
	willing := connected(s, theirs, func(hello *packets.Packet) {
		hello.Connect.ClientIdentifier, hello.Connect.WillFlag = "willing", true
		hello.Connect.WillTopic, hello.Connect.WillPayload = "app/clinic/dialogue/tool/forged", []byte(`{}`)
	})
	follower := connected(s, mine, func(hello *packets.Packet) { hello.Connect.Clean = false })
	follower.subscribe("#", "+/+/dialogue/tool/+", "$SYS/#", "app/other/dialogue/tool/#", "$share/g/app/#")
	takesOver.subscribe("#")
	for _, topic := range []string{"app/clinic/dialogue/tool/forged", "app/other/dialogue/tool/forged"} {
		for _, publisher := range []*subscriber{follower, takesOver} {
			publisher.send(packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Publish, Qos: 1, Retain: true}, TopicName: topic, PacketID: 7, Payload: []byte(`{}`)},
				(*packets.Packet).PublishEncode)
			require.EqualValues(t, 7, publisher.next(packets.Puback).PacketID, "what is published is acknowledged and dropped")
		}
	}
	_, err := willing.conn.Write([]byte{0, 0})
	require.NoError(t, err)
	willing.ended() // without DISCONNECT, which triggers a last will

	event := func(app string) string {
		return `{"appId":"` + app + `","sessionId":"s1","name":"book","schema":[],"values":{}}`
	}
	s.Publish("tool.trigger.other.s1.book", "s1", event("other"))
	s.Publish("tool.trigger.clinic.s1.book", "s1", event("clinic"))
	for client, topic := range map[*subscriber]string{follower: "app/clinic/dialogue/tool/book", takesOver: "app/other/dialogue/tool/book"} {
		got, says := client.hears()
		require.Equal(t, topic, got)
		require.Equal(t, strings.Split(topic, "/")[1], says["appId"])
	}
}

func TestWhoIsNotLetInOverMQTTIsTold(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	var token struct{ Token string }
	require.NoError(t, json.Unmarshal(s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Is(201, "").Body, &token))
	for what, credential := range map[string]string{
		"nothing": "", "a wrong key": "no-such-key", "a key without the scope": keyFor(s, "clinic", `"tools"`), "the admin, who is of no app": apitest.AdminKey, "the token of a session": token.Token,
	} {
		refused := connected(s, credential)
		require.EqualValues(t, 5, refused.code, what)
		refused.ended()
	}
	require.Zero(t, connected(s, keyFor(s, "clinic", `"triggers:read"`)).code, "it only reads")
	newer := connected(s, "no-such-key", func(hello *packets.Packet) { hello.ProtocolVersion = 5 })
	require.EqualValues(t, 0x87, newer.code)
	unknown := connected(s, "no-such-key", func(hello *packets.Packet) { hello.ProtocolVersion = 6 })
	require.EqualValues(t, 1, unknown.code)
	for _, garbage := range [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n"), {0x10, 0xff, 0xff, 0xff, 0xff, 0x7f}, {0x10, 2, 0, 9}} {
		client := knock(s)
		_, err := client.conn.Write(garbage)
		require.NoError(t, err)
		client.ended()
	}
	s.Call("GET", "/mqtt", "").Problem(426, "MQTT")
}

func TestPagesOfForeignOriginsAreNotLetInOverMQTT(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	key := keyFor(s, "clinic", `"messages"`)
	s.Call("PATCH", "/v1/apps/clinic", `{"settings":{"allowedOrigins":["https://ok.example"]}}`).Is(200, "")
	for origin, code := range map[string]byte{"https://ok.example": 0, "https://evil.example": packets.Err3NotAuthorized.Code, "null": packets.Err3NotAuthorized.Code, s.URL: 0, "": 0} {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		require.Eventually(t, func() bool { return greeting(knockFrom(s, header), key).code == code }, time.Minute, 10*time.Millisecond, origin) // settings are cached
	}
	told := greeting(knockFrom(s, http.Header{"Origin": {"https://evil.example"}}), key, mqtt5)
	require.Equal(t, packets.ErrNotAuthorized.Code, told.code)
	told.ended()
}

func TestConnectionOverMQTTEndsWithItsKey(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	revoked, fifth := keyFor(s, "clinic", `"triggers"`), keyFor(s, "clinic", `"messages"`)
	gone := connected(s, revoked).subscribe("#")
	stays := connected(s, fifth, func(hello *packets.Packet) { hello.ProtocolVersion, hello.Connect.ClientIdentifier = 5, "" }).subscribe("#")
	var keys struct {
		Items []struct {
			KeyID, Name string
			Scopes      []string
		}
	}
	require.NoError(t, json.Unmarshal(s.Call("GET", "/v1/apps/clinic/keys", "").Is(200, "").Body, &keys))
	for _, key := range keys.Items {
		if key.Scopes[0] == "triggers" {
			s.Call("DELETE", "/v1/apps/clinic/keys/"+key.KeyID, "").Is(204, "")
		}
	}
	gone.ended()
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"appId":"clinic","name":"book"}`)
	topic, _ := stays.hears()
	require.Equal(t, "app/clinic/dialogue/tool/book", topic)
	close(s.Closing)
	require.NoError(t, stays.conn.SetReadDeadline(time.Time{}))
	stays.ended()
}

// A SERMAS client renews its token over REST, with or without a new connection.
func TestConnectionOverMQTTEndsWithTheLastOfItsTokens(t *testing.T) {
	t.Parallel()
	clock := testbed.NewClock(time.Now())
	s := apitest.OnStage(t, sermas, func(o *api.Options) { o.Now, o.Lineages = clock.Now, o.Store.(*store.Store) })
	life, err := s.Store.Generation(t.Context(), "clinic", "")
	require.NoError(t, err)
	connected := func(lineage string) *subscriber {
		signed, err := s.Sealer.SignAccess(store.AccessToken{
			AppID: "clinic", ModuleID: "avatar", Lineage: lineage, Expires: clock.Now().Add(time.Minute), Generation: life, Scopes: []store.Permission{store.PermitTriggers},
		}, "t1")
		require.NoError(t, err)
		return connected(s, signed.Reveal(), func(hello *packets.Packet) { hello.Connect.ClientIdentifier = lineage }).subscribe("#")
	}
	renewed, forgotten := connected("l1"), connected("l2")
	require.NoError(t, s.Store.ExtendLineage(t.Context(), "clinic", "l1", clock.Now().Add(2*time.Minute)))
	clock.Advance(time.Minute)
	forgotten.ended()
	s.Publish("tool.trigger.clinic.s1.book", "s1", `{"appId":"clinic","name":"book"}`)
	_, says := renewed.hears()
	require.Equal(t, "book", says["name"])
	require.Equal(t, map[string]any{}, says["values"], "who reads one of them needs no check")
	clock.Advance(time.Minute)
	renewed.ended()
}

// A client that does not read is disconnected, so that its queue is bounded; others continue.
func TestClientOfMQTTThatReadsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	s := apitest.OnStage(t, sermas)
	key := keyFor(s, "clinic", `"triggers"`)
	idle := connected(s, key, func(hello *packets.Packet) { hello.Connect.ClientIdentifier = "idle" }).subscribe("#")
	reads := connected(s, key).subscribe("#")
	const events = 60
	payload := `{"appId":"clinic","name":"book","values":{"v":"` + strings.Repeat("x", 400<<10) + `"}}`
	for range events {
		s.Publish("tool.trigger.clinic.s1.book", "s1", payload)
		_, says := reads.hears()
		require.Equal(t, "book", says["name"])
	}
	got, err := io.Copy(io.Discard, idle.in)
	require.Error(t, err)
	require.Less(t, got, int64(events*len(payload)), "it was cut off before it was sent everything")
}

// cutOff is a reader that is too slow: its stream ends with each event.
type cutOff struct {
	ends int // the number of events
	asks chan uint64
}

func (*cutOff) Now(context.Context) (uint64, error) { return 0, nil }

func (c *cutOff) Follow(_ context.Context, _, _ string, after uint64) (<-chan effect.Published, error) {
	c.asks <- after
	if after == uint64(c.ends) {
		return nil, errors.New("the stream cannot be read")
	}
	events, subject := make(chan effect.Published, 1), "tool.trigger.clinic.s1.book"
	if after == 0 { // before any subscription
		subject = "tool.result.clinic.s1.book"
	}
	events <- effect.Published{Sequence: after + 1, Subject: subject, Data: []byte(fmt.Sprintf(`{"appId":"clinic","name":"book","id":"e%d"}`, after+1))}
	close(events)
	return events, nil
}

func TestReaderOfTheStreamThatIsTooSlowGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	slow := &cutOff{ends: 3, asks: make(chan uint64)}
	w := apitest.Live(t, apitest.Everything, sermas, func(o *api.Options) { o.Events = slow })
	w.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	s := apitest.Stage{World: w}
	key := keyFor(s, "clinic", `"triggers"`)
	clients := make(chan *subscriber)
	go func() { clients <- connected(s, key).subscribe("#") }()
	require.EqualValues(t, 0, <-slow.asks)
	follower := <-clients
	for after := range uint64(2) {
		require.Equal(t, after+1, <-slow.asks)
		_, says := follower.hears()
		require.Equal(t, fmt.Sprint("e", after+2), says["id"])
	}
	require.EqualValues(t, slow.ends, <-slow.asks)
	follower.ended()
}

// A connection ends with the module of its access token.
func TestAConnectionEndsWithTheModuleOfItsToken(t *testing.T) {
	for what, next := range map[string]string{"a module that is gone": `[]`, "another secret": `[{"moduleId":"avatar","secret":"another-secret-of-the-avatar"}]`} {
		t.Run(what, func(t *testing.T) {
			s := apitest.OnStage(t, sermas)
			s.Call("PATCH", "/v1/apps/clinic", `{"modules":[{"moduleId":"avatar","secret":"first-secret-of-the-avatar"}]}`).Is(200, "")
			app, err := s.Store.App(t.Context(), "clinic")
			require.NoError(t, err)
			life, err := s.Store.Generation(t.Context(), "clinic", "")
			require.NoError(t, err)
			signed, err := s.Sealer.SignAccess(store.AccessToken{
				AppID: "clinic", ModuleID: "avatar", Lineage: "l1", Expires: time.Now().Add(time.Hour), Generation: life,
				Scopes: []store.Permission{store.PermitTools, store.PermitMessages, store.PermitTriggers}, Grant: s.Sealer.Grant("clinic", app.Modules[0]),
			}, "t1")
			require.NoError(t, err)
			follower := connected(s, signed.Reveal()).subscribe("#")
			s.Call("PATCH", "/v1/apps/clinic", `{"modules":`+next+`}`).Is(200, "")
			follower.ended()
		})
	}
}

func (c *subscriber) asks(filters ...string) packets.Packet {
	c.t.Helper()
	asked := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1}
	for _, filter := range filters {
		asked.Filters = append(asked.Filters, packets.Subscription{Filter: filter})
	}
	c.send(asked, (*packets.Packet).SubscribeEncode)
	return c.next(packets.Suback)
}

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
		require.Equal(t, 64, granted(t, earlier.asks(some("a", 64)...), 0))
		later := connected(s, key, change...)
		_, err := io.Copy(io.Discard, earlier.in)
		require.Error(t, err, "it ends")
		require.Eventually(t, func() bool { // each time as another client: one that asks nine times in vain is cut off
			other := connected(s, key, named("other"))
			got := granted(t, other.asks(some("z", 64)...), 0x80)
			other.leaves(some("z", 64)...)
			return got == 64
		}, testbed.Patience, 10*time.Millisecond)
		require.Equal(t, 64, granted(t, later.asks(some("b", 64)...), 0))
		later.leaves(some("b", 64)...)
		_ = later.conn.Close()
	}
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
