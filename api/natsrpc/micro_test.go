package natsrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	natsmicro "github.com/nats-io/nats.go/micro"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"earshot/api/natsrpc"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/emitter"
	"earshot/repositories/audit"
	"earshot/repositories/secret"
)

const patience = time.Minute

// world is a service on a real NATS server, with a scripted REST API.
type world struct {
	t    *testing.T
	nats *natstest.Server
	conn *nats.Conn // a client's
	rest http.HandlerFunc
	log  testbed.Lines

	mu    sync.Mutex
	asked []*http.Request
	said  []string
}

func newWorld(t *testing.T, rest http.HandlerFunc, configure ...func(*server.Options)) *world {
	t.Parallel()
	w := &world{t: t, nats: natstest.Run(t, configure...), rest: rest}
	w.conn = w.nats.Connect()
	return w
}

// ServeHTTP implements the REST API.
func (w *world) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	w.mu.Lock()
	w.asked, w.said = append(w.asked, request), append(w.said, string(body))
	w.mu.Unlock()
	if err == nil {
		w.rest(answer, request)
	}
}

// options are those of a replica whose connection has this URL.
func (w *world) options(url string) natsrpc.Options {
	return natsrpc.Options{
		AtOnce: 2048, Replies: natsrpc.Replies{natsrpc.DefaultReplies}, ShutdownGrace: 20 * time.Second, Now: time.Now,
		REST: w, AdminKey: secret.New("the-admin-key"), Program: "v0.9", Logger: slog.New(slog.NewJSONHandler(&w.log, nil)),
		Connect: func(trouble nats.ErrHandler) (*nats.Conn, error) {
			return emitter.Dial(url, "requests", emitter.Login{}, trouble)
		},
	}
}

// run starts a replica and waits until it listens. end stops it and waits.
func (w *world) run(change ...func(*natsrpc.Options)) (end func()) {
	w.t.Helper()
	o := w.options(w.nats.URL())
	for _, one := range change {
		one(&o)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- natsrpc.New(o).Run(ctx) }()
	w.log.Await(w.t, `ingress\.(listening)`)
	require.Eventually(w.t, func() bool {
		_, err := w.conn.Request("$SRV.PING.earshot", nil, time.Second)
		return err == nil
	}, patience, time.Millisecond)
	var once sync.Once
	end = func() {
		once.Do(func() {
			stop()
			require.NoError(w.t, <-ended)
		})
	}
	w.t.Cleanup(end)
	return end
}

// request sends a request and waits for its reply.
func (w *world) request(subject, body string, headers ...string) *nats.Msg {
	w.t.Helper()
	message := nats.NewMsg(subject)
	message.Data = []byte(body)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		message.Header[name] = append(message.Header[name], value)
	}
	reply, err := w.conn.RequestMsg(message, patience)
	require.NoError(w.t, err)
	return reply
}

func says(status int, body string) http.HandlerFunc {
	return func(answer http.ResponseWriter, _ *http.Request) {
		answer.WriteHeader(status)
		_, _ = answer.Write([]byte(body))
	}
}

func problem(status int, body string) http.HandlerFunc {
	return func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "application/problem+json")
		answer.Header().Set("Retry-After", "7")
		says(status, body)(answer, request)
	}
}

