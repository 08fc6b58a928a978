// Package rig starts what is measured, each in a process of its own, and reads what it
// has cost: Redis, NATS, the double of an LLM, the floor and Earshot.
package rig

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
)

// Options say what a world is made of.
type Options struct {
	// Dir keeps data and logs.
	Dir string
	// Self is a program that plays the role that its environment names (Role), Earshot
	// the one that is measured.
	Self, Earshot string
	// Sync has NATS bring an event to the disk before it acknowledges it.
	Sync bool
	// Think is how long the LLM takes for an answer.
	Think time.Duration
}

// World is what servers need, up and running until Close.
type World struct {
	Redis   *redis.Client
	options Options
	address addresses
	shared  []*process // what all servers use
	servers []*Server
}

// addresses are host and port of each.
type addresses struct{ redis, nats, llm string }

// Server is a floor, an Earshot or a Toolbox.
type Server struct {
	// URL is where its REST begins.
	URL     string
	health  string // path that answers 200 when it is ready
	silent  bool   // it has no /metrics
	process *process
}

// AdminKey is what Earshot is called with.
const AdminKey = "bench-admin-key-0123456789abcdef0123456789"

// Open starts all but the servers.
func Open(ctx context.Context, o Options) (*World, error) {
	w := &World{options: o}
	for _, step := range []func(context.Context) error{w.startRedis, w.startNATS, w.startLLM} {
		if err := step(ctx); err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// Close ends everything.
func (w *World) Close() {
	for _, server := range w.servers {
		server.process.close()
	}
	if w.Redis != nil {
		_ = w.Redis.Close() // nothing is under way any more
	}
	for _, p := range w.shared {
		p.close()
	}
	w.servers, w.shared = nil, nil
}

// startRedis has every write on the disk before its reply, as the documentation asks.
func (w *World) startRedis(ctx context.Context) (err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("%w; install it with: apt-get install redis-server, or brew install redis", err)
	}
	if w.address.redis, err = freeAddress(); err != nil {
		return err
	}
	port, err := portOf(w.address.redis)
	if err != nil {
		return err
	}
	data := filepath.Join(w.options.Dir, "redis")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	w.Redis = redis.NewClient(&redis.Options{Addr: w.address.redis, ReadTimeout: time.Minute})
	p, err := w.share("Redis", nil, path, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", data,
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")
	if err != nil {
		return err
	}
	return p.await(ctx, func() bool { return w.Redis.Ping(ctx).Err() == nil })
}

func (w *World) startNATS(ctx context.Context) (err error) {
	if w.address.nats, err = freeAddress(); err != nil {
		return err
	}
	role := Role{Name: roleNATS, Addr: w.address.nats, Dir: w.natsDir(), Sync: w.options.Sync}
	p, err := w.share("NATS", role.environment(), w.options.Self)
	if err != nil {
		return err
	}
	return p.await(ctx, func() bool { return listens(w.address.nats) })
}

func (w *World) startLLM(ctx context.Context) (err error) {
	if w.address.llm, err = freeAddress(); err != nil {
		return err
	}
	role := Role{Name: roleLLM, Addr: w.address.llm, Think: w.options.Think}
	p, err := w.share("LLM double", role.environment(), w.options.Self)
	if err != nil {
		return err
	}
	return p.await(ctx, func() bool { return listens(w.address.llm) })
}

func (w *World) natsDir() string { return filepath.Join(w.options.Dir, "nats") }

// share starts a process that all servers use.
func (w *World) share(name string, env []string, path string, args ...string) (*process, error) {
	p, err := start(w.options.Dir, name, env, path, args...)
	if err == nil {
		w.shared = append(w.shared, p)
	}
	return p, err
}

// Floor starts the floor.
func (w *World) Floor(ctx context.Context) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	role := Role{Name: roleFloor, Addr: address, Redis: "redis://" + w.address.redis, NATS: "nats://" + w.address.nats, LLM: w.Model()}
	return w.serve(ctx, "floor", &Server{URL: "http://" + address, health: "/readyz"}, role.environment(), w.options.Self)
}

// Relay starts the least that relays chats to the LLM, at any path.
func (w *World) Relay(ctx context.Context) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	role := Role{Name: roleRelay, Addr: address, LLM: w.Model()}
	return w.serve(ctx, "relay", &Server{URL: "http://" + address, health: "/", silent: true}, role.environment(), w.options.Self)
}

// Earshot starts one more replica, with further variables in its environment.
func (w *World) Earshot(ctx context.Context, further ...string) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	env := []string{
		"EARSHOT_ADDR=" + address, "REDIS_URL=redis://" + w.address.redis, "NATS_URL=nats://" + w.address.nats,
		"OPENAI_API_KEY=none", "OPENAI_MODEL=double", "OPENAI_BASE_URL=" + w.Model(), "EARSHOT_ADMIN_KEY=" + AdminKey,
		"EARSHOT_SECRET_KEY=" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
	}
	s := &Server{URL: "http://" + address, health: "/readyz"}
	return w.serve(ctx, fmt.Sprintf("Earshot %d", len(w.servers)), s, append(env, further...), w.options.Earshot, "serve")
}

// Apply brings an app of an Earshot to what files say.
func (w *World) Apply(ctx context.Context, s *Server, app, files string) error {
	command := exec.CommandContext(ctx, w.options.Earshot, "apply", "-f", files, "--app", app, "--server", s.URL)
	command.Env = append(os.Environ(), "EARSHOT_KEY="+AdminKey)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("apply %s: %w\n%s", files, err, out)
	}
	return nil
}

// Toolbox starts Google's MCP Toolbox for Databases, a program that somebody else has
// built, with a tools.yaml. Its CPU counts as the server's; it has no metrics.
func (w *World) Toolbox(ctx context.Context, program, config string) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	port, err := portOf(address)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + address, health: "/healthz", silent: true}
	return w.serve(ctx, "Toolbox", s, nil, program, "--config", config, "--port", fmt.Sprint(port), "--disable-version-check", "--log-level", "ERROR")
}

// freeAddress is a port of the loopback interface that is free.
func freeAddress() (string, error) {
	port, err := testbed.Port()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// Model is the LLM's URL as OPENAI_BASE_URL has it.
func (w *World) Model() string { return "http://" + w.address.llm + "/v1" }

func (w *World) serve(ctx context.Context, name string, s *Server, env []string, path string, args ...string) (*Server, error) {
	p, err := start(w.options.Dir, name, env, path, args...)
	if err != nil {
		return nil, err
	}
	s.process = p
	w.servers = append(w.servers, s)
	return s, p.await(ctx, func() bool { return s.ready(ctx) })
}

func (s *Server) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+s.health, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil && response.StatusCode == http.StatusOK
}
