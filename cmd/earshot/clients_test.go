package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/emitter"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories/keyspace"
)

// httpAnswer is the program's answer, or the lack of one.
type httpAnswer struct {
	Status int
	Header http.Header
	Body   string
	Err    error
}

// ask sends a request to one replica, from any goroutine. headers alternate names and values.
func (w *world) ask(r *replica, method, path, body string, headers ...string) httpAnswer {
	client := testbed.Client{URL: r.url, Key: w.env["EARSHOT_ADMIN_KEY"], HTTP: &http.Client{Timeout: patience}}
	got, err := client.Ask(context.Background(), method, path, body, headers...)
	return httpAnswer{got.Status, got.Header, string(got.Body), err}
}

// call sends a request to the first replica and checks the status.
func (w *world) call(status int, method, path, body string, headers ...string) httpAnswer {
	got := w.ask(w.replicas[0], method, path, body, headers...)
	require.NoError(w.t, got.Err)
	require.Equal(w.t, status, got.Status, "%s %s: %s", method, path, got.Body)
	return got
}

func (w *world) put(path, body string) {
	got := w.ask(w.replicas[0], "PUT", path, body)
	require.NoError(w.t, got.Err)
	require.Less(w.t, got.Status, 300, "PUT %s: %s", path, got.Body)
}

// request sends a request that must succeed, and returns the answer's object.
func (w *world) request(method, path, body string) map[string]any {
	got := w.ask(w.replicas[0], method, path, body)
	require.NoError(w.t, got.Err)
	require.Less(w.t, got.Status, 300, "%s %s: %s", method, path, got.Body)
	return read[map[string]any](w.t, got.Body)
}

type posted struct {
	MessageID string
	Matches   []matched
	Rejected  []json.RawMessage
	Reply     any
}

type matched struct {
	TriggerID, RepositoryID, Name, Source string
	Values                                map[string]any
	Event, Emitter                        *struct{ Subject, State string }
	Call                                  *callState
}

type callState struct {
	State, Reason, Error string
	Status, Attempts     int
	Result               any
}

// say posts a message to a session of the app clinic, and checks that it is decided.
func (w *world) say(session, id, text string, headers ...string) posted {
	return read[posted](w.t, w.call(200, "POST", messagesPath(session), messageBody(id, text), headers...).Body)
}

// fire fires a tool directly in a session of the app clinic.
func (w *world) fire(session, name, values string) matched {
	body := `{"name":"` + name + `","source":"ui","values":` + values + `}`
	return read[matched](w.t, w.call(201, "POST", "/v1/apps/clinic/sessions/"+session+"/triggers", body).Body)
}

func messagesPath(session string) string { return "/v1/apps/clinic/sessions/" + session + "/messages" }

func messageBody(id, text string) string {
	body := map[string]string{"actor": "user", "text": text}
	if id != "" {
		body["messageId"] = id
	}
	encoded, _ := json.Marshal(body) // strings always encode
	return string(encoded)
}

func read[T any](t *testing.T, text string) (value T) {
	require.NoError(t, json.Unmarshal([]byte(text), &value), text)
	return value
}

type storedEvent struct {
	*jetstream.RawStreamMsg
	Payload map[string]any
}

func (w *world) events(filter string) []storedEvent {
	return decodeEvents(w.t, w.nats.Stored(emitter.Stream, filter))
}

func decodeEvents(t *testing.T, messages []*jetstream.RawStreamMsg) []storedEvent {
	var list []storedEvent
	for _, stored := range messages {
		one := storedEvent{RawStreamMsg: stored}
		require.NoError(t, json.Unmarshal(stored.Data, &one.Payload))
		list = append(list, one)
	}
	return list
}

func (w *world) until(what string, condition func() bool) {
	require.Eventually(w.t, condition, patience, glance, what)
}

func (w *world) rest() {
	w.t.Helper()
	client := w.client()
	require.EventuallyWithT(w.t, func(c *assert.CollectT) { assert.Empty(c, w.owedLanes(client)) }, patience, glance, "the ledger is empty")
}

func (w *world) owedLanes(client redis.UniversalClient) (owed []string) {
	counts, _ := client.Pipelined(w.t.Context(), func(all redis.Pipeliner) error {
		for _, key := range keyspace.AllPendingCounts() {
			all.Get(w.t.Context(), key)
		}
		return nil
	}) // each has its own error
	for n, key := range keyspace.AllPendingCounts() {
		if count, err := counts[n].(*redis.StringCmd).Int(); count > 0 || err != nil && !errors.Is(err, redis.Nil) {
			lanes := client.ZRangeWithScores(w.t.Context(), keyspace.PartitionKeys(n).Due(), 0, 9).Val()
			owed = append(owed, fmt.Sprintf("%s: %d %v, of the lanes %v", key, count, err, lanes))
		}
	}
	return owed
}

