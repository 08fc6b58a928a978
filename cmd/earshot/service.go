package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"earshot/api"
	"earshot/api/admission"
	"earshot/api/auth"
	"earshot/api/console"
	"earshot/api/gateway"
	"earshot/api/identity"
	"earshot/api/natsrpc"
	"earshot/api/ratelimit"
	"earshot/api/sermas"
	"earshot/api/server"
	"earshot/api/signin"
	"earshot/cmd/earshot/certificate"
	"earshot/cmd/earshot/redisdb"
	"earshot/cmd/earshot/room"
	"earshot/cmd/earshot/telemetry"
	"earshot/emitter"
	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/evidence"
	"earshot/matcher/llm"
	"earshot/matcher/llm/embeddings"
	"earshot/repositories/keyspace"
	"earshot/repositories/panics"
	"earshot/repositories/store"
	"earshot/repositories/version"
	"earshot/trigger"
	"earshot/trigger/erasure"
	"earshot/trigger/ledger"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/refresh"
	"earshot/trigger/sealing"
	"earshot/trigger/sqlquery"
	"earshot/trigger/worker"
)

// service is one replica: everything wired together. Adapters meet here and nowhere
// else.
type service struct {
	config    config
	env       environment
	log       *slog.Logger
	db        *keyspace.DB
	redisGate *redisdb.Gate
	store     *store.Store
	matcher   *chain.Chain
	space     *embeddings.Space // nil: no model embeds
	sealer    *store.Sealer
	sealed    *sealing.Watch
	emitter   *emitter.Emitter
	tail      *emitter.Tail
	intake    *emitter.Intake
	caller    *httpcall.Caller
	runner    *sqlquery.Runner
	engine    *trigger.Engine
	refresher *refresh.Refresher
	http      *http.Server
	parting   server.Parting
	ingress   *natsrpc.Service // over NATS; nil: it is off
	telemetry *telemetry.Telemetry
	listener  net.Listener
	// certificate is what HTTPS is served with; nil: it is HTTP.
	certificate *certificate.Current
}

