package sqlquery

import (
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"earshot/trigger/effect"
)

// argumentName is a name that database/sql takes.
var argumentName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// sqliteArguments binds the values: by their place to ?, ?1 and $1, and by their name to
// :name, @name and $name.
func sqliteArguments(s statement) ([]any, error) {
	arguments := make([]any, len(s.values))
	for i, value := range s.values {
		bound, err := sqliteArgument(s.names[i], value)
		if err != nil {
			return nil, err
		}
		arguments[i] = bound
		if argumentName.MatchString(s.names[i]) {
			arguments[i] = sql.Named(s.names[i], bound)
		}
	}
	return arguments, nil
}

// sqliteArgument is a value in one of the types that SQLite stores: lists and maps are
// JSON texts, as its JSON functions read them.
func sqliteArgument(name string, value any) (any, error) {
	switch value := value.(type) {
	case json.Number:
		if whole, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
			return whole, nil
		}
		float, err := value.Float64()
		if err != nil {
			return nil, dead(effect.ReasonRequest, "the parameter %q is out of the range of SQLite's numbers", clip(name))
		}
		return float, nil
	case []any, map[string]any:
		return encoded(value), nil
	default:
		return value, nil
	}
}

// readSQLite reads rows until there are no more or no room for them.
func readSQLite(rows *sql.Rows) (*table, error) {
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	names, declared := make([]string, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		names[i], declared[i] = column.Name(), strings.ToUpper(column.DatabaseTypeName())
	}
	read := newTable(names)
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		if !read.add(func(i int) json.RawMessage { return sqliteValue(values[i], declared[i]) }) {
			return read, nil
		}
	}
	return read, rows.Err()
}

// sqliteValue writes a value. SQLite has five types; that of the column, where it has
// one, says what a number or a text means.
func sqliteValue(value any, declared string) json.RawMessage {
	switch value := value.(type) {
	case nil:
		return null
	case int64:
		if (declared == "BOOLEAN" || declared == "BOOL") && (value == 0 || value == 1) {
			return json.RawMessage(strconv.FormatBool(value == 1))
		}
		return json.RawMessage(strconv.FormatInt(value, 10))
	case float64:
		if math.IsInf(value, 0) {
			return text(strconv.FormatFloat(value, 'g', -1, 64))
		}
		return json.RawMessage(strconv.FormatFloat(value, 'g', -1, 64))
	case bool:
		return json.RawMessage(strconv.FormatBool(value))
	case []byte:
		return text(base64.StdEncoding.EncodeToString(value))
	case time.Time:
		return instant(value, declared == "DATE")
	case string:
		if declared == "JSON" && json.Valid([]byte(value)) {
			return compact(value)
		}
		return text(value)
	default:
		return null // the driver has no other types
	}
}
