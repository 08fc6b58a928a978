package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"earshot/repositories/keyspace"
)

// world is the service with all that is around it.
type world struct {
	dir      string
	programs programs
	secrets  *planted
	redis    *process
	nats     *process
	broker   string // URL of NATS
	proxy    *proxy
	llm      *model
	model    *httptest.Server
	sink     *sink
	endpoint *httptest.Server
	replicas []*replica
	client   *redis.Client
	conn     *nats.Conn
	js       jetstream.JetStream
	plan     *schedule
	options  options
	// full is how much the stream holds; 0 for no limit. emptied is what was taken out
	// of it to make room, and looked when it was last seen to.
	full    int64
	emptied []stored
	looked  time.Time

	mu       sync.Mutex
	troubled []error
}

// trouble notes what must not happen, whatever goes wrong.
func (w *world) trouble(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.troubled = append(w.troubled, err)
}

func (w *world) troubles() []error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.troubled
}

// newWorld starts the servers and the replicas, which stay up until close. The stream
// holds as many bytes as full says; any number for 0.
func newWorld(ctx context.Context, dir string, full int64, plan *schedule, o options) (*world, error) {
	w := &world{dir: dir, programs: o.programs, secrets: plant(), plan: plan, options: o, full: full}
	w.llm = newModel(w.secrets.look)
	w.model = httptest.NewServer(w.llm)
	w.sink = newSink(w.secrets.token, w.secrets.look)
	w.endpoint = httptest.NewServer(w.sink)
	for _, step := range []func() error{w.startRedis, w.startNATS, func() (err error) {
		w.proxy, err = newProxy(w.client.Options().Addr, uint64(plan.seed))
		return err
	}} {
		if err := step(); err != nil {
			w.close()
			return nil, err
		}
	}
	for slot := range replicas {
		r, err := newReplica(w, slot, plan)
		if err != nil {
			w.close()
			return nil, err
		}
		w.replicas = append(w.replicas, r)
	}
	if err := w.await(ctx); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *world) startRedis() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	data := w.data()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	w.redis = newProcess(w.dir, "redis", w.programs.redis, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", data,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	w.client = redis.NewClient(&redis.Options{Addr: address(port), PoolSize: 4})
	return w.upRedis()
}

func (w *world) upRedis() error {
	if err := w.redis.start(); err != nil {
		return err
	}
	return until(comeUp, func() bool { return w.client.Ping(context.Background()).Err() == nil })
}

// startNATS has every acknowledged event on the disk before it is acknowledged.
func (w *world) startNATS() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	w.broker = "nats://" + address(port)
	file := filepath.Join(w.dir, "nats.conf")
	config := fmt.Sprintf("listen: %s\njetstream { store_dir: %q, sync_interval: always }\n", address(port), filepath.Join(w.dir, "nats"))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	w.nats = newProcess(w.dir, "nats", w.programs.nats, "--config", file)
	if err := w.nats.start(); err != nil {
		return err
	}
	return until(comeUp, func() bool {
		w.conn, err = nats.Connect(w.broker, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond))
		if err != nil {
			return false
		}
		w.js, err = jetstream.New(w.conn)
		return err == nil
	})
}

// environment is what replicas are started with.
func (w *world) environment(addr string) []string {
	env := []string{
		"EARSHOT_ADDR=" + addr, "REDIS_URL=redis://" + w.proxy.addr(), "NATS_URL=" + w.broker,
		"OPENAI_API_KEY=" + w.secrets.llm, "OPENAI_BASE_URL=" + w.model.URL + "/v1",
		"EARSHOT_ADMIN_KEY=" + w.secrets.admin, "EARSHOT_SECRET_KEY=" + w.secrets.key, "EARSHOT_PRIVATE_URLS=allow", "EARSHOT_DRAIN=0s",
		"EARSHOT_FLAW=" + string(w.options.flaw),
	}
	if w.full > 0 {
		env = append(env, fmt.Sprintf("EARSHOT_STREAM_MAX_BYTES=%d", w.full))
	}
	return env
}

// await waits until all replicas are ready, which none is while what it was refused last does
// not fit into the stream.
func (w *world) await(ctx context.Context) error {
	for _, r := range w.replicas {
		ready := func() bool {
			w.makeRoom()
			return ctx.Err() != nil || r.ready()
		}
		if err := until(w.options.ready, ready); err != nil {
			return fmt.Errorf("replica %d: %w; see %s", r.slot, err, r.process.log)
		}
	}
	return ctx.Err()
}

// rest waits until nothing is owed any more. What waits for a yes then gets none.
func (w *world) rest(limit time.Duration) error {
	if err := w.expire(); err != nil {
		return err
	}
	if until(limit, func() bool { w.makeRoom(); return w.due() == 0 }) == nil {
		return nil
	}
	if left := w.due(); left >= 0 {
		return fmt.Errorf("%d effects or turns are still owed after %s of quiet", left, limit)
	}
	return fmt.Errorf("no answer from Redis to what is owed after %s of quiet", limit)
}

