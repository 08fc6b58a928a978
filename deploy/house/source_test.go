package house_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "earshot/"
)

type source struct {
	path string // from the root
	file *ast.File
}

var set = token.NewFileSet()

// sources parses all Go files of the repository, once for all rules.
func sources(t *testing.T) []source {
	list, err := parsed()
	require.NoError(t, err)
	require.NotEmpty(t, list)
	return list
}

var parsed = sync.OnceValues(func() (list []source, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // a test beside this one has made it, and taken it away
		case err == nil && entry.IsDir() && strings.HasPrefix(entry.Name(), "_"):
			return fs.SkipDir // as the go command does: a test may just be making a program in it
		case err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go"):
			return err
		}
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		list = append(list, source{filepath.ToSlash(strings.TrimPrefix(name, root+"/")), file})
		return err
	})
	return list, err
})

func production(t *testing.T) []source {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(sources(t)), source.isTest)
}

// folder is the top folder of a file, pkg the one that it is in.
func (s source) folder() string { return strings.SplitN(s.path, "/", 2)[0] }

func (s source) pkg() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func at(node ast.Node) string {
	position := set.Position(node.Pos())
	return strings.TrimPrefix(filepath.ToSlash(position.Filename), root+"/") + ":" + strconv.Itoa(position.Line)
}

func (s source) ours() []string {
	var list []string
	for _, spec := range s.file.Imports {
		if below, is := strings.CutPrefix(importPath(spec), module); is {
			list = append(list, below)
		}
	}
	return list
}

func importPath(spec *ast.ImportSpec) string { return strings.Trim(spec.Path.Value, `"`) }

// findings are the places that break a rule, by package.
type findings map[string][]string

func (f findings) add(pkg, format string, values ...any) {
	f[pkg] = append(f[pkg], fmt.Sprintf(format, values...))
}

// report fails the test of a rule for all places that break it at once.
func (f findings) report(t *testing.T) {
	t.Helper()
	for _, pkg := range slices.Sorted(maps.Keys(f)) {
		for _, finding := range slices.Sorted(slices.Values(f[pkg])) {
			t.Errorf("%s: %s", pkg, finding)
		}
	}
}

// reasons are the exceptions of a rule. One that is not needed any more is an error itself.
type reasons struct {
	list   string // the name of the variable
	of     map[string]string
	needed map[string]bool
}

func newReasons(list string, of map[string]string) reasons {
	return reasons{list, of, map[string]bool{}}
}

// has reports whether there is a reason for what the rule has found.
func (r reasons) has(name string) bool {
	r.needed[name] = true
	return r.of[name] != ""
}

func (r reasons) report(t *testing.T) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(r.of)) {
		if !r.needed[name] {
			t.Errorf("%s: remove %q, which keeps the rule", r.list, name)
		}
	}
}
