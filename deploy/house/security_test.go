package house_test

import (
	"go/ast"
	"os"
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
