package house_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folders are the top level, beside files. Another one needs a reason that a stranger
// would accept.
var folders = []string{"api", "cmd", "deploy", "emitter", "httpcall", "matcher", "repositories", "trigger"}

func TestTopLevelHoldsOnlyTheKnownFolders(t *testing.T) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && entry.Name() != "dist" { // made by deploy/release and deploy/package
			require.Contains(t, folders, entry.Name())
		}
	}
}

func TestEveryPackageIsDocumentedOnce(t *testing.T) {
	documented := map[string]int{}
	for _, s := range production(t) {
		documented[s.pkg()] += 0
		if s.file.Doc != nil {
			documented[s.pkg()]++
		}
	}
	for folder, times := range documented {
		require.Equal(t, 1, times, "package comments in %s", folder)
	}
}

func TestModuleReplacesNothing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "\nreplace")
}
