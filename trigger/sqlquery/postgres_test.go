package sqlquery_test

import (
	"bytes"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
	"earshot/trigger/sqlquery"
)

// TestPostgres runs everything on one server, since making a cluster takes longer than all of it.
func TestPostgres(t *testing.T) {
	server := sqltest.RunPostgres(t)
	server.Exec(`
		create table flights (id int primary key, airline text not null, seats numeric(30,10), meta jsonb);
		insert into flights values (1, 'CY', 12345678901234567890.0123456789, '{"gate": 12345678901234567890}'), (2, 'DL', null, null)`)
	for name, test := range map[string]func(*testing.T, *sqltest.Server){
		"types survive": typesSurvive, "values are bound": valuesAreBound, "templates are pasted": templatesArePasted,
		"results are cut": resultsAreCut, "statements that change": statementsThatChange, "read-only": readOnly,
		"wrong statements": wrongStatements, "sessions": sessions, "queries alone": queriesAlone, "room": room,
		"changed source": changedSource, "idle": idle, "hostile": hostile, "tables": postgresTables,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
	everyServer(t, served{
		Server: server, bind: "$1", sleep: "pg_sleep(%d)", secure: repositories.Headers{"sslmode": secret.New("require")},
		sleeping: "select count(*) from pg_stat_activity where query like '%slow one%' and state = 'active' and pid <> pg_backend_pid()",
		fails:    "create or replace function fails() returns int language plpgsql as $$ begin raise exception 'as told' using errcode = '%s'; end $$",
		codes: map[string]effect.Verdict{
			"40001": effect.Retry, "40P01": effect.Retry, "53300": effect.Retry, "57P03": effect.Retry, "08006": effect.Retry, "55P03": effect.Retry, "57014": effect.Retry,
			"P0001": effect.Dead, "23514": effect.Dead, "42501": effect.Dead, "XX000": effect.Dead,
		},
		many:    "select * from flights where id = $1 + $2::int",
		unknown: [4]string{`database "nowhere" does not exist (SQLSTATE 3D000)`, `relation "nowhere" does not exist`, "the statement binds $2, and the tool has 1 parameters", "cannot be reached"},
	})
}

func typesSurvive(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	for sql, want := range map[string]string{
		`1::int2`: `1`, `9223372036854775807::int8`: `9223372036854775807`, `12345678901234567890.1234567890::numeric`: `12345678901234567890.1234567890`,
		`1.50::numeric(5,2)`: `1.50`, `'NaN'::numeric`: `"NaN"`, `0.1::float8`: `0.1`, `'Infinity'::float8`: `"Infinity"`, `1e300::float8`: `1e+300`,
		`true`: `true`, `false`: `false`, `null::text`: `null`, `'<a & "b">'`: `"<a & \"b\">"`, `E'a\nb\u00e9'`: `"a\nbé"`,
		`'\xdeadbeef'::bytea`: `"3q2+7w=="`, `''::bytea`: `""`,
		`'2026-12-01 09:30:00.123456+02'::timestamptz`:        `"2026-12-01T07:30:00.123456Z"`,
		`'2026-12-01 09:30:00'::timestamp`:                    `"2026-12-01T09:30:00Z"`,
		`'infinity'::timestamptz`:                             `"infinity"`,
		`'2026-12-01'::date`:                                  `"2026-12-01"`,
		`'09:30:00'::time`:                                    `"09:30:00"`,
		`'1 day 02:00'::interval`:                             `"1 day 02:00:00"`,
		`'{"b": [1, 12345678901234567890], "a": null}'::json`: `{"b":[1,12345678901234567890],"a":null}`,
		`'{"a": 1.50}'::jsonb`:                                `{"a":1.50}`,
		`'6b0e8c0e-0b3c-4f0e-9a51-0f3ec6a6f0a1'::uuid`:        `"6b0e8c0e-0b3c-4f0e-9a51-0f3ec6a6f0a1"`,
		`array[1,2,null]::int[]`:                              `[1,2,null]`,
		`array[[1,2],[3,4]]`:                                  `[[1,2],[3,4]]`,
		`array['a"b','c\d','NULL','','{x,y}',null]`:           `["a\"b","c\\d","NULL","","{x,y}",null]`,
		`'{}'::text[]`:                                        `[]`,
		`'[2:3]={7,8}'::int[]`:                                `[7,8]`,
		`array['\x01'::bytea]`:                                `["AQ=="]`,
		`array['2026-12-01 09:30:00+00'::timestamptz]`:        `["2026-12-01T09:30:00Z"]`,
		`array['{"a": 1}'::jsonb]`:                            `[{"a":1}]`,
		`array[true,false]`:                                   `[true,false]`,
		`'10.0.0.1'::inet`:                                    `"10.0.0.1"`,
		`int4range(1,5)`:                                      `"[1,5)"`,
	} {
		require.Equal(t, `[{"v":`+want+`}]`, r.rows("select "+sql+" as v"), sql)
	}
	require.Equal(t, `[{"id":1,"id_2":2,"z":3,"a":4}]`, r.rows("select 1 as id, 2 as id, 3 as z, 4 as a"))
	require.Equal(t, `[{"id":2,"airline":"DL","seats":null,"meta":null}]`, r.rows("select * from flights where id = 2"))
	require.Equal(t, `[]`, r.rows("select * from flights where id = 3"))
}

func valuesAreBound(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	const mixed = `"parameters":[
	  {"name":"s","type":"string","description":"d"}, {"name":"i","type":"integer","description":"d"},
	  {"name":"f","type":"float","description":"d"}, {"name":"b","type":"boolean","description":"d"},
	  {"name":"l","type":"array","description":"d","items":{"name":"x","type":"string","description":"d"}},
	  {"name":"m","type":"map","description":"d"}, {"name":"o","type":"string","description":"d","required":false}]`
	outcome := r.run(statement(`select $1::text s, $2::bigint i, $3::numeric f, $4::bool b, $5::text[] l, $6::jsonb m, $7::text o`)+","+mixed,
		`{"s":"it's; drop table flights --","i":9007199254740993,"f":0.12345678901234567890,"b":true,"l":["a\"b","c,d","\\","{}","NULL"],"m":{"k":[1,null,"x"]}}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.JSONEq(t, `[{"s":"it's; drop table flights --","i":9007199254740993,"f":0.12345678901234567890,"b":true,"l":["a\"b","c,d","\\","{}","NULL"],"m":{"k":[1,null,"x"]},"o":null}]`, string(outcome.Result))
	require.Contains(t, string(outcome.Result), `0.12345678901234567890`, "digits survive")

	const airlines = `,"parameters":[{"name":"preferred","type":"array","description":"d","items":{"name":"x","type":"string","description":"d"}}]`
	const ids = `,"parameters":[{"name":"ids","type":"array","description":"d","items":{"name":"x","type":"integer","description":"d"}}]`
	const unused = `,"schema":[{"parameter":"id","type":"integer"},{"parameter":"unused","type":"string","value":"x"}]`
	const object = `,"parameters":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`
	r.table(
		ran{`select id from flights where airline = any($1)`, airlines, `{"preferred":["CY","ZZ"]}`, `[{"id":1}]`},
		ran{`select airline from flights where id = any($1) order by id`, ids, `{"ids":[2,1]}`, `[{"airline":"CY"},{"airline":"DL"}]`},
		ran{`select $1::jsonb as v`, ids, `{"ids":[2,1]}`, `[{"v":[2,1]}]`}, // a list is JSON if the statement wants JSON
		ran{`select airline from flights where id = $1`, unused, `{"id":1}`, `[{"airline":"CY"}]`},
		ran{`select $2::text as v, $1::text as w`, object, `{"a":"second","z":"first"}`, `[{"v":"second","w":"first"}]`}, // in the order of the schema
	)
}

func templatesArePasted(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	const seeds = `"templateParameters":[{"name":"tableName","type":"string","description":"d","allowedValues":["flights"]},
	  {"name":"columnNames","type":"array","description":"d","items":{"name":"column","type":"string","description":"d","escape":"double-quotes"}}]`
	outcome := r.run(statement(`SELECT {{array .columnNames}} FROM {{.tableName}} WHERE id = $1`)+`,"parameters":[{"name":"id","type":"integer","description":"d"}],`+seeds,
		`{"id":1,"tableName":"flights","columnNames":["id","airline"]}`)
	require.Equal(t, `[{"id":1,"airline":"CY"}]`, string(outcome.Result), outcome.Error)

	outcome = r.run(statement(`SELECT {{array .columnNames}} FROM {{.tableName}}`)+`,`+seeds, `{"tableName":"flights","columnNames":["id\" from pg_shadow; --"]}`)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "does not exist (SQLSTATE 42703)")
	require.NotContains(t, outcome.Error, "pg_shadow", "values stay out of errors")

	const more = `,"templateParameters":[{"name":"more","type":"string","description":"d"}]`
	const optional = `,"templateParameters":[{"name":"n","type":"integer","description":"d","required":false}]`
	r.table(
		ran{`SELECT 1 {{.more}}`, more, `{"more":"; drop table flights"}`, "cannot insert multiple commands"},
		ran{`SELECT id FROM flights ORDER BY id {{if .n}}LIMIT {{.n}}{{end}}`, optional, `{"n":1}`, `[{"id":1}]`},
		ran{`SELECT id FROM flights LIMIT {{.n}}`, optional, `{}`, "the statement of the tool: {{.n}}: the parameter has no value"},
	)
	require.Equal(t, 2, server.Count("select count(*) from flights"))
	require.Equal(t, `[{"v":[[1,2],[3,4]]}]`, r.rows(`select '{{1,2},{3,4}}'::int[] as v`), "braces without template parameters are text")
}

func resultsAreCut(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	outcome := r.run(statement("select n from generate_series(1, 1000) n"), "")
	require.False(t, outcome.Truncated)
	require.Equal(t, 1000, strings.Count(string(outcome.Result), `"n"`))

	outcome = r.run(statement("select generate_series(1, 1000000000) as n"), "")
	require.Equal(t, effect.Done, outcome.Verdict, "the server is not asked for more: %s", outcome.Error)
	require.True(t, outcome.Truncated)
	require.Equal(t, 1000, strings.Count(string(outcome.Result), `"n"`))

	outcome = r.run(statement("select repeat('x', 100000) as v from generate_series(1, 10)"), "")
	require.True(t, outcome.Truncated)
	require.LessOrEqual(t, len(outcome.Result), 256<<10)
	require.Equal(t, 2, strings.Count(string(outcome.Result), `"v"`))

	outcome = r.run(statement("select repeat('x', 1000000) as v"), "")
	require.True(t, outcome.Truncated)
	require.Equal(t, `[]`, string(outcome.Result))

	outcome = r.run(statement("select repeat('x', 40000000) as v"), "")
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "a row that is longer than 16777216 bytes")
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"), "the source is as good as before")
}

func statementsThatChange(t *testing.T, server *sqltest.Server) {
	server.Exec("create table notes (id serial primary key, note text)")
	r := newRig(t, server.Source())
	require.Equal(t, `[]`, r.rows("insert into notes (note) values ('a')"))
	require.Equal(t, `[{"id":2}]`, r.rows("insert into notes (note) values ('b') returning id"))
	outcome := r.run(statement("insert into notes (note) select 'x' from generate_series(1, 3000) returning id"), "")
	require.True(t, outcome.Truncated)
	require.Equal(t, 3002, server.Count("select count(*) from notes"), "what is cut is the result, not the change")
	require.Equal(t, `[]`, r.rows("begin"), "a transaction does not outlive its statement")
	require.Equal(t, `[]`, r.rows("insert into notes (note) values ('kept')"))
	require.Equal(t, 1, server.Count("select count(*) from notes where note = 'kept'"))
}

func readOnly(t *testing.T, server *sqltest.Server) {
	source := server.Source()
	source.ReadOnly = new(true)
	r := newRig(t, source)
	require.Equal(t, `[{"id":1},{"id":2}]`, r.rows("select id from flights order by id"))
	server.Exec("create or replace function clear() returns void language sql as 'delete from flights'")
	for _, sql := range []string{"select clear()", "select id from flights for update", "select set_config('transaction_read_only', 'off', false)"} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Dead, outcome.Verdict, "%s: %s", sql, outcome.Result)
		require.NotContains(t, outcome.Error, "is read-only, and", "a query that the server stops: %s", sql)
	}
	r.run(statement("select set_config('default_transaction_read_only', 'off', false)"), "")
	require.Contains(t, r.run(statement("select clear()"), "").Error, "SQLSTATE 25006")
	require.Equal(t, 2, server.Count("select count(*) from flights"))
}

func wrongStatements(t *testing.T, server *sqltest.Server) {
	server.Exec("create table people (email text unique); insert into people values ('ann@example.org')")
	r := newRig(t, server.Source())
	const email = `,"parameters":[{"name":"email","type":"string","description":"d"}]`
	for _, c := range []struct{ sql, value, want string }{
		{"selec $1", `"x"`, `refused the statement: syntax error at or near "selec" (SQLSTATE 42601)`},
		{"select $1::text from nowhere", `"x"`, `relation "nowhere" does not exist (SQLSTATE 42P01)`},
		{"insert into people values ($1)", `"ann@example.org"`, `duplicate key value violates unique constraint "people_email_key" (SQLSTATE 23505)`},
		{"select $1::int", `"ann@example.org"`, `invalid input syntax for type integer: "***" (SQLSTATE 22P02)`},
		{"select ($1::text)::int", `"ann"`, `invalid input syntax for type integer: "***" (SQLSTATE 22P02)`},
		{"select $1 || $2::text", `"x"`, `the statement binds $2, and the tool has 1 parameters`},
		{"select 1/length($1)", `""`, `division by zero (SQLSTATE 22012)`},
		{"copy flights to stdout", `"x"`, `a tool cannot run COPY`},
	} {
		outcome := r.run(statement(c.sql)+email, `{"email":`+c.value+`}`)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, c.want)
		require.NotContains(t, outcome.Error, "ann@", c.sql)
		require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"), "after %s", c.sql)
	}
}

// waits is a statement that waits for a lock of the test, and then is done.
const waits = `"statement":"select pg_advisory_xact_lock_shared(7)","request":{"timeout":"60s"}`

func room(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source(), func(o *sqlquery.Options) { o.SourceLimit, o.SlotWait = 2, 50*time.Millisecond })
	other := newRig(t, server.Source())
	release, tool := server.Hold(7), r.tool(waits)
	ended := make(chan effect.Outcome, 2)
	for range 2 {
		go func() { ended <- r.Deliver(t.Context(), effectOf(tool, nil)) }()
	}
	require.Eventually(t, func() bool { return server.Waiting() == 2 }, time.Minute, 10*time.Millisecond)
	outcome := r.run(statement("select 1"), "")
	require.True(t, outcome.Deferred)
	require.Contains(t, outcome.Error, "has no room: 2 statements of this app are under way")
	require.Equal(t, `[{"v":1}]`, other.rows("select 1 as v"), "others do not wait")
	release()
	for range 2 {
		outcome := <-ended
		require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	}
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
}

func changedSource(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
	changed := *r.app
	changed.Sources = []repositories.Source{server.Source()}
	changed.Sources[0].QueryParams = repositories.Headers{"application_name": secret.New("changed")}
	*r.app = changed
	require.Equal(t, `[{"application_name":"changed"}]`, r.rows("show application_name"))
	socket := server.Source()
	socket.Host = "/tmp"
	outcome := newRig(t, socket).run(statement("select 1"), "")
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked) // a socket of the machine is no address
	require.Eventually(t, func() bool {
		return server.Count("select count(*) from pg_stat_activity where application_name = 'earshot'") == 0
	}, time.Minute, 10*time.Millisecond, "what was open before is closed")

	tool := r.tool(statement("select 1"))
	r.app.Sources = nil
	outcome = r.Deliver(t.Context(), effectOf(tool, nil))
	require.Contains(t, outcome.Error, `app "clinic" has no postgres source "db"`)
}

func idle(t *testing.T, server *sqltest.Server) {
	source := server.Source()
	source.QueryParams = repositories.Headers{"application_name": secret.New("idler")}
	r := newRig(t, source, func(o *sqlquery.Options) { o.Idle, o.Databases, o.SlotWait = 50*time.Millisecond, 1, time.Millisecond })
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
	require.Eventually(t, func() bool {
		return server.Count("select count(*) from pg_stat_activity where application_name = 'idler'") == 0
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"), "it opens again")

	second := source
	second.Name = "other"
	r.app.Sources = append(r.app.Sources, second)
	tool := r.tool(statement("select 1 as v"))
	tool.Source = "other"
	require.Equal(t, effect.Done, r.Deliver(t.Context(), effectOf(tool, nil)).Verdict, "the one that is idle makes room")
	release, busy, slow := server.Hold(7), make(chan effect.Outcome), r.tool(waits)
	go func() { busy <- r.Deliver(t.Context(), effectOf(slow, nil)) }()
	require.Eventually(t, func() bool { return server.Waiting() == 1 }, time.Minute, 10*time.Millisecond)
	outcome := r.Deliver(t.Context(), effectOf(tool, nil))
	require.True(t, outcome.Deferred)
	require.Contains(t, outcome.Error, "1 databases of this app are open, and all of them are in use")
	release()
	require.Equal(t, effect.Done, (<-busy).Verdict)
}

// hostile runs the runner against fake servers.
func hostile(t *testing.T, server *sqltest.Server) {
	for name, answer := range map[string]string{
		"silence": "", "web": "HTTP/1.1 400 Bad Request\r\n\r\n", "length": "R\xff\xff\xff\xff", "zeros": strings.Repeat("\x00", 64),
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write([]byte(answer))
				if answer != "" {
					_ = conn.Close()
				}
			}
		}()
		source := server.Source()
		_, source.Port, _ = net.SplitHostPort(listener.Addr().String())
		outcome := newRig(t, source).run(statement("select 1")+`,"request":{"timeout":"500ms"}`, "")
		require.Equal(t, effect.Retry, outcome.Verdict, "%s: %s", name, outcome.Error)
		require.NotContains(t, outcome.Error, sqltest.Password)
		require.NoError(t, listener.Close())
	}
}

// sessions checks that a statement finds no state of an earlier one on their shared connection, and the
// settings of the source unchanged.
func sessions(t *testing.T, server *sqltest.Server) {
	server.Exec(`create role helper; create schema shadow; create table shadow.flights (id int, airline text); create sequence numbers`)
	source := server.Source()
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

// queriesAlone checks that a read-only source refuses statements before they run: the test detects a started
// program, which no transaction undoes.
func queriesAlone(t *testing.T, server *sqltest.Server) {
	dir := t.TempDir()
	for at := dir; at != filepath.Dir(os.TempDir()) && at != os.TempDir(); at = filepath.Dir(at) {
		require.NoError(t, os.Chmod(at, 0o777)) // the server may be another user
	}
	proof := filepath.Join(dir, "proof")
	source, log := server.Source(), &bytes.Buffer{}
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

func postgresTables(t *testing.T, server *sqltest.Server) {
	server.Exec(`create table gates (id int unique, flight int not null default 7 references flights (id)); comment on column gates.id is 'number';
		create function landed() returns trigger language plpgsql as 'begin return new; end';
		create trigger landed after insert on gates for each row execute function landed()`)
	r := newRig(t, server.Source())
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
