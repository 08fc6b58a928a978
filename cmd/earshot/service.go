package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
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
	"earshot/cmd/earshot/redisdb"
	"earshot/deploy/docs"
	"earshot/emitter"
	"earshot/httpcall"
	"earshot/httpcall/guard"
	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/evidence"
	"earshot/matcher/llm"
	"earshot/matcher/llm/embeddings"
	"earshot/repositories/audit"
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
	"earshot/trigger/trial"
	"earshot/trigger/usage"
	"earshot/trigger/worker"
)

// service is one replica with all its parts. Adapters meet only here.
type service struct {
	config       config
	env          environment
	log          *slog.Logger
	db           *keyspace.DB
	redisGate    *redisdb.Gate
	store        *store.Store
	audit        *audit.Log
	usage        *usage.Counter
	rehearser    *trial.Rehearser
	matcher      *chain.Chain
	embeddings   *embeddings.Space // nil without an embedding model
	sealer       *store.Sealer
	sealingWatch *sealing.Watch
	emitter      *emitter.Emitter
	tail         *emitter.Tail
	intake       *emitter.Intake
	caller       *httpcall.Caller
	runner       *sqlquery.Runner
	engine       *trigger.Engine
	refresher    *refresh.Refresher
	http         *http.Server
	shutdown     server.Parting
	loading      atomic.Bool      // the files of dev are not loaded yet
	ingress      *natsrpc.Service // over NATS; nil if off
	telemetry    telemetry
	listener     net.Listener
	certificate  *servedCertificate // for HTTPS; nil for HTTP
}

