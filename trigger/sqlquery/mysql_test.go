package sqlquery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/sqltest"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// TestMySQL runs everything on one server.
func TestMySQL(t *testing.T) {
	server := sqltest.RunMySQL(t)
	server.Exec(`
		create table flights (id int primary key, airline varchar(10) not null comment 'who flies', seats decimal(30,10), meta json);
		insert into flights values (1, 'CY', 12345678901234567890.0123456789, '{"gate": 1}'), (2, 'DL', null, null)`)
	for _, part := range []struct {
		name string
		test func(*testing.T, *sqltest.Server)
	}{
		{"types survive", mysqlTypes}, {"values are bound", mysqlBinds}, {"results are cut", mysqlCuts}, {"read-only", mysqlReadOnly},
		{"errors", mysqlErrors}, {"sessions", mysqlSessions}, {"tables", mysqlTables},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, server) })
	}
	everyServer(t, served{
		Server: server, bind: "?", sleep: "sleep(%d)", secure: repositories.Headers{"tls": secret.New("true")},
		sleeping: "select count(*) from information_schema.processlist where info like '%slow one%' and id <> connection_id()",
		fails:    "create or replace function fails() returns int begin signal sqlstate '45000' set mysql_errno = %s, message_text = 'as told'; return 1; end",
		codes:    map[string]effect.Verdict{"1205": effect.Retry, "1213": effect.Retry, "1040": effect.Retry, "3024": effect.Retry, "1644": effect.Dead},
		many:     "select * from flights where id = ? + ?",
		unknown:  [4]string{"Unknown database 'nowhere' (error 1049)", "doesn't exist", "has 2 ?, and the tool has 1 parameters", "TLS"},
	})
}

func mysqlTypes(t *testing.T, server *sqltest.Server) {
	server.Exec(`create table kinds (v1 bigint unsigned, v2 decimal(10,2), v3 float, v4 double, v5 bit(10), v6 date, v7 datetime(6), v8 timestamp, v9 time, v10 year, v11 blob, v12 varbinary(4),
			v13 text, v14 enum('a','b'), v15 set('a','b'), v16 tinyint(1), v17 bigint);
		insert into kinds values (18446744073709551615, 1.50, 0.1, 1e300, b'1000000001', '2026-12-01', '2026-12-01 09:30:00.123456', '2026-12-01 09:30:00', '-09:30:00', 2026, x'deadbeef', x'01',
			'<a & "b">', 'b', 'a,b', true, -9223372036854775808)`)
	r := newRig(t, server.Source())
	require.Equal(t, `[{"v1":18446744073709551615,"v2":1.50,"v3":0.1,"v4":1e+300,"v5":513,"v6":"2026-12-01","v7":"2026-12-01T09:30:00.123456","v8":"2026-12-01T00:30:00Z",`+
		`"v9":"-09:30:00","v10":2026,"v11":"3q2+7w==","v12":"AQ==","v13":"<a & \"b\">","v14":"b","v15":"a,b","v16":1,"v17":-9223372036854775808}]`, r.rows("select * from kinds"))
	require.Equal(t, `[{"id":2,"id_2":2,"airline":"DL","seats":null}]`, r.rows("select id, id, airline, seats from flights where id = 2"))
	require.Equal(t, `[{"seats":12345678901234567890.0123456789,"v":"größer 😀"}]`, r.rows("select seats, 'größer 😀' as v from flights where id = 1"))
	require.Equal(t, `[]`, r.rows("select * from flights where id = 3"))

	source := server.Source()
	source.QueryParams = repositories.Headers{"time_zone": secret.New("'-05:00'"), "collation": secret.New("utf8mb4_bin"), "parseTime": secret.New("true")}
	require.Equal(t, `[{"z":"-05:00","v8":"2026-12-01T00:30:00Z","same":0}]`, newRig(t, source).rows("select @@time_zone as z, v8, 'a' = 'A' as same from kinds"))
}

