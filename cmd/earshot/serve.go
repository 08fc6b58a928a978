package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
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
		Use:  "serve",
		Args: arguments(0, 0),
		PreRunE: func(*cobra.Command, []string) error {
			return errors.Join(c.required(), c.check(), c.checkFiles(env.now()))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := c.logger(env.err)
			if len(c.AdminKey.Reveal()) < weakKey { // works, but should be replaced
				log.Warn("admin_key.weak", "warning", fmt.Sprintf("EARSHOT_ADMIN_KEY (--admin-key) has less than %d characters, and who guesses it may do everything; %s", weakKey, makeKey))
			}
			s, err := newService(*c, false, env, log)
			if err != nil {
				return err
			}
			paceCollector(env.lookup, os.DirFS("/"))
			supervision, end := context.WithCancel(cmd.Context())
			unit := s.supervised(supervision)
			defer unit.wait() // else the process may end before it has notified systemd
			defer end()
			defer s.takeHangups(unit)()
			log.Info("service.listening", "version", version.Current().Version, "url", s.URL(), "matcher", s.matcher.Describe())
			return s.run(cmd.Context())
		},
	}
	c.register(cmd.Flags())
	return cmd
}

// shutdownTimeout bounds running requests and effects after a SIGTERM.
const shutdownTimeout = 20 * time.Second

func (s *service) URL() string {
	scheme := "http://"
	if s.config.TLSCert != "" {
		scheme = "https://"
	}
	return scheme + s.listener.Addr().String()
}

// run serves until ctx ends, continues while load balancers notice, and then finishes running work. It ends
// early if the HTTP server fails, or if Redis must not be used.
func (s *service) run(signals context.Context) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(signals))
	defer cancel(nil)
	defer context.AfterFunc(signals, func() {
		if s.config.Drain > 0 && errors.Is(context.Cause(signals), errTerminated) { // by a supervisor, which may have load balancers
			s.shutdown.Begin()
			s.log.Info("service.draining", "for", s.config.Drain.String())
			_ = s.env.pause(ctx, s.config.Drain) // or until it fails
		}
		cancel(nil)
	})()
	go func() {
		serve := s.http.Serve
		if s.certificate != nil {
			s.http.TLSConfig = &tls.Config{GetCertificate: s.certificate.get}
			serve = func(listener net.Listener) error { return s.http.ServeTLS(listener, "", "") }
		}
		if err := serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			cancel(err)
		}
	}()
	working := make(chan struct{})
	go func() {
		defer close(working)
		s.work(ctx, cancel)
	}()
	<-ctx.Done()
	s.log.Info("service.stopping")

	ending, stop := context.WithTimeout(context.Background(), shutdownTimeout)
	defer stop()
	err := s.http.Shutdown(ending)
	<-working
	err = errors.Join(err, s.engine.Stop(ending), s.close())
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		err = errors.Join(cause, err)
	}
	return err
}

const (
	readyPause  = 250 * time.Millisecond // between two checks of NATS at start
	formatPause = 5 * time.Second        // between two checks of the stored format
)

// work runs all background work once Redis is checked. It calls end if Redis must not be used, or if a later
// version has changed the stored format.
func (s *service) work(ctx context.Context, end func(error)) {
	if !s.db.Embedded {
		err := redisdb.Admission{
			URL: s.config.RedisURL.Reveal(), TLS: s.config.RedisTLS, Strict: s.config.StrictRedis, Replicas: s.config.RedisReplicas.Count,
			Also: s.admitData, Pause: s.env.pause, Log: s.log,
		}.Open(ctx, s.redisGate)
		if err != nil {
			end(err)
			return
		}
	}
	var running sync.WaitGroup
	running.Go(func() { s.tail.Run(ctx) })
	running.Go(func() { s.intake.Run(ctx, s.engine.TakeAnswer) })
	running.Go(func() { s.refresher.Run(ctx) })
	running.Go(func() {
		for s.emitter.Ready(ctx) != nil {
			if s.env.pause(ctx, readyPause) != nil {
				return
			}
		}
		s.log.Info("service.started", "version", version.Current().Version, "url", s.URL())
	})
	if !s.db.Embedded { // the store of dev is new at each start
		running.Go(func() { s.sealingWatch.Run(ctx) })
		running.Go(func() {
			for s.env.pause(ctx, formatPause) == nil {
				if err := format.Check(ctx, s.db, format.Known(format.Steps())); errors.Is(err, format.ErrNewer) {
					end(fmt.Errorf("%w: %w", redisdb.ErrRefused, err))
					return
				}
			}
		})
	}
	if s.ingress != nil {
		running.Go(func() {
			if err := s.ingress.Run(ctx); err != nil {
				end(err)
			}
		})
	}
	s.engine.Run(ctx)
	running.Wait()
}

// admitData upgrades data of an older version. It refuses data that this replica cannot read, and credentials
// encrypted with another secret key.
func (s *service) admitData(ctx context.Context, db *keyspace.DB) error {
	err := store.New(db, store.Options{Sealer: s.sealer}).AdoptSecretKey(ctx, !s.config.generatedKey)
	if errors.Is(err, store.ErrSecretKey) {
		way := "start with that key as EARSHOT_SECRET_KEY (--secret-key), as all replicas do; to change it, give the new one there and that one as EARSHOT_SECRET_KEY_OLD (--secret-key-old)"
		if s.config.generatedKey {
			way = "without EARSHOT_SECRET_KEY, dev makes a new key at each start: " + way
		}
		return fmt.Errorf("%w: %w; %s", redisdb.ErrRefused, err, way)
	}
	if err != nil {
		return err
	}
	err = format.Upgrade{
		DB: db, Steps: format.Steps(), Program: version.Current().Version, NewToken: rand.Text, Begun: s.redisGate.Tell, Log: s.log,
		Older: func(ctx context.Context, below int) ([]string, error) { return redisdb.Older(ctx, db, below) },
	}.Run(ctx)
	if errors.Is(err, format.ErrNewer) {
		return fmt.Errorf("%w: %w", redisdb.ErrRefused, err)
	}
	return err
}
