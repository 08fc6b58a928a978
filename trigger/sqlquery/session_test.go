package sqlquery_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
	"earshot/trigger/sqlquery"
)

// one has all statements of a source run on one connection.
func one(o *sqlquery.Options) { o.SourceLimit = 1 }

// sessions checks that a statement finds nothing of what an earlier one has left on
// the connection that they share, and the settings of the source as they were.
func sessions(t *testing.T, server *sqltest.Server) {
	server.Exec(`create role helper; create schema shadow; create table shadow.flights (id int, airline text); create sequence numbers`)
	source := server.Source("db")
	source.QueryParams = repositories.Headers{"timezone": secret.New("Europe/Berlin"), "search_path": secret.New("public")}
	r := newRig(t, source, one)
	backend := r.rows("select pg_backend_pid() as pid")
	for left, look := range map[string]string{
		"create temp table flights as select 99 as id":                     "select count(*) = 2 as ok from flights",
		"set search_path = shadow":                                         "select count(*) = 2 as ok from flights",
		"set statement_timeout = '1ms'":                                    "select pg_sleep(0.05) is not null as ok",
		"set timezone = 'Asia/Tokyo'":                                      "select current_setting('TimeZone') = 'Europe/Berlin' as ok",
		"set datestyle = 'SQL'":                                            "select current_setting('DateStyle') like 'ISO%' as ok",
		"set client_encoding = 'LATIN1'":                                   "select current_setting('client_encoding') = 'UTF8' as ok",
		"set default_transaction_read_only = on":                           "select current_setting('transaction_read_only') = 'off' as ok",
		"set role helper":                                                  "select current_user = session_user as ok",
		"set session authorization helper":                                 "select session_user = 'earshot' as ok",
		"select pg_advisory_lock(99)":                                      "select count(*) = 0 as ok from pg_locks where locktype = 'advisory' and objid = 99",
		"prepare kept as select 1":                                         "select count(*) = 0 as ok from pg_prepared_statements",
		"listen gossip":                                                    "select count(*) = 0 as ok from pg_listening_channels()",
		"declare kept cursor with hold for select 1":                       "select count(*) = 0 as ok from pg_cursors where name = 'kept'",
		"select set_config('earshot.said', 'secret', false)":               "select coalesce(current_setting('earshot.said', true), '') = '' as ok",
		"create function pg_temp.leak() returns int language sql return 1": "select to_regprocedure('pg_temp.leak()') is null as ok",
	} {
		require.Equal(t, effect.Done, r.run(statement(left), "").Verdict, left)
		require.Equal(t, `[{"ok":true}]`, r.rows(look), "after %s", left)
	}
	require.Equal(t, backend, r.rows("select pg_backend_pid() as pid"), "all of it on one connection")
	r.rows("begin")
	require.NotEqual(t, backend, r.rows("select pg_backend_pid() as pid"), "one with an open transaction is not used again")
}

// queriesAlone checks what a read-only source refuses before it runs, which the test
// can tell by the one thing that no transaction takes back: a program that was started.
func queriesAlone(t *testing.T, server *sqltest.Server) {
	dir := t.TempDir()
	for at := dir; at != filepath.Dir(os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		require.NoError(t, os.Chmod(at, 0o777)) // the server may be another user
	}
	proof := filepath.Join(dir, "proof")
	source, log := server.Source("db"), &bytes.Buffer{}
	source.ReadOnly = new(true)
	r := newRig(t, source, func(o *sqlquery.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	copies := "copy (select 1) to program 'touch " + proof + "'"
	for _, sql := range []string{
		copies, "  \t\n" + strings.ToUpper(copies), "/* select */ " + copies, "/* a /* b */ select */ " + copies, "-- select\n" + copies, "-- x\r" + copies, ";" + copies,
		"do $$ begin " + strings.ReplaceAll(copies, "'", "''") + "; end $$", "call nothing()", "set search_path = shadow", "reset all", "listen a", "notify a", "unlisten *", "load 'plpgsql'",
		"begin", "commit", "prepare a as select 1", "execute a", "deallocate all", "discard all", "declare a cursor for select 1", "fetch a", "lock table flights", "vacuum", "checkpoint",
		"insert into flights values (3, 'x')", "delete from flights", "update flights set airline = 'x'", "merge into flights using flights f on false when not matched then do nothing",
		"create table x ()", "truncate flights", "with gone as (delete from flights returning id) select * from gone", "with a as materialized ( /* x */ update flights set id = 1 returning 1) table a",
		"with a as (select 1) delete from flights", "with a as (select 1) insert into flights select 5", "select * into copied from flights", "select 1 as \"a\" into temp t",
		"explain analyze delete from flights", "explain (analyze, verbose) update flights set id = 1", "explain execute a", "explain analyze create table y as select 1", "explain analyze with a as (delete from flights returning 1) select 1",
	} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Dead, outcome.Verdict, "%s: %s", sql, outcome.Result)
		require.Contains(t, outcome.Error, `the source "db" is read-only, and `, sql)
		require.NoFileExists(t, proof, sql)
	}
	outcome := r.run(statement("{{.what}}")+`,"templateParameters":[{"name":"what","type":"string","description":"d"}]`, `{"what":"hunter2 the rest"}`)
	require.Contains(t, outcome.Error, "what it says is no query")
	require.NotContains(t, outcome.Error, "HUNTER2")

	for _, sql := range []string{
		"select 1 as v", "SELECT 1 as v;", "/* a /* b */ c */ select 1 as v", "((select 1 as v))", "values (1)", "table flights", "show timezone", "with a as (select 1 as v) select v from a", "with a(v) as (values (1)) table a",
		"select 'delete from; copy' as v", "select $$ (delete from flights $$ as v", "select $a$ (delete from $b$ flights $a$ as v", `select E'it''s \' (delete from flights' as v`, `select 1 as "(delete from"`, `select 1 as into`,
		"explain select 1", "explain analyze verbose select 1", "explain (analyze, timing off) (select 1)", "explain (select 1)", "select max(update) from (select 1 as update) t", "select (delete) as v from (select 1 as delete) t -- (delete from",
	} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", sql, outcome.Error)
	}
	require.Equal(t, 1, strings.Count(log.String(), "source.superuser"), "said once: %s", log)

	server.Exec("create role reader login password 'reader-password'; grant select on flights to reader")
	source.User, source.Password = "reader", secret.New("reader-password")
	log.Reset()
	require.Equal(t, `[{"n":2}]`, newRig(t, source, func(o *sqlquery.Options) { o.Logger = slog.New(slog.NewTextHandler(log, nil)) }).rows("select count(*) as n from flights"))
	require.Empty(t, log.String())
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

// A connection that is kept must neither hide what others do to the file, nor stand in
// their way.
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

func BenchmarkPostgresStatement(b *testing.B) { benchmark(b, sqltest.RunPostgres(b).Source("db"), "") }

func BenchmarkSQLiteStatement(b *testing.B) {
	dir := newFile(b, flights)
	benchmark(b, repositories.Source{Type: repositories.SourceSQLite, Database: "clinic.db"}, dir)
}

func benchmark(b *testing.B, source repositories.Source, dir string) {
	r := newRig(b, source, one, func(o *sqlquery.Options) { o.SQLiteDir = dir })
	delivery := effectOf(r.tool(statement("select 1 as v")), nil)
	for b.Loop() {
		if outcome := r.Deliver(b.Context(), delivery); outcome.Verdict != effect.Done {
			b.Fatal(outcome.Error)
		}
	}
}
