//go:build nightly

package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheClientsArePackedAsTheyArePublished(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made")
	run(t, "../..", "go", "run", "./deploy/release", "-clients", made, "-version", "7.8.9", "-modpath", "example.org/you/earshot-go")

	folder := t.TempDir()
	installed := filepath.Join(folder, "node_modules/@earshot/client")
	require.NoError(t, os.MkdirAll(installed, 0o700))
	run(t, folder, "tar", "-xzf", filepath.Join(made, "earshot-client-7.8.9.tgz"), "--strip-components=1", "-C", installed)
	require.Equal(t, "7.8.9\n", run(t, folder, "node", "--input-type=module", "-e", `import { version } from '@earshot/client'; console.log(version)`))

	wheel := filepath.Join(made, "earshot_client-7.8.9-py3-none-any.whl")
	out := run(t, folder, python(t), "-c", "import sys; sys.path.insert(0, sys.argv[1]); import earshot, os; print(earshot.__version__, os.path.exists(sys.argv[1]))", wheel)
	require.Equal(t, "7.8.9 True\n", out)

	program := filepath.Join(folder, "program")
	require.NoError(t, os.MkdirAll(program, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte("package main\n\nimport earshot \"example.org/you/earshot-go\"\n\nfunc main() { print(earshot.UserAgent) }\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(program, "go.mod"), []byte("module program\n\ngo 1.24\n\nrequire example.org/you/earshot-go v0.0.0\n\nreplace example.org/you/earshot-go => "+filepath.Join(made, "go")+"\n"), 0o600))
	printed, err := prepared(program, "go", "run", ".").CombinedOutput()
	require.NoError(t, err, string(printed))
	require.Equal(t, "earshot-go/7.8.9", string(printed))

	for _, arguments := range [][]string{{"-version", "devel"}, {"-version", "1.2.3", "-modpath", "earshot"}} {
		cmd := exec.Command("go", append([]string{"run", "./deploy/release", "-clients", made}, arguments...)...)
		cmd.Dir = "../.."
		require.Error(t, cmd.Run(), "%v", arguments)
	}
}
