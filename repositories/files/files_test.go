package files_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/files"
)

// folder writes files into a folder of that name and goes there, so that their names in
// faults are short.
func folder(t *testing.T, contents map[string]string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clinic")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for name, content := range contents {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	t.Chdir(dir)
}

// variables looks up "NAME=value" pairs.
func variables(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, pair := range pairs {
			if key, value, _ := strings.Cut(pair, "="); key == name {
				return value, true
			}
		}
		return "", false
	}
}

// read reads one file of YAML.
func read(t *testing.T, content string, env ...string) (*files.Set, error) {
	t.Helper()
	folder(t, map[string]string{"t.yaml": content})
	return files.Read([]string{"t.yaml"}, files.Options{Lookup: variables(env...)})
}

// mustRead reads one file that has no fault.
func mustRead(t *testing.T, content string, env ...string) *files.Set {
	t.Helper()
	set, err := read(t, content, env...)
	require.NoError(t, err)
	return set
}

// faults lists the faults of an error as lines.
func faults(t *testing.T, err error) []string {
	t.Helper()
	var found files.Faults
	require.ErrorAs(t, err, &found)
	return lines(found)
}

func lines(found []files.Fault) []string {
	texts := []string{}
	for _, fault := range found {
		texts = append(texts, fault.String())
	}
	return texts
}

// faultsButUnsupported leaves out what only says that a type is not there yet.
func faultsButUnsupported(err error) []string {
	var found files.Faults
	rest := []string{}
	if errors.As(err, &found) {
		for _, fault := range found {
			if !strings.Contains(fault.Detail, "not supported") {
				rest = append(rest, fault.String())
			}
		}
	}
	return rest
}

// bodies lists what would be sent: the app, and the repositories by id.
func bodies(set *files.Set) map[string]string {
	found := map[string]string{"app": string(set.App.Body())}
	for _, repository := range set.Repositories {
		found[repository.ID] = string(repository.Body())
	}
	return found
}