// load is a set of clients that post messages until they are stopped. A client repeats a message after a 503.
type load struct {
	t       *testing.T
	world   *world
	stopped atomic.Bool
	clients sync.WaitGroup

	answered atomic.Int64
	refused  atomic.Int64
	mu       sync.Mutex
	answers  map[string]posted // by message
	wrong    []string          // answers that no client should get
}

// pressed starts clients that book in their own sessions, alternating replicas.
func pressed(w *world) *load {
	l := &load{t: w.t, world: w, answers: map[string]posted{}}
	for c := range 4 {
		l.clients.Go(func() {
			for n := 0; !l.stopped.Load(); n++ {
				l.post(fmt.Sprint("s", c), fmt.Sprintf("m%d-%d", c, n), fmt.Sprintf(`call book {"day":"%d"}`, n))
			}
		})
	}
	w.t.Cleanup(l.end)
	return l
}

// post sends a message until it is decided, each time to the next replica.
func (l *load) post(session, id, text string) {
	for try := 0; ; try++ {
		got := l.world.ask(l.world.replicas[try%len(l.world.replicas)], "POST", messagesPath(session), messageBody(id, text))
		switch {
		case got.Err == nil && got.Status == http.StatusOK:
			answer := read[posted](l.t, got.Body)
			l.mu.Lock()
			l.answers[id] = answer
			l.mu.Unlock()
			l.answered.Add(1)
			return
		case got.Err == nil && got.Status == http.StatusServiceUnavailable && got.Header.Get("Retry-After") != "":
			l.refused.Add(1)
		default:
			l.mu.Lock()
			l.wrong = append(l.wrong, fmt.Sprint(id, " ", got.Status, " ", got.Body, got.Err))
			l.mu.Unlock()
			return
		}
	}
}

func (l *load) more(n int64) {
	l.t.Helper()
	enough := l.answered.Load() + n
	l.world.until(fmt.Sprint(n, " more messages are decided"), func() bool { return l.answered.Load() >= enough })
}

// end stops the clients when their messages are decided, and checks their answers.
func (l *load) end() {
	l.stopped.Store(true)
	l.clients.Wait()
	require.Empty(l.t, l.wrong)
}

// panicking lists what panics once in TestAPanicIsKeptToTheEntryThatCausedIt, by the names in guarded.Run and
// the routes.
var panicking = []string{
	"look", "turns", "calls", "outboxes", "held", "settlements", "expiry", "sweep", "events", "answers", "nats", "mqtt", "refresh", "sealing",
	"http /v1/apps/:appId/tools", "http /v1/apps/:appId/mcp", "http /v1/apps/:appId/openai/v1/models", "http /v1/apps/:appId/sessions/:sessionId/events", "http /mqtt",
}

// TestAPanicIsKeptToTheEntryThatCausedIt causes a panic in each worker, in routes of each kind and in each
// stream handler of one process: it continues, and succeeds the second time.
func TestAPanicIsKeptToTheEntryThatCausedIt(t *testing.T) {
	t.Parallel()
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
	r, process := w.crashing(program, "EARSHOT_PANIC="+strings.Join(panicking, ","), "EARSHOT_NATS_INGRESS=on", "EARSHOT_SERMAS=on", "EARSHOT_SESSION_TTL=1s", "EARSHOT_RETENTION=1s")
	w.replicas = []*replica{r}

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
	w.until("it was tried", func() bool { return strings.Contains(process.String(), `"turn.failed"`) })
	away.Store(false)
	conn := w.nats.Connect()
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
	require.NoError(t, process.Stop(os.Interrupt), "it has run on, and ends as it should")
}

// stream opens a stream of events behind the last one, and closes it with the test.
func (w *world) stream(ctx context.Context, r *replica, path, last string) io.Reader {
	stream := testbed.Got(testbed.Client{URL: r.url, Key: testAdminKey}.Open(ctx, http.MethodGet, path, "", "Last-Event-ID", last))(w.t)
	w.t.Cleanup(func() { _ = stream.Body.Close() })
	require.Equal(w.t, http.StatusOK, stream.StatusCode)
	return stream.Body
}

// hears reads a stream behind the last event until a line with this text.
func (w *world) hears(path, text, last string) {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	for lines := bufio.NewScanner(w.stream(ctx, w.replicas[0], path, last)); lines.Scan(); {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	require.Fail(w.t, "the stream does not tell of it", text)
}

// follows follows the app's events, as a stream and over MQTT, until the test ends.
func (w *world) follows(r *replica) {
	w.stream(w.t.Context(), r, "/v1/apps/clinic/events", "")
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