// expire lets the time be over for all that waits for a yes, which would be minutes.
func (w *world) expire() error {
	for _, app := range apps {
		k := keyspace.KeysOf(app)
		held, err := w.client.ZRange(context.Background(), k.Lane(keyspace.LaneHeld), 0, -1).Result()
		if err != nil {
			return err
		}
		for _, id := range held {
			if err := soon.Run(context.Background(), w.client, []string{k.Trigger(id), k.Lane(keyspace.LaneHeld), k.Due()}, id, string(keyspace.LaneHeld)+"/"+app).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// soon lets the time of a held trigger be over.
var soon = redis.NewScript(`
if redis.call('HGET', KEYS[1], 'state') ~= 'confirming' then return 0 end
redis.call('HSET', KEYS[1], 'due', 1)
redis.call('ZADD', KEYS[2], 'XX', 1, ARGV[1])
redis.call('ZADD', KEYS[3], 1, ARGV[2])
return 1
`)

// due counts what is owed; -1 where Redis does not answer.
func (w *world) due() int64 {
	pipe := w.client.Pipeline()
	var counts []*redis.StringCmd
	for _, key := range keyspace.AllOwed() {
		counts = append(counts, pipe.Get(context.Background(), key))
	}
	_, _ = pipe.Exec(context.Background()) // every command has its own error
	total := int64(0)
	for _, count := range counts {
		owed, err := count.Int64()
		if err != nil && !errors.Is(err, redis.Nil) { // where nothing was ever owed
			return -1
		}
		total += owed
	}
	return total
}

// left lists the keys of effects that are neither done nor dead, and of outboxes that
// hold something. The counters of what is owed may be wrong; these keys are what counts.
func (w *world) left(ctx context.Context) (keys []string, err error) {
	scan := w.client.Scan(ctx, 0, "earshot:*", 1000).Iterator()
	for scan.Next(ctx) {
		key := scan.Val()
		if strings.Contains(key, ":outbox:") {
			keys = append(keys, key)
		}
		if !strings.Contains(key, ":effect:") {
			continue
		}
		found, err := w.client.HGet(ctx, key, "state").Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, err
		}
		if found != "dead" {
			keys = append(keys, key)
		}
	}
	return keys, scan.Err()
}

// close ends everything.
func (w *world) close() {
	for _, r := range w.replicas {
		r.close()
	}
	for _, p := range []*process{w.redis, w.nats} {
		if p != nil {
			p.kill()
		}
	}
	if w.proxy != nil {
		w.proxy.close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	for _, server := range []*httptest.Server{w.model, w.endpoint} {
		server.CloseClientConnections()
		server.Close()
	}
}

// app is the definition of an app; its credentials are planted ones.
func (w *world) app() string {
	return fmt.Sprintf(`{"settings":{"limits":null},"signingSecret":%q,"modules":[{"moduleId":"calendar","secret":%q,"tokenUrl":%q}]}`,
		w.secrets.signing, w.secrets.module, w.endpoint.URL+"/token")
}

// desk is the repository of all tools but those that fire once.
func (w *world) desk() string {
	basic := fmt.Sprintf(`"auth":"basic","basic":{"username":%q,"password":%q}`, user, w.secrets.password)
	tool := func(name, path, request string, more ...string) string {
		return fmt.Sprintf(`{"name":%q,"url":%q,"emitter":"calendar.request","request":{%s},"schema":[{"parameter":"day","type":"string","required":true}]%s}`,
			name, w.endpoint.URL+path, request, strings.Join(append([]string{""}, more...), ","))
	}
	answered := func(name, within string) string {
		return fmt.Sprintf(`{"name":%q,"answer":{"within":%q},"request":{"timeout":"200ms"},"schema":[{"parameter":"day","type":"string"}]}`, name, within)
	}
	return `{"tools":[` + strings.Join([]string{
		`{"name":"note","schema":[{"parameter":"day","type":"string","required":true}]}`,
		tool("book", "/ok", `"auth":"module","moduleId":"calendar"`), tool("order", "/busy", basic), tool("risky", "/dead", basic),
		tool("hang", "/hang", `"timeout":"1s"`), tool("drip", "/drip", `"timeout":"1s"`), tool("giga", "/giga", `"timeout":"2s"`),
		tool("lamp", "/ok", "", `"settle":"300ms"`), tool("mail", "/ok", "", `"settle":"1s","cancelOnNext":true`),
		tool("refund", "/ok", `"idempotent":false`, `"confirm":"always"`), tool("alarm", "/ok", "", `"dedupe":{"within":"10m","scope":"app"}`),
		tool("guard", "/ok", "", `"confirm":"always","settle":"200ms","dedupe":{"within":"10m"}`),
		answered("ask", "10m"), answered("mute", "1s"),
		tool("charge", "/ok", `"idempotent":false`), tool("pledge", "/hang", `"idempotent":false,"timeout":"1s"`),
	}, ",") + `]}`
}

// once is a repository of which one tool fires, and then it is gone.
func (w *world) once(name string) string {
	return fmt.Sprintf(`{"options":{"triggerOnce":true},"tools":[{"name":"%s-a","url":%q},{"name":"%s-b"}]}`, name, w.endpoint.URL+"/ok", name)
}

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
