// Package stage runs builds of earshot serve, of this version and of earlier ones, on a Redis
// and a NATS of their own, with the endpoints that their tools call.
package stage

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/cmd/earshot/embedded"
	"earshot/deploy/testbed"
)

// AdminKey is that of every replica.
const AdminKey = "admin-key-of-the-stage"

// secretKey is that of every replica, and of all recorded data.
var secretKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))

// Stage is what replicas of the service run on.
type Stage struct {
	Redis *redis.Client
	Sink  *Sink
	// NATS is where the events go.
	NATS *embedded.NATS

	dir   string
	store *process
}

// New starts a Redis that writes to its disk before it answers, a NATS server, and the
// endpoints, at an address or, where that is empty, at any. Logs are in a folder dir, which is
// there already.
func New(dir, sink string) (*Stage, error) {
	s := &Stage{dir: dir}
	for _, step := range []func() error{s.startRedis, s.startNATS, func() (err error) { s.Sink, err = listen(sink); return err }} {
		if err := step(); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *Stage) startRedis() error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addr)
	s.store = &process{name: "redis", log: filepath.Join(s.dir, "redis.log"), command: []string{"redis-server", "--bind", "127.0.0.1",
		"--port", port, "--dir", s.dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"}}
	if err := s.store.start(os.Environ()); err != nil {
		return fmt.Errorf("%w; install it with: apt-get install redis-server, or brew install redis", err)
	}
	s.Redis = redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	return s.store.until("it answers", func(ctx context.Context) bool { return s.Redis.Ping(ctx).Err() == nil })
}

func (s *Stage) startNATS() (err error) {
	s.NATS, err = embedded.StartNATS(filepath.Join(s.dir, "nats"), -1, embedded.MinNATSBytes, slog.New(slog.DiscardHandler))
	return err
}

// freeAddress is a port of the loopback interface that is free.
func freeAddress() (string, error) {
	port, err := testbed.Port()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// Close ends the servers. Replicas are ended before, each by itself.
func (s *Stage) Close() error {
	var faults []error
	if s.Sink != nil {
		faults = append(faults, s.Sink.server.Close())
	}
	if s.NATS != nil {
		faults = append(faults, s.NATS.Close())
	}
	if s.Redis != nil {
		faults = append(faults, s.Redis.Close())
	}
	if s.store != nil {
		s.store.kill()
	}
	return errors.Join(faults...)
}

// Replica is a place for one earshot serve, at an address of its own. Different programs may
// run there one after the other.
type Replica struct {
	// Addr is its host and port.
	Addr string

	stage   *Stage
	process *process
}

// NewReplica is a place where no program runs yet; its log is named after it.
func (s *Stage) NewReplica(name string) (*Replica, error) {
	addr, err := freeAddress()
	if err != nil {
		return nil, err
	}
	return &Replica{Addr: addr, stage: s, process: &process{name: name, log: filepath.Join(s.dir, name+".log")}}, nil
}

// Start runs a program there, with further variables, and returns when it is ready.
func (r *Replica) Start(program string, variables ...string) error {
	r.process.command = []string{program, "serve"}
	env := append(os.Environ(), "EARSHOT_ADDR="+r.Addr, "REDIS_URL=redis://"+r.stage.Redis.Options().Addr, "NATS_URL="+r.stage.NATS.URL(),
		"EARSHOT_ADMIN_KEY="+AdminKey, "EARSHOT_SECRET_KEY="+secretKey, "EARSHOT_PRIVATE_URLS=allow", "EARSHOT_STREAM_MAX_BYTES=256MiB",
		"OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	if err := r.process.start(append(env, variables...)); err != nil {
		return err
	}
	return r.process.until("it is ready", r.Ready)
}

// Ready reports whether it takes requests.
func (r *Replica) Ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.Addr+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := probes.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// probes are requests that must not be answered over an old connection.
var probes = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// Stop ends it by SIGTERM. It is an error where its exit code is not 0.
func (r *Replica) Stop() error { return r.process.stop() }

// Kill ends it by SIGKILL; one that does not run is left.
func (r *Replica) Kill() { r.process.kill() }

// Log is what it has written, over all its lives.
func (r *Replica) Log() string {
	text, err := os.ReadFile(r.process.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
