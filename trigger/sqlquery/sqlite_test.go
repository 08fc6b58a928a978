package sqlquery_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/sqlquery"
)

// newFile makes a folder with a SQLite file in it, clinic.db, and returns the folder.
func newFile(t testing.TB, statements string) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	_, err = db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return dir
}

const flights = `create table flights (id integer primary key, airline text not null, on_time boolean, departs datetime, day date, extra json, ticket blob, price real);
	insert into flights values (1, 'CY', true, '2026-12-01 09:30:00', '2026-12-01', '{"gate": 12}', x'deadbeef', 99.5), (2, 'DL', null, null, null, null, null, null)`

func sqliteRig(t *testing.T, dir string, change ...func(*repositories.Source)) *rig {
	source := repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}
	for _, alter := range change {
		alter(&source)
	}
	return newRig(t, source, func(o *sqlquery.Options) { o.SQLiteDir = dir })
}

func TestSQLiteTypesSurvive(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	require.Equal(t, `[{"id":1,"airline":"CY","on_time":true,"departs":"2026-12-01T09:30:00Z","day":"2026-12-01","extra":{"gate":12},"ticket":"3q2+7w==","price":99.5}]`,
		r.rows("select * from flights where id = 1"))
	require.Equal(t, `[{"id":2,"airline":"DL","on_time":null,"departs":null,"day":null,"extra":null,"ticket":null,"price":null}]`,
		r.rows("select * from flights where id = 2;"))
	require.Equal(t, `[]`, r.rows("select * from flights where id = 3"))
	for expression, want := range map[string]string{
		"9223372036854775807": "9223372036854775807", "1e300": "1e+300", "9e999": `"+Inf"`, "''": `""`, "'a\"<b>'": `"a\"<b>"`, "null": "null",
	} {
		require.Equal(t, `[{"v":`+want+`}]`, r.rows("select "+expression+" as v"))
	}
	require.Equal(t, `[{"id":1,"id_2":2}]`, r.rows("select 1 as id, 2 as id"))
	deep := strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999)
	r.rows("update flights set extra = '" + deep + "' where id = 2")
	require.Equal(t, `[{"extra":"`+deep+`"}]`, r.rows("select extra from flights where id = 2"), "a reader of the record would refuse it as JSON")
}

func TestNoStatementWaitsForASigningSecret(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	r.app.SigningSecret = secret.Sealed("unreadable", "")
	require.Equal(t, `[{"id":1}]`, r.rows("select id from flights where id = 1"))
}

func TestSQLiteValuesAreBound(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	const two = `,"parameters":[{"name":"airline","type":"string","description":"d"},{"name":"user-id","type":"integer","description":"d","required":false}]`
	for _, sql := range []string{
		"select id from flights where airline = ? and id = ?", "select id from flights where id = ?2 and airline = ?1",
		"select id from flights where airline = $1 and id = $2", "select id from flights where airline = :airline and id = $2",
		"select id from flights where airline = @airline and id = ?2", "select id from flights where airline = $airline",
	} {
		r.table(ran{sql, two, `{"airline":"CY","user-id":1}`, `[{"id":1}]`})
	}
	const kinds = `,"schema":[{"parameter":"i","type":"integer"},{"parameter":"n","type":"number"},{"parameter":"b","type":"boolean"},
	  {"parameter":"l","type":"array","items":{"type":"string"}},{"parameter":"m","type":"object"}]`
	r.table(
		ran{"select ? as a, ? as b", two, `{"airline":"x'; drop table flights; --"}`, `[{"a":"x'; drop table flights; --","b":null}]`},
		ran{"select :nobody", two, `{"airline":"x"}`, `missing named argument "nobody"`},
		ran{"select ? i, ? n, ? b, (select group_concat(value) from json_each(?)) l, json_extract(?, '$.k') m", kinds,
			`{"i":9007199254740993,"n":1.5,"b":true,"l":["a","b"],"m":{"k":"v"}}`, `[{"i":9007199254740993,"n":1.5,"b":1,"l":"a,b","m":"v"}]`},
		ran{"select ?", `,"schema":[{"parameter":"i","type":"integer"}]`, `{}`, `[{"?":null}]`},
	)
}

