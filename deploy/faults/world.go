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

	"earshot/deploy/faults/endpoints"
	"earshot/deploy/faults/servers"
	"earshot/deploy/testbed"
	"earshot/repositories/keyspace"
)

// world is the service with all that is around it.
type world struct {
	dir      string
	programs programs
	secrets  *planted
	redis    *servers.Process // nil where there is a cluster
	cluster  *servers.Cluster
	layout   *layout
	losses   []loss
	nats     *servers.Process
	broker   string         // URL of NATS
	proxy    *servers.Proxy // of the one Redis
	llm      *endpoints.Model
	model    *httptest.Server
	sink     *endpoints.Sink
	endpoint *httptest.Server
	remote   *httptest.Server // the MCP server of the sink, at an address of its own
	replicas []*replica
	client   redis.UniversalClient
	clients  *clients
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

// newWorld starts the servers and the replicas of an era, which stay up until close.
func newWorld(ctx context.Context, r era, plan *schedule, o options) (*world, error) {
	w := &world{dir: r.dir, programs: o.programs, secrets: plant(), plan: plan, options: o, full: r.full, layout: r.cluster}
	w.llm = endpoints.NewModel(w.secrets.look)
	w.model = httptest.NewServer(w.llm)
	w.sink = endpoints.NewSink(w.secrets.token, w.secrets.look)
	w.sink.Remote.Key = w.secrets.remote
	w.endpoint, w.remote = httptest.NewServer(w.sink), httptest.NewServer(w.sink)
	for _, step := range []func() error{w.startStore, w.startNATS} {
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

// startStore starts the one Redis behind its proxy, or the cluster, whose nodes are reached
// directly.
func (w *world) startStore() (err error) {
	if w.layout == nil {
		return w.startRedis()
	}
	if w.cluster, err = servers.StartCluster(w.dir, w.programs.redis, w.layout.settings()...); err == nil {
		w.client = w.cluster.Client
	}
	return err
}

func (w *world) startRedis() error {
	port, err := testbed.Port()
	if err != nil {
		return err
	}
	data := w.data()
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	w.redis = servers.New(w.dir, "redis", w.programs.redis, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", data,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	w.client = redis.NewClient(&redis.Options{Addr: servers.Address(port), PoolSize: 4})
	if w.proxy, err = servers.NewProxy(servers.Address(port), uint64(w.plan.seed)); err != nil {
		return err
	}
	return w.upRedis()
}

func (w *world) upRedis() error {
	if err := w.redis.Start(); err != nil {
		return err
	}
	return servers.Until(servers.ComeUp, func() bool { return w.client.Ping(context.Background()).Err() == nil })
}

// startNATS has every acknowledged event on the disk before it is acknowledged.
func (w *world) startNATS() error {
	port, err := testbed.Port()
	if err != nil {
		return err
	}
	w.broker = "nats://" + servers.Address(port)
	file := filepath.Join(w.dir, "nats.conf")
	config := fmt.Sprintf("listen: %s\njetstream { store_dir: %q, sync_interval: always, max_file_store: 1TB }\n", servers.Address(port), filepath.Join(w.dir, "nats"))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	w.nats = servers.New(w.dir, "nats", w.programs.nats, "--config", file)
	if err := w.nats.Start(); err != nil {
		return err
	}
	return servers.Until(servers.ComeUp, func() bool {
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
		"EARSHOT_ADDR=" + addr, "NATS_URL=" + w.broker,
		"OPENAI_API_KEY=" + w.secrets.llm, "OPENAI_BASE_URL=" + w.model.URL + "/v1",
		"EARSHOT_ADMIN_KEY=" + w.secrets.admin, "EARSHOT_SECRET_KEY=" + w.secrets.key, "EARSHOT_PRIVATE_URLS=allow", "EARSHOT_DRAIN=0s",
		"EARSHOT_FLAW=" + string(w.options.flaw), "EARSHOT_SESSION_MESSAGES=1000000", // the books need the whole history
	}
	if w.cluster != nil {
		env = append(env, "REDIS_URL="+w.cluster.URL(), fmt.Sprintf("EARSHOT_REDIS_WAIT=%d", w.layout.wait))
	} else {
		env = append(env, "REDIS_URL=redis://"+w.proxy.Addr())
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
		if err := servers.Until(w.options.ready, ready); err != nil {
			return fmt.Errorf("replica %d: %w; see %s", r.slot, err, r.process.Log)
		}
	}
	return ctx.Err()
}

// rest waits until nothing is owed any more. What waits for a yes then gets none.
func (w *world) rest(limit time.Duration) error {
	if err := w.expire(); err != nil {
		return err
	}
	if servers.Until(limit, func() bool { w.makeRoom(); return w.due() == 0 }) == nil {
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
	var mu sync.Mutex
	err = w.eachMaster(ctx, func(ctx context.Context, server *redis.Client) error {
		for scan := server.Scan(ctx, 0, "earshot:*", 1000).Iterator(); ; {
			if !scan.Next(ctx) {
				return scan.Err()
			}
			open, err := isOpen(ctx, server, scan.Val())
			if err != nil {
				return err
			}
			if open {
				mu.Lock()
				keys = append(keys, scan.Val())
				mu.Unlock()
			}
		}
	})
	return keys, err
}

// isOpen reports whether a key is of an outbox, or of an effect that is not dead.
func isOpen(ctx context.Context, server *redis.Client, key string) (bool, error) {
	if !strings.Contains(key, ":effect:") {
		return strings.Contains(key, ":outbox:"), nil
	}
	stands, err := server.HGet(ctx, key, "state").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	return stands != "dead", nil
}

// close ends everything.
func (w *world) close() {
	for _, r := range w.replicas {
		r.close()
	}
	for _, p := range []*servers.Process{w.redis, w.nats} {
		if p != nil {
			p.Kill()
		}
	}
	if w.proxy != nil {
		w.proxy.Close()
	}
	if w.cluster != nil {
		w.cluster.Close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	for _, server := range []*httptest.Server{w.model, w.endpoint, w.remote} {
		server.CloseClientConnections()
		server.Close()
	}
}

var httpClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
