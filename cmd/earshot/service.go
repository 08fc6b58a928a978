package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"earshot/api"
	"earshot/api/identity"
	"earshot/cmd/earshot/redisdb"
	"earshot/emitter"
	"earshot/httpcall"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/repositories"
	"earshot/trigger"
	"earshot/trigger/sqlquery"
)

// graceful is how long what is in flight may take after a SIGTERM.
const graceful = 20 * time.Second

// service is one replica: everything wired together. Adapters meet here and nowhere
// else.
type service struct {
	config   config
	log      *slog.Logger
	db       *repositories.DB
	gate     *redisdb.Gate
	store    *repositories.Store
	matcher  *chain.Chain
	sealer   *repositories.Sealer
	emitter  *emitter.Emitter
	tail     *emitter.Tail
	caller   *httpcall.Caller
	runner   *sqlquery.Runner
	engine   *trigger.Engine
	http     *http.Server
	listener net.Listener
}

// newService wires a replica. It connects to nothing yet but listens already, so that
// a port that is taken is a fault at start.
func newService(c config, embeddedRedis bool, log *slog.Logger) (*service, error) {
	s := &service{config: c, log: log}
	for _, step := range []func() error{
		func() error { return s.openStore(embeddedRedis) }, s.openEmitter, s.openAdapters, s.openEngine, s.listen,
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *service) openStore(embedded bool) error {
	redis.SetLogger(redisdb.Logger{Log: s.log})
	client, err := redisdb.Open(s.config.RedisURL.Reveal())
	if err != nil {
		return err
	}
	s.gate = redisdb.NewGate(client)
	if embedded {
		s.gate.Open() // it is our own, and new
	}
	s.db = &repositories.DB{UniversalClient: client, Embedded: embedded}
	if !embedded { // which has no replicas
		s.db.Replicas = s.config.RedisReplicas
	}
	if s.sealer, err = s.config.sealer(); err != nil {
		return err
	}
	s.store = repositories.NewStore(s.db, repositories.StoreOptions{Sealer: s.sealer, SessionTTL: s.config.SessionTTL, Retention: s.config.Retention, Now: clock()})
	return nil
}

func (s *service) openEmitter() (err error) {
	s.emitter, err = emitter.Connect(s.config.NATSURL.Reveal(), emitter.Options{
		MaxAge: s.config.StreamMaxAge, MaxBytes: int64(s.config.StreamMax), Replicas: s.config.NATSReplicas, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.tail = s.emitter.Tail(0)
	return nil
}

// openAdapters makes what calls endpoints and databases, both under one policy.
func (s *service) openAdapters() error {
	policy, err := httpcall.ParsePolicy(s.config.PrivateURLs)
	if err != nil {
		return err
	}
	s.caller = httpcall.New(httpcall.Options{Apps: s.store, Policy: policy, Logger: s.log, Now: clock()})
	s.runner = sqlquery.New(sqlquery.Options{Apps: s.store, Dial: dialUnder(policy), SQLiteDir: s.config.SQLiteDir, Logger: s.log})
	return nil
}

func (s *service) openEngine() (err error) {
	registry, metrics := prometheus.NewRegistry(), trigger.NewMetrics()
	models := newLLMMetrics()
	registry.MustRegister(metrics, models, s.emitter, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	s.matcher = chain.New(llm.Options{
		BaseURL: s.config.OpenAIBaseURL, Key: s.config.OpenAIKey, Model: s.config.OpenAIModel,
		Anthropic: s.config.Anthropic, Gemini: s.config.Gemini, Cohere: s.config.Cohere,
		Timeout: s.config.LLMTimeout, History: s.config.History, Logger: s.log, Observe: models.observe,
	})
	s.engine, err = trigger.NewEngine(trigger.Options{
		DB: s.db, Store: s.store, Matcher: s.matcher, Events: s.emitter, Calls: s.caller, Statements: s.runner,
		Logger: s.log, Metrics: metrics, History: s.config.History, LogTexts: s.config.LogTexts,
		Now: clock(),
	})
	if err != nil {
		return err
	}
	s.store.OnChange(s.engine.Wake)
	return s.openServer(registry)
}

// openServer makes the HTTP side. Issuers of ID tokens are named by tenants: they are
// reached as far as tools are, and no further.
func (s *service) openServer(registry *prometheus.Registry) error {
	policy, err := httpcall.ParsePolicy(s.config.PrivateURLs)
	if err != nil {
		return err
	}
	closing := make(chan struct{})
	s.http = api.NewServer(s.config.Addr, api.New(api.Options{
		Store: s.store, Engine: s.engine, AdminKey: s.config.AdminKey, Logger: s.log, Metrics: registry,
		Keys: s.store, Tokens: s.sealer, Origins: s.store, Events: s.tail, Closing: closing,
		Turns: s.config.MaxTurns, Requests: s.config.MaxRequests, Waiting: s.config.MaxWaiting,
		Identities: identity.New(identity.Options{Transport: httpcall.Transport(policy), Logger: s.log}),
		Ready:      []api.Check{{Name: "redis", Ready: s.redisReady}, {Name: "nats", Ready: s.emitter.Ready}},
	}))
	s.http.RegisterOnShutdown(func() { close(closing) })
	return nil
}

func (s *service) listen() (err error) {
	s.listener, err = net.Listen("tcp", s.config.Addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with --addr or EARSHOT_ADDR", s.config.Addr, err)
	}
	s.listener = api.Listener{Listener: s.listener}
	return nil
}

// URL is where the service is reached.
func (s *service) URL() string {
	scheme := "http://"
	if s.config.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// serve answers requests until the server is shut down.
func (s *service) serve() error {
	if s.config.TLSCert != "" {
		return s.http.ServeTLS(s.listener, s.config.TLSCert, s.config.TLSKey)
	}
	return s.http.Serve(s.listener)
}

// run serves until ctx ends, then finishes what is in flight. It ends early where the
// server fails or Redis is one that cannot be used.
func (s *service) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		if err := s.serve(); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	}()
	working := make(chan struct{})
	go func() {
		defer close(working)
		if err := s.admit(ctx); err != nil {
			cancel(err)
			return
		}
		var running sync.WaitGroup
		running.Go(func() { s.tail.Run(ctx) })
		s.engine.Run(ctx)
		running.Wait()
	}()
	<-ctx.Done()
	s.log.Info("service.stopping")
	err := s.shutDown(working)
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

// admit opens the gate when Redis has been checked. Its error means that the service
// must end.
func (s *service) admit(ctx context.Context) error {
	if s.db.Embedded {
		return nil
	}
	return redisdb.Admission{
		URL: s.config.RedisURL.Reveal(), Strict: s.config.StrictRedis, Replicas: s.config.RedisReplicas.Count,
		Also: s.admitKey, Pause: pause, Log: s.log,
	}.Open(ctx, s.gate)
}

// shutDown takes no more messages, claims no more effects, and waits for what runs.
func (s *service) shutDown(working <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), graceful)
	defer cancel()
	err := s.http.Shutdown(ctx)
	<-working
	return errors.Join(err, s.engine.Stop(ctx), s.close())
}

// close lets go of what was opened.
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
	if s.emitter != nil {
		s.emitter.Close()
	}
	if s.db != nil {
		faults = append(faults, s.db.Close())
	}
	return errors.Join(faults...)
}