func TestSQLiteTemplatesBringNoSecondStatement(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	const table = `,"templateParameters":[{"name":"table","type":"string","description":"d"}]`
	r.table(ran{"select count(*) as n from {{.table}}", table, `{"table":"flights"}`, `[{"n":2}]`})
	for _, pasted := range []string{"flights; delete from flights", "flights;;select 1", `flights;/* */delete from flights`} {
		r.table(ran{"select count(*) as n from {{.table}}", table, mustJSON(map[string]any{"table": pasted}), "a tool runs one"})
	}
	for _, sql := range []string{"select ';' as v", `select 1 as ";v"`, "select 1 as [a;b]", "select 1 /* ; */ as v", "select 1 -- ;\n as v", "select 1;  -- end", "select 1; /* x", "select 'it''s;' as v"} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", sql, outcome.Error)
	}
	require.Equal(t, `[{"n":2}]`, r.rows("select count(*) as n from flights"))
}

func TestSQLiteStatementsKeepToTheirFile(t *testing.T) {
	dir := newFile(t, flights)
	r := sqliteRig(t, dir)
	other := filepath.Join(dir, "other.db")
	for _, sql := range []string{
		"attach database '" + other + "' as other", "vacuum into '" + other + "'", "vacuum", "pragma temp_store_directory = '/tmp'", "pragma journal_mode = off",
		"begin", "begin immediate", "savepoint a", "commit", "detach database main", "select load_extension('/tmp/x.so')",
		"update sqlite_dbpage set data = zeroblob(4096) where pgno = 2", // would break the file, which SQLite then reads
	} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Dead, outcome.Verdict, sql)
		require.NoFileExists(t, other, sql)
	}
	r.table(ran{"select zeroblob(100000000)", "", "", "too big"})
	require.Equal(t, `[{"n":2}]`, r.rows("select count(*) as n from flights"))
}

func TestSQLiteStatementsThatChange(t *testing.T) {
	dir := newFile(t, flights)
	r := sqliteRig(t, dir)
	require.Equal(t, `[]`, r.rows("insert into flights (airline) values ('AA')"))
	require.Equal(t, `[{"id":4}]`, r.rows("insert into flights (airline) values ('BB') returning id"))
	outcome := r.run(statement("with recursive n(i) as (select 1 union all select i + 1 from n where i < 3000) insert into flights (airline) select 'N' from n returning id"), "")
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.True(t, outcome.Truncated)
	require.Equal(t, 1000, strings.Count(string(outcome.Result), `"id"`))
	require.Equal(t, `[{"n":3004}]`, r.rows("select count(*) as n from flights"), "what is cut is the result, not the change")

	readOnly := sqliteRig(t, dir, func(s *repositories.Source) { s.ReadOnly = new(true) })
	require.Equal(t, `[{"n":3004}]`, readOnly.rows("select count(*) as n from flights"))
	for _, sql := range []string{"delete from flights", "create table x (a)", "create temp table x (a)", "with a as (select 1) update flights set airline = 'x'"} {
		outcome := readOnly.run(statement(sql), "")
		require.Equal(t, effect.Dead, outcome.Verdict, sql)
		require.Contains(t, outcome.Error, "read-only", sql)
	}
	require.Equal(t, `[{"n":3004}]`, r.rows("select count(*) as n from flights"))
}

func TestSQLiteResultsAndTimeAreLimited(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	const endless = "with recursive n(i) as (select 1 union all select i + 1 from n) "
	outcome := r.run(statement(endless+"select i from n"), "")
	require.Equal(t, effect.Done, outcome.Verdict)
	require.True(t, outcome.Truncated)
	require.Equal(t, 1000, strings.Count(string(outcome.Result), `"i"`))

	outcome = r.run(statement(endless+"select count(*) from n")+`,"request":{"timeout":"200ms"}`, "")
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonTimeout)
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
}

