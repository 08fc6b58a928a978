//go:build nightly

package console_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// The bundles must match the versions in package-lock.json.
func TestBundleIsMadeOfItsLockFile(t *testing.T) {
	folder, made := t.TempDir(), t.TempDir()
	require.NoError(t, os.CopyFS(folder, os.DirFS("bundle")))
	require.NoError(t, os.RemoveAll(filepath.Join(folder, "node_modules")))
	for _, command := range [][]string{{"npm", "ci", "--no-audit", "--no-fund"}, {"node", "build.js", made}} {
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir = folder
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	files := testbed.Got(filepath.Glob(filepath.Join(made, "*")))(t)
	require.NotEmpty(t, files)
	same := func(made, kept string) {
		want := testbed.Read(t, made)
		got := testbed.Read(t, kept)
		require.True(t, want == got, "%s is another; make it with: npm ci && npm run build, in api/console/bundle", kept)
	}
	for _, file := range files {
		same(file, filepath.Join("static", filepath.Base(file)))
	}
	same(filepath.Join(folder, "licences.txt"), "bundle/licences.txt")
}
