package sqlquery_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
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

// ran is a statement with the fields and values of its tool. want is its result if it begins
// with a bracket, and a part of the error of a call that is dead if not.
type ran struct{ sql, fields, values, want string }

// table checks statements one after the other.
func (r *rig) table(all ...ran) {
	r.t.Helper()
	for _, c := range all {
		outcome := r.run(statement(c.sql)+c.fields, c.values)
		if strings.HasPrefix(c.want, "[") {
			require.Equal(r.t, c.want, string(outcome.Result), "%s: %s", c.sql, outcome.Error)
		} else {
			effecttest.Ended(r.t, outcome, effect.Dead, effect.ReasonRequest, c.want)
		}
	}
}

func mustJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// runs delivers a tool of a type with the values of a program.
func (r *rig) runs(kind, fields, values string) effect.Outcome {
	r.t.Helper()
	return r.Deliver(r.t.Context(), effecttest.Fired(r.t, effecttest.Tool(r.t, `"type":"`+kind+`","source":"db"`+fields), values))
}

// executes checks that a tool which executes SQL runs only queries on a table of at least one row, unless the
// tool or its source allows changes.
func executes(t *testing.T, r *rig, kind, table string) {
	t.Helper()
	const change = `{"sql":"insert into noted values ('x')"}`
	require.Equal(t, `[{"v":1}]`, string(r.runs(kind, "", `{"sql":"select 1 as v from `+table+` limit 1"}`).Result))
	made := r.runs(kind, `,"readOnly":false`, `{"sql":"create table noted (v varchar(10))"}`)
	require.Equal(t, effect.Done, made.Verdict, made.Error)
	for fields, values := range map[string]string{"": change, `,"readOnly":true`: `{"sql":"drop table ` + table + `"}`} {
		outcome := r.runs(kind, fields, values)
		require.Equal(t, effect.Dead, outcome.Verdict, "%s: %s", fields, outcome.Result)
		require.Contains(t, outcome.Error, map[bool]string{true: "runs queries alone, as neither it nor its source says readOnly: false", false: "is read-only"}[fields == ""])
	}
	require.Equal(t, `[]`, string(r.runs(kind, `,"readOnly":false`, change).Result))
	r.app.Sources[0].ReadOnly = new(false)
	require.Equal(t, `[]`, string(r.runs(kind, "", change).Result), "the source says it")
	require.Contains(t, r.runs(kind, `,"readOnly":true`, change).Error, "is read-only")
	r.app.Sources[0].ReadOnly = new(true)
	require.Contains(t, r.runs(kind, `,"readOnly":false`, change).Error, `the source "db" is read-only`, "which has the last word")
	require.Equal(t, `[{"n":2}]`, string(r.runs(kind, "", `{"sql":"select count(*) as n from noted"}`).Result))
}

// one makes all statements of a source run on one connection.
func one(o *sqlquery.Options) { o.SourceLimit = 1 }

func BenchmarkStatement(b *testing.B) {
	dir := newFile(b, flights)
	for name, source := range map[string]repositories.Source{
		"postgres": sqltest.RunPostgres(b).Source(), "sqlite": {Type: repositories.SourceSQLite, Database: "clinic.db"},
	} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, source, one, func(o *sqlquery.Options) { o.SQLiteDir = dir })
			delivery := effectOf(r.tool(statement("select 1 as v")), nil)
			for b.Loop() {
				if outcome := r.Deliver(b.Context(), delivery); outcome.Verdict != effect.Done {
					b.Fatal(outcome.Error)
				}
			}
		})
	}
}