// A statement that was stopped before it was sent has not run, so it may wait though it is not idempotent.
func TestSQLiteStatementThatWasNotSentIsKnown(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	outcome := r.Deliver(ctx, effectOf(r.tool(statement("delete from flights")+`,"request":{"idempotent":false}`), nil))
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonRequest, "the service is stopping")
	require.True(t, outcome.Deferred)
	require.Equal(t, `[{"n":2}]`, r.rows("select count(*) as n from flights"))
}

func TestSQLiteErrors(t *testing.T) {
	dir := newFile(t, flights+"; create unique index one on flights (airline)")
	r := sqliteRig(t, dir)
	const airline = `,"parameters":[{"name":"airline","type":"string","description":"d"}]`
	r.table(
		ran{"selec ?", airline, `{"airline":"CY"}`, "near \"selec\": syntax error"},
		ran{"select * from nowhere", airline, `{"airline":"CY"}`, "no such table: nowhere"},
		ran{"insert into flights (airline) values (?)", airline, `{"airline":"CY"}`, "UNIQUE constraint failed: flights.airline"},
		ran{"select ?, ?", airline, `{"airline":"CY"}`, "missing argument with index 2"},
	)

	db, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	defer db.Close()
	holder, err := db.Conn(t.Context())
	require.NoError(t, err)
	_, err = holder.ExecContext(t.Context(), "begin exclusive")
	require.NoError(t, err)
	outcome := r.run(statement("delete from flights where id = 99")+`,"request":{"timeout":"5s"}`, "")
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Contains(t, outcome.Error, "locked")
	_, err = holder.ExecContext(t.Context(), "rollback")
	require.NoError(t, err)
	require.NoError(t, holder.Close())

	require.NoError(t, os.WriteFile(filepath.Join(dir, "text.db"), []byte(strings.Repeat("no database ", 100)), 0o600))
	outcome = sqliteRig(t, dir, func(s *repositories.Source) { s.Database = "text.db" }).run(statement("select * from x"), "")
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "not a database")
}

