package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// Both clients print the tool that fired with its value, the place of a fault, and the status of a refusal.
const printed = "fired request-for-appointment on Friday\nfault at /text\nrefused: 403\n"

func TestClientByOapiCodegenWorksWithTheService(t *testing.T) {
	s := dev(t)
	folder := copied(t, "golang")
	s.save("/openapi.json", filepath.Join(folder, "openapi.json"))
	run(t, folder, "go", "generate")
	run(t, folder, "go", "build", "-o", "clinic", ".")
	got := run(t, folder, filepath.Join(folder, "clinic"), s.URL, testbed.AdminKey)
	require.Equal(t, strings.Replace(printed, "fault at /text", "fault at /actor\nfault at /text", 1), got)
}

func copied(t *testing.T, name string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, filepath.WalkDir(name, func(file string, entry os.DirEntry, err error) error {
		inside, outside := filepath.Rel(name, file)
		if err = errors.Join(err, outside); err != nil {
			return err
		}
		if entry.IsDir() {
			if madeThere[entry.Name()] {
				return filepath.SkipDir
			}
			return os.MkdirAll(filepath.Join(folder, inside), 0o700)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, inside), text, 0o600)
	}))
	return folder
}

var madeThere = map[string]bool{"node_modules": true, "built": true, "dist": true, "__pycache__": true, ".mypy_cache": true}

func prepared(folder, program string, arguments ...string) *exec.Cmd {
	cmd := exec.Command(program, arguments...)
	cmd.Dir = folder
	return cmd
}

func run(t *testing.T, folder, program string, arguments ...string) string {
	t.Helper()
	cmd := prepared(folder, program, arguments...)
	var faults bytes.Buffer
	cmd.Stderr = &faults
	out, err := cmd.Output()
	require.NoError(t, err, "%s %s: %s%s", program, strings.Join(arguments, " "), out, faults.String())
	return string(out)
}

type service struct {
	*testbed.Dev
	t *testing.T
}

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
	return &service{testbed.NewDev(t, variables), t}
}

func (s *service) save(path, file string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(file, s.Call("GET", path, ""), 0o600))
}

var update = flag.Bool("update", false, "write the generated types of the clients anew")

func upToDate(t *testing.T, generated, kept string) {
	t.Helper()
	now, err := os.ReadFile(generated)
	require.NoError(t, err)
	if *update {
		require.NoError(t, os.WriteFile(kept, now, 0o600))
	}
	before, err := os.ReadFile(kept)
	require.NoError(t, err)
	require.True(t, string(before) == string(now), "%s is not what the routes and events are now: go test -tags nightly ./deploy/clients -run AreUpToDate -update", kept)
}

func desk(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var fired struct{ Values struct{ Day string } }
		if json.NewDecoder(r.Body).Decode(&fired) != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"booked": fired.Values.Day})
	}))
	t.Cleanup(server.Close)
	return server.URL
}