// newService wires a replica and opens its listener, so that a taken port fails at start.
func newService(c config, embeddedRedis bool, env environment, log *slog.Logger) (*service, error) {
	s := &service{config: c, env: env, log: log}
	slog.SetDefault(log) // also for libraries that print by package log, such as net/http's client
	for _, step := range []func() error{
		func() error { return s.openStore(embeddedRedis) }, s.openDeliverers, s.openEngine,
		func() error {
			listener, err := net.Listen("tcp", c.Addr)
			if err != nil {
				return fmt.Errorf("cannot listen on %s: %w; choose another address with --addr or EARSHOT_ADDR", c.Addr, err)
			}
			s.listener = server.Listener{Listener: listener}
			return nil
		},
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *service) openStore(embedded bool) error {
	redis.SetLogger(redisdb.Logger{Log: s.log})
	client, err := redisdb.Open(s.config.RedisURL.Reveal(), s.config.RedisTLS)
	if err != nil {
		return err
	}
	s.redisGate = redisdb.NewGate(client)
	if embedded {
		s.redisGate.Open() // the embedded store is new
	}
	s.db = &keyspace.DB{UniversalClient: client, Embedded: embedded}
	if !embedded { // the embedded store has no replicas
		s.db.Replicas = s.config.RedisReplicas
	}
	if s.sealer, err = s.config.sealer(); err != nil {
		return err
	}
	s.store = store.New(s.db, store.Options{Sealer: s.sealer, SessionTTL: s.config.SessionTTL, Retention: s.config.Retention, Now: s.env.now})
	s.sealingWatch = sealing.NewWatch(sealing.Walk{DB: s.db, Sealer: s.sealer}, s.log, s.env.now, s.env.pause)
	return nil
}

// openDeliverers creates the deliverers of events, calls and statements; calls and databases share one policy.
func (s *service) openDeliverers() (err error) {
	s.emitter, err = emitter.Connect(s.config.NATSURL.Reveal(), emitter.Options{
		MaxAge: s.config.StreamMaxAge, MaxBytes: int64(s.config.StreamMax), Replicas: s.config.NATSReplicas, Login: s.config.NATSLogin, Logger: s.log,
		Now: s.env.now,
	})
	if err != nil {
		return err
	}
	s.tail, s.intake = s.emitter.Tail(0), s.emitter.Intake()
	policy, _ := guard.ParsePolicy(s.config.PrivateURLs) // checked by check
	s.caller = httpcall.New(httpcall.Options{Apps: s.store, Policy: policy, Logger: s.log, Now: s.env.now})
	dial := guard.Dial(policy)
	guardedDial := func(ctx context.Context, network, address string) (net.Conn, error) { // converts refusals to sqlquery's error
		conn, err := dial(ctx, network, address)
		if blocked, isBlocked := errors.AsType[*guard.Blocked](err); isBlocked {
			return nil, fmt.Errorf("%w: %s", sqlquery.ErrRefused, blocked)
		}
		return conn, err
	}
	s.runner = sqlquery.New(sqlquery.Options{Apps: s.store, Dial: guardedDial, SQLiteDir: s.config.SQLiteDir, Logger: s.log})
	return nil
}

func (c config) models(log *slog.Logger, env environment) llm.Options {
	return llm.Options{
		BaseURL: c.OpenAIBaseURL, Key: c.OpenAIKey, Model: c.OpenAIModel, Anthropic: c.Anthropic, Gemini: c.Gemini, Cohere: c.Cohere,
		Timeout: c.LLMTimeout, History: c.History, Logger: log, Now: env.now,
	}
}

func (s *service) openEngine() (err error) {
	registry, metrics, models := prometheus.NewRegistry(), worker.NewMetrics(), newLLMMetrics()
	if s.telemetry, err = openTelemetry(context.Background(), s.env, registry, s.log); err != nil {
		return err
	}
	redisMemory := func(ctx context.Context) (used, limit int64, err error) { return redisdb.Memory(ctx, s.db) }
	registry.MustRegister(buildInfo(), panics.Metrics(), metrics, models.seconds, models.tokens, s.emitter, s.sealingWatch, newCapacityMetrics(s.env.now, redisMemory, s.emitter.Usage),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.config.TLSCert != "" {
		if s.certificate, err = openCertificate(s.config.certificate(), s.env.now, s.log); err != nil {
			return err
		}
		registry.MustRegister(s.certificate.expiry())
	}
	modelOptions := s.config.models(s.log, s.env)
	s.usage = usage.NewCounter(s.db, s.env.now)
	if s.config.MetricsApps > 0 {
		registry.MustRegister(s.usage.ByApp(s.config.MetricsApps))
	}
	modelOptions.Observe, modelOptions.HTTPClient = func(exchange llm.Exchange) {
		models.observe(exchange)
		s.usage.Add(exchange.App, usage.ModelRequests, 1)
		s.usage.Add(exchange.App, usage.PromptTokens, exchange.Usage.Prompt)
		s.usage.Add(exchange.App, usage.CompletionTokens, exchange.Usage.Completion)
	}, llm.NewHTTPClient(s.config.MaxTurns)
	if endpoint, _ := s.config.embedder(); endpoint.Model != "" { // checked by check
		s.embeddings = embeddings.New(embeddings.Options{
			Endpoint: endpoint, Store: s.store, Timeout: s.config.LLMTimeout, Logger: s.log, Now: s.env.now,
			HTTPClient: llm.NewHTTPClient(s.config.MaxTurns),
		})
		s.store.OnWrite(s.embeddings.Learn)
		modelOptions.Meaning = s.embeddings
	}
	s.matcher = chain.New(modelOptions)
	var offlineMatcher matcher.Matcher
	if !modelOptions.Configured() {
		offlineMatcher = s.matcher
	}
	s.audit = &audit.Log{DB: s.db, Entries: s.config.Audit.Entries, Retention: s.config.Audit.Retention, Now: s.env.now}
	s.engine, err = trigger.NewEngine(trigger.Options{
		Audit: s.audit, Usage: s.usage, DB: s.db, Store: s.store, Matcher: s.matcher, Words: offlineMatcher,
		Events: s.config.screen.watch(s.emitter), Calls: s.config.screen.watch(s.caller), Statements: s.config.screen.watch(s.runner), Answers: s.intake, Webhooks: s.caller, Stream: s.emitter,
		Logger: s.log, Metrics: metrics, Tracer: s.telemetry.tracer(), History: s.config.History, LogTexts: s.config.LogTexts,
		Now: s.env.now,
	})
	if err != nil {
		return err
	}
	s.rehearser = &trial.Rehearser{Engine: s.engine, Words: s.matcher, History: s.config.History, Now: s.env.now}
	if modelOptions.Configured() {
		s.rehearser.Words, s.rehearser.Models = chain.New(llm.Options{}), s.matcher
	}
	s.store.OnChange(s.engine.Wake)
	s.refresher = refresh.New(refresh.Options{Store: s.store, Offer: s.caller.Offered, Listen: s.caller.Listen, Pause: s.env.pause, Logger: s.log})
	s.openServer(registry)
	return nil
}

const mostChats = 1024

// openServer creates the HTTP server. Issuers of ID tokens are named by tenants, so the policy of tools applies
// to them.
func (s *service) openServer(registry *prometheus.Registry) {
	policy, _ := guard.ParsePolicy(s.config.PrivateURLs) // checked by check
	closing := make(chan struct{})
	signIns := signin.New(s.env.now, registry)
	walls := ratelimit.New(admission.Bounds{Turns: s.config.MaxTurns, Requests: s.config.MaxRequests, Waiting: s.config.MaxWaiting}, registry, s.env.now)
	relay := llm.Config{Key: s.config.OpenAIKey, BaseURL: s.config.OpenAIBaseURL}.WithDefaults(llm.OpenAI, "") // chats go to OpenAI or a compatible endpoint
	var origins api.Origins = s.store
	if s.config.localPages {
		origins = &localOrigins{Origins: s.store, log: s.log}
	}
	rest := api.New(api.Options{
		SignIns: signIns, Audit: s.audit, Usage: s.usage, Rehearser: s.rehearser,
		Store: s.store, Engine: s.engine, Models: s.matcher, AdminKey: s.config.AdminKey, Logger: s.log, Metrics: registry, Tracer: s.telemetry.tracer(), Now: s.env.now,
		Keys: s.store, Tokens: s.sealer, Origins: origins, Events: s.tail, Memory: &erasure.Eraser{Store: s.store, Ledger: ledger.New(s.db), Events: s.emitter, Answers: s.intake}, Closing: closing, NATSURL: s.config.ownNATS,
		Model: gateway.Model{
			BaseURL: relay.BaseURL, Key: relay.Key, Redact: httpcall.Redacting(relay.Key), Headers: s.config.RelayHeaders, Transport: llm.NewHTTPClient(mostChats).Transport, Arguments: llm.ReadArguments, Read: evidence.Read,
		},
		SERMAS: s.config.SERMAS.on(), Lineages: s.store, Manual: docs.Files,
		Walls:      walls,
		Identities: identity.New(identity.Options{Transport: guard.Transport(policy, nil), Logger: s.log, Now: s.env.now}),
		Reach:      guard.Reach(policy), Prepare: s.runner.Check, Offer: s.caller.Offered,
		PendingCalls: pendingcalls.New(s.db, s.store.SessionTTL(), s.env.now), Webhooks: s.engine.Webhooks, Retention: s.store.Retention().Done,
		Ready: []api.Check{{Name: "redis", Ready: s.redisReady}, {Name: "nats", Ready: s.emitter.Ready}, {Name: "this replica", Ready: s.replicaReady}},
	})
	if s.config.NATSIngress.on() {
		replies, _ := natsrpc.ParseReplies(s.config.NATSReplies) // checked by check
		s.ingress = natsrpc.New(natsrpc.Options{
			REST: rest, AdminKey: s.config.AdminKey, Keyed: s.config.NATSIngress.word == "keys", Program: version.Current().Version, ShutdownGrace: shutdownTimeout, Logger: s.log, Now: s.env.now,
			AtOnce: s.config.MaxTurns + s.config.MaxWaiting, Replies: replies, Metrics: registry,
			Connect: func(trouble nats.ErrHandler) (*nats.Conn, error) { // separate from events, which a flood of requests would delay
				return emitter.Dial(s.config.NATSURL.Reveal(), "earshot-requests", s.config.NATSLogin, trouble)
			},
		})
	}
	surfaces := sermas.New(sermas.Options{
		SignIns: signIns, Walls: walls,
		On: s.config.SERMAS.on(), REST: rest, Store: s.store, Tokens: s.sealer, TokenTTL: s.config.SERMASTTL, Now: s.env.now, NewID: rand.Text, Logger: s.log,
		Auth: auth.Authenticator{Admin: s.config.AdminKey, Keys: s.store, Tokens: s.sealer, Now: s.env.now, SignIns: signIns},
	})
	proxies, _ := server.ParseProxies(s.config.Proxies) // checked by check
	s.http = server.New(s.config.Addr, server.Identified(proxies.Handler(s.shutdown.Handler(console.New(console.Options{REST: surfaces, Walls: walls, Sealer: s.sealer, Now: s.env.now})))))
	s.http.ErrorLog = slog.NewLogLogger(s.log.Handler(), slog.LevelInfo) // such as failed handshakes, which any client can cause
	s.http.RegisterOnShutdown(func() { close(closing) })
}

const telemetryTimeout = 3 * time.Second

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
	if s.embeddings != nil {
		s.embeddings.Close()
	}
	if s.emitter != nil {
		s.emitter.Close()
	}
	if s.db != nil {
		faults = append(faults, s.db.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), telemetryTimeout)
	defer cancel()
	if err := s.telemetry.close(ctx); err != nil { // only spans are lost
		s.log.Warn("telemetry.unsent", "error", err.Error())
	}
	return errors.Join(faults...)
}

// redisReady returns nil if all shards of Redis accept writes, with the replicas that answers wait for, and the stored
// credentials use our key.
func (s *service) redisReady(ctx context.Context) error {
	shards := s.db.ReplicatedShards(ctx)
	unavailable := &api.Unavailable{}
	for _, shard := range shards {
		if shard.Err != nil {
			unavailable.Parts = append(unavailable.Parts, api.Part{Name: shard.Name, Err: shard.Err})
		}
	}
	unavailable.All = len(unavailable.Parts) == len(shards)
	if unavailable.All || len(unavailable.Parts) > 0 {
		return unavailable
	}
	if s.db.Embedded {
		return nil
	}
	err := s.store.CheckSecretKey(ctx)
	if errors.Is(err, store.ErrSecretKey) {
		return unready{err, "holds credentials that were encrypted with another secret key"}
	}
	return err
}

// replicaReady returns an error before the files of dev are loaded, and while the replica stops.
func (s *service) replicaReady(ctx context.Context) error {
	if s.loading.Load() {
		return unready{errors.New("the files are not loaded yet"), "loads its files"}
	}
	return s.shutdown.Ready(ctx)
}

// unready is an error that says publicly, by api.Public, why a part of the service is not ready.
type unready struct {
	error
	public string
}

func (u unready) Public() string { return u.public }
