package main

import (
	"context"
	"embed"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/deploy/testbed/natstest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/llm/llmtest"
)

// The tests run the program as main does: replicas of earshot serve on Redis, NATS, a scripted LLM and HTTP
// endpoints (see newWorld), earshot dev with its embedded servers (atDev), and commands that end (command).
// They observe only what users do: answers, events, calls, log lines and exit codes.

// TestMain runs the program itself if a test has started it.
func TestMain(m *testing.M) {
	if os.Getenv("EARSHOT_TEST_RUNS_MAIN") != "" {
		main()
	}
	testbed.Main(m)
}

// patience bounds every wait. It is far longer than needed, for busy machines.
const patience = time.Minute

const glance = 10 * time.Millisecond

type world struct {
	t             *testing.T
	redis         *redistest.Server
	nats          *natstest.Server
	llm           *llmtest.Server
	env           map[string]string
	replicas      []*replica
	redisPassword string           // for the test's own clients
	clock         func() time.Time // overrides the clock of started replicas
}

const testAdminKey = "admin-key-of-the-tests"

const startedAt = `"msg":"service.listening".*"url":"([^"]+)"`

// newWorld starts the servers. The model obeys the texts: see obey.
func newWorld(t *testing.T, configureNATS ...func(*server.Options)) *world {
	t.Helper()
	w := &world{t: t, redis: redistest.Run(t), nats: natstest.Run(t, configureNATS...), llm: llmtest.New(t)}
	w.llm.Handle(obey)
	w.env = map[string]string{
		"EARSHOT_ADDR": "127.0.0.1:0", "REDIS_URL": w.redis.URL(), "NATS_URL": w.nats.URL(),
		"OPENAI_API_KEY": "llm-key-of-the-tests", "OPENAI_BASE_URL": w.llm.URL(),
		"EARSHOT_ADMIN_KEY": testAdminKey, "EARSHOT_PRIVATE_URLS": "allow",
		"EARSHOT_SECRET_KEY": base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef")),
	}
	return w
}

// serving starts the servers and replicas of the program, with the app "clinic".
func serving(t *testing.T, replicas int, flags ...string) *world {
	w := newWorld(t)
	for range replicas {
		w.serve(flags...)
	}
	w.put("/v1/apps/clinic", `{"name":"Clinic","settings":{"limits":null}}`) // load exceeds limits
	return w
}

// atDev returns the world of earshot dev, with embedded servers unless env names others. Commands find it by
// their variables.
func atDev(t *testing.T, env map[string]string, flags ...string) *world {
	r := launch(t, env, append([]string{"dev", "--addr", "127.0.0.1:0"}, flags...)...)
	r.url = r.log.Await(t, `Earshot listens on (http://127\.0\.0\.1:\d+)`)
	nats := r.log.Await(t, `events: (.+), subjects`)
	t.Cleanup(func() { require.Zero(t, r.stop(), "%s", r.log) })
	w := &world{t: t, env: map[string]string{"EARSHOT_URL": r.url, "NATS_URL": nats}, replicas: []*replica{r}}
	w.ready(r)
	return w
}

// inFolder changes to an empty folder called clinic, which names the app.
func inFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "clinic")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
}

// devInFolder is atDev for commands that read files.
func devInFolder(t *testing.T) *world {
	t.Helper()
	inFolder(t)
	return atDev(t, nil)
}

func program(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "EARSHOT_TEST_RUNS_MAIN=yes")
	return cmd
}

// process is serve as a process of a program that does not run yet.
func (w *world) process(path string, variables ...string) *testbed.Process {
	p := testbed.NewProcess(w.t.TempDir(), "earshot", path, "serve")
	p.Env = append(variables, "EARSHOT_TEST_RUNS_MAIN=yes")
	for name, value := range w.env {
		p.Env = append(p.Env, name+"="+value)
	}
	w.t.Cleanup(p.Kill)
	return p
}

// testdata are files for commands to read. They are embedded, as tests change their folder.
//
//go:embed testdata
var testdata embed.FS

