package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/repositories/keyspace"
)

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
	s.llm = &model{secrets: s.secrets, asked: map[string]int{}}
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
	conn, err := nats.Connect(s.nats.URL, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
	s.must(err)
	t.Cleanup(conn.Close)
	s.js, err = jetstream.New(conn)
	s.must(err)
	for slot := range replicas {
		s.replicas = append(s.replicas, newReplica(s, slot))
	}
	s.must(s.await())
	return s
}

func (s *system) environment() []string {
	env := []string{
		"NATS_URL=" + s.nats.URL, "OPENAI_API_KEY=" + s.secrets.llm, "OPENAI_BASE_URL=" + s.llmURL + "/v1",
		"EARSHOT_ADMIN_KEY=" + s.secrets.admin, "EARSHOT_SECRET_KEY=" + s.secrets.key, "EARSHOT_DRAIN=0s",
		"EARSHOT_FLAW=" + string(s.flaw), "EARSHOT_SESSION_MESSAGES=1000000", // the books need the whole history
	}
	if s.cluster != nil {
		env = append(env, "REDIS_URL="+s.cluster.URL(), fmt.Sprintf("EARSHOT_REDIS_WAIT=%d", s.phase.cluster.wait))
	} else {
		env = append(env, "REDIS_URL=redis://"+s.proxy.Addr)
	}
	if s.phase.full > 0 {
		env = append(env, fmt.Sprintf("EARSHOT_STREAM_MAX_BYTES=%d", s.phase.full))
	}
	return env
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

// rest waits until nothing is owed any more. It lets what waits for a yes expire.
func (s *system) rest(limit time.Duration) error {
	ctx := context.Background()
	for _, app := range apps {
		k := keyspace.KeysOf(app)
		held, err := s.client.ZRange(ctx, k.Lane(keyspace.LaneHeld), 0, -1).Result()
		if err != nil {
			return err
		}
		for _, id := range held {
			if err := expire.Run(ctx, s.client, []string{k.Trigger(id), k.Lane(keyspace.LaneHeld), k.Due()}, id, string(keyspace.LaneHeld)+"/"+app).Err(); err != nil {
				return err
			}
		}
	}
	return testbed.Until(ctx, limit, func(context.Context) error {
		s.makeRoom()
		switch owed := s.due(); {
		case owed > 0:
			return fmt.Errorf("%d effects or turns are still owed", owed)
		case owed < 0:
			return errors.New("no answer from Redis to what is owed")
		}
		return nil
	})
}

var expire = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'state') ~= 'confirming' then return 0 end
redis.call('HSET', KEYS[1], 'due', 1)
redis.call('ZADD', KEYS[2], 'XX', 1, ARGV[1])
redis.call('ZADD', KEYS[3], 1, ARGV[2])
return 1
`)

func (s *system) due() (total int64) {
	pipe := s.client.Pipeline()
	var counts []*redis.StringCmd
	for _, key := range keyspace.AllOwed() {
		counts = append(counts, pipe.Get(context.Background(), key))
	}
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

// left lists the keys of effects that are neither done nor dead, and of outboxes that are not empty: the counters of
// what is owed may be wrong.
func (s *system) left() (keys []string) {
	var mu sync.Mutex
	look := func(ctx context.Context, server *redis.Client) error {
		scan := server.Scan(ctx, 0, "earshot:*", 1000).Iterator()
		for scan.Next(ctx) {
			key, open := scan.Val(), strings.Contains(scan.Val(), ":outbox:")
			if strings.Contains(key, ":effect:") {
				as, err := server.HGet(ctx, key, "state").Result()
				if err != nil && !errors.Is(err, redis.Nil) {
					return err
				}
				open = as != "dead"
			}
			if open {
				mu.Lock()
				keys = append(keys, key)
				mu.Unlock()
			}
		}
		return scan.Err()
	}
	switch store := s.client.(type) {
	case *redis.Client:
		s.must(look(s.ctx, store))
	case *redis.ClusterClient:
		s.must(store.ForEachMaster(s.ctx, look))
	}
	return keys
}

// planted are the credentials of a system, each a word that occurs nowhere else.
type planted struct {
	admin, llm, password, module, token, remote string
	key                                         string // EARSHOT_SECRET_KEY
	signing                                     string // of the app

	mu    sync.Mutex
	found []string
}

func plant() *planted {
	word := func(name string) string { return "PLANTED" + name + "credential0123456789" }
	return &planted{
		admin: word("admin"), llm: word("llm"), password: word("password"), module: word("module"), token: word("token"), remote: word("remote"),
		key:     base64.StdEncoding.EncodeToString([]byte("PLANTEDkey0123456789012345678901")),
		signing: "whsec_" + base64.StdEncoding.EncodeToString([]byte("PLANTEDsigning01234567890123456789")),
	}
}

const user = "clerk"

// words are the credentials in all forms in which they could turn up.
func (p *planted) words() []string {
	return []string{
		p.admin, p.llm, p.password, p.module, p.token, p.remote, p.key, strings.TrimPrefix(p.signing, "whsec_"), "PLANTEDkey", "PLANTEDsigning",
		base64.StdEncoding.EncodeToString([]byte(user + ":" + p.password)),
	}
}

// look records credentials in a text where they do not belong.
func (p *planted) look(place, text string) {
	for _, word := range p.words() {
		if strings.Contains(text, word) {
			p.mu.Lock()
			p.found = append(p.found, fmt.Sprintf("%s holds the credential that starts with %.14s", place, word))
			p.mu.Unlock()
		}
	}
}

func (p *planted) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.found...)
}

// app defines an app with planted credentials. Chats are in act; the MCP server of the first app has no sessions.
func (s *system) app(id string) string {
	path := pathSessions
	if id == apps[0] {
		path = pathStateless
	}
	return fmt.Sprintf(`{"settings":{"limits":null,"openai":{"mode":"act"}},"signingSecret":%q,"modules":[{"moduleId":"calendar","secret":%q,"tokenUrl":%q}],
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
		form("form", "/ok"), form("form-busy", "/busy"),
	}, ",") + `]}`
}