// newService wires a replica. It connects to nothing yet, but listens already, so that a
// port that is taken is a fault at start.
func newService(c config, embeddedRedis bool, env environment, log *slog.Logger) (*service, error) {
	s := &service{config: c, env: env, log: log}
	for _, step := range []func() error{
		s.openCertificate, func() error { return s.openStore(embeddedRedis) }, s.openEmitter, s.openAdapters, s.openEngine, s.listen,
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *service) openCertificate() (err error) {
	if s.config.TLSCert != "" {
		s.certificate, err = certificate.Open(s.config.certificate(), s.env.now, s.log)
	}
	return err
}

func (s *service) openStore(embedded bool) error {
	redis.SetLogger(redisdb.Logger{Log: s.log})
	client, err := redisdb.Open(s.config.RedisURL.Reveal(), s.config.RedisTLS)
	if err != nil {
		return err
	}
	s.redisGate = redisdb.NewGate(client)
	if embedded {
		s.redisGate.Open() // it is our own, and new
	}
	s.db = &keyspace.DB{UniversalClient: client, Embedded: embedded}
	if !embedded { // which has no replicas
		s.db.Replicas = s.config.RedisReplicas
	}
	if s.sealer, err = s.config.sealer(); err != nil {
		return err
	}
	s.store = store.New(s.db, store.Options{Sealer: s.sealer, SessionTTL: s.config.SessionTTL, Retention: s.config.Retention, Now: s.env.now})
	s.sealed = sealing.NewWatch(sealing.Walk{DB: s.db, Sealer: s.sealer}, s.log, s.env.now, s.env.pause)
	return nil
}

func (s *service) openEmitter() (err error) {
	s.emitter, err = emitter.Connect(s.config.NATSURL.Reveal(), emitter.Options{
		MaxAge: s.config.StreamMaxAge, MaxBytes: int64(s.config.StreamMax), Replicas: s.config.NATSReplicas, Login: s.config.NATSLogin, Logger: s.log,
		Now: s.env.now,
	})
	if err != nil {
		return err
	}
	s.tail, s.intake = s.emitter.Tail(0), s.emitter.Intake()
	return nil
}

// openAdapters makes the callers of endpoints and of databases, which follow one policy.
func (s *service) openAdapters() error {
	policy, err := guard.ParsePolicy(s.config.PrivateURLs)
	if err != nil {
		return err
	}
	s.caller = httpcall.New(httpcall.Options{Apps: s.store, Policy: policy, Logger: s.log, Now: s.env.now})
	s.runner = sqlquery.New(sqlquery.Options{Apps: s.store, Dial: dialUnder(policy), SQLiteDir: s.config.SQLiteDir, Logger: s.log})
	return nil
}

// models are the models that decide, as they are configured.
func (c config) models(log *slog.Logger, env environment) llm.Options {
	return llm.Options{
		BaseURL: c.OpenAIBaseURL, Key: c.OpenAIKey, Model: c.OpenAIModel, Anthropic: c.Anthropic, Gemini: c.Gemini, Cohere: c.Cohere,
		Timeout: c.LLMTimeout, History: c.History, Logger: log, Now: env.now,
	}
}

func (s *service) openEngine() (err error) {
	registry, metrics := prometheus.NewRegistry(), worker.NewMetrics()
	if s.telemetry, err = telemetry.Open(context.Background(), telemetry.Options{Lookup: s.env.lookup, Version: version.Current().Version, Gather: registry, Log: s.log, Now: s.env.now}); err != nil {
		return err
	}
	models := newLLMMetrics()
	registry.MustRegister(buildInfo(), panics.Metrics(), metrics, models, s.emitter, s.sealed, room.New(s.env.now, s.redisMemory, s.emitter.Room), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.certificate != nil {
		registry.MustRegister(s.certificate)
	}
	of := s.config.models(s.log, s.env)
	of.Observe, of.HTTPClient = models.observe, llm.NewHTTPClient(s.config.MaxTurns)
	if s.openSpace(); s.space != nil {
		of.Meaning = s.space
	}
	s.matcher = chain.New(of)
	var words matcher.Matcher
	if !of.Configured() {
		words = s.matcher
	}
	s.engine, err = trigger.NewEngine(trigger.Options{
		DB: s.db, Store: s.store, Matcher: s.matcher, Words: words,
		Events: s.config.screen.Watch(s.emitter), Calls: s.config.screen.Watch(s.caller), Statements: s.config.screen.Watch(s.runner), Answers: s.intake,
		Logger: s.log, Metrics: metrics, Tracer: s.telemetry.Tracer(), History: s.config.History, LogTexts: s.config.LogTexts,
		Now: s.env.now,
	})
	if err != nil {
		return err
	}
	s.store.OnChange(s.engine.Wake)
	s.refresher = refresh.New(refresh.Options{Store: s.store, Offer: s.caller.Offered, Pause: s.env.pause, Logger: s.log})
	return s.openServer(registry)
}

// openSpace begins to compare what texts mean, where a model that embeds is configured.
func (s *service) openSpace() {
	endpoint, _ := s.config.embedder() // was checked
	if endpoint.Model == "" {
		return
	}
	s.space = embeddings.New(embeddings.Options{
		Endpoint: endpoint, Store: s.store, Timeout: s.config.LLMTimeout, Logger: s.log, Now: s.env.now,
		HTTPClient: llm.NewHTTPClient(s.config.MaxTurns),
	})
	s.store.OnWrite(s.space.Learn)
}

// openServer makes the HTTP server. Issuers of ID tokens are named by tenants, so they are
// reached under the policy of tools.
func (s *service) openServer(registry *prometheus.Registry) error {
	policy, err := guard.ParsePolicy(s.config.PrivateURLs)
	if err != nil {
		return err
	}
	closing := make(chan struct{})
	signIns := signin.New(s.env.now, registry)
	walls := ratelimit.New(admission.Bounds{Turns: s.config.MaxTurns, Requests: s.config.MaxRequests, Waiting: s.config.MaxWaiting}, registry, s.env.now)
	rest := api.New(api.Options{
		SignIns: signIns,
		Store:   s.store, Engine: s.engine, Models: s.matcher, AdminKey: s.config.AdminKey, Logger: s.log, Metrics: registry, Tracer: s.telemetry.Tracer(), Now: s.env.now,
		Keys: s.store, Tokens: s.sealer, Origins: s.store, Events: s.tail, Memory: &erasure.Eraser{Store: s.store, Ledger: ledger.New(s.db), Events: s.emitter, Answers: s.intake}, Closing: closing, NATSURL: s.config.ownNATS,
		Model: s.chatModel(), SERMAS: bool(s.config.SERMAS), Lineages: s.store,
		Walls:      walls,
		Identities: identity.New(identity.Options{Transport: guard.Transport(policy, nil), Logger: s.log, Now: s.env.now}),
		Reach:      guard.Reach(policy), Prepare: s.runner.Check, Offer: s.caller.Offered,
		Asked: pendingcalls.New(s.db, s.env.now), Kept: s.store.Retention().Done,
		Ready: []api.Check{{Name: "redis", Ready: s.redisReady}, {Name: "nats", Ready: s.emitter.Ready}, {Name: "this replica", Ready: s.parting.Ready}},
	})
	if s.config.NATSIngress {
		replies, _ := natsrpc.ParseReplies(s.config.NATSReplies) // was checked
		s.ingress = natsrpc.New(natsrpc.Options{
			REST: rest, AdminKey: s.config.AdminKey, Connect: s.dialNATS, Program: version.Current().Version, Parting: shutdownTimeout, Logger: s.log, Now: s.env.now,
			AtOnce: s.config.MaxTurns + s.config.MaxWaiting, Replies: replies, Metrics: registry,
		})
	}
	proxies, _ := server.ParseProxies(s.config.Proxies) // was checked
	s.http = server.New(s.config.Addr, proxies.Handler(s.parting.Handler(console.New(console.Options{REST: s.withSERMAS(rest, signIns, walls), Walls: walls, Sealer: s.sealer, Now: s.env.now}))))
	s.http.RegisterOnShutdown(func() { close(closing) })
	return nil
}

// withSERMAS serves the clients of SERMAS as well.
func (s *service) withSERMAS(rest http.Handler, signIns *signin.Guard, walls *ratelimit.Walls) http.Handler {
	return sermas.New(sermas.Options{
		SignIns: signIns, Walls: walls,
		On: bool(s.config.SERMAS), REST: rest, Store: s.store, Tokens: s.sealer, TokenTTL: s.config.SERMASTTL, Now: s.env.now, NewID: rand.Text, Logger: s.log,
		Auth: auth.Authenticator{Admin: s.config.AdminKey, Keys: s.store, Tokens: s.sealer, Now: s.env.now, SignIns: signIns},
	})
}

// chatModel is the model that chats are relayed to: OpenAI's, or what is compatible with it.
func (s *service) chatModel() gateway.Model {
	of := llm.Config{Key: s.config.OpenAIKey, BaseURL: s.config.OpenAIBaseURL}.WithDefaults(llm.OpenAI, "")
	return gateway.Model{BaseURL: of.BaseURL, Key: of.Key, Headers: s.config.RelayHeaders, Transport: llm.NewHTTPClient(mostChats).Transport, Arguments: llm.ReadArguments, Read: evidence.Read}
}

// mostChats is how many connections to the model are kept that chats are relayed over.
const mostChats = 1024

// dialNATS makes the connection that requests over NATS come by. It is not that of the events,
// whose delivery a flood of requests would hold up.
func (s *service) dialNATS(trouble nats.ErrHandler) (*nats.Conn, error) {
	return emitter.Dial(s.config.NATSURL.Reveal(), "earshot-requests", s.config.NATSLogin, trouble)
}

func (s *service) listen() (err error) {
	s.listener, err = net.Listen("tcp", s.config.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with --addr or EARSHOT_ADDR", s.config.Addr, err)
	}
	s.listener = server.Listener{Listener: s.listener}
	return nil
}

// telemetryTimeout is how long an end waits for a collector.
const telemetryTimeout = 3 * time.Second

// close closes everything that was opened.
func (s *service) close() error {
	var faults []error
	if s.listener != nil {
		if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
			faults = append(faults, err)
		}
	}
	if s.caller != nil {
		s.caller.CloseIdleConnections()
	}
	if s.runner != nil {
		s.runner.Close()
	}
	if s.space != nil {
		s.space.Close()
	}
	if s.emitter != nil {
		s.emitter.Close()
	}
	if s.db != nil {
		faults = append(faults, s.db.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTimeout)
	defer cancel()
	if err := s.telemetry.Close(ctx); err != nil { // spans are lost, and nothing else
		s.log.Warn("telemetry.unsent", "error", err.Error())
	}
	return errors.Join(faults...)
}

// redisReady reports whether Redis takes writes, of a cluster at least one shard, and is the one
// that the secret key is for.
func (s *service) redisReady(ctx context.Context) error {
	shards := s.db.Shards(ctx)
	away := &api.Away{}
	for _, shard := range shards {
		if shard.Err != nil {
			away.Parts = append(away.Parts, api.Part{Name: shard.Name, Err: shard.Err})
		}
	}
	if away.All = len(away.Parts) == len(shards); away.All {
		return away
	}
	if len(away.Parts) > 0 {
		return away
	}
	if s.db.Embedded {
		return nil
	}
	err := s.store.CheckSecretKey(ctx)
	if errors.Is(err, store.ErrSecretKey) {
		return otherKey{err}
	}
	return err
}

// redisMemory is how much Redis holds, and may.
func (s *service) redisMemory(ctx context.Context) (used, limit int64, err error) {
	return redisdb.Memory(ctx, s.db)
}

// otherKey is the error of a Redis that belongs to another secret key.
type otherKey struct{ error }

// Public implements api.Public.
func (otherKey) Public() string { return "holds what another secret key has sealed" }

// buildInfo is a metric of which version a replica is. Its value is always 1, so that others can be
// multiplied with it for its labels.
func buildInfo() prometheus.Collector {
	of := version.Current()
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "earshot_build_info", Help: "What this replica was built from; the value is 1.",
		ConstLabels: prometheus.Labels{"version": of.Version, "commit": of.Commit, "go": of.Go},
	})
	info.Set(1)
	return info
}

