package main

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"earshot/cmd/earshot/client"
	"earshot/repositories/secret"
)

// playground is a running service, and a folder called clinic that commands run in.
type playground struct {
	t         *testing.T
	url       string
	variables map[string]string
}

// defaults is what a service is started with where nothing is given, on a free port.
func defaults() config {
	var c config
	c.register(pflag.NewFlagSet("defaults", pflag.ContinueOnError))
	c.Addr, c.LogLevel = "127.0.0.1:0", "error"
	return c
}

// startPlayground starts a service on embedded servers, with the given admin key.
func startPlayground(t *testing.T, adminKey string) *playground {
	t.Helper()
	c := defaults()
	require.NoError(t, c.forDevelopment(func(flag string) bool { return flag == "log-level" }, false))
	c.AdminKey = secret.New(adminKey)
	log := slog.New(slog.DiscardHandler)
	closeServers, err := embed(&c, log)
	require.NoError(t, err)
	s, err := newService(c, true, log)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
		require.NoError(t, closeServers())
	})
	w := &playground{t: t, url: s.URL(), variables: map[string]string{"EARSHOT_URL": s.URL(), "NATS_URL": c.NATSURL.Reveal()}}
	inFolder(t)
	return w
}

// inFolder goes to an empty folder called clinic.
func inFolder(t *testing.T) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clinic")
	require.NoError(t, os.Mkdir(dir, 0o700))
	t.Chdir(dir)
}

func write(t *testing.T, name, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
}

// result is what a command came to.
type result struct {
	code     int
	out, err string
}

// screenful can be read while a command writes.
type screenful struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *screenful) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *screenful) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// typing runs a command line with what a user types.
func typing(t *testing.T, variables map[string]string, typed string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, err screenful
	code := run(ctx, args, environment{out: &out, err: &err, lookup: lookIn(variables), in: strings.NewReader(typed)})
	return result{code, out.String(), err.String()}
}

func lookIn(variables map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, set := variables[name]; return value, set }
}

func (w *playground) run(args ...string) result { return typing(w.t, w.variables, "", args...) }

// ok runs a command that must succeed, and returns what it printed.
func (w *playground) ok(args ...string) string {
	w.t.Helper()
	r := w.run(args...)
	require.Equal(w.t, 0, r.code, "%s%s", r.out, r.err)
	return r.out
}

// request speaks REST with the service.
func (w *playground) request(method, path, body string) map[string]any {
	w.t.Helper()
	c := &client.Client{Server: w.url, Key: secret.New(w.variables["EARSHOT_KEY"])}
	answer, err := c.Call(w.t.Context(), method, path, []byte(body))
	require.NoError(w.t, err)
	var found map[string]any
	if len(answer) > 0 {
		require.NoError(w.t, json.Unmarshal(answer, &found))
	}
	return found
}

// toolServer is what tools call: it answers with a status that can change, and remembers
// the passwords of basic authentication.
type toolServer struct {
	*httptest.Server
	mu        sync.Mutex
	status    int
	passwords []string
}

func newToolServer(t *testing.T) *toolServer {
	e := &toolServer{status: http.StatusOK}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		_, password, _ := r.BasicAuth()
		e.passwords = append(e.passwords, password)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(e.status)
		_, _ = w.Write([]byte(`{"booked":true}`))
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *toolServer) answer(status int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.status = status
}

func (e *toolServer) lastPassword() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.passwords) == 0 {
		return ""
	}
	return e.passwords[len(e.passwords)-1]
}
