package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

type world struct {
	t       testbed.TB
	folder  string // of data and logs
	program string // earshot
	store   *redistest.Server
	redis   *redis.Client
	nats    *natstest.Process
	streams jetstream.JetStream
	model   *server // the fake LLM
	started int
}

type server struct {
	*testbed.Process
	testbed.Client
	silent bool // it has no /metrics
}

// newWorld starts Redis, NATS and the LLM. Redis syncs every write before its reply, as the documentation asks.
func newWorld(t testbed.TB, folder string, o options) *world {
	w := &world{t: t, folder: folder, program: o.earshotProgram}
	if w.program == "" {
		w.program = testbed.Program(t)
	}
	redisOptions := []string{"--appendfsync", "always", "--hash-max-listpack-value", "1024", "--hash-max-listpack-entries", "32"} // as in deploy/package/redis.conf
	if o.hold == 0 {
		redisOptions = append(redisOptions, "--auto-aof-rewrite-percentage", "0") // else the file may shrink meanwhile
	}
	w.store = redistest.Run(t, redisOptions...)
	w.redis = w.store.Connect(redis.UniversalOptions{ReadTimeout: time.Minute}).(*redis.Client)
	w.nats = natstest.RunProcess(t, folder, o.sync)
	w.streams = natstest.JetStream(t, w.nats.URL)
	w.model = w.play("LLM double", role{Name: roleLLM, Think: o.think})
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) llm() string { return w.model.URL + "/v1" }

func (w *world) earshot(variables ...string) *server {
	w.started++
	r := testbed.NewReplica(w.t, w.folder, fmt.Sprintf("Earshot %d", w.started), w.program, append([]string{
		"REDIS_URL=" + w.store.URL(), "NATS_URL=" + w.nats.URL, "OPENAI_API_KEY=none", "OPENAI_MODEL=double", "OPENAI_BASE_URL=" + w.llm(),
	}, variables...)...)
	w.must(r.Up(w.t.Context()))
	return &server{Process: r.Process, Client: r.Client}
}

func (w *world) play(name string, r role) *server {
	r.Addr = testbed.Address(w.t)
	s := w.serve(w.process(name, r), r.Addr, "/readyz", r.Name != roleFloor && r.Name != rolePromise)
	if r.Name == rolePromise {
		s.Key = testbed.AdminKey
	}
	return s
}

// process is one that plays a role.
func (w *world) process(name string, r role) *testbed.Process {
	self, err := os.Executable()
	w.must(err)
	text, err := json.Marshal(r)
	w.must(err)
	p := testbed.NewProcess(w.folder, name, self)
	p.Env = []string{roleVariable + "=" + string(text)}
	w.t.Cleanup(p.Kill)
	return p
}

// serve starts a server, and returns when it is healthy.
func (w *world) serve(p *testbed.Process, address, health string, silent bool) *server {
	s := &server{p, testbed.Client{URL: "http://" + address}, silent}
	w.t.Cleanup(s.Kill)
	w.must(s.Start())
	w.must(s.Until(w.t.Context(), func(ctx context.Context) error {
		answer, err := s.Ask(ctx, http.MethodGet, health, "")
		if err == nil && answer.Status != http.StatusOK {
			err = fmt.Errorf("%s: %d", health, answer.Status)
		}
		return err
	}))
	return s
}

// Names of processes in a usage, in addition to Redis, NATS and the LLM.
const (
	nameServer = "server"
	nameLoad   = "load"
)

type usage struct {
	cpu map[string]time.Duration // by name: all servers are one, and the bench itself is the load
	// counted does not vary as time does: allocations of the servers, commands of Redis with those of scripts, bytes of its file,
	// and bytes of NATS.
	counted map[string]float64
}

func (w *world) used(servers ...*server) usage {
	const mallocs = "go_memstats_mallocs_total"
	u := usage{cpu: map[string]time.Duration{}, counted: w.counted()}
	pids := map[int]string{os.Getpid(): nameLoad, w.store.Process().PID(): "Redis", w.nats.PID(): "NATS", w.model.PID(): w.model.Name}
	for _, s := range servers {
		if s == w.model {
			continue
		}
		pids[s.PID()] = nameServer
		if !s.silent {
			u.counted[allocations] += w.metrics(s, mallocs)[mallocs]
		}
	}
	for pid, name := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		w.must(err)
		var utime, stime int
		if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(fields) > 12 {
			_, err = fmt.Sscan(fields[11]+" "+fields[12], &utime, &stime)
			w.must(err)
		}
		u.cpu[name] += time.Duration(utime+stime) * 10 * time.Millisecond // USER_HZ is 100 on every Linux
	}
	return u
}

func (w *world) counted() map[string]float64 {
	ctx := w.t.Context()
	info, err := w.redis.InfoMap(ctx, "commandstats", "persistence").Result()
	w.must(err)
	found := map[string]float64{}
	for name, stats := range info["Commandstats"] {
		var calls float64
		_, err := fmt.Sscanf(stats, "calls=%g,", &calls)
		w.must(err)
		if name != "cmdstat_info" { // our own
			found[redisCommands] += calls
		}
	}
	found[redisBytesWritten], err = strconv.ParseFloat(info["Persistence"]["aof_current_size"], 64)
	w.must(err)
	account, err := w.streams.AccountInfo(ctx)
	w.must(err)
	found[natsBytes] = float64(account.Store)
	return found
}

// metrics reads metrics without labels.
func (w *world) metrics(s *server, names ...string) map[string]float64 {
	answer, err := s.Ask(w.t.Context(), http.MethodGet, "/metrics", "")
	w.must(err)
	found := map[string]float64{}
	for line := range strings.Lines(string(answer.Body)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.Contains(names, name) {
			found[name], err = strconv.ParseFloat(value, 64)
			w.must(err)
		}
	}
	if len(found) < len(names) {
		w.t.Fatalf("/metrics has only %v of %v", found, names)
	}
	return found
}

const (
	roleFloor   = "floor"
	rolePromise = "promise"
	roleLLM     = "llm"
	roleRelay   = "relay"
	roleHostile = "hostile"
)

const roleVariable = "EARSHOT_BENCH_ROLE"

// role is a server, or the hostile clients, as a process of its own.
type role struct {
	Name             string
	Addr             string // where a server listens
	Think            time.Duration
	Redis, NATS, LLM string        // URLs
	Lease            time.Duration // of a message, of the promise
	Siege            *siege        // of hostile clients
}
