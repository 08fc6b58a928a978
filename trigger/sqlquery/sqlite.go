package sqlquery

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/trigger/effect"
)

// sqliteFile is a SQLite database in a file.
type sqliteFile struct {
	source   repositories.Source
	db       *sql.DB
	sessions sqliteSessions
}

// maxValueBytes is the longest string or blob of a SQLite database that is read or made,
// and the longest row of a PostgreSQL database. It bounds memory, not results, which
// are cut long before.
const maxValueBytes = 16 << 20

// busyFor is how long a statement waits for another's lock on the file.
const busyFor = 2 * time.Second

func openSQLite(source repositories.Source, o Options) (database, error) {
	path, err := sqlitePath(source, o.SQLiteDir)
	if err != nil {
		return nil, err
	}
	mode, readOnly := "rw", *source.ReadOnly // never creates: an empty file in place of a misspelt one helps nobody
	if readOnly {
		mode = "ro"
	}
	query := url.Values{"mode": {mode}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyFor.Milliseconds()), "trusted_schema(0)"}}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db := sql.OpenDB(sqliteConnector{name.String(), readOnly})
	db.SetMaxOpenConns(o.SourceLimit)
	db.SetMaxIdleConns(-1) // sessions keep those that may be used again
	return &sqliteFile{source: source, db: db, sessions: sqliteSessions{path: path}}, nil
}

// sqliteConnector is a driver.Connector that opens each connection with a driver of its
// own: one that is registered with database/sql is shared by the whole process.
type sqliteConnector struct {
	name     string
	readOnly bool
}

// Connect opens a connection for the session of the context.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	session, is := ctx.Value(sessionKey{}).(*sqliteSession)
	if !is {
		return nil, errors.New("a connection to a SQLite file is opened for no session")
	}
	d := &sqlite.Driver{}
	d.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		return restrict(conn, c.readOnly, &session.changed)
	})
	return d.Open(c.name)
}

// Driver returns a driver.
func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

// schemaPragmas tell of tables and change nothing, also as pragma_table_info('t') in a query.
var schemaPragmas = []string{"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}

// restrict keeps statements to the file: no other is attached or written (VACUUM INTO
// attaches as well), no setting of the connection or the process is changed, and no
// transaction outlives its statement. changed is set when one may do more than read.
func restrict(conn sqlite.ExecQuerierContext, readOnly bool, changed *bool) error {
	registerer, is := conn.(sqlite.AuthorizerRegisterer)
	if !is {
		return errors.New("the SQLite driver has no authorizer")
	}
	return registerer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, argument, function, _, _ string) sqlite.AuthorizerReturnCode {
		switch action {
		case sqlite.AuthPragma:
			if !slices.Contains(schemaPragmas, strings.ToLower(argument)) {
				return sqlite.AuthorizerDeny
			}
		case sqlite.AuthAttach, sqlite.AuthDetach, sqlite.AuthTransaction, sqlite.AuthSavepoint:
			return sqlite.AuthorizerDeny
		case sqlite.AuthFunction:
			if function == "load_extension" {
				return sqlite.AuthorizerDeny
			}
		case sqlite.AuthSelect, sqlite.AuthRead, sqlite.AuthRecursive:
		default:
			if readOnly {
				return sqlite.AuthorizerDeny
			}
			*changed = true
		}
		return sqlite.AuthorizerOK
	})
}

func (f *sqliteFile) close() {
	f.sessions.close()
	_ = f.db.Close() // what was written is written
}

func (f *sqliteFile) run(ctx context.Context, s statement) (found *table, err error) {
	if !oneStatement(s.text) {
		return nil, effect.Permanent(effect.ReasonRequest, "the statement is more than one; a tool runs one statement")
	}
	session, err := f.sessions.take(ctx, f.db)
	if err != nil {
		return nil, f.fault(err, s)
	}
	defer func() { f.sessions.give(session, err != nil || ctx.Err() != nil) }()
	return f.runIn(ctx, session.conn, s)
}

func (f *sqliteFile) runIn(ctx context.Context, conn *sql.Conn, s statement) (*table, error) {
	if _, err := sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, maxValueBytes); err != nil {
		return nil, f.fault(err, s)
	}
	arguments, err := sqliteArguments(s)
	if err != nil {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, s.text, arguments...)
	if err != nil {
		return nil, f.fault(err, s)
	}
	defer rows.Close()
	read, err := readSQLite(rows)
	if err != nil {
		return nil, f.fault(err, s)
	}
	return read, nil
}

// fault turns an error of SQLite into a failure, by its primary result code.
func (f *sqliteFile) fault(err error, s statement) error {
	var coded *sqlite.Error
	if !errors.As(err, &coded) {
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
			return &lostAnswer{err}
		}
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s", f.source.Name, effect.Clip(err.Error()))
	}
	switch coded.Code() & 0xff {
	case sqlite3.SQLITE_INTERRUPT:
		return &lostAnswer{err}
	case sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL:
		return &failureAfterSending{effect.Transient(effect.ReasonRequest, "the source %q broke off: %s", f.source.Name, effect.Clip(coded.Error()))}
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL: // nothing ran
		return effect.Transient(effect.ReasonRequest, "the source %q is not to be had: %s", f.source.Name, effect.Clip(coded.Error()))
	case sqlite3.SQLITE_AUTH:
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: it may not reach other files, settings or transactions%s", f.source.Name, ifReadOnly(s))
	default:
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s", f.source.Name, effect.Clip(coded.Error()))
	}
}

func ifReadOnly(s statement) string {
	if s.readOnly != "" {
		return ", and " + s.readOnly
	}
	return ""
}

// sqlitePath returns the file of a source: under the operator's folder, also where
// links lead, since whoever owns an app may name any file of the machine. A file that
// does not exist yet is waited for.
func sqlitePath(source repositories.Source, dir string) (string, error) {
	if dir == "" {
		return "", effect.Permanent(effect.ReasonBlocked, "the source %q is a file, and this service opens none; an operator can name a folder with EARSHOT_SQLITE_DIR (--sqlite-dir)", source.Name)
	}
	folder, err := filepath.Abs(dir)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", effect.Transient(effect.ReasonRequest, "the folder of EARSHOT_SQLITE_DIR cannot be read")
	}
	path := source.Database
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	found, err := filepath.EvalSymlinks(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing {
		found = filepath.Clean(path)
	} else if err != nil {
		return "", effect.Transient(effect.ReasonRequest, "the file of source %q cannot be read", source.Name)
	}
	if relative, err := filepath.Rel(folder, found); err != nil || !filepath.IsLocal(relative) || relative == "." {
		return "", effect.Permanent(effect.ReasonBlocked, "the file of source %q is not in the folder that EARSHOT_SQLITE_DIR (--sqlite-dir) opens", source.Name)
	}
	if missing {
		return "", effect.Transient(effect.ReasonRequest, "the file of source %q is not there", source.Name)
	}
	return found, nil
}

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
			return nil, effect.Permanent(effect.ReasonRequest, "the parameter %q is out of the range of SQLite's numbers", effect.Clip(name))
		}
		return float, nil
	case []any, map[string]any:
		return string(exactjson.EncodeOrNull(value)), nil
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
