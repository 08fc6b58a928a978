package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

func copied(t *testing.T, name string) string {
	folder := t.TempDir()
	require.NoError(t, os.CopyFS(folder, testbed.Sources(name)))
	return folder
}

func prepared(folder, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = folder
	return cmd
}

func run(t *testing.T, folder, program string, arguments ...string) string {
	cmd := prepared(folder, program, arguments...)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s%s", program, strings.Join(arguments, " "), out, faults.String())
	return string(out)
}

type service struct{ *testbed.Dev }

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "clients"); err != nil {
		panic(err)
	}
	testbed.AtEnd(func() error { return os.RemoveAll(scratch) })
	testbed.Main(m)
}

func dev(t *testing.T, variables ...string) *service {
	t.Helper()
	return &service{testbed.NewDev(t, variables)}
}

func (s *service) save(path, file string) {
	require.NoError(s.T, os.WriteFile(file, s.Call("GET", path, ""), 0o600))
}

var update = flag.Bool("update", false, "write the generated types of the clients anew")

func upToDate(t *testing.T, generated, kept string) {
	t.Helper()
	testbed.Kept(t, *update, kept, testbed.Read(t, generated), "go test -tags nightly ./deploy/clients -run AreUpToDate -update")
}

func desk(t *testing.T) string {
	t.Helper()
	return testbed.Serve(t, "", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var fired struct{ Values struct{ Day string } }
		if json.NewDecoder(r.Body).Decode(&fired) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"booked": fired.Values.Day})
	}))
}

// The clients are modules of their own, which go test ./... of this one does not see.

func TestTheGoClientWorksWithTheService(t *testing.T) {
	beside(t, dev(t), "go")
}

func TestTheGoClientNeedsTheStandardLibraryAlone(t *testing.T) {
	require.Equal(t, "earshot/deploy/clients/go\n", run(t, "go", "go", "list", "-m", "all"))
}

// unresolved is what the go command says without a network, which is no fault of what is tested.
var unresolved = regexp.MustCompile(`dial tcp|no such host|i/o timeout|module lookup disabled`)

func beside(t *testing.T, s *service, folder string) {
	t.Helper()
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "-count=1", "-vet=off", "./..."}} {
		cmd := exec.Command("go", arguments...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "EARSHOT_URL="+s.URL, "EARSHOT_KEY="+testbed.AdminKey)
		out, err := cmd.CombinedOutput()
		if err != nil && unresolved.Match(out) {
			testbed.Missing(t, "the module proxy, from which langchaingo comes, cannot be reached")
		}
		require.NoError(t, err, "go %v: %s", arguments, out)
	}
}

// python returns an interpreter that has httpx and mypy: the system's has what apt-get installs.
func python(t *testing.T) string {
	t.Helper()
	program := testbed.Python("import httpx, mypy")
	if program == "" {
		testbed.Missing(t, "no python3 with httpx and mypy: apt-get install python3-httpx mypy, or pip install httpx mypy")
	}
	return program
}

func TestTypesOfThePythonClientAreUpToDate(t *testing.T) {
	program, folder, s := python(t), copied(t, "python"), dev(t)
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	s.save("/asyncapi.json", filepath.Join(folder, "asyncapi.json"))
	run(t, folder, program, "generate.py", "openapi.json", "asyncapi.json", "src/earshot")
	for _, file := range []string{"types.py", "_sync.py"} {
		upToDate(t, filepath.Join(folder, "src/earshot", file), filepath.Join("python/src/earshot", file))
	}
}

func TestThePythonClientLivesAStory(t *testing.T) {
	program, folder, s := python(t), copied(t, "python"), dev(t)
	between, network := troubleBefore(t, s)
	for name, value := range map[string]string{"EARSHOT_URL": s.URL, "EARSHOT_KEY": testbed.AdminKey, "DESK_URL": desk(t), "EARSHOT_TROUBLE": network, "PYTHONPATH": "src"} {
		t.Setenv(name, value)
	}
	run(t, folder, program, "-W", "error", "tests/story.py")
	streams, lost := between.came("/v1/apps/clinic-python/sessions/trouble/events")
	require.GreaterOrEqual(t, streams, 3, "one broke off and one fell silent; on a busy machine others do")
	require.Equal(t, 4, lost)
}
