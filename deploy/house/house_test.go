package house_test

import (
	"go/ast"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// folders are the top level. Another one needs a good reason.
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

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			switch d := declaration.(type) {
			case *ast.FuncDecl:
				// A method of a type that is not exported is there for an interface that documents it.
				if d.Doc == nil && d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiverName(d))) {
					t.Errorf("%s: %s has no comment", s.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name := undocumented(spec); name != "" && d.Doc == nil {
						t.Errorf("%s: %s has no comment", s.path, name)
					}
				}
			}
		}
	}
}

// undocumented is an exported name of a declaration that has no comment of its own; empty for none.
func undocumented(spec ast.Spec) string {
	var names []*ast.Ident
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil {
			names = []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil {
			names = s.Names
		}
	}
	for _, name := range names {
		if name.IsExported() {
			return name.Name
		}
	}
	return ""
}
