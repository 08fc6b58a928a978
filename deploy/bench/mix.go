package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/mochi-mqtt/server/v2/packets"

	"earshot/deploy/testbed"
)

// mix sends all kinds of requests. Half of what waits for somebody is ended, and half is left until its time is over.
type mix struct {
	workload
	client client
	latest atomic.Int64 // request that was sent
}

const formTools = `{"tools":[
	{"name":"form","description":"Form","schema":[{"parameter":"a","type":"string","required":true},{"parameter":"b","type":"string","required":true}]},
	{"name":"pay","description":"Pay","confirm":"always","schema":[{"parameter":"sum","type":"integer","required":true}]}]}`

func (m *mix) send(ctx context.Context, i int) (time.Duration, error) {
	session := m.path(i)
	m.latest.Store(int64(i))
	ended := i/10%2 == 0                     // of what waits for somebody
	switch (i + i/max(1, m.sessions)) % 10 { // no session has a kind of its own
	case 6:
		return 0, m.client.send(ctx, http.MethodPost, session+"/triggers", map[string]any{"name": toolName(i * 31 % m.tools), "source": "task", "values": map[string]any{"day": "monday"}}, nil)
	case 7:
		draft := map[string]any{"actor": "user", "messageId": fmt.Sprintf("d%d", i), "text": m.text(i), "final": false}
		err := m.client.send(ctx, http.MethodPost, session+"/messages", draft, nil)
		if err == nil && ended {
			draft["final"] = true
			err = m.client.send(ctx, http.MethodPost, session+"/messages", draft, nil)
		}
		return 0, err
	case 8:
		id := fmt.Sprintf("task%d", i)
		err := m.rpc(ctx, session, "tools/call", "form", `"name":"form","arguments":{}`, fmt.Sprintf(`"earshot/triggerId":%q`, id))
		if err == nil && ended {
			err = m.rpc(ctx, session, "tasks/update", id,
				fmt.Sprintf(`"taskId":%q,"inputResponses":{"a":{"action":"accept","content":{"a":"x"}},"b":{"action":"accept","content":{"b":"y"}}}`, id), "")
		}
		return 0, err
	case 9:
		var asked struct{ Digest string }
		id := fmt.Sprintf("pay%d", i)
		err := m.client.send(ctx, http.MethodPost, session+"/triggers", map[string]any{"triggerId": id, "name": "pay", "source": "task", "values": map[string]any{"sum": i}}, &asked)
		if err == nil && ended {
			err = m.client.send(ctx, http.MethodPost, "/v1/apps/"+m.app+"/triggers/"+id+"/confirm", map[string]any{"digest": asked.Digest}, nil)
		}
		return 0, err
	default:
		return m.post(ctx, []client{m.client}, i)
	}
}

func (m *mix) path(i int) string { return fmt.Sprintf("/v1/apps/%s/sessions/s%d", m.app, m.session(i)) }

func (m *mix) rpc(ctx context.Context, session, method, name, params, meta string) error {
	body, headers := testbed.RPC(method, name, params, meta)
	return m.client.send(ctx, http.MethodPost, session+"/mcp", rawJSON(body), nil, headers...)
}

type rawJSON string

func (r rawJSON) MarshalJSON() ([]byte, error) { return []byte(r), nil }

const (
	followersOfAKind = 20
	followed         = 15 * time.Second
)

// follow runs clients that follow events by SSE, MCP and MQTT until ctx ends. ended waits for them, and counts each kind.
func (m *mix) follow(ctx context.Context) (ended func() (string, error), err error) {
	var made struct{ Key string }
	if err := m.client.send(ctx, http.MethodPost, "/v1/apps/"+m.app+"/keys", map[string]any{"name": "followers", "scopes": []string{"triggers"}}, &made); err != nil {
		return nil, err
	}
	protocols := []struct {
		name string
		stay func(context.Context, int) error
		came atomic.Int64
	}{
		{name: "SSE", stay: func(ctx context.Context, n int) error {
			return m.stream(ctx, http.MethodGet, m.living(n)+"/events", "")
		}},
		{name: "MCP", stay: func(ctx context.Context, n int) error {
			body, headers := testbed.RPC("subscriptions/listen", "", `"notifications":{"toolsListChanged":true}`, "")
			return m.stream(ctx, http.MethodPost, m.living(n)+"/mcp", body, headers...)
		}},
		{name: "MQTT", stay: func(ctx context.Context, n int) error { return m.byMQTT(ctx, made.Key, n) }},
	}
	var group sync.WaitGroup
	var wrong error
	var once sync.Once
	for k := range protocols {
		kind := &protocols[k]
		for n := range followersOfAKind {
			group.Go(func() {
				for ctx.Err() == nil {
					stay, cancel := context.WithTimeout(ctx, followed)
					err := kind.stay(stay, n)
					gone := stay.Err() != nil
					cancel()
					if kind.came.Add(1); !gone && err != nil { // and not with its session
						once.Do(func() { wrong = fmt.Errorf("a follower by %s was cut off: %w", kind.name, err) })
						return
					}
				}
			})
		}
	}
	return func() (string, error) {
		group.Wait()
		var came []string
		for k := range protocols {
			came = append(came, fmt.Sprintf("%s %d", protocols[k].name, protocols[k].came.Load()))
		}
		return strings.Join(came, ", "), wrong
	}, nil
}

// living is the path of a session in which something was said lately.
func (m *mix) living(n int) string { return m.path(max(0, int(m.latest.Load())-n)) }

func (m *mix) stream(ctx context.Context, method, path, body string, headers ...string) error {
	reader := m.client.Client
	reader.HTTP = nil // no limit of time
	response, err := reader.Open(ctx, method, path, body, headers...)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

func (m *mix) byMQTT(ctx context.Context, key string, n int) error {
	socket, _, err := websocket.Dial(ctx, strings.Replace(m.client.URL, "http", "ws", 1)+"/mqtt", &websocket.DialOptions{Subprotocols: []string{"mqtt"}})
	if err != nil {
		return err
	}
	defer func() { _ = socket.CloseNow() }()
	conn := websocket.NetConn(ctx, socket, websocket.MessageBinary)
	hello := packets.Packet{ProtocolVersion: 4, FixedHeader: packets.FixedHeader{Type: packets.Connect}, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Clean: true, Keepalive: 60, ClientIdentifier: fmt.Sprintf("follower-%d", n), UsernameFlag: true, Username: []byte(key),
	}}
	asked := packets.Packet{ProtocolVersion: 4, FixedHeader: packets.FixedHeader{Type: packets.Subscribe, Qos: 1}, PacketID: 1, Filters: packets.Subscriptions{{Filter: "#"}}}
	var sent bytes.Buffer
	if err := errors.Join(hello.ConnectEncode(&sent), asked.SubscribeEncode(&sent)); err != nil {
		return err
	}
	if _, err := conn.Write(sent.Bytes()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, bufio.NewReader(conn))
	return err
}
