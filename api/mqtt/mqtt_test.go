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

// sermas turns SERMAS on.
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

// subscribe subscribes to filters.
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

// keyFor returns an app's key with scopes.
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
