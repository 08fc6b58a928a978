package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/emitter"
	"earshot/emitter/natstest"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories"
	"earshot/repositories/redistest"
)

// The end-to-end tests run the program as main does, one or several replicas of it,
// on a Redis server, a NATS server, a scripted LLM and endpoints over HTTP. They see
// of it what its users see: answers, events, calls, log lines and exit codes.

// patience bounds every wait. It is far above what is waited for, for machines that do
// much else.
const patience = 30 * time.Second

// glance is the pause between two looks at something that is waited for.
const glance = 10 * time.Millisecond

// world is the program with all that is around it.
type world struct {
	t        *testing.T
	redis    *redistest.Server
	nats     *natstest.Server
	llm      *llmtest.Server
	env      map[string]string
	replicas []*replica
	// redisPassword is what the test's own clients need, where the server asks for it.
	redisPassword string
}

const testAdminKey = "admin-key-of-the-tests"

// startedAt is the log line from which the address is learned.
var startedAt = regexp.MustCompile(`"msg":"service.started".*"url":"([^"]+)"`)

// newWorld starts the servers. The model does as it is told: see obey.
func newWorld(t *testing.T, configureNATS ...func(*server.Options)) *world {
	t.Helper()
	w := &world{t: t, redis: redistest.Run(t), nats: natstest.Run(t, configureNATS...), llm: llmtest.New(t)}
	w.llm.Handle(obey)
	w.env = map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "REDIS_URL": w.redis.URL(), "NATS_URL": w.nats.URL(),
		"OPENAI_API_KEY": "llm-key-of-the-tests", "OPENAI_BASE_URL": w.llm.URL(),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_PRIVATE_URLS": "allow",
		"EARSHOT_SECRET_KEY": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")),
	}
	return w
}

// serving starts the servers and replicas of the program, with the app "clinic".
func serving(t *testing.T, replicas int, flags ...string) *world {
	t.Helper()
	w := newWorld(t)
	for range replicas {
		w.serve(flags...)
	}
	w.put("/v1/apps/clinic", `{"name":"Clinic","settings":{"limits":null}}`) // load is floods
	return w
}

// obey is a model that calls what the text names, whether it is on offer or not: a
// text of `call book {"day":"monday"}; other {}` makes it call book and other.
func obey(request llmtest.Request) llmtest.Reply {
	said, told := strings.CutPrefix(request.Last().Content, "call ")
	if !told {
		return llmtest.Text("none")
	}
	var calls [][2]string
	for part := range strings.SplitSeq(said, "; ") {
		name, arguments, _ := strings.Cut(part, " ")
		calls = append(calls, [2]string{name, arguments})
	}
	return llmtest.Calls(calls...)
}

// replica is one running earshot serve.
type replica struct {
	t     *testing.T
	url   string
	log   *output
	end   context.CancelFunc // what SIGTERM does in main
	ended chan struct{}
	code  int // when ended is closed
}

// launch runs a command line in the background.
func launch(t *testing.T, env map[string]string, args ...string) *replica {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	r := &replica{t: t, log: &output{}, end: end, ended: make(chan struct{})}
	given := maps.Clone(env)
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, environment{out: r.log, err: r.log, lookup: func(name string) (string, bool) {
			value, set := given[name]
			return value, set
		}})
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// serve starts a replica and waits until it may work.
func (w *world) serve(flags ...string) *replica {
	w.t.Helper()
	r := launch(w.t, w.env, append([]string{"serve"}, flags...)...)
	r.url = r.log.await(w.t, startedAt)
	w.replicas = append(w.replicas, r)
	w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
	return r
}

// stop ends the replica as SIGTERM does, waits for it and returns its exit code.
func (r *replica) stop() int {
	r.end()
	return r.wait()
}

// wait waits until the command has ended.
func (r *replica) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("the command did not end within %s:\n%s", patience, r.log)
	}
	return r.code
}

// answer is what the program answered, or that it did not.
type answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error
}

