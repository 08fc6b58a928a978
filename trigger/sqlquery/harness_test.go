package sqlquery_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/sqlquery"
)

// rig is a runner of the app "clinic" with one source, "db".
type rig struct {
	*sqlquery.Runner
	t   testing.TB
	app *repositories.App
}

func newRig(t testing.TB, source repositories.Source, change ...func(*sqlquery.Options)) *rig {
	t.Helper()
	source.Name = "db"
	r := &rig{t: t, app: &repositories.App{ID: "clinic", Sources: []repositories.Source{source}}}
	options := sqlquery.Options{Apps: effecttest.Apps{"clinic": r.app}}
	for _, alter := range change {
		alter(&options)
	}
	r.Runner = sqlquery.New(options)
	t.Cleanup(r.Close)
	return r
}

// tool decodes a SQL tool on the source, from the fields beside its name, type and
// source; parameters are given as name:type.
func (r *rig) tool(fields string) *repositories.Tool {
	r.t.Helper()
	kind := map[string]string{"postgres": "postgres-sql", "mysql": "mysql-sql", "sqlite": "sqlite-sql"}[r.app.Sources[0].Type]
	return effecttest.Tool(r.t, `"type":"`+kind+`","source":"db",`+fields)
}

// statement is the field of a statement.
func statement(sql string) string {
	text, _ := json.Marshal(sql)
	return `"statement":` + string(text)
}

func effectOf(tool *repositories.Tool, values map[string]any) effect.Effect {
	return effecttest.Call(effect.CallOf(tool, values, nil))
}

// run delivers a tool with the values of a program, given as JSON.
func (r *rig) run(fields, values string) effect.Outcome {
	r.t.Helper()
	return r.Deliver(r.t.Context(), effecttest.Fired(r.t, r.tool(fields), values))
}

// rows delivers a statement without parameters and returns its result.
func (r *rig) rows(sql string) string {
	r.t.Helper()
	outcome := r.run(statement(sql), "")
	require.Equal(r.t, effect.Done, outcome.Verdict, outcome.Error)
	return string(outcome.Result)
}

func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}