func TestRequestsAreThoseOfREST(t *testing.T) {
	w := newWorld(t, says(200, `{"ok":true}`))
	w.run()
	for subject, operation := range map[string]string{
		"earshot.v1.message.clinic.s1":            "POST /v1/apps/clinic/sessions/s1/messages",
		"earshot.v1.trigger.clinic":               "POST /v1/apps/clinic/triggers",
		"earshot.v1.trigger.clinic.s1":            "POST /v1/apps/clinic/sessions/s1/triggers",
		"earshot.v1.message.a/b.%2e%2e":           "POST /v1/apps/a%2Fb/sessions/%252e%252e/messages",
		"earshot.v1.message.c?x=1.s#1":            "POST /v1/apps/c%3Fx=1/sessions/s%231/messages",
		"earshot.v1.commit.clinic.s1.m1":          "POST /v1/apps/clinic/sessions/s1/messages/m1/commit",
		"earshot.v1.withdraw.clinic.s1.m1":        "DELETE /v1/apps/clinic/sessions/s1/messages/m1",
		"earshot.v1.retract.clinic.s1.m1":         "DELETE /v1/apps/clinic/sessions/s1/messages/m1",
		"earshot.v1.repository.clinic.desk":       "PUT /v1/apps/clinic/repositories/desk",
		"earshot.v1.repository.clinic.s1.desk":    "PUT /v1/apps/clinic/sessions/s1/repositories/desk",
		"earshot.v1.delete-tool.clinic.s1.desk.a": "DELETE /v1/apps/clinic/sessions/s1/repositories/desk/tools/a",
		"earshot.v1.get-session.clinic.s1":        "GET /v1/apps/clinic/sessions/s1",
		"earshot.v1.confirm.clinic.t1":            "POST /v1/apps/clinic/triggers/t1/confirm",
	} {
		reply := w.request(subject, `{"x":1}`, "traceparent: 00-1-2-01", "corp_token: t", "prefer: respond-async", "idempotency-key: k1", "x-request-id: r1", "if-match: e1", "earshot-query: order=desc&limit=2", "Host: evil", "Origin: https://evil.example", "Cookie: c")
		require.JSONEq(t, `{"ok":true}`, string(reply.Data))
		require.Empty(t, reply.Header.Get(natsmicro.ErrorCodeHeader))
		last := w.asked[len(w.asked)-1]
		require.Equal(t, operation, last.Method+" "+last.URL.EscapedPath())
		require.Equal(t, "order=desc&limit=2", last.URL.RawQuery)
		require.Equal(t, audit.ViaNATS, audit.ViaOf(last.Context()))
		require.Equal(t, `{"x":1}`, w.said[len(w.said)-1])
		require.Equal(t, http.Header{"Traceparent": {"00-1-2-01"}, "Corp_token": {"t"}, "Prefer": {"respond-async"}, "Idempotency-Key": {"k1"}, "X-Request-Id": {"r1"}, "If-Match": {"e1"}, "Authorization": {"Bearer the-admin-key"}}, last.Header)
		require.Equal(t, "127.0.0.1", last.Host)
	}
}

func TestARequestHasTheRightsOfItsOwnKey(t *testing.T) {
	w := newWorld(t, func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("ETag", "e1")
		says(200, `{}`)(answer, nil)
	})
	asked := func() []string { return w.asked[len(w.asked)-1].Header["Authorization"] }
	end := w.run()
	require.Equal(t, "e1", w.request("earshot.v1.get-repository.clinic.desk", "", "authorization: Bearer of-the-app").Header.Get("ETag"))
	require.Equal(t, []string{"Bearer of-the-app"}, asked())
	end()

	w.run(func(o *natsrpc.Options) { o.Keyed = true })
	w.request("earshot.v1.get-session.clinic.s1", "")
	require.Empty(t, asked(), "it is not the admin's")
	w.request("earshot.v1.get-session.clinic.s1", "", "Authorization: Bearer of-the-app")
	require.Equal(t, []string{"Bearer of-the-app"}, asked())
}

func TestFaultsAreErrorsOfServices(t *testing.T) {
	const body = `{"title":"Bad Request","status":400,"code":"invalid_body","detail":"one fault\nin \"text\"","errors":[{"pointer":"/text","detail":"is missing"}]}`
	w := newWorld(t, problem(400, body))
	w.run()
	reply := w.request("earshot.v1.message.clinic.s1", `{}`)
	require.Equal(t, "400", reply.Header.Get("Nats-Service-Error-Code"))
	require.Equal(t, `one fault in "text"`, reply.Header.Get("Nats-Service-Error"))
	require.Equal(t, "invalid_body", reply.Header.Get("Earshot-Error-Code"))
	require.Equal(t, "application/problem+json", reply.Header.Get("Content-Type"))
	require.Equal(t, "7", reply.Header.Get("Retry-After"))
	require.JSONEq(t, body, string(reply.Data))

	w.rest = problem(503, `{"title":"Service Unavailable"}`)
	require.Equal(t, "Service Unavailable", w.request("earshot.v1.trigger.clinic", `{}`).Header.Get("Nats-Service-Error"))
	w.rest = says(502, `no JSON`)
	require.Equal(t, "Bad Gateway", w.request("earshot.v1.trigger.clinic", `{}`).Header.Get("Nats-Service-Error"))
	w.rest = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	require.Equal(t, "500", w.request("earshot.v1.trigger.clinic", `{}`).Header.Get("Nats-Service-Error-Code"))
}

