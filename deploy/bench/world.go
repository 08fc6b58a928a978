package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"earshot/deploy/bench/floor"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
)

// world is what servers need, up and running until the end of the rig.
type world struct {
	t       testbed.TB
	folder  string // of data and logs
	program string // earshot
	store   *redistest.Server
	redis   *redis.Client
	nats    *natstest.Process
	model   *server // the fake LLM
	started int
}

// server is a process of the world.
type server struct {
	*testbed.Process
	testbed.Client
	silent bool // it has no /metrics
}

// newWorld starts Redis, NATS and the LLM. Redis has every write on the disk before its reply, as the
// documentation asks.
func newWorld(t testbed.TB, folder string, o options) *world {
	w := &world{t: t, folder: folder, program: o.earshotProgram}
	if w.program == "" {
		w.program = testbed.Program(t)
	}
	w.store = redistest.Run(t, "--appendfsync", "always")
	w.redis = w.store.Connect(redis.UniversalOptions{ReadTimeout: time.Minute}).(*redis.Client)
	w.nats = natstest.RunProcess(t, folder, o.sync)
	w.model = w.play("LLM double", role{Name: roleLLM, Think: o.think})
	return w
}

// must ends the run with an error.
func (w *world) must(err error) {
	if err != nil {
		w.t.Fatal(err)
	}
}

// llm is the LLM's URL as OPENAI_BASE_URL has it.
func (w *world) llm() string { return w.model.URL + "/v1" }

// earshot starts one more replica, with further variables.
func (w *world) earshot(variables ...string) *server {
	w.started++
	r := testbed.NewReplica(w.t, w.folder, fmt.Sprintf("Earshot %d", w.started), w.program, append([]string{
		"REDIS_URL=" + w.store.URL(), "NATS_URL=" + w.nats.URL, "OPENAI_API_KEY=none", "OPENAI_MODEL=double", "OPENAI_BASE_URL=" + w.llm(),
	}, variables...)...)
	w.must(r.Up(w.t.Context()))
	return &server{Process: r.Process, Client: r.Client}
}

// play starts a server that plays a role.
func (w *world) play(name string, r role) *server {
	r.Addr = testbed.Address(w.t)
	return w.serve(w.process(name, r), r.Addr, "/readyz", r.Name != roleFloor)
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

// startToolbox starts Google's MCP Toolbox for Databases, a program that somebody else has built, with a
// tools.yaml.
func (w *world) startToolbox(program, config string) *server {
	address := testbed.Address(w.t)
	_, port, _ := strings.Cut(address, ":")
	p := testbed.NewProcess(w.folder, "Toolbox", program, "--config", config, "--port", port, "--disable-version-check", "--log-level", "ERROR")
	return w.serve(p, address, "/healthz", true)
}

// serve starts a server, and returns when a path is answered with 200.
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

// Names of processes in a usage, beside those of Redis, NATS and the LLM.
const (
	nameServer = "server"
	nameLoad   = "load"
)

// usage is what processes have used since they began.
type usage struct {
	// cpu of each process by its name; all servers are one, and the bench itself is the load.
	cpu map[string]time.Duration
	// mallocs is how many objects the servers have allocated.
	mallocs float64
}

// used reads what servers and all that they need have used.
func (w *world) used(servers ...*server) usage {
	const mallocs = "go_memstats_mallocs_total"
	u := usage{cpu: map[string]time.Duration{}}
	pids := map[int]string{os.Getpid(): nameLoad, w.store.Process().PID(): "Redis", w.nats.PID(): "NATS", w.model.PID(): w.model.Name}
	for _, s := range servers {
		if s == w.model {
			continue
		}
		pids[s.PID()] = nameServer
		if !s.silent {
			u.mallocs += w.metrics(s, mallocs)[mallocs]
		}
	}
	for pid, name := range pids {
		spent, err := cpuOf(pid)
		w.must(err)
		u.cpu[name] += spent
	}
	return u
}

// cpuOf reads how much CPU all threads of a process have used, in the kernel and outside.
func cpuOf(pid int) (total time.Duration, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name of the program, in brackets, may have spaces.
	var utime, stime int
	if fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])); len(fields) > 12 {
		_, err = fmt.Sscan(fields[11]+" "+fields[12], &utime, &stime)
	}
	return time.Duration(utime+stime) * 10 * time.Millisecond, err // USER_HZ is 100 on every Linux
}

// streamBytes is the size of the files in which NATS keeps its streams.
func (w *world) streamBytes() (total int64) {
	w.must(filepath.WalkDir(w.nats.Folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a file that was there for a moment
		}
		if err == nil {
			total += file.Size()
		}
		return err
	}))
	return total
}

// metrics reads some of a server's metrics, which have no labels.
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

// What a role can be.
const (
	roleFloor   = "floor"
	roleLLM     = "llm"
	roleRelay   = "relay"
	roleHostile = "hostile"
)

// roleVariable of the environment holds the role that a process shall play.
const roleVariable = "EARSHOT_BENCH_ROLE"

// role is a server, or the clients, that the bench brings along as a process of its own.
type role struct {
	Name             string
	Addr             string // where a server listens
	Think            time.Duration
	Redis, NATS, LLM string // URLs
	Siege            *siege // of hostile clients
}

// playRole plays the role that this process was started for, if any, until ctx ends.
func playRole(ctx context.Context) (played bool, err error) {
	text := os.Getenv(roleVariable)
	if text == "" {
		return false, nil
	}
	var r role
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return true, fmt.Errorf("%s: %w", roleVariable, err)
	}
	handler := answering(r.Think)
	switch r.Name {
	case roleHostile:
		return true, r.Siege.play(ctx)
	case roleFloor:
		service, end, err := floor.New(ctx, floor.Options{Redis: r.Redis, NATS: r.NATS, LLM: r.LLM})
		if err != nil {
			return true, err
		}
		defer end()
		handler = service
	case roleRelay:
		if handler, err = relayTo(r.LLM); err != nil {
			return true, err
		}
	}
	s := &http.Server{Addr: r.Addr, Handler: handler, ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return true, err
	}
	return true, nil
}
