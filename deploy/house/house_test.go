package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// folders are the top level, beside files. Another one needs a reason that a stranger
// would accept.
var folders = []string{"api", "cmd", "deploy", "emitter", "httpcall", "matcher", "repositories", "trigger"}

// imports says what of the house a folder may import. Adapters meet in cmd only.
var imports = map[string][]string{
	"repositories": {"repositories"},
	"matcher":      {"matcher", "repositories"},
	"trigger":      {"trigger", "matcher", "repositories"},
	"emitter":      {"emitter", "trigger", "repositories"},
	"httpcall":     {"httpcall", "trigger", "repositories"},
	"api":          {"api", "trigger", "matcher", "repositories"},
	"cmd":          folders,
	"deploy":       folders,
}

// Limits of size, in lines. They are far above what is usual here: what reaches them
// has more than one idea.
const (
	longestFunction = 60
	longestFile     = 400
)

type source struct {
	path string // from the root
	file *ast.File
	set  *token.FileSet
}

func (s source) folder() string { return strings.SplitN(s.path, "/", 2)[0] }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) lines(node ast.Node) int {
	return s.set.Position(node.End()).Line - s.set.Position(node.Pos()).Line + 1
}

// sources parses all Go files of the repository.
func sources(t *testing.T) []source {
	var list []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		list = append(list, source{filepath.ToSlash(strings.TrimPrefix(path, root+"/")), file, set})
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

func TestTopLevelHoldsOnlyTheKnownFolders(t *testing.T) {
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			require.Contains(t, folders, entry.Name())
		}
	}
}

func TestFoldersImportOnlyWhatTheyMay(t *testing.T) {
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			path, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "earshot/")
			if !ours || s.isTest() {
				continue
			}
			require.Contains(t, imports[s.folder()], strings.SplitN(path, "/", 2)[0], "%s imports %s", s.path, path)
		}
	}
}

// meetInCmd are the packages that deliver effects, which know nothing of each other,
// and which nothing but the wiring knows.
var meetInCmd = []string{"earshot/emitter", "earshot/httpcall", "earshot/trigger/sqlquery"}

func TestAdaptersAreKnownToTheWiringAlone(t *testing.T) {
	for _, s := range sources(t) {
		own := "earshot/" + filepath.ToSlash(filepath.Dir(s.path))
		if s.isTest() || s.folder() == "cmd" || s.folder() == "deploy" {
			continue
		}
		for _, spec := range s.file.Imports {
			path := strings.Trim(spec.Path.Value, `"`)
			require.False(t, slices.Contains(meetInCmd, path) && !strings.HasPrefix(own, path), "%s imports %s", s.path, path)
		}
	}
}

func TestFunctionsAndFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		require.LessOrEqual(t, s.lines(s.file), longestFile, s.path)
		for _, declaration := range s.file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is {
				require.LessOrEqual(t, s.lines(function), longestFunction, "%s: %s", s.path, function.Name.Name)
			}
		}
	}
}

func TestEveryPackageIsDocumentedOnce(t *testing.T) {
	documented := map[string]int{}
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		documented[filepath.Dir(s.path)] += 0
		if s.file.Doc != nil {
			documented[filepath.Dir(s.path)]++
		}
	}
	for folder, times := range documented {
		require.Equal(t, 1, times, "package comments in %s", folder)
	}
}

func TestEverythingExportedIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest() {
			continue
		}
		for _, declaration := range s.file.Decls {
			for _, name := range undocumented(declaration) {
				t.Errorf("%s: %s has no comment", s.path, name)
			}
		}
	}
}

// undocumented lists the exported names of a declaration that have no comment, neither
// their own nor that of their group.
func undocumented(declaration ast.Decl) []string {
	var names []string
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			names = append(names, undocumentedSpec(d, spec)...)
		}
	}
	return names
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) []string {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
			return []string{s.Name.Name}
		}
	case *ast.ValueSpec:
		exported := slices.ContainsFunc(s.Names, func(name *ast.Ident) bool { return name.IsExported() })
		if exported && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			return []string{s.Names[0].Name}
		}
	}
	return nil
}

// exportedReceiver reports whether a function is no method of a type that is not
// exported: such a method is there for an interface that documents it.
func exportedReceiver(function *ast.FuncDecl) bool {
	if function.Recv == nil {
		return true
	}
	receiver := function.Recv.List[0].Type
	if star, is := receiver.(*ast.StarExpr); is {
		receiver = star.X
	}
	name, is := receiver.(*ast.Ident)
	return !is || name.IsExported()
}

func TestModuleReplacesNothing(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(text), "\nreplace")
}
