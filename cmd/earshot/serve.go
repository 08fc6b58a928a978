package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/redisdb"
	"earshot/repositories/format"
	"earshot/repositories/keyspace"
	"earshot/repositories/store"
	"earshot/repositories/version"
)

func newServe(env environment) *cobra.Command {
	c := &config{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service on a Redis and a NATS server",
		Long: "Run one replica of the service. Several on the same Redis and NATS are one service,\n" +
			"and have one EARSHOT_SECRET_KEY: what is stored with one key opens with no other. The example makes one once.\n" +
			"Every flag with a variable in brackets may be given by that variable.",
		Example: "  test -s secret.key || (umask 077; head -c 32 /dev/urandom | base64 > secret.key); \\\n" +
			"  REDIS_URL=redis://127.0.0.1:6379 NATS_URL=nats://127.0.0.1:4222 \\\n" +
			"  EARSHOT_ADMIN_KEY=change-me EARSHOT_SECRET_KEY=$(cat secret.key) \\\n  earshot serve",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(c.required(), c.check(), c.checkFiles(env.now())); err != nil {
				return err
			}
			log := c.logger(env.err)
			c.warn(log)
			s, err := newService(*c, false, env, log)
			if err != nil {
				return err
			}
			paceCollector(env.lookup)
			defer s.takeHangups(s.supervised(cmd.Context()))()
			log.Info("service.listening", "version", version.Current().Version, "url", s.URL(), "matcher", s.matcher.Describe())
			return s.run(cmd.Context())
		},
	}
	c.register(cmd.Flags())
	return cmd
}

// shutdownTimeout bounds how long requests and effects in flight may take after a SIGTERM.
const shutdownTimeout = 20 * time.Second

// URL returns the address that the service listens on.
func (s *service) URL() string {
	scheme := "http://"
	if s.config.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// serve answers requests until the server is shut down.
func (s *service) serve() error {
	if s.certificate != nil {
		s.http.TLSConfig = &tls.Config{GetCertificate: s.certificate.Get}
		return s.http.ServeTLS(s.listener, "", "")
	}
	return s.http.Serve(s.listener)
}

// run serves until ctx ends, and then for as long as others need to notice; then it finishes
// what is in flight. It ends early if the HTTP server fails, or if Redis must not be used.
func (s *service) run(told context.Context) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(told))
	defer cancel(nil)
	defer context.AfterFunc(told, func() { s.drain(ctx, context.Cause(told)); cancel(nil) })()
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
		running.Go(func() { s.intake.Run(ctx, s.engine.TakeAnswer) })
		running.Go(func() { s.refresher.Run(ctx) })
		running.Go(func() { s.started(ctx) })
		running.Go(func() { s.watchSealed(ctx) })
		running.Go(func() { s.takeRequests(ctx, cancel) })
		running.Go(func() { s.watchFormat(ctx, cancel) })
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

// takeRequests takes requests over NATS until ctx ends, and then those that are here to their
// end, as the HTTP server does at the same time.
func (s *service) takeRequests(ctx context.Context, fail func(error)) {
	if s.ingress == nil {
		return
	}
	if err := s.ingress.Run(ctx); err != nil {
		fail(err)
	}
}

// watchSealed tells what no key opens. The store of dev is empty when it starts, and has one key.
func (s *service) watchSealed(ctx context.Context) {
	if !s.db.Embedded {
		s.sealed.Run(ctx)
	}
}

// readyPause is the time between two looks at NATS at start.
const readyPause = 250 * time.Millisecond

// started says that the service works once all that it needs has been reached: it listens,
// Redis was admitted, and NATS takes its events.
func (s *service) started(ctx context.Context) {
	for s.emitter.Ready(ctx) != nil {
		if s.env.pause(ctx, readyPause) != nil {
			return
		}
	}
	s.log.Info("service.started", "version", version.Current().Version, "url", s.URL())
}

// admit opens the gate when Redis has been checked. Its error means that the service
// must end.
func (s *service) admit(ctx context.Context) error {
	if s.db.Embedded {
		return nil
	}
	return redisdb.Admission{
		URL: s.config.RedisURL.Reveal(), TLS: s.config.RedisTLS, Strict: s.config.StrictRedis, Replicas: s.config.RedisReplicas.Count,
		Also: s.admitData, Pause: s.env.pause, Log: s.log,
	}.Open(ctx, s.redisGate)
}

// drain goes on working for a while in which /readyz says that it is to stop, where a supervisor
// has told it to: a person at a terminal has no balancer.
func (s *service) drain(ctx context.Context, cause error) {
	if s.config.Drain == 0 || !errors.Is(cause, errTerminated) {
		return
	}
	s.parting.Begin()
	s.log.Info("service.draining", "for", s.config.Drain.String())
	_ = s.env.pause(ctx, s.config.Drain) // or until it fails
}

// shutDown stops taking messages and claiming effects, and waits for those in flight.
func (s *service) shutDown(working <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	<-working
	return errors.Join(err, s.engine.Stop(ctx), s.close())
}

// admitData refuses what this replica cannot read, and brings what an older version has stored
// to its own format.
func (s *service) admitData(ctx context.Context, db *keyspace.DB) error {
	if err := s.admitKey(ctx, db); err != nil {
		return err
	}
	err := format.Upgrade{
		DB: db, Steps: format.Steps(), Program: version.Current().Version, NewToken: rand.Text, Begun: s.redisGate.Tell, Log: s.log,
		Older: func(ctx context.Context, below int) ([]string, error) { return redisdb.Older(ctx, db, below) },
	}.Run(ctx)
	if errors.Is(err, format.ErrNewer) {
		return fmt.Errorf("%w: %w", redisdb.ErrRefused, err)
	}
	return err
}

// formatPause is the time between two looks at the format of what is stored.
const formatPause = 5 * time.Second

// watchFormat ends a replica that has missed that a later version has changed what is stored.
func (s *service) watchFormat(ctx context.Context, fail func(error)) {
	for !s.db.Embedded && s.env.pause(ctx, formatPause) == nil {
		if err := format.Check(ctx, s.db, format.Known(format.Steps())); errors.Is(err, format.ErrNewer) {
			fail(fmt.Errorf("%w: %w", redisdb.ErrRefused, err))
			return
		}
	}
}

// admitKey refuses a Redis whose credentials were sealed with another secret key: apps
// with credentials could not be read, and other replicas could not read what this one
// stores.
func (s *service) admitKey(ctx context.Context, db *keyspace.DB) error {
	definitions := store.New(db, store.Options{Sealer: s.sealer})
	err := definitions.AdoptSecretKey(ctx, !s.config.generatedKey)
	if !errors.Is(err, store.ErrSecretKey) {
		return err
	}
	way := "start with that key as EARSHOT_SECRET_KEY (--secret-key), as all replicas do; to change it, give the new one there and that one as EARSHOT_SECRET_KEY_OLD (--secret-key-old)"
	if s.config.generatedKey {
		way = "dev makes up a key at every start where none is given: " + way
	}
	return fmt.Errorf("%w: %w; %s", redisdb.ErrRefused, err, way)
}