func TestAnswerThatIsLongerThanNATSTakesIsAnError(t *testing.T) {
	w := newWorld(t, says(200, strings.Repeat("x", 5000)), func(o *server.Options) { o.MaxPayload = 4096 })
	w.run()
	reply := w.request("earshot.v1.message.clinic.s1", `{}`)
	require.Equal(t, "500", reply.Header.Get("Nats-Service-Error-Code"))
	require.Contains(t, reply.Header.Get("Nats-Service-Error"), "the answer has 5000 bytes, and this NATS server takes 4096 at most")
	require.Contains(t, string(reply.Data), `"status":500`)
}

// held is a REST API whose answers wait.
type held struct {
	begun chan struct{}
	goOn  chan struct{}
}

func newHeld() *held { return &held{make(chan struct{}, 100), make(chan struct{})} }

func (h *held) answer(answer http.ResponseWriter, request *http.Request) {
	h.begun <- struct{}{}
	select {
	case <-h.goOn:
		says(200, `{"done":true}`)(answer, request)
	case <-request.Context().Done():
		says(503, `{"detail":"interrupted"}`)(answer, request)
	}
}

// send sends a request, whose reply arrives on the channel.
func (w *world) send(subject, body string) <-chan *nats.Msg {
	w.t.Helper()
	got, inbox := make(chan *nats.Msg, 1), nats.NewInbox()
	_, err := w.conn.ChanSubscribe(inbox, got)
	require.NoError(w.t, err)
	require.NoError(w.t, w.conn.PublishRequest(subject, inbox, []byte(body)))
	return got
}

func TestRequestsAreWorkedOnSideBySideAndRefusedWhereThereAreTooMany(t *testing.T) {
	h := newHeld()
	w := newWorld(t, h.answer)
	w.run(func(o *natsrpc.Options) { o.AtOnce, o.Bytes = 3, 16 })
	first, second := w.send("earshot.v1.message.clinic.s1", `{}`), w.send("earshot.v1.message.clinic.s1", `{}`)
	<-h.begun
	<-h.begun
	refused := w.request("earshot.v1.trigger.clinic", `{"x":123}`)
	require.Equal(t, "503", refused.Header.Get("Nats-Service-Error-Code"), "too long beside the others of its app")
	third := w.send("earshot.v1.trigger.rival.s1", `{"x":123}`)
	<-h.begun
	refused = w.request("earshot.v1.trigger.clinic", `{}`)
	require.Equal(t, "503", refused.Header.Get("Nats-Service-Error-Code"), "one too many")
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
	require.Contains(t, string(refused.Data), "too many requests over NATS")
	close(h.goOn)
	for _, reply := range []<-chan *nats.Msg{first, second, third} {
		require.JSONEq(t, `{"done":true}`, string((<-reply).Data))
	}
	require.JSONEq(t, `{"done":true}`, string(w.request("earshot.v1.trigger.clinic", `{}`).Data))
}

func TestEndFinishesWhatIsUnderWayAndLeavesTheRestToOthers(t *testing.T) {
	h := newHeld()
	w := newWorld(t, h.answer)
	end := w.run()
	reply := w.send("earshot.v1.message.clinic.s1", `{}`)
	<-h.begun
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		end()
	}()
	require.Eventually(t, func() bool { // it accepts no more
		_, err := w.conn.Request("earshot.v1.trigger.clinic", nil, 10*time.Millisecond)
		return err == nats.ErrNoResponders
	}, patience, time.Millisecond)
	select {
	case <-ended:
		t.Fatal("it has ended with a request under way")
	default:
	}
	close(h.goOn)
	require.JSONEq(t, `{"done":true}`, string((<-reply).Data))
	<-ended
}

func TestEndWaitsNoLongerThanItMay(t *testing.T) {
	h := newHeld()
	w := newWorld(t, h.answer)
	end := w.run(func(o *natsrpc.Options) { o.ShutdownGrace = time.Millisecond })
	w.send("earshot.v1.message.clinic.s1", `{}`)
	<-h.begun
	end()
	w.log.Await(t, `ingress\.(interrupted)`)
}