// llmMetrics is a collector of the requests to LLMs. The names of its metrics are public.
type llmMetrics struct {
	seconds prometheus.Histogram
	tokens  *prometheus.CounterVec
}

func newLLMMetrics() *llmMetrics {
	m := &llmMetrics{
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "earshot_llm_seconds", Help: "Time of one request to the LLM.", Buckets: prometheus.ExponentialBuckets(0.01, 2, 12),
		}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "earshot_llm_tokens_total", Help: "Tokens that the LLM has counted; those of kind cached are among those of kind prompt.",
		}, []string{"kind"}),
	}
	for _, kind := range []string{"prompt", "cached", "completion"} {
		m.tokens.WithLabelValues(kind)
	}
	return m
}

func (m *llmMetrics) observe(exchange llm.Exchange) {
	m.seconds.Observe(exchange.Took.Seconds())
	m.tokens.WithLabelValues("prompt").Add(float64(exchange.Usage.Prompt))
	m.tokens.WithLabelValues("cached").Add(float64(exchange.Usage.Cached))
	m.tokens.WithLabelValues("completion").Add(float64(exchange.Usage.Completion))
}

// Describe implements prometheus.Collector.
func (m *llmMetrics) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, out) }

// Collect implements prometheus.Collector.
func (m *llmMetrics) Collect(out chan<- prometheus.Metric) {
	m.seconds.Collect(out)
	m.tokens.Collect(out)
}

// dialUnder returns a dialer for databases that follows the policy of HTTP calls. httpcall
// and sqlquery do not know each other, so a refusal is translated here.
func dialUnder(policy guard.Policy) func(context.Context, string, string) (net.Conn, error) {
	dial := guard.Dial(policy)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		var blocked *guard.Blocked
		if errors.As(err, &blocked) {
			return nil, fmt.Errorf("%w: %s", sqlquery.ErrRefused, blocked)
		}
		return conn, err
	}
}
