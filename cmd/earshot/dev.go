package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"earshot/api"
	"earshot/cmd/earshot/client"
	"earshot/cmd/earshot/embedded"
	"earshot/cmd/earshot/plan"
	"earshot/cmd/earshot/terminal"
	"earshot/emitter"
	"earshot/repositories/certfiles"
	"earshot/repositories/files"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

type devOptions struct {
	demo, noKeys, json bool
	natsPort           int
	source             sourceFlags
}

func newDev(env environment) *cobra.Command {
	c, d := &config{}, &devOptions{}
	cmd := &cobra.Command{
		Use:  "dev",
		Args: arguments(0, 0),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			err := errors.Join(d.check(c, cmd.Flags().Changed), c.checkFiles(env.now()))
			if slices.Contains(d.source.paths, files.Stdin) {
				err = errors.Join(err, errors.New("dev cannot read -f - (standard input), because it reads its files again when they change; name a file, or send standard input to a running service with: earshot apply -"))
			}
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			given := cmd.Flags().Changed
			c.localPages = true
			switch {
			case d.json && !given("log-level"):
				c.LogLevel = "info"
			case !d.json && (d.demo || terminal.Width(env.out, nil) > 0):
				c.screen = &screen{env: env}
				c.LogTexts = true // for the person at the terminal
			}
			return runDev(cmd.Context(), *c, *d, env)
		},
	}
	c.register(cmd.Flags())
	for name, value := range map[string]string{
		"private-urls": "allow", "sqlite-dir": ".", "log-level": "warn", "sermas": "on",
		"stream-max-bytes": size(embedded.MinNATSBytes / 2).String(), // the embedded server limits one stream to this
	} {
		flag := cmd.Flags().Lookup(name)
		if err := flag.Value.Set(value); err != nil {
			panic(fmt.Sprintf("the default of --%s is none: %v", name, err))
		}
		flag.DefValue = value
	}
	for name, more := range map[string]string{
		"redis-url": "without it, an embedded store", "nats-url": "without it, an embedded server",
		"secret-key": "without it, a new one at each start", "admin-key": "without it, requests need no key",
	} {
		cmd.Flags().Lookup(name).Usage += "; " + more
	}
	d.source.register(cmd.Flags())
	cmd.Flags().BoolVar(&d.noKeys, "no-keys", false, "require no key, even if one is given or REDIS_URL is set")
	cmd.Flags().IntVar(&d.natsPort, "nats-port", embedded.NATSPort, "`PORT` of the embedded NATS server, 0 for any free one; if the default is taken, another is used")
	cmd.Flags().BoolVar(&d.demo, "demo", false, "register a small app, post a message to it, and show what happens")
	cmd.Flags().BoolVar(&d.json, "json", false, "log as lines of JSON on standard error; the default without a terminal, from level warn on")
	return cmd
}

// check checks all settings, including the defaults of dev.
func (d *devOptions) check(c *config, given func(flag string) bool) error {
	if !c.NATSURL.Empty() && !given("stream-max-bytes") {
		c.StreamMax = defaultStreamSize
	}
	if d.noKeys {
		c.AdminKey = secret.Secret{}
	} else if c.lacks(c.AdminKey, "admin-key") && !c.RedisURL.Empty() {
		return errors.New("REDIS_URL (--redis-url) names a Redis, and without a key everybody on this machine could read all its data: " +
			"give EARSHOT_ADMIN_KEY (--admin-key), or --no-keys where that is meant; without REDIS_URL dev has a store of its own")
	}
	if c.SecretKey.Empty() {
		key := make([]byte, store.KeySize)
		rand.Read(key) // never fails (crypto/rand)
		c.SecretKey, c.generatedKey = secret.New(base64.StdEncoding.EncodeToString(key)), true
	}
	err := c.check()
	host, _, fault := net.SplitHostPort(c.Addr)
	ip := net.ParseIP(host)
	switch {
	case fault != nil:
		err = errors.Join(err, fmt.Errorf("--addr (EARSHOT_ADDR) is %q; it must be host:port, as in 127.0.0.1:8080", c.Addr))
	case host != "localhost" && (ip == nil || !ip.IsLoopback()):
		err = errors.Join(err, fmt.Errorf("dev listens on loopback only, not on %q; use 127.0.0.1, or run: earshot serve", c.Addr))
	}
	switch {
	case err != nil, !given("nats-port"):
	case !c.NATSURL.Empty():
		err = errors.New("--nats-port is for the embedded NATS server, and NATS_URL (--nats-url) names another server: leave one of them out")
	case d.natsPort < 0 || d.natsPort > 65535:
		err = fmt.Errorf("--nats-port is %d; it must be 1 to 65535, or 0 for any that is free", d.natsPort)
	case d.natsPort == 0:
		d.natsPort = -1 // the server's value for any port
	default: // clients connect to it, so it must be free
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(d.natsPort)))
		if err != nil {
			return fmt.Errorf("--nats-port %d cannot be used: %w; choose another, or 0 for any that is free", d.natsPort, err)
		}
		return listener.Close()
	}
	return err
}