func TestReplicasShareTheRequests(t *testing.T) {
	var first, second sync.Map
	w := newWorld(t, says(200, `{}`))
	counting := func(into *sync.Map) func(*natsrpc.Options) {
		return func(o *natsrpc.Options) {
			o.REST = http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
				_, twice := into.LoadOrStore(request.URL.Path, true)
				if twice {
					t.Error("twice on one replica: " + request.URL.Path)
				}
				says(200, `{}`)(answer, request)
			})
		}
	}
	w.run(counting(&first))
	end := w.run(counting(&second))
	sent := 0
	both := func() bool {
		for range 10 {
			sent++
			w.request("earshot.v1.message.clinic.s"+strings.Repeat("x", sent), `{}`)
		}
		return length(&first) > 0 && length(&second) > 0
	}
	require.Eventually(t, both, patience, time.Millisecond)
	require.Equal(t, sent, length(&first)+length(&second), "each request is one replica's")
	end()
	at := length(&first)
	w.request("earshot.v1.message.clinic.t", `{}`)
	require.Equal(t, at+1, length(&first))
}

func length(of *sync.Map) (n int) {
	of.Range(func(any, any) bool { n++; return true })
	return n
}

func TestReplyIsNoEventAndNoCommand(t *testing.T) {
	w := newWorld(t, says(200, `{}`))
	w.run()
	heard, err := w.conn.SubscribeSync(">")
	require.NoError(t, err)
	for _, reply := range []string{"tool.trigger.clinic.s1.book", "app.clinic.a.b", "chat.message.clinic.s1", "answer.clinic.t1", "$JS.API.STREAM.PURGE.EARSHOT", "earshot.v1.message.clinic.s1", "victim.inbox", "_INBOX", "_INBOXES.1"} {
		require.NoError(t, w.conn.PublishRequest("earshot.v1.message.clinic.s1", reply, []byte(`{}`)))
		w.log.Await(t, `(ingress\.refused).*"reply":"`+strings.ReplaceAll(reply, "$", `\$`))
	}
	w.request("earshot.v1.message.clinic.last", `{}`)
	require.Len(t, w.asked, 1, "nothing was done of what nobody may be told of")
	for {
		message, err := heard.NextMsg(patience)
		require.NoError(t, err)
		if message.Subject == "earshot.v1.message.clinic.last" {
			return
		}
		require.Equal(t, "earshot.v1.message.clinic.s1", message.Subject)
	}
}

// Clients may have their own inbox prefix; the log tells the operator how to allow it.
func TestRepliesGoWhereTheOperatorAllowsIt(t *testing.T) {
	w := newWorld(t, says(200, `{"ok":true}`))
	registry := prometheus.NewRegistry()
	replies, err := natsrpc.ParseReplies("_INBOX, _INBOX_web,app-7.inbox.>")
	require.NoError(t, err)
	w.run(func(o *natsrpc.Options) { o.Replies, o.Metrics = replies, registry })
	require.NoError(t, w.conn.PublishRequest("earshot.v1.message.clinic.s1", "_INBOX_other.1", []byte(`{}`)))
	w.log.Await(t, `(ingress\.refused).*"reply":"_INBOX_other.1","error":"replies go to _INBOX and _INBOX_web and app-7.inbox alone.*EARSHOT_NATS_REPLIES`)
	for _, prefix := range []string{"_INBOX_web", "app-7.inbox"} {
		client, err := nats.Connect(w.nats.URL(), nats.CustomInboxPrefix(prefix))
		require.NoError(t, err)
		defer client.Close()
		reply, err := client.Request("earshot.v1.message.clinic.s1", []byte(`{}`), patience)
		require.NoError(t, err)
		require.JSONEq(t, `{"ok":true}`, string(reply.Data))
		_, err = client.Request("$SRV.PING.earshot", nil, patience)
		require.NoError(t, err)
	}
	require.Len(t, w.asked, 2)
	gathered, err := registry.Gather()
	require.NoError(t, err)
	require.Equal(t, "earshot_ingress_refused_total 1", fmt.Sprint(gathered[0].GetName(), " ", gathered[0].Metric[0].Counter.GetValue()))
	for _, wrong := range []string{"_INBOX,", "_INBOX.*", "a..b", "_INBOX, tool", "answer.clinic", "$SYS", "a b"} {
		_, err := natsrpc.ParseReplies(wrong)
		require.Error(t, err, wrong)
	}
}

