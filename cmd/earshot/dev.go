package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/embedded"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func newDev(env environment) *cobra.Command {
	c, demo, noKeys, source := &config{}, false, false, sourceFlags{}
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run everything in one process, for a first look and development",
		Long: "Run Earshot with an embedded NATS server and an embedded store, on loopback only and\n" +
			"without keys. What it holds is gone at the end.\n\n" +
			"An EARSHOT_ADMIN_KEY that is given is asked for. The Redis of a REDIS_URL is served with one,\n" +
			"or with --no-keys. Credentials in it need the same EARSHOT_SECRET_KEY at every start.\n\n" +
			"With -f it loads files at start and again whenever they change; see: earshot apply --help.",
		Example: "  earshot dev --demo\n  earshot dev -f tools.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.forDevelopment(cmd.Flags().Changed, noKeys); err != nil {
				return err
			}
			return runDev(cmd.Context(), *c, demo, source, env)
		},
	}
	c.register(cmd.Flags())
	source.register(cmd.Flags())
	cmd.Flags().BoolVar(&noKeys, "no-keys", false, "ask for no key, though one is given or REDIS_URL names a Redis of others")
	cmd.Flags().BoolVar(&demo, "demo", false, "register a small app, say something to it, and show what happens")
	return cmd
}

// forDevelopment sets the defaults of dev that differ from those of serve, and checks all
// settings.
func (c *config) forDevelopment(given func(flag string) bool, noKeys bool) error {
	if !given("private-urls") {
		c.PrivateURLs = "allow"
	}
	if !given("sqlite-dir") {
		c.SQLiteDir = "."
	}
	if !given("log-level") {
		c.LogLevel = "warn"
	}
	if c.NATSURL.Empty() && !given("stream-max-bytes") {
		c.StreamMax = embedded.MinNATSBytes / 2 // the embedded server has no more for one stream
	}
	if noKeys {
		c.AdminKey = secret.Secret{}
	} else if c.AdminKey.Empty() && !c.RedisURL.Empty() {
		return errors.New("REDIS_URL (--redis-url) names a Redis, and without a key everybody on this machine would be served all that it holds: " +
			"give EARSHOT_ADMIN_KEY (--admin-key), or --no-keys where that is meant; without REDIS_URL dev has a store of its own")
	}
	if c.SecretKey.Empty() {
		key := make([]byte, store.KeySize)
		rand.Read(key) // never fails (crypto/rand)
		c.SecretKey, c.generatedKey = secret.New(base64.StdEncoding.EncodeToString(key)), true
	}
	return errors.Join(c.check(), c.onLoopback())
}

// onLoopback refuses an address that others could reach.
func (c *config) onLoopback() error {
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("--addr (EARSHOT_ADDR) is %q; it must be host:port, as in 127.0.0.1:8080", c.Addr)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("dev listens on loopback only, not on %q; use 127.0.0.1, or run: earshot serve", c.Addr)
	}
	return nil
}

// runDev runs the service on embedded servers, or on those that the settings name.
func runDev(ctx context.Context, c config, demo bool, source sourceFlags, env environment) (err error) {
	log := c.logger(env.err)
	embeddedRedis, embeddedNATS := c.RedisURL.Empty(), c.NATSURL.Empty()
	closeServers, err := embed(&c, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServers()) }()
	s, err := newService(c, embeddedRedis, env, log)
	if err != nil {
		return err
	}
	announce(env.out, s, c, embeddedNATS)
	if demo {
		showing, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			if !s.redisGate.Await(showing) {
				return
			}
			if err := runDemo(showing, client.Client{Server: s.URL(), Key: c.AdminKey}, c.NATSURL.Reveal(), env.out); err != nil && showing.Err() == nil {
				log.Error("demo.failed", "error", err.Error())
			}
		}()
	}
	if len(source.paths) == 0 {
		return s.run(ctx)
	}
	return runWithFiles(ctx, s, newLiveFiles(source, &client.Client{Server: s.URL(), Key: c.AdminKey}, env, log))
}

// runWithFiles runs the service and applies the files to it, at start and whenever they
// change. If they cannot be applied at start, the service ends.
func runWithFiles(ctx context.Context, s *service, live *liveFiles) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	loading := make(chan error, 1)
	go func() {
		if !s.redisGate.Await(running) {
			loading <- nil // the service says why it ends
			return
		}
		err := live.run(running)
		if err != nil {
			stop()
		}
		loading <- err
	}()
	err := s.run(running)
	stop()
	if loaded := <-loading; ctx.Err() == nil || !errors.Is(loaded, context.Canceled) {
		err = errors.Join(loaded, err)
	}
	return err
}

// embed starts the servers that the settings do not name, and puts their URLs into the
// settings. The function that it returns stops them.
func embed(c *config, log *slog.Logger) (func() error, error) {
	var closers []func() error
	closeAll := func() error {
		var faults []error
		for _, closer := range closers {
			faults = append(faults, closer())
		}
		return errors.Join(faults...)
	}
	if c.RedisURL.Empty() {
		store, err := embedded.StartStore()
		if err != nil {
			return nil, err
		}
		closers = append(closers, func() error { store.Close(); return nil })
		c.RedisURL = secret.New(store.URL())
	}
	if c.NATSURL.Empty() {
		nats, err := embedded.StartNATS("", embedded.NATSPort, max(embedded.MinNATSBytes, 2*int64(c.StreamMax)), log)
		if err != nil {
			return nil, errors.Join(err, closeAll())
		}
		closers = append(closers, nats.Close)
		c.NATSURL, c.ownNATS = secret.New(nats.URL()), nats.URL()
	}
	return closeAll, nil
}

// announce prints where the service and its events are. The URL of a NATS server that was
// named may hold a password and is not repeated.
func announce(out io.Writer, s *service, c config, embeddedNATS bool) {
	events := "the server of NATS_URL"
	if embeddedNATS {
		events = c.NATSURL.Reveal()
	}
	fmt.Fprintf(out, "Earshot listens on %s (console: %s/console, reference: %s/docs)\n", s.URL(), s.URL(), s.URL())
	fmt.Fprintf(out, "events: %s, subjects tool.> and app.>\n", events)
	if c.AdminKey.Empty() {
		fmt.Fprintln(out, "keys: none is asked for")
	} else {
		fmt.Fprintln(out, "keys: the EARSHOT_ADMIN_KEY is asked for; --no-keys asks for none")
	}
	fmt.Fprintf(out, "matching: %s\n", s.matcher.Describe())
}
