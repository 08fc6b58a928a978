package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"

	"github.com/stretchr/testify/require"
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

func parseExample(t *testing.T) source {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "example.go", example, parser.ParseComments)
	require.NoError(t, err)
	return source{"some/example.go", file, set}
}

// namesIn are what locals finds of the names that hide one of the package.
func namesIn(file *ast.File) []string {
	ours := map[string]bool{}
	for _, name := range packageNames(file) {
		ours[name.Name] = true
	}
	var hiding []string
	for _, local := range locals(file) {
		if ours[local.Name] {
			hiding = append(hiding, local.Name)
		}
	}
	return hiding
}

func TestRulesFindWhatTheyLookFor(t *testing.T) {
	s := parseExample(t)
	require.ElementsMatch(t, []string{"hidden", "table", "New", "Level", "New"}, namesIn(s.file))

	asked := map[string]int{}
	exported := exports{}
	for _, declaration := range s.file.Decls {
		asked[nameOf(declaration)] += len(clocks(declaration))
		exported.read(s, declaration)
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
