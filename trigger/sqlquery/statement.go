package sqlquery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/template"
	"earshot/trigger/effect"
)

// statement is a SQL statement ready to run, with its bound values.
type statement struct {
	text string
	// names and values are bound, in the order of the tool's parameters; a missing value is nil.
	names  []string
	values []any
	// dateTimes are the names of parameters of format date-time.
	dateTimes []string
	// pasted are the values within the text itself.
	pasted []any
	// readOnly is why it must not change anything; empty if it may.
	readOnly string
	// json names the columns whose texts are JSON.
	json []string
	// onlyPrepare only prepares it; nothing runs.
	onlyPrepare bool
}

// prepare returns the statement of a tool: a value itself, the list of tables, or the tool's text with the
// template parameters pasted and the others to be bound.
func prepare(app *repositories.App, tool *repositories.Tool, values map[string]any) (s statement, err error) {
	switch {
	case tool.Executes():
		s.text, _ = values[repositories.SQLParameter].(string)
	case tool.ListsTables():
		s = listing(tool, values)
	default:
		s.text, s.names, s.dateTimes = tool.Statement, tool.BoundNames(), tool.DateTimes()
		for _, name := range s.names {
			s.values = append(s.values, values[name])
		}
		if len(tool.TemplateParameters) > 0 { // else braces are part of the SQL
			err = s.paste(repositories.ParameterNames(tool.TemplateParameters), values)
		}
	}
	if err == nil && strings.ContainsRune(s.text, 0) {
		err = effect.Permanent(effect.ReasonRequest, "the statement has a NUL byte, at which a database stops reading; remove it")
	}
	if !app.QueriesAlone(tool) {
		return s, err
	}
	switch source, _ := app.Source(tool.Source); {
	case source.ReadOnly != nil && *source.ReadOnly:
		s.readOnly = fmt.Sprintf("the source %q is read-only", source.Name)
	case tool.ReadOnly != nil || tool.ListsTables():
		s.readOnly = fmt.Sprintf("the tool %q is read-only", tool.Name)
	default:
		s.readOnly = fmt.Sprintf("the tool %q runs queries alone, as neither it nor its source says readOnly: false", tool.Name)
	}
	return s, err
}

// paste fills the template of the statement with the named values.
func (s *statement) paste(names []string, values map[string]any) error {
	given := make(map[string]any, len(names))
	for _, name := range names {
		given[name] = values[name]
		s.pasted = append(s.pasted, values[name])
	}
	parsed, err := template.Parse(s.text, template.Array)
	if err == nil {
		s.text, err = parsed.Fill(given, verbatim{})
	}
	if err != nil {
		return effect.Permanent(effect.ReasonRequest, "the statement of the tool: %s", effect.Clip(err.Error()))
	}
	return nil
}

// verbatim is the template.Escaper of template parameters: it writes them unchanged, since their own rules have
// checked and escaped them.
type verbatim struct{}

// Literal returns the text unchanged.
func (verbatim) Literal(s string) string { return s }

// Paste returns a scalar as text.
func (verbatim) Paste(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "", errors.New("the parameter has no value")
	case string:
		if found, has := parameters.ControlCharacter(value); has {
			return "", fmt.Errorf("a value with the control character U+%04X cannot be inserted", found)
		}
		return value, nil
	case json.Number:
		return value.String(), nil
	case bool:
		return strconv.FormatBool(value), nil
	default:
		return "", errors.New("a list needs the function array, and a map cannot be inserted")
	}
}

// mustBeQuery returns the failure of a read-only statement that is not a query. nonQuery returns the words that
// make it none, queries names the allowed statements. Pasted values stay out of the text.
func (s statement) mustBeQuery(nonQuery func(sql string) string, queries string) error {
	if s.readOnly == "" {
		return nil
	}
	words := nonQuery(s.text)
	if words == "" {
		return nil
	}
	what := effect.Clip(words) + " is"
	if len(s.pasted) > 0 {
		what = "what it says is"
	}
	return effect.Permanent(effect.ReasonRequest, "%s, and %s no query: it runs %s", s.readOnly, what, queries)
}