func TestSQLiteFilesAreTheOnesThatTheOperatorOpens(t *testing.T) {
	dir := newFile(t, flights)
	outside := newFile(t, flights)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	require.NoError(t, os.Symlink(filepath.Join(outside, "clinic.db"), filepath.Join(dir, "link.db")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink(filepath.Join(dir, "clinic.db"), filepath.Join(dir, "sub", "inner.db")))
	for _, c := range []struct {
		dir, database string
		verdict       effect.Verdict
		want          string
	}{
		{dir, "clinic.db", effect.Done, ""},
		{dir, filepath.Join(dir, "clinic.db"), effect.Done, ""},
		{dir, "sub/../clinic.db", effect.Done, ""},
		{dir, "sub/inner.db", effect.Done, ""},
		{dir + "/sub", "../clinic.db", effect.Dead, "is outside the folder"},
		{dir, filepath.Join(outside, "clinic.db"), effect.Dead, "is outside the folder"},
		{dir, "link.db", effect.Dead, "is outside the folder"},
		{dir, "linked/clinic.db", effect.Dead, "is outside the folder"},
		{dir, "linked/missing.db", effect.Retry, "does not exist"},
		{dir, "../missing.db", effect.Dead, "is outside the folder"},
		{dir, "/etc/passwd", effect.Dead, "is outside the folder"},
		{dir, ".", effect.Dead, "is outside the folder"},
		{dir, "missing.db", effect.Retry, "does not exist"},
		{dir, "clinic.db?mode=memory", effect.Retry, "does not exist"},
		{"", "clinic.db", effect.Dead, "EARSHOT_SQLITE_DIR"},
		{dir + "/nowhere", "clinic.db", effect.Retry, "cannot be read"},
	} {
		source := repositories.Source{Type: repositories.SourceSQLite, Database: c.database}
		r := newRig(t, source, func(o *sqlquery.Options) { o.SQLiteDir = c.dir })
		outcome := r.run(statement("select 1"), "")
		require.Equal(t, c.verdict, outcome.Verdict, "%s: %s", c.database, outcome.Error)
		require.Contains(t, outcome.Error, c.want)
		if c.verdict == effect.Dead {
			require.Equal(t, effect.ReasonBlocked, outcome.Reason)
		}
	}
	require.NoFileExists(t, filepath.Join(dir, "missing.db"))
}

func TestPastedValueDoesNotCutTheStatementOff(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	tool := r.tool(statement("select count(*) as n from {{.table}} where id < 0") + `,"templateParameters":[{"name":"table","type":"string","description":"d"}]`)
	for _, pasted := range []string{"flights\x00", "flights\n", "flights --\r"} {
		_, faults := tool.Params().Check(map[string]any{"table": pasted})
		require.Len(t, faults, 1)
		require.Equal(t, "table", faults[0].Parameter)
		// An earlier record may contain an unchecked value.
		outcome := r.Deliver(t.Context(), effectOf(tool, map[string]any{"table": pasted}))
		require.Equal(t, effect.Dead, outcome.Verdict, "%q brought %s", pasted, outcome.Result)
		require.Contains(t, outcome.Error, "control character")
	}
	tool.Statement = "select 1 as v\x00 where false"
	tool.TemplateParameters = nil
	require.Contains(t, r.Deliver(t.Context(), effectOf(tool, nil)).Error, "NUL byte")
}

func TestSQLiteStatementsArePreparedAndNotRun(t *testing.T) {
	r := sqliteRig(t, newFile(t, flights))
	check := func(statements ...string) []string {
		var tools []repositories.Tool
		for i, fields := range statements {
			tool := *r.tool(fields)
			tool.Name = fmt.Sprint("t", i)
			tools = append(tools, tool)
		}
		return r.Check(t.Context(), r.app, tools)
	}
	require.Empty(t, check(statement("select * from flights"), statement("explain select 1"), statement("insert into flights (airline) values ('XX')"),
		statement("select * from {{.table}}")+`,"templateParameters":[{"name":"table","type":"string","description":"d"}]`,
		statement("select * from flights where id = ?")+`,"parameters":[{"name":"id","type":"integer","description":"d"}]`))
	require.Equal(t, `[{"n":2}]`, r.rows("select count(*) as n from flights"), "nothing ran")
	notes := check(statement("select * from nowhere"), statement("selct 1"), statement("select 1"))
	require.Len(t, notes, 2)
	require.Contains(t, notes[0], `tool "t0": the source "db" refused the statement: `)
	require.Contains(t, notes[0], "no such table: nowhere")
	require.Contains(t, notes[1], `tool "t1"`)

	r.app.Sources[0].Database = "absent.db"
	notes = check(statement("select 1"), statement("select 2"))
	require.Equal(t, []string{`statements were not tried: the file of source "db" does not exist: its database is relative to the folder of EARSHOT_SQLITE_DIR (--sqlite-dir)`}, notes, "once for a source")
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
func TestSQLiteStatementsLeaveNothingBehind(t *testing.T) {
	dir := newFile(t, flights)
	source := repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}
	r := newRig(t, source, one, func(o *sqlquery.Options) { o.SQLiteDir = dir })
	require.Equal(t, `[]`, r.rows("create temp table flights as select 99 as id"))
	require.Equal(t, `[{"n":2}]`, r.rows("select count(*) as n from flights"), "a temporary table stands before one of the file")
	require.Equal(t, `[]`, r.rows("insert into flights (airline) values ('AA')"))
	require.Equal(t, `[{"id":0,"n":0}]`, r.rows("select last_insert_rowid() as id, total_changes() as n"))
	require.Equal(t, effect.Dead, r.run(statement("select json(airline) from flights"), "").Verdict)
	require.Equal(t, `[{"n":3}]`, r.rows("select count(*) as n from flights"), "after one that failed half-way")
}

// A pooled connection must neither hide other processes' changes to the file, nor block them.
func TestSQLiteStatementsSeeTheFileThatIsThere(t *testing.T) {
	dir := newFile(t, flights)
	source := repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}
	r := newRig(t, source, one, func(o *sqlquery.Options) { o.SQLiteDir = dir })
	count := "select count(*) as n from flights"
	require.Equal(t, `[{"n":2}]`, r.rows(count))
	require.Equal(t, `[{"n":2}]`, r.rows(count))
	others, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	_, err = others.Exec("begin exclusive; insert into flights (airline) values ('AA'); commit; create table gates (id integer)")
	require.NoError(t, err)
	require.NoError(t, others.Close())
	require.Equal(t, `[{"n":3}]`, r.rows(count))
	require.Equal(t, `[]`, r.rows("select * from gates"), "with the schema that it has now")
	another := filepath.Join(newFile(t, "create table flights (id integer); insert into flights values (1)"), "clinic.db")
	require.NoError(t, os.Rename(another, filepath.Join(dir, "clinic.db")))
	require.Equal(t, `[{"n":1}]`, r.rows(count), "a file in the place of the other")
	require.NoError(t, os.Remove(filepath.Join(dir, "clinic.db")))
	require.Equal(t, effect.Retry, r.run(statement(count), "").Verdict, "none")
}

