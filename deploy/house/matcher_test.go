package house_test

import (
	"go/ast"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// floors are the packages of the matcher from the ground up: one imports of them only
// those that it lists. The top folder is the contract that everybody else imports.
var floors = map[string][]string{
	"text":          {},
	"moment":        {"text"},
	"shown":         {},
	"":              {"text"},
	"retrieval":     {"", "text", "shown"},
	"evidence":      {"", "text", "moment"},
	"offline":       {"", "text", "moment", "shown", "retrieval"},
	"llm/arguments": {"text"},
	"llm/provider":  {"", "text", "llm/arguments"},
	"llm/openai":    adapter,
	"llm/anthropic": adapter,
	"llm/gemini":    adapter,
	"llm/cohere":    adapter,
	"llm": {
		"", "text", "retrieval", "evidence", "llm/arguments", "llm/provider", "llm/openai", "llm/anthropic", "llm/gemini", "llm/cohere",
	},
	"chain": {"", "text", "llm", "offline", "evidence"},
	// What tests share.
	"llm/llmtest": {},
	"evaldata":    {"llm/llmtest"},
	"matchertest": {""},
}

// adapter is what a provider's package may know: no other provider's.
var adapter = []string{"", "text", "llm/arguments", "llm/provider"}

func TestTheMatcherIsBuiltFromTheGroundUp(t *testing.T) {
	for _, s := range sources(t) {
		own, is := matcherPackage("earshot/" + filepath.ToSlash(filepath.Dir(s.path)))
		if !is || s.isTest() {
			continue
		}
		require.Contains(t, floors, own, "%s: say in floors what the package may import", s.path)
		for _, spec := range s.file.Imports {
			if path, is := matcherPackage(strings.Trim(spec.Path.Value, `"`)); is {
				require.Contains(t, floors[own], path, "%s imports matcher/%s", s.path, path)
			}
		}
	}
}

// matcherPackage is the path of a package below the matcher's folder.
func matcherPackage(path string) (string, bool) {
	below, is := strings.CutPrefix(path, "earshot/matcher")
	return strings.TrimPrefix(below, "/"), is
}

func TestTheContractOfTheMatcherIsAllThatOthersImport(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() || slices.Contains([]string{"matcher", "cmd", "deploy"}, s.folder()) {
			continue
		}
		for _, spec := range s.file.Imports {
			if below, is := matcherPackage(strings.Trim(spec.Path.Value, `"`)); is {
				require.Empty(t, below, "%s imports matcher/%s: the wiring in cmd brings the two together", s.path, below)
			}
		}
	}
}

// ofModels are the libraries that only those who ask models need.
var ofModels = []string{"github.com/sashabaranov/go-openai", "golang.org/x/oauth2/google"}

func TestLibrariesForModelsAreBelowTheModels(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			if slices.Contains(ofModels, strings.Trim(spec.Path.Value, `"`)) {
				require.True(t, strings.HasPrefix(s.path, "matcher/llm/"), "%s imports %s", s.path, spec.Path.Value)
			}
		}
	}
}

// Limits of a package and of its files: more files than these are several ideas, and
// shorter ones make the reader jump.
const (
	maxPackageFiles = 25
	minFileLines    = 40
)

func TestPackagesOfTheMatcherAreOfASizeToLiveIn(t *testing.T) {
	files := map[string]int{}
	for _, s := range sources(t) {
		if s.folder() != "matcher" {
			continue
		}
		files[filepath.Dir(s.path)]++
		if !s.isTest() {
			require.GreaterOrEqual(t, s.lines(s.file), minFileLines, s.path)
		}
	}
	for folder, n := range files {
		require.LessOrEqual(t, n, maxPackageFiles, "files in %s", folder)
	}
}

func TestNoLocalOfTheMatcherHidesANameOfItsPackage(t *testing.T) {
	names := map[string]map[string]bool{}
	for _, s := range sources(t) {
		folder := filepath.Dir(s.path)
		if names[folder] == nil {
			names[folder] = map[string]bool{}
		}
		if !s.isTest() {
			for _, declared := range packageNames(s.file) {
				names[folder][declared] = true
			}
		}
	}
	for _, s := range sources(t) {
		if s.folder() != "matcher" || s.isTest() {
			continue
		}
		for _, local := range locals(s.file) {
			require.False(t, names[filepath.Dir(s.path)][local.Name], "%s: %s hides a name of the package",
				s.set.Position(local.Pos()), local.Name)
		}
	}
}

// packageNames lists the names that a file declares for its package, methods aside.
func packageNames(file *ast.File) []string {
	var names []string
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// locals lists the names that the functions of a file declare.
func locals(file *ast.File) []*ast.Ident {
	var found []*ast.Ident
	add := func(expressions ...ast.Expr) {
		for _, expression := range expressions {
			if name, is := expression.(*ast.Ident); is && name.Name != "_" {
				found = append(found, name)
			}
		}
	}
	for _, declaration := range file.Decls {
		function, is := declaration.(*ast.FuncDecl)
		if !is {
			continue
		}
		ast.Inspect(function, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.AssignStmt:
				if n.Tok == token.DEFINE {
					add(n.Lhs...)
				}
			case *ast.RangeStmt:
				if n.Tok == token.DEFINE {
					add(n.Key, n.Value)
				}
			case *ast.ValueSpec:
				for _, name := range n.Names {
					add(name)
				}
			case *ast.FuncType:
				for _, field := range append(n.Params.List, results(n)...) {
					for _, name := range field.Names {
						add(name)
					}
				}
			}
			return true
		})
	}
	return found
}

func results(function *ast.FuncType) []*ast.Field {
	if function.Results == nil {
		return nil
	}
	return function.Results.List
}
