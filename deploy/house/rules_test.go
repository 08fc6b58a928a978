package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories/lists"
)

const example = `package example

import "time"

type (
	Options struct {
		Now   func() time.Time
		Level Level
		inner hidden
		Late  func(after Unused) Deep
	}
	Level  int
	Deep   struct{}
	Unused interface{}
	Lonely struct{}
	hidden struct{}
)

const (
	Low Level = iota
	High
)

var table = map[string]func(){"x": func() { hidden := 1; _ = hidden }}

func New(o Options) (run *Runner) {
	if o.Now == nil {
		o.Now = time.Now
	}
	for run, table := range table {
		var New = func(Level int) {}
		_ = run
	}
	return nil
}

type Runner struct{}

func (New *Runner) Wait(until Deadline) error { return time.Since(time.Now()) }

type Deadline int
`

func TestRulesFindWhatTheyLookFor(t *testing.T) {
	file, err := parser.ParseFile(set, "example.go", example, parser.ParseComments)
	require.NoError(t, err)
	hidden := lists.Map(hiding([]*ast.File{file}), func(local *ast.Ident) string { return local.Name })
	require.ElementsMatch(t, []string{"hidden", "table", "New", "Level", "New"}, hidden)

	asked := map[string]int{}
	exported := exports{}
	for _, declaration := range file.Decls {
		asked[nameOf(declaration)] += len(clocks(declaration))
		exported.read(declaration)
	}
	require.Equal(t, 0, asked["New"])
	require.Equal(t, 2, asked["Runner.Wait"])

	needed := exported.needed([]string{"New", "Low"})
	for _, name := range []string{"New", "Options", "Level", "Deep", "Unused", "Runner", "Deadline", "Low", "High"} {
		require.True(t, needed[name], name)
	}
	require.False(t, needed["Lonely"])
	require.Len(t, exported, 10)
}

// maxFunctionLines is what a reader takes in at once.
const maxFunctionLines = 60

func TestFunctionsAreShort(t *testing.T) {
	found := findings{}
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			lines := set.Position(declaration.End()).Line - set.Position(declaration.Pos()).Line + 1
			if function, is := declaration.(*ast.FuncDecl); is && lines > maxFunctionLines {
				found.add(s.pkg(), "%s: %s has %d lines, %d is the limit", at(function), function.Name.Name, lines, maxFunctionLines)
			}
		}
	}
	found.report(t)
}

// maxMethods is what a reader can hold of one type.
const maxMethods = 40

func TestTypesAreWhatAReaderCanHold(t *testing.T) {
	methods := map[string]int{}
	for _, s := range production(t) {
		for _, declaration := range s.file.Decls {
			if function, is := declaration.(*ast.FuncDecl); is && function.Recv != nil {
				methods[s.pkg()+"."+receiverName(function)]++
			}
		}
	}
	found := findings{}
	for of, n := range methods {
		if n > maxMethods {
			found.add(of, "%s has %d methods, %d is the limit: split it where one part only calls the other", of, n, maxMethods)
		}
	}
	found.report(t)
}

// TestNoLocalHidesANameOfItsPackage includes parameters, results and receivers, but not names of imported packages (url, path).
func TestNoLocalHidesANameOfItsPackage(t *testing.T) {
	files := map[string][]*ast.File{}
	for _, s := range production(t) {
		files[s.pkg()] = append(files[s.pkg()], s.file)
	}
	found := findings{}
	for pkg, list := range files {
		for _, local := range hiding(list) {
			found.add(pkg, "%s: %s hides a name of the package", at(local), local.Name)
		}
	}
	found.report(t)
}

// hiding lists what the functions of a package declare by the name of something that the package declares.
func hiding(files []*ast.File) (locals []*ast.Ident) {
	info := types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}} // no import is resolved: scopes are known without
	pkg, _ := config.Check("", set, files, &info)
	for _, file := range files {
		delete(info.Defs, file.Name)
		for _, declaration := range file.Decls {
			if d, is := declaration.(*ast.GenDecl); is && d.Tok == token.TYPE { // the parameters that it names have no body
				ast.Inspect(d, func(node ast.Node) bool {
					if name, is := node.(*ast.Ident); is {
						delete(info.Defs, name)
					}
					return true
				})
			}
		}
	}
	for name, object := range info.Defs {
		if pkg.Scope().Lookup(name.Name) == nil {
			continue
		}
		switch object := object.(type) {
		case nil: // of a type switch
			locals = append(locals, name)
		case *types.Label, *types.PkgName:
		default:
			if scope := object.Parent(); scope != nil && scope != pkg.Scope() { // neither a field or method, nor the package's
				locals = append(locals, name)
			}
		}
	}
	return locals
}
