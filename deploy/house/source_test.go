package house_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
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

// source is a Go file of the repository.
type source struct {
	path string // from the root
	file *ast.File
	set  *token.FileSet
}

// sources parses all Go files of the repository, once for all rules.
func sources(t *testing.T) []source {
	t.Helper()
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
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		list = append(list, source{filepath.ToSlash(strings.TrimPrefix(name, root+"/")), file, set})
		return err
	})
	return list, err
})

// production are the files that are no tests.
func production(t *testing.T) []source {
	t.Helper()
	return slices.DeleteFunc(slices.Clone(sources(t)), source.isTest)
}

// folder is the top folder of a file, pkg the one that it is in.
func (s source) folder() string { return strings.SplitN(s.path, "/", 2)[0] }

func (s source) pkg() string { return path.Dir(s.path) }

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) lines(node ast.Node) int {
	return s.set.Position(node.End()).Line - s.set.Position(node.Pos()).Line + 1
}

// at is the place of a node, for findings.
func (s source) at(node ast.Node) string {
	position := s.set.Position(node.Pos())
	return s.path + ":" + strconv.Itoa(position.Line)
}

// ours lists the packages of the repository that a file imports, from the root.
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