func mysqlBinds(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	const three = `,"parameters":[{"name":"a","type":"string","description":"d"},{"name":"n","type":"number","description":"d"},
		{"name":"l","type":"array","description":"d","items":{"type":"string","name":"i","description":"d"},"required":false}]`
	const column = `,"templateParameters":[{"name":"c","type":"string","description":"d","escape":"backticks"}]`
	hostile := mustJSON(`' OR 1=1; -- \`)
	r.table(
		ran{"select ? as a, cast(? as decimal(40,10)) as n, ? as l", three, `{"a":` + hostile + `,"n":12345678901234567890.0123456789,"l":["x"]}`,
			`[{"a":` + hostile + `,"n":12345678901234567890.0123456789,"l":"[\"x\"]"}]`},
		ran{"select ? as a, ? as n, ? as l", three, `{"a":"","n":18446744073709551615}`, `[{"a":"","n":18446744073709551615,"l":null}]`},
		ran{"select {{.c}} from flights where id = 1", column, `{"c":"air` + "`" + `line"}`, "Unknown column '***'"},
		ran{"select {{.c}} from flights where id = 1", column, `{"c":"airline"}`, `[{"airline":"CY"}]`},
	)
	mysqlEscapes(t, r)
	mysqlDateTimes(t, server)
	outcome := r.run(statement("select 1 {{.more}}")+`,"templateParameters":[{"name":"more","type":"string","description":"d"}]`, `{"more":"; drop table flights"}`)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.NotContains(t, outcome.Error, "drop", "what is pasted stays out of errors")
	require.Equal(t, 2, server.Count("select count(*) from flights"))
}

// mysqlEscapes pastes backslashes, which MySQL takes as escapes between quotes.
func mysqlEscapes(t *testing.T, r *rig) {
	for _, escape := range []string{"single-quotes", "double-quotes"} {
		pasted := `,"templateParameters":[{"name":"c","type":"string","description":"d","escape":"` + escape + `"},{"name":"l","type":"array","description":"d","required":false,
			"items":{"type":"string","name":"i","description":"d","escape":"` + escape + `"}}]`
		for _, said := range []string{`\' or 1=1 -- `, `\" or 1=1 -- `, `\\' or 1=1 -- `, `C:\new`, `\`} {
			r.table(
				ran{"select {{.c}} as v", pasted, `{"c":` + mustJSON(said) + `}`, `[{"v":` + mustJSON(said) + `}]`},
				ran{"select id from flights where airline in ({{.c}}, {{array .l}})", pasted, `{"c":` + mustJSON(said) + `,"l":["\\"," or 1=1 -- "]}`, `[]`},
			)
		}
	}
}

// mysqlDateTimes binds instants, whose offset most servers would ignore.
func mysqlDateTimes(t *testing.T, server *sqltest.Server) {
	for zone, want := range map[string]string{"+00:00": "2026-12-01T08:00:00Z", "-05:00": "2026-12-01T03:00:00"} {
		source := server.Source()
		source.QueryParams = repositories.Headers{"time_zone": secret.New(zone)}
		r := newRig(t, source)
		for _, given := range []string{
			`"parameters":[{"name":"at","type":"string","description":"d","format":"date-time"}]`,
			`"schema":[{"parameter":"at","type":"string","required":true,"format":"date-time"}]`,
			`"parameters":{"type":"object","properties":{"at":{"type":"string","format":"date-time"}}}`,
		} {
			const sql = "select cast(? as datetime) as v"
			r.table(
				ran{sql, "," + given, `{"at":"2026-12-01T10:00:00+02:00"}`, `[{"v":"` + want + `"}]`},
				ran{sql, "," + given, `{"at":"2026-12-01T08:00:00Z"}`, `[{"v":"` + want + `"}]`},
				ran{sql, "," + given, `{"at":"2026-12-01T10:00:00"}`, `[{"v":"2026-12-01T10:00:00` + want[19:] + `"}]`},
			)
		}
		r.table(ran{"select ? as v", `,"parameters":[{"name":"at","type":"string","description":"d"}]`, `{"at":"2026-12-01T10:00:00+02:00"}`, `[{"v":"2026-12-01T10:00:00+02:00"}]`})
	}
}

func mysqlCuts(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	outcome := r.run(statement("with recursive n as (select 1 as n union all select n + 1 from n where n < 100000) select n from n"), "")
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.True(t, outcome.Truncated)
	require.Equal(t, 1000, strings.Count(string(outcome.Result), `"n"`))
	server.Exec("create table many (id int auto_increment primary key, v text)")
	outcome = r.run(statement("insert into many (v) select 'x' from seq_1_to_1500 returning id"), "")
	require.True(t, outcome.Truncated, outcome.Error)
	require.Equal(t, 1500, server.Count("select count(*) from many"), "what is cut is the result, not the change")
	outcome = r.run(statement("select repeat('x', 1000000) as v"), "")
	require.True(t, outcome.Truncated)
	require.Equal(t, `[]`, string(outcome.Result))
	require.Equal(t, `[{"v":1}]`, r.rows("select 1 as v"))
	require.Equal(t, `[]`, r.rows("insert into many (v) values ('kept')"))
	require.Equal(t, 1, server.Count("select count(*) from many where v = 'kept'"))
}

func mysqlReadOnly(t *testing.T, server *sqltest.Server) {
	source := server.Source()
	source.ReadOnly = new(true)
	r := newRig(t, source)
	server.Exec("create function clear() returns int begin delete from flights; return 1; end")
	require.Contains(t, r.run(statement("select clear()"), "").Error, "READ ONLY transaction", "the server stops what a query calls")
	for _, sql := range []string{
		"select id from flights where airline = 'it''s\\' into outfile'", "( select id from flights )", "explain select 1", "describe flights", "show tables",
		"select 1.5 as a, 1e3, .5from flights", "select /*+ MAX_EXECUTION_TIME(1000) */ 1", "with a as (select 1) select * from a", "select `into`, 'update' from (select 1 as `into`) a where 1=1 -- into\n", "select /* into */ 1 # into", "explain format=json select 1", "values (1)",
	} {
		outcome := r.run(statement(sql), "")
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", sql, outcome.Error)
	}
	for sql, words := range map[string]string{
		"delete from flights": "DELETE is no query", "set @a = 1": "SET is", "select 1 into @a": "SELECT INTO is", "select 1 INTO/**/outfile '/tmp/x'": "SELECT INTO is",
		"select 1 /*!50000 into outfile '/tmp/x' */": "/*! is", "select 1 /*M! into @x */": "/*! is", "select 1--1 into @x": "SELECT INTO is", "explain delete from flights": "EXPLAIN DELETE is", "/* x */ drop table flights": "DROP is",
		"with a as (select 1) delete from flights": "DELETE is", `select "\" into outfile '/tmp/x' -- "`: "SELECT INTO is", "call clear()": "CALL is", "": "",
		"select 1e0into outfile '/tmp/x'": "SELECT INTO is", "select 1.into outfile '/tmp/x'": "SELECT INTO is", "select .1E-2into outfile '/tmp/x'": "SELECT INTO is",
		`select \Ninto outfile '/tmp/x'`: "SELECT INTO is", "select 1 --\x7f'\ninto outfile '/tmp/x' -- '": "SELECT INTO is",
		"select /*+ QB_NAME(`*/ '`) */ 1 into outfile '/tmp/x' -- '": "/*+ is",
	} {
		outcome := r.run(statement(sql+" "), "")
		require.Contains(t, outcome.Error, words, sql)
		if sql != "" {
			require.Contains(t, outcome.Error, `the source "db" is read-only, and `, sql)
		}
	}
	require.Equal(t, 2, server.Count("select count(*) from flights"))
	server.Exec("set global sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'")
	defer server.Exec("set global sql_mode = default")
	strict := newRig(t, source)
	require.Equal(t, `[{"v":"' into outfile "}]`, strict.rows(`select '\' into outfile ' as v`), "backslashes escape, whatever the server has for a default")
}

func mysqlErrors(t *testing.T, server *sqltest.Server) {
	server.Exec("create table people (email varchar(50) unique, age int); insert into people values ('ann@example.org', 1)")
	r := newRig(t, server.Source())
	const email = `,"parameters":[{"name":"email","type":"string","description":"d"}]`
	for _, c := range []struct{ sql, values, want string }{
		{"selec ?", `"x"`, "error in your SQL syntax"},
		{"select ? from nowhere", `"x"`, "doesn't exist (error 1146)"},
		{"insert into people (email) values (?)", `"ann@example.org"`, "Duplicate entry '***' for key 'email' (error 1062)"},
		{"insert into people (email) select email from people where ? <> ''", `"x"`, "Duplicate entry '***' for key 'email' (error 1062)"},
		{"insert into people (age) values (concat(?, 'ann@'))", `"x"`, "'***' for column"},
		{"load data local infile '/etc/hosts' into table people", `"x"`, "a tool cannot run LOAD DATA LOCAL"},
		{"select ?, ?", `"x"`, "has 2 ?, and the tool has 1 parameters"},
	} {
		outcome := r.run(statement(c.sql)+email, `{"email":`+c.values+`}`)
		effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest, c.want)
		require.NotContains(t, outcome.Error, "ann@", c.sql)
	}
}

func mysqlSessions(t *testing.T, server *sqltest.Server) {
	r := newRig(t, server.Source())
	require.Equal(t, r.rows("select connection_id() as v"), r.rows("select connection_id() as v"), "a connection is used again")
	for _, leaves := range []string{"set @a = 1", "select @a := 1", "create temporary table mine (a int)", "select get_lock('l', 0)", "set autocommit = 0", "start transaction", "use information_schema", "lock tables flights write"} {
		require.NotEmpty(t, r.rows(leaves), leaves)
	}
	require.Equal(t, `[{"a":null,"c":1,"d":"clinic","free":1}]`, r.rows("select @a as a, @@autocommit as c, database() as d, is_free_lock('l') as free"))
	require.Contains(t, r.run(statement("select * from mine"), "").Error, "doesn't exist")
}

func mysqlTables(t *testing.T, server *sqltest.Server) {
	server.Exec(`create table gates (id int, flight int default 7, unique key spot (id, flight), constraint flies foreign key (flight) references flights (id));
		create trigger landed after insert on gates for each row set @landed = 1`)
	r := newRig(t, server.Source())
	outcome := r.runs("mysql-list-tables", "", `{"table_names":"flights, gates","output_format":"simple"}`)
	require.Equal(t, `[{"schema_name":"clinic","object_name":"flights","object_details":{"name":"flights"}},{"schema_name":"clinic","object_name":"gates","object_details":{"name":"gates"}}]`, string(outcome.Result), outcome.Error)
	outcome = r.runs("mysql-list-tables", "", `{"table_names":"gates"}`)
	require.JSONEq(t, `[{"schema_name":"clinic","object_name":"gates","object_details":{"schema_name":"clinic","object_name":"gates","object_type":"TABLE","owner":null,"comment":"",
		"columns":[{"column_name":"id","data_type":"int(11)","ordinal_position":1,"is_not_nullable":false,"column_default":"NULL","column_comment":""},
			{"column_name":"flight","data_type":"int(11)","ordinal_position":2,"is_not_nullable":false,"column_default":"7","column_comment":""}],
		"constraints":[
			{"constraint_name":"spot","constraint_type":"UNIQUE","constraint_definition":"","constraint_columns":["id","flight"],"foreign_key_referenced_table":null,"foreign_key_referenced_columns":null},
			{"constraint_name":"flies","constraint_type":"FOREIGN KEY","constraint_definition":"","constraint_columns":["flight"],"foreign_key_referenced_table":"flights","foreign_key_referenced_columns":["id"]}],
		"indexes":[{"index_name":"spot","is_unique":true,"is_primary":false,"index_columns":["id","flight"]},{"index_name":"flies","is_unique":false,"is_primary":false,"index_columns":["flight"]}],
		"triggers":[{"trigger_name":"landed","trigger_definition":"set @landed = 1"}]}}]`, string(outcome.Result), outcome.Error)
	outcome = r.runs("mysql-list-tables", "", `{}`)
	require.Contains(t, string(outcome.Result), `"column_comment":"who flies"`)
	require.Contains(t, string(outcome.Result), `"is_primary":true`)

	executes(t, r, "mysql-execute-sql", "flights")
}
