package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/matcher/llm/llmtest"
)

// panicking is what panics once in TestAPanicIsKeptToTheEntryThatCausedIt, by the names that
// guarded.Run and the routes give it.
var panicking = []string{
	"look", "turns", "calls", "outboxes", "held", "settlements", "expiry", "sweep", "events", "answers", "nats", "mqtt", "refresh", "sealing",
	"http /v1/apps/:appId/tools", "http /v1/apps/:appId/mcp", "http /v1/apps/:appId/openai/v1/models", "http /v1/apps/:appId/sessions/:sessionId/events", "http /mqtt",
}

// TestAPanicIsKeptToTheEntryThatCausedIt plants a panic in each worker, in routes of each kind and in
// each handler of a stream, in one process: it goes on, and does all of it the second time.
func TestAPanicIsKeptToTheEntryThatCausedIt(t *testing.T) {
	leaveOutWhenShort(t)
	program := testbed.Program(t, "crashtest")
	w := newWorld(t)
	var down atomic.Bool
	down.Store(true)
	sink := newEndpoint(t, func(out http.ResponseWriter, _ received) {
		if down.Load() {
			out.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	service := exec.Command(program, "serve")
	output := &testbed.Lines{}
	service.Stdout, service.Stderr = output, output
	service.Env = append(os.Environ(), "EARSHOT_PANIC="+strings.Join(panicking, ","), "EARSHOT_NATS_INGRESS=on", "EARSHOT_SERMAS=on", "EARSHOT_SESSION_TTL=1s", "EARSHOT_RETENTION=1s")
	for name, value := range w.env {
		service.Env = append(service.Env, name+"="+value)
	}
	require.NoError(t, service.Start())
	ended := make(chan error, 1)
	go func() { ended <- service.Wait() }()
	r := &replica{t: t, url: output.Await(t, startedAt), log: output}
	w.replicas = []*replica{r}
	w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == 200 })

	w.put("/v1/apps/clinic", `{"settings":{"limits":null}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"},{"name":"ring","url":"`+sink.URL+`"},{"name":"mail","settle":"1s"},{"name":"ask","answer":{"within":"1h"}}]}`)
	for path, method := range map[string]string{
		"/v1/apps/clinic/tools": "GET", "/v1/apps/clinic/mcp": "POST", "/v1/apps/clinic/openai/v1/models": "GET", "/v1/apps/clinic/sessions/s1/events": "GET", "/mqtt": "GET",
	} {
		require.Equal(t, http.StatusInternalServerError, w.ask(r, method, path, "").Status, path)
	}
	require.Equal(t, http.StatusOK, w.ask(r, "GET", "/v1/apps/clinic/tools", "").Status, "the route answers again")
	w.follows(r)
	crm := newToolServer(t, true)
	for _, app := range []string{"bank", "shop"} {
		w.put("/v1/apps/"+app, crm.source(""))
		w.put("/v1/apps/"+app+"/repositories/customers", `{"from":"crm"}`)
	}
	w.fire("s1", "mail", "{}")
	w.say("s1", "m1", "call book {}")
	w.fire("s1", "ring", "{}")
	down.Store(false)
	asked := w.fire("s1", "ask", "{}")
	w.publishAnswer(asked.TriggerID, `{"ok":true,"result":1}`)
	var away atomic.Bool
	away.Store(true)
	w.llm.Handle(func(request llmtest.Request) llmtest.Reply {
		if away.Load() {
			return llmtest.Status(500, nil, `{}`)
		}
		return obey(request)
	})
	w.call(202, "POST", messagesPath("s2"), messageBody("m2", "call book {}"), "Prefer", "respond-async")
	w.until("it was tried", func() bool { return strings.Contains(output.String(), `"turn.failed"`) })
	away.Store(false)
	conn, err := nats.Connect(w.nats.URL())
	require.NoError(t, err)
	defer conn.Close()
	w.until("a request over NATS is answered, the second time", func() bool {
		got, err := conn.Request("earshot.v1.message.clinic.s3", []byte(messageBody("n1", "call book {}")), time.Second)
		return err == nil && got.Header.Get("Nats-Service-Error-Code") == ""
	})

	caught := regexp.MustCompile(`earshot_panics_total\{in="([^"]+)"\} (\d+)`)
	w.until("each was caught once", func() bool {
		found := map[string]string{}
		for _, one := range caught.FindAllStringSubmatch(w.call(200, "GET", "/metrics", "").Body, -1) {
			found[one[1]] = one[2]
		}
		for _, in := range panicking {
			name, _, isRoute := strings.Cut(in, " ")
			if !isRoute && found[name] != "1" {
				return false
			}
		}
		return found["http"] == fmt.Sprint(5)
	})
	w.until("what was owed is delivered", func() bool {
		return len(w.events("tool.result.clinic.s1.ring")) == 1 && len(w.events("tool.result.clinic.s1.ask")) == 1 &&
			len(w.events("tool.trigger.clinic.s1.book")) == 1 && len(w.events("tool.trigger.clinic.s2.book")) == 1
	})
	crm.add("find_order")
	w.until("one source waits for the end of its lease, the other is looked at", func() bool {
		return len(w.names("/v1/apps/bank/repositories/customers"))+len(w.names("/v1/apps/shop/repositories/customers")) == 3
	})
	select {
	case err := <-ended:
		t.Fatalf("the process ended: %v", err)
	default:
	}
	require.NoError(t, service.Process.Signal(os.Interrupt))
	<-ended
}

// follows has the events of the app followed, as a stream and over MQTT, until the test ends.
func (w *world) follows(r *replica) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, r.url+"/v1/apps/clinic/events", nil)
	require.NoError(w.t, err)
	request.Header.Set("Authorization", "Bearer "+testAdminKey)
	stream, err := http.DefaultClient.Do(request)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = stream.Body.Close() })
	require.Equal(w.t, http.StatusOK, stream.StatusCode)
	key := strings.TrimPrefix(w.keyOf(`{"scopes":["triggers"]}`)[1], "Bearer ")
	socket, _, err := websocket.Dial(w.t.Context(), strings.Replace(r.url, "http", "ws", 1)+"/mqtt", &websocket.DialOptions{Subprotocols: []string{"mqtt"}})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = socket.CloseNow() })
	hello := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, ProtocolVersion: 4, Connect: packets.ConnectParams{
		ProtocolName: []byte("MQTT"), Clean: true, ClientIdentifier: "follower", UsernameFlag: true, Username: []byte(key),
	}}
	var sent bytes.Buffer
	require.NoError(w.t, hello.ConnectEncode(&sent))
	require.NoError(w.t, socket.Write(w.t.Context(), websocket.MessageBinary, sent.Bytes()))
	_, answered, err := socket.Read(w.t.Context())
	require.NoError(w.t, err)
	require.Equal(w.t, []byte{packets.Connack << 4, 2, 0, 0}, answered)
}
