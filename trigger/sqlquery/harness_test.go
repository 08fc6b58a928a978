package sqlquery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/sqlquery"
)

// tenants is the Apps of the tests.
type tenants map[string]*repositories.App

func (t tenants) App(_ context.Context, id string) (*repositories.App, error) {
	if app, ok := t[id]; ok {
		return app, nil
	}
	return nil, fmt.Errorf("app %q: %w", id, store.ErrNotFound)
}

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
	options := sqlquery.Options{Apps: tenants{"clinic": r.app}}
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
	kind := map[string]string{"postgres": "postgres-sql", "sqlite": "sqlite-sql"}[r.app.Sources[0].Type]
	body := `{"tools":[{"name":"t","type":"` + kind + `","source":"db",` + fields + `}]}`
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r", []byte(body))
	require.NoError(r.t, err)
	return &repository.Tools[0]
}

// statement is the field of a statement.
func statement(sql string) string {
	text, _ := json.Marshal(sql)
	return `"statement":` + string(text)
}

func effectOf(tool *repositories.Tool, values map[string]any) effect.Effect {
	return effect.Effect{
		ID: "e1", Kind: effect.KindCall, AppID: "clinic", SessionID: "s1", TriggerID: "t1", Attempt: 1,
		Call: &effect.Call{Tool: tool, Request: tool.Request, Values: values},
	}
}

// run delivers a tool with the values of a program, given as JSON.
func (r *rig) run(fields, values string) effect.Outcome {
	r.t.Helper()
	tool := r.tool(fields)
	given, err := parameters.DecodeValues([]byte(values))
	require.NoError(r.t, err)
	checked, faults := tool.Params().Check(given)
	require.Empty(r.t, faults)
	return r.Deliver(r.t.Context(), effectOf(tool, checked))
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
