package house_test

import (
	"encoding/json"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheThreatModelNamesTestsThatExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "SECURITY.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(string(text), -1)
	require.Greater(t, len(named), 30)
	there := map[string]bool{}
	for _, s := range sources(t) {
		for _, declaration := range s.file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && s.isTest() && strings.HasPrefix(function.Name.Name, "Test") {
				there[function.Name.Name] = true
			}
		}
	}
	for _, name := range named {
		require.True(t, there[name[1]], name[1])
	}
}

// Why a module is here is told where it is required, so that nobody has to guess whether it still is.
func TestEveryDependencyHasAReason(t *testing.T) {
	edit := exec.Command("go", "mod", "edit", "-json")
	edit.Dir = root
	said, err := edit.Output()
	require.NoError(t, err)
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	require.NoError(t, json.Unmarshal(said, &mod))
	var required, listed []string
	for _, one := range mod.Require {
		if !one.Indirect {
			required = append(required, one.Path)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", "DEPENDENCIES.md"))
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\S.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, row[1])
	}
	require.Greater(t, len(required), 30)
	require.ElementsMatch(t, required, listed, "deploy/DEPENDENCIES.md and go.mod")
}
