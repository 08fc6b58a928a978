package clients

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// The clients are modules of their own, which go test ./... of this one does not see.

func TestTheGoClientWorksWithTheService(t *testing.T) {
	beside(t, dev(t), "go")
}

func TestToolsOfLangchaingoWorkWithTheService(t *testing.T) {
	beside(t, dev(t), "go/langchain")
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
