package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/emitter"
	"earshot/repositories/failpoint"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
)

type options struct {
	seed     int64
	kills    int            // at least as many
	duration time.Duration  // at least as long
	within   time.Duration  // no round begins that would take longer; 0 for any time
	rest     time.Duration  // that what is owed may take when all is quiet again
	ready    time.Duration  // that the replicas may take until they are
	flaw     failpoint.Flaw // that the replicas have; empty for none
	program  string         // earshot with its crash points
	dir      string         // keeps logs and data there; empty for a temporary one
	phases   []phase
	points   []failpoint.Point // at which replicas die
	logf     func(format string, args ...any)
}

const (
	restLimit = 3 * time.Minute // several leases, and longer than the pause of two minutes after a fourth attempt
	comeUp    = 2 * time.Minute // how long a server may take until it answers, also on a machine ten times as busy
)

func defaults() options {
	return options{
		rest: restLimit, ready: comeUp, points: failpoint.Points(),
		logf: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
}

func (o options) long() bool { return o.kills > 0 || o.duration > 0 }

func (o options) pick(short, long time.Duration) time.Duration {
	if o.long() {
		return long
	}
	return short
}

const replicas = 3

type system struct {
	options
	phase phase
	t     testbed.TB
	ctx   context.Context
	dir   string // of logs and data
	plan  *schedule
	books *books

	redis   *redistest.Server  // nil if there is a Redis Cluster
	proxy   *testbed.Proxy     // of the one Redis
	cluster *redistest.Cluster // nil if there is one Redis
	client  redis.UniversalClient
	nats    *natstest.Process
	js      jetstream.JetStream

	secrets                        *planted
	llm                            *model
	sink                           *testbed.Sink
	remote                         *remote
	llmURL, endpointURL, remoteURL string
	replicas                       []*replica

	losses  []loss    // of masters of the Redis Cluster
	emptied []stored  // what was taken out of the stream to make room
	looked  time.Time // when the stream was last seen to

	mu       sync.Mutex
	troubled []error
}

// newSystem starts the servers and the replicas of a phase, which run until the end of the rig.
func newSystem(t testbed.TB, dir string, p phase, o options, plan *schedule) *system {
	s := &system{options: o, phase: p, t: t, ctx: t.Context(), dir: dir, plan: plan, secrets: plant()}
	s.llm = &model{secrets: s.secrets, asked: map[string]bool{}}
	s.sink = &testbed.Sink{Token: s.secrets.token, Answer: func(out http.ResponseWriter, request *http.Request, call testbed.Call) {
		s.secrets.look("the body of a call", call.Body)
		behave(out, request, call)
	}}
	s.remote = newRemote(s.sink, s.secrets)
	s.llmURL, s.endpointURL, s.remoteURL = testbed.Serve(t, "", s.llm), testbed.Serve(t, "", s.sink), testbed.Serve(t, "", s.remote)
	if p.cluster == nil {
		s.redis = redistest.Run(t, "--appendfsync", "always")
		s.client = s.redis.Connect(redis.UniversalOptions{PoolSize: 4})
		s.proxy = testbed.NewProxy(t, s.redis.Addr(), plan.seed)
	} else {
		settings := []string{"--appendfsync", "always"}
		if p.cluster.alone {
			settings = append(settings, "--min-replicas-to-write", "0")
		}
		s.cluster = redistest.RunReplicated(t, settings...)
		store := redis.NewClusterClient(&redis.ClusterOptions{Addrs: strings.Split(s.cluster.Addr(), ","), ClusterStateReloadInterval: time.Second, PoolSize: 4})
		t.Cleanup(func() { _ = store.Close() })
		s.client = store
	}
	s.nats = natstest.RunProcess(t, dir, true)
	s.js = natstest.JetStream(t, s.nats.URL)
	for slot := range replicas {
		s.replicas = append(s.replicas, newReplica(s, slot))
	}
	s.must(s.await())
	return s
}

func (s *system) must(err error) {
	if err != nil {
		s.t.Fatal(err)
	}
}

// trouble records what must not happen, whatever goes wrong.
func (s *system) trouble(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.troubled = append(s.troubled, err)
}

func (s *system) troubles() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.troubled
}