// ask makes a request of one replica. It may be called from any goroutine. headers are
// names and values by turns.
func (w *world) ask(r *replica, method, path, body string, headers ...string) answer {
	request, err := http.NewRequestWithContext(context.Background(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		return answer{Err: err}
	}
	request.Header.Set("Authorization", "Bearer "+w.env["EARSHOT_ADMIN_KEY"])
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		return answer{Err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(text), err}
}

// call makes a request of the first replica and checks the status.
func (w *world) call(status int, method, path, body string, headers ...string) answer {
	w.t.Helper()
	got := w.ask(w.replicas[0], method, path, body, headers...)
	require.NoError(w.t, got.Err)
	require.Equal(w.t, status, got.Status, "%s %s: %s", method, path, got.Body)
	return got
}

// put writes a definition that is well formed.
func (w *world) put(path, body string) {
	w.t.Helper()
	got := w.ask(w.replicas[0], "PUT", path, body)
	require.NoError(w.t, got.Err)
	require.Less(w.t, got.Status, 300, "PUT %s: %s", path, got.Body)
}

// posted is the part of an answer that the tests read.
type posted struct {
	MessageID string
	Matches   []match
	Rejected  []json.RawMessage
	Reply     any
}

type match struct {
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

// say posts a message of a session of the app clinic, and checks that it is decided.
func (w *world) say(session, id, text string, headers ...string) posted {
	w.t.Helper()
	return read[posted](w.t, w.call(200, "POST", messages(session), message(id, text), headers...))
}

// fire fires a tool in a session of the app clinic without the model.
func (w *world) fire(session, name, values string) match {
	w.t.Helper()
	body := `{"name":"` + name + `","source":"ui","values":` + values + `}`
	return read[match](w.t, w.call(201, "POST", "/v1/apps/clinic/sessions/"+session+"/triggers", body))
}

func messages(session string) string { return "/v1/apps/clinic/sessions/" + session + "/messages" }

func message(id, text string) string {
	body := map[string]string{"actor": "user", "text": text}
	if id != "" {
		body["messageId"] = id
	}
	encoded, _ := json.Marshal(body) // strings always marshal
	return string(encoded)
}

func read[T any](t *testing.T, got answer) T {
	t.Helper()
	var value T
	require.NoError(t, json.Unmarshal([]byte(got.Body), &value), got.Body)
	return value
}

// storedEvent is what a subscriber gets.
type storedEvent struct {
	*jetstream.RawStreamMsg
	Payload map[string]any
}

// events lists what stands in the stream on the subjects that filter matches.
func (w *world) events(filter string) []storedEvent {
	w.t.Helper()
	return decodeEvents(w.t, w.nats.Stored(emitter.Stream, filter))
}

func decodeEvents(t *testing.T, messages []*jetstream.RawStreamMsg) []storedEvent {
	t.Helper()
	var list []storedEvent
	for _, stored := range messages {
		one := storedEvent{RawStreamMsg: stored}
		require.NoError(t, json.Unmarshal(stored.Data, &one.Payload))
		list = append(list, one)
	}
	return list
}

// until waits for a condition, by asking for it again and again.
func (w *world) until(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, patience, glance, what)
}

// client is the test's own client of Redis.
func (w *world) client() redis.UniversalClient {
	return w.redis.Connect(redis.UniversalOptions{Password: w.redisPassword})
}

// rest waits until nothing is owed any more.
func (w *world) rest() {
	w.t.Helper()
	client := w.client()
	w.until("the ledger is empty", func() bool {
		for _, key := range repositories.AllOwed() {
			if n, err := client.Get(w.t.Context(), key).Int(); n > 0 || err != nil && !errors.Is(err, redis.Nil) {
				return false
			}
		}
		return true
	})
}

// output is what a command writes, readable while it runs.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// await waits until the pattern is found, and returns its first group.
func (o *output) await(t *testing.T, pattern *regexp.Regexp) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = pattern.FindStringSubmatch(o.String())
		return found != nil
	}, patience, glance, "no %s in what it wrote", pattern)
	return found[len(found)-1]
}
