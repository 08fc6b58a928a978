package examples

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

var built struct {
	once   sync.Once
	folder string
}

// example is the path of an example in Go. All are built at once.
func example(t *testing.T, name string) string {
	t.Helper()
	built.once.Do(func() {
		var err error
		built.folder, err = os.MkdirTemp("", "earshot-examples")
		require.NoError(t, err)
		testbed.AtEnd(func() error { return os.RemoveAll(built.folder) })
		testbed.Build(t, built.folder, "earshot/deploy/examples/...")
	})
	return filepath.Join(built.folder, name)
}

func TestMain(m *testing.M) { testbed.Main(m) }

func start(t *testing.T, folder string, variables []string, name string, args ...string) *testbed.Process {
	t.Helper()
	if name != "node" {
		name = example(t, name)
	}
	return testbed.Start(t, folder, variables, name, args...)
}

type service struct {
	*testbed.Dev
	t   *testing.T
	key string
}

func dev(t *testing.T, app string) *service {
	t.Helper()
	s, _ := bare(t, nil)
	s.ask("PUT", "/v1/apps/clinic", app)
	s.key = s.keyOf("clinic", "tools", "messages")
	return s
}

// devOf is a service that has loaded the file of an example, which has the name of its app.
func devOf(t *testing.T, example string, variables ...string) *service {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(example, example+".yaml"))
	require.NoError(t, err)
	s, said := bare(t, variables, "-f", file)
	said.Await(t, `1 file loaded`)
	s.key = s.keyOf(example, "tools", "messages")
	return s
}

func bare(t *testing.T, variables []string, args ...string) (*service, *testbed.Process) {
	t.Helper()
	d := testbed.NewDev(t, variables, args...)
	return &service{Dev: d, t: t}, d.Process
}

func (s *service) keyOf(app string, scopes ...string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"name": "example", "scopes": scopes})
	require.NoError(s.t, err)
	return s.ask("POST", "/v1/apps/"+app+"/keys", string(body))["key"].(string)
}

func (s *service) around(more ...string) []string {
	return append([]string{"EARSHOT_URL=" + s.URL, "EARSHOT_KEY=" + s.key, "NATS_URL=" + s.NATS}, more...)
}

func (s *service) ask(method, path, body string) map[string]any {
	s.t.Helper()
	text := s.Call(method, path, body)
	var read map[string]any
	require.NoError(s.t, json.Unmarshal(text, &read), "%s", text)
	return read
}

func (s *service) say(session, text string) []any {
	s.t.Helper()
	body, err := json.Marshal(map[string]string{"actor": "user", "text": text})
	require.NoError(s.t, err)
	return s.ask("POST", "/v1/apps/clinic/sessions/"+session+"/messages", string(body))["matches"].([]any)
}