// A connection keeps its statements prepared. That must show in no result, and must not lock the file.
func TestSQLitePreparedStatementsAreRunAgain(t *testing.T) {
	dir := newFile(t, flights)
	r := newRig(t, repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}, one, func(o *sqlquery.Options) { o.SQLiteDir = dir })
	others, err := sql.Open("sqlite", filepath.Join(dir, "clinic.db"))
	require.NoError(t, err)
	defer others.Close()

	find := statement("select airline from flights where airline = :airline")
	fields := find + `,"parameters":[{"name":"airline","type":"string","description":"its code","required":false}]`
	require.Equal(t, `[{"airline":"CY"}]`, string(r.run(fields, `{"airline":"CY"}`).Result))
	require.Equal(t, `[]`, string(r.run(fields, `{}`).Result), "the value of the last run is gone")
	require.Equal(t, `[{"airline":"CY"}]`, string(r.run(fields, `{"airline":"CY"}`).Result))

	many := "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select n.i from n, flights"
	for range 2 { // the second one is prepared already
		require.True(t, r.run(statement(many), "").Truncated)
		_, err = others.Exec("begin exclusive; insert into flights (airline) values ('AA'); commit")
		require.NoError(t, err, "the rest of the rows is not awaited")
	}

	all := "select * from flights where airline = 'CY'"
	before := r.rows(all)
	_, err = others.Exec("alter table flights add column gate text default 'B7'")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSuffix(before, "}]")+`,"gate":"B7"}]`, r.rows(all), "by the schema of now")

	for i := range 100 { // more texts than are kept
		require.Equal(t, fmt.Sprintf(`[{"n":%d}]`, i), r.rows(fmt.Sprintf("select %d as n", i)))
	}
	require.Equal(t, `[{"n":0}]`, r.rows("select 0 as n"))
	require.Equal(t, effect.Dead, r.run(statement("select json(airline) from flights"), "").Verdict)
	require.Equal(t, `[{"n":0}]`, r.rows("select 0 as n"), "after a failure")
	require.Contains(t, r.run(statement("select sql from sqlite_stmt"), "").Error, "no such table", "it would list the statements of others")
}

func TestConformance(t *testing.T) {
	dir := newFile(t, "create table notes (id integer)")
	r := sqliteRig(t, dir)
	with := func(apps effect.Apps) effect.Deliverer {
		return sqlquery.New(sqlquery.Options{Apps: apps, SQLiteDir: dir})
	}
	good := effectOf(r.tool(statement("insert into notes values (1)")), nil)
	seen := func() int { return strings.Count(r.rows("select * from notes"), "id") }
	effecttest.Conformance(t, r, good, seen, with)
	require.Panics(t, func() { sqlquery.New(sqlquery.Options{}) })
}
