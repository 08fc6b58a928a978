package house_test

import (
	"go/ast"
	"go/parser"
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

func TestRulesFindWhatTheyLookFor(t *testing.T) {
	file, err := parser.ParseFile(set, "example.go", example, parser.ParseComments)
	require.NoError(t, err)
	var hidden []string
	for _, local := range hiding([]*ast.File{file}) {
		hidden = append(hidden, local.Name)
	}
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