func (s *system) wait(pause time.Duration) { testbed.Wait(s.ctx, pause) }

// replica is a place for one earshot serve, which is started again as soon as it dies.
type replica struct {
	*testbed.Replica
	system *system
	slot   int
	over   chan struct{} // closed when it is not to be started again
	ended  chan struct{} // closed when its last run is over
}

// newReplica puts the clock of the first replica five minutes ahead of the second's.
func newReplica(s *system, slot int) *replica {
	env := []string{
		"NATS_URL=" + s.nats.URL, "OPENAI_API_KEY=" + s.secrets.llm, "OPENAI_BASE_URL=" + s.llmURL + "/v1",
		"EARSHOT_ADMIN_KEY=" + s.secrets.admin, "EARSHOT_SECRET_KEY=" + s.secrets.key, "EARSHOT_DRAIN=0s",
		"EARSHOT_FLAW=" + string(s.flaw), "EARSHOT_SESSION_MESSAGES=1000000", // the books need the whole history
		"EARSHOT_CLOCK_SKEW=" + []string{"0s", "-150s", "150s"}[slot],
	}
	if s.cluster != nil {
		env = append(env, "REDIS_URL="+s.cluster.URL(), fmt.Sprintf("EARSHOT_REDIS_WAIT=%d", s.phase.cluster.wait))
	} else {
		env = append(env, "REDIS_URL=redis://"+s.proxy.Addr)
	}
	if s.phase.full > 0 {
		env = append(env, fmt.Sprintf("EARSHOT_STREAM_MAX_BYTES=%d", s.phase.full))
	}
	r := &replica{
		Replica: testbed.NewReplica(s.t, s.dir, fmt.Sprintf("replica-%d", slot), s.program, env...),
		system:  s, slot: slot, over: make(chan struct{}), ended: make(chan struct{}),
	}
	s.must(r.Start())
	go r.keep()
	s.t.Cleanup(func() {
		close(r.over)
		r.Thaw()
		r.Kill()
		<-r.ended
	})
	return r
}

// keep starts the replica whenever it has died, each time to die at another point of the schedule.
func (r *replica) keep() {
	defer close(r.ended)
	for point := failpoint.Point(""); ; {
		if r.watch(point); point != "" {
			r.system.plan.over()
		}
		select {
		case <-r.over:
			return
		default:
		}
		var passes int
		point, passes = r.system.plan.next()
		if err := r.Start(fmt.Sprintf("EARSHOT_CRASH=%s:%d", point, passes)); err != nil {
			r.system.trouble(fmt.Errorf("replica %d does not start: %w", r.slot, err))
			return
		}
	}
}

// watch waits until the present run is over, and kills it if it misses its point, or has none and the schedule gets one.
func (r *replica) watch(point failpoint.Point) {
	patience := 4 * time.Second // to come to its point; then it is killed wherever it is
	switch {
	case point == failpoint.RebuildBefore || point == failpoint.ShutdownBegun:
		patience = 25 * time.Second // the one comes after a lease, the other after what is in flight
	case slices.Contains(rare, point):
		patience = 8 * time.Second
	}
	limit := time.After(patience)
	if point == failpoint.ShutdownBegun {
		_ = testbed.Until(r.system.ctx, comeUp, r.Ready)
		r.Signal(syscall.SIGTERM)
	}
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case <-r.Gone():
			switch how := r.End(); {
			case how.Killed && point != "":
				r.system.plan.died(point)
			case !how.Killed && (point != failpoint.ShutdownBegun || how.Code != 0):
				r.system.trouble(fmt.Errorf("replica %d has ended by itself with %d; see %s", r.slot, how.Code, r.Log))
				testbed.Wait(context.Background(), time.Second) // it would end again at once
			}
			return
		case <-look.C:
			if point == "" && r.system.plan.pending() {
				r.killAnywhere()
				return
			}
		case <-limit:
			if point != "" {
				r.system.plan.missed(point)
				r.killAnywhere()
				return
			}
		}
	}
}

func (r *replica) killAnywhere() {
	r.Kill()
	r.system.plan.died("")
}