// listing returns the statement of a tool that lists tables. Its values are the names, separated by commas, and
// the level of detail.
func listing(tool *repositories.Tool, values map[string]any) statement {
	names, _ := values[repositories.TablesParameter].(string)
	list := strings.Split(names, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	names = strings.Join(list, ",")
	format := values[repositories.FormatParameter]
	if tool.SourceType() == repositories.SourcePostgres {
		return statement{text: postgresTables, names: tool.BoundNames(), values: []any{names, format}}
	}
	return statement{
		text: mysqlTables, names: []string{repositories.FormatParameter, repositories.TablesParameter, repositories.TablesParameter},
		values: []any{format, names, names}, json: []string{"object_details"},
	}
}

// postgresTables lists the tables of a PostgreSQL database with the fields of Toolbox's postgres-list-tables.
// $1 are names separated by commas, or empty for all; $2 is simple or detailed.
const postgresTables = `
select n.nspname as schema_name, c.relname as object_name,
  case when $2 = '` + repositories.TablesSimple + `' then json_build_object('name', c.relname) else json_build_object(
    'schema_name', n.nspname,
    'object_name', c.relname,
    'object_type', case c.relkind when 'p' then 'PARTITIONED TABLE' else 'TABLE' end,
    'owner', pg_get_userbyid(c.relowner),
    'comment', obj_description(c.oid, 'pg_class'),
    'columns', (
      select coalesce(json_agg(json_build_object(
        'column_name', a.attname, 'data_type', format_type(a.atttypid, a.atttypmod), 'ordinal_position', a.attnum,
        'is_not_nullable', a.attnotnull, 'column_default', pg_get_expr(d.adbin, d.adrelid), 'column_comment', col_description(c.oid, a.attnum)
      ) order by a.attnum), '[]')
      from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped),
    'constraints', (
      select coalesce(json_agg(json_build_object(
        'constraint_name', k.conname,
        'constraint_type', case k.contype when 'p' then 'PRIMARY KEY' when 'f' then 'FOREIGN KEY' when 'u' then 'UNIQUE' when 'c' then 'CHECK' else k.contype::text end,
        'constraint_definition', pg_get_constraintdef(k.oid),
        'constraint_columns', (select array_agg(a.attname order by u.at) from unnest(k.conkey) with ordinality u(num, at) join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.num),
        'foreign_key_referenced_table', nullif(k.confrelid, 0)::regclass,
        'foreign_key_referenced_columns', (select array_agg(a.attname order by u.at) from unnest(k.confkey) with ordinality u(num, at) join pg_attribute a on a.attrelid = k.confrelid and a.attnum = u.num)
      ) order by k.conname), '[]')
      from pg_constraint k where k.conrelid = c.oid),
    'indexes', (
      select coalesce(json_agg(json_build_object(
        'index_name', i.relname, 'index_definition', pg_get_indexdef(x.indexrelid), 'is_unique', x.indisunique, 'is_primary', x.indisprimary, 'index_method', m.amname,
        'index_columns', (select array_agg(a.attname order by u.at) from unnest(x.indkey::int2[]) with ordinality u(num, at) join pg_attribute a on a.attrelid = c.oid and a.attnum = u.num)
      ) order by i.relname), '[]')
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_am m on m.oid = i.relam where x.indrelid = c.oid),
    'triggers', (
      select coalesce(json_agg(json_build_object(
        'trigger_name', t.tgname, 'trigger_definition', pg_get_triggerdef(t.oid), 'trigger_enabled_state', t.tgenabled
      ) order by t.tgname), '[]')
      from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
  ) end as object_details
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_(toast|temp)'
  and ($1 = '' or c.relname = any(string_to_array($1, ',')))
order by n.nspname, c.relname`

// mysqlTables lists the tables of the databases of a MySQL or MariaDB server with the fields of Toolbox's
// mysql-list-tables. Its values are simple or detailed, and twice the names separated by commas, or empty for
// all. MariaDB's JSON is text: JSON_EXTRACT makes it JSON again inside other JSON.
const mysqlTables = `
select t.table_schema as schema_name, t.table_name as object_name,
  case when ? = '` + repositories.TablesSimple + `' then json_object('name', t.table_name) else json_object(
    'schema_name', t.table_schema,
    'object_name', t.table_name,
    'object_type', 'TABLE',
    'owner', null,
    'comment', t.table_comment,
    'columns', json_extract(coalesce((
      select json_arrayagg(json_object(
        'column_name', c.column_name, 'data_type', c.column_type, 'ordinal_position', c.ordinal_position,
        'is_not_nullable', json_extract(if(c.is_nullable = 'NO', 'true', 'false'), '$'), 'column_default', c.column_default, 'column_comment', c.column_comment))
      from information_schema.columns c where c.table_schema = t.table_schema and c.table_name = t.table_name), '[]'), '$'),
    'constraints', json_extract(coalesce((
      select json_arrayagg(json_object(
        'constraint_name', k.constraint_name, 'constraint_type', k.constraint_type, 'constraint_definition', '',
        'constraint_columns', json_extract(coalesce((
          select json_arrayagg(u.column_name) from information_schema.key_column_usage u
          where u.constraint_schema = k.constraint_schema and u.constraint_name = k.constraint_name and u.table_schema = k.table_schema and u.table_name = k.table_name), '[]'), '$'),
        'foreign_key_referenced_table', (
          select max(u.referenced_table_name) from information_schema.key_column_usage u
          where u.constraint_schema = k.constraint_schema and u.constraint_name = k.constraint_name and u.table_schema = k.table_schema and u.table_name = k.table_name),
        'foreign_key_referenced_columns', json_extract((
          select json_arrayagg(u.referenced_column_name) from information_schema.key_column_usage u
          where u.constraint_schema = k.constraint_schema and u.constraint_name = k.constraint_name and u.table_schema = k.table_schema and u.table_name = k.table_name
            and u.referenced_table_name is not null), '$')))
      from information_schema.table_constraints k where k.table_schema = t.table_schema and k.table_name = t.table_name), '[]'), '$'),
    'indexes', json_extract(coalesce((
      select json_arrayagg(json_object(
        'index_name', s.index_name, 'is_unique', json_extract(if(s.non_unique = 0, 'true', 'false'), '$'), 'is_primary', json_extract(if(s.index_name = 'PRIMARY', 'true', 'false'), '$'),
        'index_columns', json_extract((
          select json_arrayagg(p.column_name) from information_schema.statistics p
          where p.table_schema = s.table_schema and p.table_name = s.table_name and p.index_name = s.index_name), '$')))
      from information_schema.statistics s where s.seq_in_index = 1 and s.table_schema = t.table_schema and s.table_name = t.table_name), '[]'), '$'),
    'triggers', json_extract(coalesce((
      select json_arrayagg(json_object('trigger_name', g.trigger_name, 'trigger_definition', g.action_statement))
      from information_schema.triggers g where g.event_object_schema = t.table_schema and g.event_object_table = t.table_name), '[]'), '$')
  ) end as object_details
from information_schema.tables t
where t.table_schema not in ('mysql', 'information_schema', 'performance_schema', 'sys') and t.table_type = 'BASE TABLE'
  and (? = '' or find_in_set(t.table_name, ?))
order by t.table_schema, t.table_name`