func runDev(ctx context.Context, c config, d devOptions, env environment) (err error) {
	log := c.logger(env.err)
	ownRedis, ownNATS := c.RedisURL.Empty(), c.NATSURL.Empty()
	if ownRedis {
		url, stop, fault := embedded.StartStore()
		if fault != nil {
			return fault
		}
		defer stop()
		c.RedisURL, c.RedisTLS = secret.New(url), certfiles.Files{}
	}
	if ownNATS {
		url, stop, fault := embedded.StartNATS(d.natsPort, max(embedded.MinNATSBytes, 2*int64(c.StreamMax)), log)
		if fault != nil {
			return fault
		}
		defer func() { err = errors.Join(err, stop()) }()
		c.NATSURL, c.NATSLogin, c.ownNATS = secret.New(url), emitter.Login{}, url
	}
	s, err := newService(c, ownRedis, env, log)
	if err != nil {
		return err
	}
	announce(env, s, c, ownNATS)
	remote := client.Client{Server: s.URL(), Key: c.AdminKey}
	if d.demo {
		showing, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			if !s.redisGate.Await(showing) {
				return
			}
			if err := runDemo(showing, remote, env.out, c.screen); err != nil && showing.Err() == nil {
				log.Error("demo.failed", "error", err.Error())
			}
		}()
	}
	if len(d.source.paths) == 0 {
		return s.run(ctx)
	}
	live := &liveFiles{source: d.source, service: &remote, env: env, log: log, applied: map[string]map[plan.Member]bool{}}
	return runWithFiles(ctx, s, live)
}

// runWithFiles runs the service and applies its files. It ends if the files cannot be applied at start.
func runWithFiles(ctx context.Context, s *service, live *liveFiles) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	s.loading.Store(true)
	live.loaded = func() { s.loading.Store(false) }
	loading := make(chan error, 1)
	go func() {
		if !s.redisGate.Await(running) {
			loading <- nil // the service reports why it ends
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

// announce prints the addresses of the service and its events. A given URL of NATS is not shown: it may contain
// a password.
func announce(env environment, s *service, c config, embeddedNATS bool) {
	say := func(format string, args ...any) {
		fmt.Fprintln(env.out, terminal.Wrap(fmt.Sprintf(format, args...), terminal.Width(env.out, env.lookup)))
	}
	events := "the server of NATS_URL"
	if embeddedNATS {
		events = c.NATSURL.Reveal()
	}
	say("Earshot listens on %s (Ctrl-C ends it)", s.URL())
	say("console: %s/console", s.URL())
	say("documents: %s/docs", s.URL())
	say("events: %s, subjects tool.>, app.> and chat.>", events)
	if c.NATSIngress.on() {
		say("requests over NATS: earshot.v1.message.{appId}.{sessionId} and others; %s/asyncapi.json has them", s.URL())
	}
	if c.AdminKey.Empty() {
		say("keys: requests need none")
	} else {
		say("keys: the EARSHOT_ADMIN_KEY is asked for; --no-keys asks for none")
	}
	say("matching: %s", s.matcher.Describe())
}

// debounce is how long files must stay unchanged before a load: editors and checkouts write in several steps.
const debounce = 100 * time.Millisecond

type liveFiles struct {
	source  sourceFlags
	service *client.Client
	env     environment
	log     *slog.Logger
	loaded  func()                          // is called after the first load
	applied map[string]map[plan.Member]bool // what was applied, by app
	seen    string                          // fingerprint of the files at the last load
}

// run loads the files at start and after each change, until ctx ends. It fails only if the first load does;
// later, faulty files change nothing, and the faults are printed.
func (l *liveFiles) run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher() // before the first load, so that no change is missed
	if err != nil {
		return fmt.Errorf("watch the files: %w", err)
	}
	for _, path := range l.source.paths {
		if strings.HasPrefix(path, files.Prebuilt) {
			continue // it never changes
		}
		folder := path // a watch on a file would miss its replacement
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			folder = filepath.Dir(path)
		}
		if err := watcher.Add(folder); err != nil {
			return errors.Join(fmt.Errorf("watch %s: %w", folder, err), watcher.Close())
		}
	}
	if err := l.load(ctx); err != nil {
		return errors.Join(err, watcher.Close())
	}
	l.loaded()
	quiet := time.NewTimer(time.Hour)
	quiet.Stop()
	changing := "" // fingerprint of files that have changed since the last load; empty while the timer is off
	for {
		select {
		case <-ctx.Done():
			return watcher.Close()
		case event := <-watcher.Events:
			// The event may be of another file, such as a log, which may never rest.
			if event.Op != fsnotify.Chmod && changing == "" {
				changing = files.Fingerprint(l.source.paths)
				quiet.Reset(debounce)
			}
		case err := <-watcher.Errors:
			l.log.Warn("files.unwatched", "error", fmt.Sprint(err))
		case <-quiet.C:
			before := changing
			if changing = files.Fingerprint(l.source.paths); changing != before {
				quiet.Reset(debounce)
				continue
			}
			if changing = ""; before == l.seen {
				continue // another file of the folder, or no change
			}
			if err := l.load(ctx); err != nil && ctx.Err() == nil {
				fmt.Fprintf(l.env.err, "%v\nthe files were not loaded; what is running stays as it was\n", err)
			}
		}
	}
}

