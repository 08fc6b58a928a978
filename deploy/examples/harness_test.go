package examples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	adminKey = "admin-key-of-the-tests"
	// patience bounds what is waited for, on machines that do much else.
	patience = 2 * time.Minute
	glance   = 20 * time.Millisecond
)

// built is a folder with the program and all examples in Go.
var built = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "earshot-examples")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", folder, "earshot/cmd/earshot", "earshot/deploy/examples/...").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return folder, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if folder, err := built(); err == nil {
		_ = os.RemoveAll(folder)
	}
	closeChromium()
	os.Exit(code)
}

// missing skips a test without what it needs, where that may be missing.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("EARSHOT_REQUIRE_SERVERS") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// lines are what a program has written, readable while it runs.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a program has written what fits, and returns its first group.
func (l *lines) await(t *testing.T, pattern string) string {
	t.Helper()
	var found []string
	require.Eventually(t, func() bool {
		found = regexp.MustCompile(pattern).FindStringSubmatch(l.String())
		return found != nil
	}, patience, glance, "no %s in\n%s", pattern, l)
	return found[len(found)-1]
}

// start runs a program until the end of the test, with these variables beside its own.
func start(t *testing.T, folder string, variables []string, name string, args ...string) *lines {
	t.Helper()
	if !strings.Contains(name, "/") && name != "node" {
		programs, err := built()
		require.NoError(t, err)
		name = filepath.Join(programs, name)
	}
	cmd, written := exec.Command(name, args...), &lines{}
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, written, written
	cmd.Env = append(os.Environ(), variables...)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // one that has ended has said why
		_ = cmd.Wait()
	})
	return written
}

// service is an earshot dev with the app clinic, and a key of the app.
type service struct {
	t              *testing.T
	url, nats, key string
}

func dev(t *testing.T, app string) *service {
	t.Helper()
	said := start(t, t.TempDir(), []string{"EARSHOT_ADMIN_KEY=" + adminKey, "OPENAI_API_KEY=", "OPENAI_BASE_URL=", "REDIS_URL=", "NATS_URL="}, "earshot", "dev", "--addr", "127.0.0.1:0")
	s := &service{t: t, url: said.await(t, `Earshot listens on (http://\S+)`), nats: said.await(t, `events: (nats://[^,]+),`)}
	require.Eventually(t, func() bool {
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	}, patience, glance)
	s.ask("PUT", "/v1/apps/clinic", app)
	made := s.ask("POST", "/v1/apps/clinic/keys", `{"name":"example","scopes":["tools","messages"]}`)
	s.key = made["key"].(string)
	return s
}

// around are the variables by which an example finds the service.
func (s *service) around(more ...string) []string {
	return append([]string{"EARSHOT_URL=" + s.url, "EARSHOT_KEY=" + s.key, "NATS_URL=" + s.nats}, more...)
}

// ask makes a request as the admin that must succeed, and returns the object of its answer.
func (s *service) ask(method, path, body string) map[string]any {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Authorization", "Bearer "+adminKey)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Less(s.t, response.StatusCode, 300, "%s %s: %s", method, path, text)
	var read map[string]any
	require.NoError(s.t, json.Unmarshal(text, &read), "%s", text)
	return read
}

// say posts what a user says, and returns the matches.
func (s *service) say(session, text string) []any {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"actor": "user", "text": text})
	require.NoError(s.t, err)
	return s.ask("POST", "/v1/apps/clinic/sessions/"+session+"/messages", string(body))["matches"].([]any)
}

// freeAddress is one that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