func TestRepliesGoAnywhereButToTheServicesOwnWhereTheOperatorAllowsThat(t *testing.T) {
	w := newWorld(t, says(200, `{"ok":true}`))
	replies, err := natsrpc.ParseReplies(">")
	require.NoError(t, err)
	w.run(func(o *natsrpc.Options) { o.Replies = replies })
	heard, err := w.conn.SubscribeSync("desk.7")
	require.NoError(t, err)
	require.NoError(t, w.conn.PublishRequest("earshot.v1.message.clinic.s1", "tool.trigger.clinic.s1.book", []byte(`{}`)))
	w.log.Await(t, `(ingress\.refused).*"reply":"tool.trigger`)
	require.NoError(t, w.conn.PublishRequest("earshot.v1.message.clinic.s1", "desk.7", []byte(`{}`)))
	reply, err := heard.NextMsg(patience)
	require.NoError(t, err)
	require.JSONEq(t, `{"ok":true}`, string(reply.Data))
}

func TestPublishedWithoutAReplyIsDoneAllTheSame(t *testing.T) {
	h := newHeld()
	w := newWorld(t, h.answer)
	w.run()
	require.NoError(t, w.conn.Publish("earshot.v1.message.clinic.s1", []byte(`{}`)))
	<-h.begun
	close(h.goOn)
}

func TestServiceTellsOfItself(t *testing.T) {
	w := newWorld(t, says(200, `{}`))
	w.run()
	w.request("earshot.v1.message.clinic.s1", `{}`)
	w.rest = problem(404, `{"detail":"there is no such app"}`)
	w.request("earshot.v1.message.nobody.s1", `{}`)

	var ping natsmicro.Ping
	w.read("$SRV.PING.earshot", &ping)
	require.Equal(t, "earshot", ping.Name)
	require.Equal(t, "1.0.0", ping.Version)
	require.Equal(t, natsmicro.PingResponseType, ping.Type)
	w.read("$SRV.PING", &ping)
	var info natsmicro.Info
	w.read("$SRV.INFO.earshot."+ping.ID, &info)
	require.Equal(t, "v0.9", info.Metadata["program"])
	at := slices.IndexFunc(info.Endpoints, func(e natsmicro.EndpointInfo) bool { return e.Name == "message" })
	require.Equal(t, "earshot.v1.message.*.*", info.Endpoints[at].Subject)
	require.Equal(t, "POST /v1/apps/{appId}/sessions/{sessionId}/messages", info.Endpoints[at].Metadata["rest"])
	names := map[string]bool{}
	for _, e := range info.Endpoints {
		names[e.Name] = true
	}
	require.Len(t, names, len(info.Endpoints))
	var stats natsmicro.Stats
	w.until("both are counted", func() bool {
		w.read("$SRV.STATS.earshot", &stats)
		return stats.Endpoints[at].NumRequests == 2
	})
	require.Equal(t, "message", stats.Endpoints[at].Name)
	require.Equal(t, 1, stats.Endpoints[at].NumErrors)
	require.Equal(t, "404:there is no such app", stats.Endpoints[at].LastError)
	require.Positive(t, stats.Endpoints[at].ProcessingTime)
	require.Zero(t, stats.Endpoints[at+1].NumRequests)
	require.False(t, stats.Started.IsZero())
}

func (w *world) read(subject string, into any) {
	w.t.Helper()
	reply, err := w.conn.Request(subject, nil, patience)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(reply.Data, into))
}

func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, patience, 5*time.Millisecond, what)
}

func TestWhatNATSDeniesIsSaid(t *testing.T) {
	t.Parallel()
	for name, denied := range map[string]struct {
		allowed *server.Permissions
		log     string
	}{
		"requests": {&server.Permissions{Subscribe: &server.SubjectPermission{Deny: []string{"earshot.>"}}}, "allow it to subscribe to (earshot.v1.>)"},
		"replies":  {&server.Permissions{Publish: &server.SubjectPermission{Deny: []string{"_INBOX.>"}}}, `allow it to publish to their inboxes, as (_INBOX.>)`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, says(200, `{}`), func(o *server.Options) {
				o.Users = []*server.User{{Username: "client", Password: "c"}, {Username: "earshot", Password: "e", Permissions: denied.allowed}}
				o.Username, o.Password = "", ""
				o.NoAuthUser = "client"
			})
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			service := natsrpc.New(w.options(strings.Replace(w.nats.URL(), "://", "://earshot:e@", 1)))
			go func() { ended <- service.Run(ctx) }()
			w.until(denied.log, func() bool {
				_, _ = w.conn.Request("earshot.v1.trigger.clinic", []byte(`{}`), 10*time.Millisecond)
				return strings.Contains(w.log.String(), "ingress.denied")
			})
			w.log.Await(t, denied.log)
			end()
			require.NoError(t, <-ended)
		})
	}
}