// await waits until all replicas are ready. None is while the last event that the stream refused does not fit.
func (s *system) await() error {
	for _, r := range s.replicas {
		err := testbed.Until(s.ctx, s.ready, func(ctx context.Context) error {
			s.makeRoom()
			return r.Ready(ctx)
		})
		if err != nil {
			return fmt.Errorf("replica %d does not come up: %w; see %s", r.slot, err, r.Log)
		}
	}
	return nil
}

func (s *system) due() (total int64) {
	pipe := s.client.Pipeline()
	counts := lists.Map(keyspace.AllPendingCounts(), func(key string) *redis.StringCmd { return pipe.Get(context.Background(), key) })
	_, _ = pipe.Exec(context.Background()) // every command has its own error
	for _, count := range counts {
		owed, err := count.Int64()
		if err != nil && !errors.Is(err, redis.Nil) { // nothing was ever owed
			return -1
		}
		total += owed
	}
	return total
}

// serveWebhooks has what the webhook of the followed app lacks sent, and waits until it has all that the stream has.
func (s *system) serveWebhooks() error {
	webhook, resends := keyspace.Webhook(keyspace.KeysOf(followed), "books")
	s.books.must(http.MethodPost, pathOf(followed, "")+"/webhooks/books/resend", "")
	return testbed.Until(s.ctx, s.options.rest, func(ctx context.Context) error {
		held, err := s.js.Stream(ctx, emitter.Stream)
		if err != nil {
			return err
		}
		waiting, err := s.client.ZCard(ctx, resends).Result()
		if err != nil {
			return err
		}
		at, err := s.client.HGet(ctx, webhook, "position").Uint64()
		if last := held.CachedInfo().State.LastSeq; err == nil && (at != last || waiting > 0) {
			err = fmt.Errorf("the webhook was served up to %d of %d, and %d events did not arrive", at, last, waiting)
		}
		return err
	})
}

// left lists the keys of effects that are neither done nor dead, and of outboxes with events: the counters may be wrong.
func (s *system) left() (keys []string) {
	store := s.redis
	if s.cluster != nil {
		store = s.cluster.Server
	}
	for _, key := range store.Keys() {
		open := strings.Contains(key, ":outbox:")
		if strings.Contains(key, ":effect:") {
			as, err := s.client.HGet(s.ctx, key, "state").Result()
			if !errors.Is(err, redis.Nil) {
				s.must(err)
			}
			open = as != "dead"
		}
		if open && strings.HasPrefix(key, "earshot:") {
			keys = append(keys, key)
		}
	}
	return keys
}

// app defines an app with planted credentials and chats in act. The MCP server of the first app has no sessions. In the other app a
// model replies, and a webhook gets each message and reply.
func (s *system) app(id string) string {
	path, settings := pathSessions, fmt.Sprintf(`,"chatModeEnabled":true,"chatEvents":true,"webhooks":[{"name":"books","url":%q,"types":["%s"]}]`,
		s.endpointURL+hookPath, strings.Join(hooked, `","`))
	if id != followed {
		path, settings = pathStateless, ""
	}
	return fmt.Sprintf(`{"settings":{"limits":null,"openai":{"mode":"act"}`+settings+`},"signingSecret":%q,"modules":[{"moduleId":"calendar","secret":%q,"tokenUrl":%q}],
		"sources":[{"name":"remote","type":"mcp","url":%q,"headers":{"X-Api-Key":%q},"timeout":"1s","refresh":"5s"}]}`,
		s.secrets.signing, s.secrets.module, s.endpointURL+"/token", s.remoteURL+path, s.secrets.remote)
}