func fixture(name string) string {
	text, err := testdata.ReadFile("testdata/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var (
	bookFile       = fixture("book.yaml")     // a tool whose endpoint is at URL
	shop           = fixture("shop.yaml")     // an OpenAPI document of an API at ENDPOINT
	faultyExamples = fixture("faulty.yaml")   // some fire their own tool, and some do not
	shopFile       = fixture("held.yaml")     // tools whose triggers are held or duplicates
	bookings       = fixture("bookings.yaml") // a test that calls a tool for every message
	doorTests      = lamps + fixture("doors.yaml")
)

func write(t *testing.T, name, content string) {
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}

// obey is a model that calls the tools in the text, offered or not: `call book {"day":"monday"}; other {}`
// calls book and other.
func obey(request llmtest.Request) llmtest.Reply {
	said, told := strings.CutPrefix(request.Last().Content, "call ")
	if !told {
		return llmtest.Text("none")
	}
	var calls [][2]string
	for part := range strings.SplitSeq(said, "; ") {
		name, arguments, _ := strings.Cut(part, " ")
		calls = append(calls, [2]string{name, arguments})
	}
	return llmtest.Calls(calls...)
}

// around is a command's environment: these variables, and the typed input.
func around(variables map[string]string, out, err io.Writer, typed string) environment {
	given := maps.Clone(variables)
	return environment{out: out, err: err, in: strings.NewReader(typed), now: time.Now, pause: pause, lookup: func(name string) (string, bool) {
		value, set := given[name]
		return value, set
	}}
}

type commandResult struct {
	code     int
	out, err string
}

// good is the result of a command that has exited with 0.
func (r commandResult) good(t *testing.T) commandResult {
	require.Zero(t, r.code, "%s%s", r.out, r.err)
	return r
}

// command runs a command line that ends by itself.
func command(t *testing.T, variables map[string]string, args ...string) commandResult {
	return typing(t, variables, "", args...)
}

// failing runs a command line that ends by itself with exit code 1.
func failing(t *testing.T, variables map[string]string, args ...string) commandResult {
	got := command(t, variables, args...)
	require.Equal(t, 1, got.code, "%v: %s", args, got.out)
	return got
}

// typing runs a command line that ends by itself, with what a person types.
func typing(t *testing.T, variables map[string]string, typed string, args ...string) commandResult {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out, err testbed.Lines
	code := run(ctx, args, around(variables, &out, &err, typed))
	require.NoError(t, ctx.Err(), "it did not end by itself")
	return commandResult{code, out.String(), err.String()}
}

func (w *world) run(args ...string) commandResult { return command(w.t, w.env, args...) }

func (w *world) ok(args ...string) string { return w.run(args...).good(w.t).out }

type replica struct {
	t     *testing.T
	url   string
	log   *testbed.Lines
	end   context.CancelFunc // like SIGTERM in main
	ended chan struct{}
	code  int // valid once ended is closed
}

func launch(t *testing.T, env map[string]string, args ...string) *replica {
	t.Helper()
	return launchAt(t, time.Now, env, args...)
}

func launchAt(t *testing.T, now func() time.Time, env map[string]string, args ...string) *replica {
	t.Helper()
	log := &testbed.Lines{}
	world := around(env, log, log, "")
	world.now = now
	return begin(t, log, world, args...)
}

// begin runs a command, whose output goes to log, until the end of the test.
func begin(t *testing.T, log *testbed.Lines, world environment, args ...string) *replica {
	ctx, end := context.WithCancel(context.Background())
	r := &replica{t: t, log: log, end: end, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		r.code = run(ctx, args, world)
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// serve starts a replica and waits until it is ready.
func (w *world) serve(flags ...string) *replica {
	r := w.start(flags...)
	w.ready(r)
	return r
}

func (w *world) ready(r *replica) {
	w.until("it is ready", func() bool { return w.ask(r, "GET", "/readyz", "").Status == http.StatusOK })
}

// start starts a replica, which listens then.
func (w *world) start(flags ...string) *replica {
	now := w.clock
	if now == nil {
		now = time.Now
	}
	r := launchAt(w.t, now, w.env, append([]string{"serve"}, flags...)...)
	r.url = r.log.Await(w.t, startedAt)
	w.replicas = append(w.replicas, r)
	return r
}

// stop ends the replica as SIGTERM does, waits for it and returns its exit code.
func (r *replica) stop() int {
	r.end()
	return r.wait()
}

func (r *replica) wait() int {
	r.t.Helper()
	select {
	case <-r.ended:
	case <-time.After(patience):
		r.t.Fatalf("the command did not end within %s:\n%s", patience, r.log)
	}
	return r.code
}

func (w *world) client() redis.UniversalClient {
	return w.redis.Connect(redis.UniversalOptions{Password: w.redisPassword})
}