// load applies the files, and removes what an earlier load applied and they no longer define.
func (l *liveFiles) load(ctx context.Context) error {
	l.seen = files.Fingerprint(l.source.paths) // before reading, so that a change during the load is seen
	set, err := l.source.readFor(l.env)
	if err != nil {
		return err
	}
	ours := l.applied[set.AppID]
	p := &plan.Planner{Service: l.service, Set: set, Pause: l.env.pause, Removable: func(m plan.Member) bool { return ours[m] }}
	made, err := p.Plan(ctx)
	if err != nil {
		return err
	}
	if err := made.Apply(ctx, l.service, l.env.out); err != nil {
		return err
	}
	l.applied[set.AppID] = plan.DefinedBy(set)
	if made.Changes() > 0 {
		made.Print(l.env.out)
	}
	fmt.Fprintf(l.env.out, "%s loaded: %s\n", plural(len(set.Files), "file"), made.Summary())
	return nil
}

// demoRepository is registered by the demo; SINK is replaced by its own endpoint.
//
//go:embed demo.json
var demoRepository string

const demoText = "Good morning, I want an appointment for 2 people at desk B"

// runDemo plays all parties around Earshot: an author who registers tools, a user who posts a message, and an
// endpoint that is called. The screen or the log shows the effects, until ctx ends.
func runDemo(ctx context.Context, remote client.Client, out io.Writer, show *screen) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	endpoint := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		if show != nil {
			show.show(terminal.Event{Kind: "endpoint", App: "demo", Says: fmt.Sprintf("is called: %s %s as user %q", r.Method, r.URL.Path, user)})
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"booked":true}`)
	})}
	go endpoint.Serve(listener) //nolint:errcheck // ends with Close
	defer endpoint.Close()

	fmt.Fprintln(out)
	desk := strings.ReplaceAll(demoRepository, "SINK", "http://"+listener.Addr().String())
	for _, one := range []struct{ method, path, body string }{
		{http.MethodPut, client.Path("apps", "demo"), `{"name":"Demo clinic"}`},
		{http.MethodPut, client.Path("apps", "demo", "repositories", "desk"), desk},
		{http.MethodPost, client.Path("apps", "demo", "sessions", "s1", "messages"), fmt.Sprintf(`{"actor":"user","text":%q}`, demoText)},
	} {
		if _, err := remote.Call(ctx, one.method, one.path, []byte(one.body)); err != nil {
			return err
		}
	}

	key := ""
	if !remote.Key.Empty() {
		key = "\n    -H \"Authorization: Bearer $EARSHOT_ADMIN_KEY\" \\"
	}
	fmt.Fprintf(out, "\nIt was told %q\nNow say something yourself:\n  earshot chat --app demo --server %[2]s\n"+
		"  curl %[2]s/v1/apps/demo/sessions/s1/messages \\%s\n    -H 'Content-Type: application/json' \\\n    -d '{\"actor\":\"user\",\"text\":\"When are you open?\"}'\n", demoText, remote.Server, key)
	<-ctx.Done()
	return nil
}

// mostRefused bounds the remembered refusals: pages choose their origins.
const mostRefused = 100

// localOrigins allows pages of this machine, on any port, besides those that apps allow. A remote page cannot
// pass for one by DNS: browsers send the page's name as its origin.
type localOrigins struct {
	api.Origins
	log *slog.Logger

	mu      sync.Mutex
	refused []string // already logged
}

// AllowsOrigin implements api.Origins. It logs a refusal once, as browsers hide the reason from the page.
func (l *localOrigins) AllowsOrigin(ctx context.Context, appID, origin string) (bool, error) {
	if isLocal(origin) {
		return true, nil
	}
	allowed, err := l.Origins.AllowsOrigin(ctx, appID, origin)
	if allowed || err != nil {
		return allowed, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := appID + " " + origin; len(l.refused) < mostRefused && !slices.Contains(l.refused, one) {
		l.refused = append(l.refused, one)
		l.log.Warn("origin.refused", "app", appID, "origin", origin, "warning", "a page of this origin may not call; add the origin to settings.allowedOrigins of the app")
	}
	return false, nil
}

// isLocal reports whether an origin is localhost or a loopback address, on any port.
func isLocal(origin string) bool {
	page, err := url.Parse(origin)
	if err != nil || page.Scheme != "http" && page.Scheme != "https" || origin != page.Scheme+"://"+page.Host {
		return false
	}
	address, err := netip.ParseAddr(page.Hostname())
	return strings.EqualFold(page.Hostname(), "localhost") || err == nil && address.IsLoopback()
}