func (s *system) desk() string {
	const day = `{"parameter":"day","type":"string","required":true}`
	login := fmt.Sprintf(`"auth":"basic","basic":{"username":%q,"password":%q}`, user, s.secrets.password)
	tool := func(name, path, request string, more ...string) string {
		return fmt.Sprintf(`{"name":%q,"url":%q,"emitter":"calendar.request","request":{%s},"schema":[%s]%s}`,
			name, s.endpointURL+path, request, day, strings.Join(append([]string{""}, more...), ","))
	}
	given := func(name, within string) string {
		return fmt.Sprintf(`{"name":%q,"answer":{"within":%q},"request":{"timeout":"200ms"},"schema":[{"parameter":"day","type":"string"}]}`, name, within)
	}
	form := func(name, path string) string {
		return fmt.Sprintf(`{"name":%q,"url":%q,"schema":[%s,{"parameter":"desk","type":"string","required":true},{"parameter":"hour","type":"string","required":true}]}`,
			name, s.endpointURL+path, day)
	}
	return `{"tools":[` + strings.Join([]string{
		`{"name":"note","schema":[` + day + `]}`,
		tool("book", "/ok", `"auth":"module","moduleId":"calendar"`), tool("order", "/busy", login), tool("risky", "/dead", login),
		tool("hang", "/hang", `"timeout":"1s"`), tool("drip", "/drip", `"timeout":"1s"`), tool("giga", "/giga", `"timeout":"2s"`),
		tool("lamp", "/ok", "", `"settle":"300ms"`), tool("mail", "/ok", "", `"settle":"1s","cancelOnNext":true`),
		tool("refund", "/ok", `"idempotent":false`, `"confirm":"always"`), tool("alarm", "/ok", "", `"dedupe":{"within":"10m","scope":"app"}`),
		tool("guard", "/ok", "", `"confirm":"always","settle":"200ms","dedupe":{"within":"10m"}`),
		given("ask", "10m"), given("mute", "1s"),
		tool("charge", "/ok", `"idempotent":false`), tool("pledge", "/hang", `"idempotent":false,"timeout":"1s"`),
		form("form", "/ok"), form("form-busy", "/busy"), tool("peek", peekPath, "", `"readOnly":true`),
	}, ",") + `]}`
}

// makeRoom empties the stream from time to time if it is nearly full.
func (s *system) makeRoom() {
	ctx, cancel := context.WithTimeout(context.Background(), comeUp)
	defer cancel()
	if s.phase.full == 0 || time.Since(s.looked) < 200*time.Millisecond {
		return
	}
	if s.looked = time.Now(); s.hasRoom(ctx, ample) {
		return
	}
	if err := s.empty(ctx); err != nil {
		s.trouble(fmt.Errorf("empty the stream: %w", err))
	}
}

// An event needs less than 2 KiB as a rule, and the result of a call up to some 70 KiB.
const (
	little = 2 << 10
	ample  = 100 << 10
)

func (s *system) hasRoom(ctx context.Context, bytes uint64) bool {
	held, err := s.js.Stream(ctx, emitter.Stream)
	return err != nil || held.CachedInfo().State.Bytes+bytes <= uint64(s.phase.full)
}

func (s *system) empty(ctx context.Context) error {
	taken, last, err := s.events(ctx)
	if err != nil || len(taken) == 0 {
		return err
	}
	held, err := s.js.Stream(ctx, emitter.Stream)
	if err != nil {
		return err
	}
	s.emptied = append(s.emptied, taken...)
	return held.Purge(ctx, jetstream.WithPurgeSequence(last+1))
}

// events reads the stream, and the sequence of its last event.
func (s *system) events(ctx context.Context) (all []stored, last uint64, err error) {
	held, err := s.js.Stream(ctx, emitter.Stream)
	if err != nil || held.CachedInfo().State.Msgs == 0 {
		return nil, 0, err
	}
	reader, err := held.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, 0, err
	}
	for end := held.CachedInfo().State.LastSeq; last < end; {
		message, err := reader.Next(jetstream.FetchMaxWait(comeUp))
		if err != nil {
			return nil, 0, fmt.Errorf("read event %d of the stream: %w", last+1, err)
		}
		meta, err := message.Metadata()
		if err != nil {
			return nil, 0, err
		}
		s.secrets.look("the stream", fmt.Sprint(message.Headers(), string(message.Data())))
		one := stored{Subject: message.Subject(), MsgID: message.Headers().Get("Nats-Msg-Id")}
		if err := json.Unmarshal(message.Data(), &one); err != nil {
			return nil, 0, err
		}
		all, last = append(all, one), meta.Sequence.Stream
	}
	return all, last, nil
}
