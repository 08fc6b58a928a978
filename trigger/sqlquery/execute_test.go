package sqlquery_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/sqlquery"
)

// runs delivers a tool of a type with the values of a program.
func (r *rig) runs(kind, fields, values string) effect.Outcome {
	r.t.Helper()
	return r.Deliver(r.t.Context(), effecttest.Fired(r.t, effecttest.Tool(r.t, `"type":"`+kind+`","source":"db"`+fields), values))
}

// executes checks that a tool which executes SQL runs queries alone on a table of at least
// one row, unless the tool or its source say that it may change it.
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

func postgresTables(t *testing.T, server *sqltest.Server) {
	server.Exec(`create table gates (id int unique, flight int not null default 7 references flights (id)); comment on column gates.id is 'number';
		create function landed() returns trigger language plpgsql as 'begin return new; end';
		create trigger landed after insert on gates for each row execute function landed()`)
	r := newRig(t, server.Source("db"))
	require.Empty(t, r.Check(t.Context(), r.app, []repositories.Tool{*effecttest.Tool(t, `"type":"postgres-list-tables","source":"db"`)}))
	outcome := r.runs("postgres-list-tables", "", `{"table_names":"nowhere, gates","output_format":"simple"}`)
	require.Equal(t, `[{"schema_name":"public","object_name":"gates","object_details":{"name":"gates"}}]`, string(outcome.Result), outcome.Error)
	outcome = r.runs("postgres-list-tables", "", `{"table_names":"gates"}`)
	require.JSONEq(t, `[{"schema_name":"public","object_name":"gates","object_details":{"schema_name":"public","object_name":"gates","object_type":"TABLE","owner":"earshot","comment":null,
		"columns":[{"column_name":"id","data_type":"integer","ordinal_position":1,"is_not_nullable":false,"column_default":null,"column_comment":"number"},
			{"column_name":"flight","data_type":"integer","ordinal_position":2,"is_not_nullable":true,"column_default":"7","column_comment":null}],
		"constraints":[{"constraint_name":"gates_flight_fkey","constraint_type":"FOREIGN KEY","constraint_definition":"FOREIGN KEY (flight) REFERENCES flights(id)","constraint_columns":["flight"],
				"foreign_key_referenced_table":"flights","foreign_key_referenced_columns":["id"]},
			{"constraint_name":"gates_id_key","constraint_type":"UNIQUE","constraint_definition":"UNIQUE (id)","constraint_columns":["id"],"foreign_key_referenced_table":null,"foreign_key_referenced_columns":null}],
		"indexes":[{"index_name":"gates_id_key","index_definition":"CREATE UNIQUE INDEX gates_id_key ON public.gates USING btree (id)","is_unique":true,"is_primary":false,"index_method":"btree","index_columns":["id"]}],
		"triggers":[{"trigger_name":"landed","trigger_definition":"CREATE TRIGGER landed AFTER INSERT ON public.gates FOR EACH ROW EXECUTE FUNCTION landed()","trigger_enabled_state":"O"}]}}]`,
		string(outcome.Result), outcome.Error)
	require.Contains(t, string(r.runs("postgres-list-tables", "", `{}`).Result), `"object_name":"flights"`)
	executes(t, r, "postgres-execute-sql", "flights")
}

func TestSQLiteExecutes(t *testing.T) {
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	_, err = db.Exec("create table slots (day text); insert into slots values ('Friday')")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	r := newRig(t, repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}, func(o *sqlquery.Options) { o.SQLiteDir = dir })
	tool := r.tool(statement("select {{.column}} as day from slots") + `,"templateParameters":[{"name":"column","type":"string","description":"d","escape":"single-quotes"}]`)
	for value, quoted := range map[string]bool{"Friday": false, `'Friday'`: true} { // quoted, as earlier versions have kept it
		call := effectOf(tool, map[string]any{"column": value})
		call.Call.Quoted = quoted
		require.Equal(t, `[{"day":"Friday"}]`, string(r.Deliver(t.Context(), call).Result))
	}
	executes(t, r, "sqlite-execute-sql", "slots")
	outcome := r.runs("sqlite-execute-sql", "", `{"sql":"select name, type from pragma_table_info('slots')"}`)
	require.Equal(t, `[{"name":"day","type":"TEXT"}]`, string(outcome.Result), outcome.Error)
	for _, sql := range []string{"pragma query_only = 0", "pragma journal_mode", "attach 'x.db' as x", "select 1; drop table slots"} {
		require.Equal(t, effect.Dead, r.runs("sqlite-execute-sql", `,"readOnly":false`, `{"sql":`+mustJSON(sql)+`}`).Verdict, sql)
	}
}
