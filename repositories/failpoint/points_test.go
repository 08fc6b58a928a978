package failpoint_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/failpoint"
)

func TestEveryPointIsListedOnceAndPassedSomewhere(t *testing.T) {
	constants := declared(t)
	listed := map[failpoint.Point]bool{}
	for _, point := range failpoint.Points() {
		require.False(t, listed[point], "%s is listed twice", point)
		listed[point] = true
	}
	require.Len(t, listed, len(constants))
	passed := sourceText(t)
	for name := range constants {
		require.Contains(t, passed, "failpoint."+name, "no code passes the point")
	}
}

// TestFlawsAreCompiledIntoTheTestBuildAlone: the service asks for each flaw in one place, this build answers no,
// and its scripts are complete.
func TestFlawsAreCompiledIntoTheTestBuildAlone(t *testing.T) {
	text := sourceText(t)
	for _, flaw := range failpoint.Flaws() {
		require.False(t, failpoint.Planted(flaw), flaw)
	}
	require.Equal(t, len(failpoint.Flaws()), strings.Count(text, "failpoint.Planted(")+strings.Count(text, "failpoint.Script("))
	require.NotContains(t, text, "EARSHOT_FLAW")
	require.Equal(t, "return 1", failpoint.Script(failpoint.CommitWithoutCAS, "return 1"))
}

// declared reads the names of the constants of type Point.
func declared(t *testing.T) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), "points.go", nil, 0)
	require.NoError(t, err)
	names := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "Point" {
			for _, name := range spec.Names {
				names[name.Name] = true
			}
		}
		return false
	})
	return names
}

// sourceText returns the source of the service's packages.
func sourceText(t *testing.T) string {
	var text strings.Builder
	for _, folder := range []string{"api", "cmd/earshot", "emitter", "httpcall", "repositories", "trigger"} {
		require.NoError(t, filepath.WalkDir("../../"+folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.Contains(path, "repositories/failpoint") {
				return err
			}
			content, err := os.ReadFile(path)
			text.Write(content)
			return err
		}))
	}
	return text.String()
}

// program passes a point three times, and prints it.
const program = `package main

import (
	"fmt"

	"earshot/repositories/failpoint"
)

func main() {
	for i := range 3 {
		failpoint.At(failpoint.CommitReply)
		fmt.Println("passed", i+1)
	}
}
`

func TestProcessDiesAtThePointThatIsNamedAndOnlyInTheTestBuild(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	dir, err := os.MkdirTemp(".", "_program-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	for _, test := range []struct{ tags, crash, output string }{
		{"crashtest", "commit.reply:2", "passed 1\n"},
		{"crashtest", "commit.reply", ""},
		{"crashtest", "commit.before", "passed 1\npassed 2\npassed 3\n"},
		{"crashtest", "", "passed 1\npassed 2\npassed 3\n"},
		{"", "commit.reply", "passed 1\npassed 2\npassed 3\n"},
	} {
		command := exec.Command("go", "run", "-tags", test.tags, "./"+dir)
		command.Env = append(os.Environ(), "EARSHOT_CRASH="+test.crash)
		out, err := command.Output()
		require.Equal(t, test.output, string(out), "%+v", test)
		require.Equal(t, strings.Count(test.output, "\n") == 3, err == nil, "%+v", test)
	}
}
