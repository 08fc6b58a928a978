package sqlquery

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
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
	source string
	path   string
	db     *sql.DB
	free   chan *sqliteSession // unused sessions
}

// sqliteSession is a connection to a file. It is reused while its statements succeed and leave no state in it.
// Opening one costs more than most statements, since it reads the schema.
type sqliteSession struct {
	conn *sql.Conn
	file fs.FileInfo // the path's file when it was opened
	// stateful reports that a statement was allowed to do more than read rows and change those of the file: it
	// may have left a temporary table.
	stateful bool
	// prepared are statements that it has run, by their texts.
	prepared map[string]*sql.Stmt
}

// maxPrepared bounds the prepared statements of a session. A tool with template parameters has a text for each of
// their values.
const maxPrepared = 32

// busyFor is how long a statement waits for a lock on the file.
const busyFor = 2 * time.Second

func openSQLite(source repositories.Source, o Options) (database, error) {
	path, err := sqlitePath(source, o.SQLiteDir)
	if err != nil {
		return nil, err
	}
	mode, readOnly := "rw", *source.ReadOnly // never creates: a misspelt name must not give an empty file
	if readOnly {
		mode = "ro"
	}
	// Defensive mode refuses statements that write pages as bytes: these could break the file, and the process that reads it.
	query := url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": {fmt.Sprintf("busy_timeout(%d)", busyFor.Milliseconds()), "trusted_schema(0)"}}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: query.Encode()}
	db := sql.OpenDB(sqliteConnector{name.String(), readOnly})
	db.SetMaxOpenConns(o.SourceLimit)
	db.SetMaxIdleConns(-1) // free keeps the reusable ones
	return &sqliteFile{source: source.Name, path: path, db: db, free: make(chan *sqliteSession, o.SourceLimit)}, nil
}

// sqlitePath returns the file of a source: under the operator's folder, also after following links, since an
// app's owner may name any file of the machine. A file that does not exist yet is a transient error.
func sqlitePath(source repositories.Source, dir string) (string, error) {
	if dir == "" {
		return "", effect.Permanent(effect.ReasonBlocked, "the source %q is a file, and this service opens no files; an operator can allow a folder with EARSHOT_SQLITE_DIR (--sqlite-dir)", source.Name)
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
		return "", effect.Permanent(effect.ReasonBlocked, "the file of source %q is outside the folder of EARSHOT_SQLITE_DIR (--sqlite-dir)", source.Name)
	}
	if missing {
		return "", effect.Transient(effect.ReasonRequest, "the file of source %q does not exist: its database is relative to the folder of EARSHOT_SQLITE_DIR (--sqlite-dir)", source.Name)
	}
	return found, nil
}

// sqliteConnector is a driver.Connector that opens each connection with its own driver: a driver registered
// with database/sql is shared by the whole process.
type sqliteConnector struct {
	name     string
	readOnly bool
}

// sessionKey is the context key of the session being opened.
type sessionKey struct{}

// Connect opens a connection for the session of the context.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	session, is := ctx.Value(sessionKey{}).(*sqliteSession)
	if !is {
		return nil, errors.New("a connection to a SQLite file is opened for no session")
	}
	d := &sqlite.Driver{}
	d.RegisterConnectionHook(func(conn sqlite.ExecQuerierContext, _ string) error {
		return restrict(conn, c.readOnly, &session.stateful)
	})
	return d.Open(c.name)
}

// Driver returns a driver.
func (c sqliteConnector) Driver() driver.Driver { return &sqlite.Driver{} }

// schemaPragmas describe tables and change nothing, also in the form pragma_table_info('t') in a query.
var schemaPragmas = []string{"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}

// restrict limits statements to the file: they attach or write no other (VACUUM INTO attaches as well), change
// no setting of the connection or the process, and leave no open transaction. It sets stateful when a statement
// may leave state in the connection.
func restrict(conn sqlite.ExecQuerierContext, readOnly bool, stateful *bool) error {
	registerer, is := conn.(sqlite.AuthorizerRegisterer)
	if !is {
		return errors.New("the SQLite driver has no authorizer")
	}
	return registerer.RegisterAuthorizer(func(action sqlite.AuthorizerActionCode, argument, function, schema, _ string) sqlite.AuthorizerReturnCode {
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
			rows := action == sqlite.AuthInsert || action == sqlite.AuthUpdate || action == sqlite.AuthDelete
			*stateful = *stateful || !rows || schema != "main"
		}
		return sqlite.AuthorizerOK
	})
}

func (f *sqliteFile) close() {
	for found := f.pop(); found != nil; found = f.pop() {
		_ = found.conn.Close()
	}
	_ = f.db.Close() // all writes are committed
}

func (f *sqliteFile) pop() *sqliteSession {
	select {
	case found := <-f.free:
		return found
	default:
		return nil
	}
}

// run runs a statement, or only compiles it by EXPLAIN.
func (f *sqliteFile) run(ctx context.Context, s statement) (rows *result, err error) {
	if s.onlyPrepare && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s.text)), "explain") {
		s.text = "explain " + s.text
	}
	if !oneStatement(s.text) {
		return nil, effect.Permanent(effect.ReasonRequest, "the statement consists of several; a tool runs one")
	}
	session, err := f.session(ctx, readsCounters(s.text))
	if err != nil {
		return nil, f.failure(err, s, false)
	}
	arguments, err := sqliteArguments(s)
	var prepared *sql.Stmt
	if err == nil {
		prepared, err = session.prepare(ctx, s.text)
	}
	sent := err == nil
	if sent {
		rows, err = readRows(ctx, prepared, arguments)
	}
	if err != nil || ctx.Err() != nil || session.stateful || session.file == nil {
		_ = session.conn.Close() // it may have state; all writes are committed
	} else {
		f.free <- session // never blocks: its capacity is the number of open sessions
	}
	if err != nil {
		err = f.failure(err, s, sent)
	}
	return rows, err
}

// readsCounters reports whether a statement may name a function that tells of earlier statements of its session.
func readsCounters(query string) bool {
	lower := strings.ToLower(query)
	return strings.Contains(lower, "last_insert_rowid") || strings.Contains(lower, "changes") // also total_changes
}

// session returns a session of the path's current file: after a replacement, statements use the new file.
// fresh asks for one that has run nothing.
func (f *sqliteFile) session(ctx context.Context, fresh bool) (*sqliteSession, error) {
	file, err := os.Stat(f.path)
	for found := f.pop(); found != nil; found = f.pop() {
		if err == nil && !fresh && os.SameFile(file, found.file) {
			return found, nil
		}
		_ = found.conn.Close() // all its writes are committed
		if fresh {             // the limit on connections needs the place of one
			break
		}
	}
	opened := &sqliteSession{file: file, prepared: map[string]*sql.Stmt{}}
	if opened.conn, err = f.db.Conn(context.WithValue(ctx, sessionKey{}, opened)); err != nil {
		return nil, err
	}
	if _, err = sqlite.Limit(opened.conn, sqlite3.SQLITE_LIMIT_LENGTH, maxValueBytes); err != nil {
		_ = opened.conn.Close()
	}
	return opened, err
}

// prepare returns a prepared statement, which is closed with the session.
func (q *sqliteSession) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if known := q.prepared[query]; known != nil {
		return known, nil
	}
	made, err := q.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	for old, one := range q.prepared {
		if len(q.prepared) < maxPrepared {
			break
		}
		delete(q.prepared, old)
		_ = one.Close() // it is not in use
	}
	q.prepared[query] = made
	return made, nil
}

// readRows runs a statement and reads its rows until the end or the result's limit.
func readRows(ctx context.Context, prepared *sql.Stmt, arguments []any) (*result, error) {
	rows, err := prepared.QueryContext(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	if err != nil {
		return nil, err
	}
	names, declared := make([]string, len(columns)), make([]string, len(columns))
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i, column := range columns {
		names[i], declared[i], targets[i] = column.Name(), strings.ToUpper(column.DatabaseTypeName()), &values[i]
	}
	read := newResult(names)
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

// failure returns the failure for an error of SQLite, by its primary result code. sent reports that the statement
// itself had begun.
func (f *sqliteFile) failure(err error, s statement, sent bool) error {
	detail, code := effect.Clip(err.Error()), 0
	if coded, is := errors.AsType[*sqlite.Error](err); is {
		code = coded.Code() & 0xff
	}
	broke := func(err error) error {
		if sent {
			return &afterSending{err}
		}
		return err
	}
	switch {
	case errors.As(err, new(*effect.Failure)):
		return err
	case code == sqlite3.SQLITE_INTERRUPT, code == 0 && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		return broke(err)
	case code == sqlite3.SQLITE_NOMEM, code == sqlite3.SQLITE_IOERR, code == sqlite3.SQLITE_FULL:
		return broke(effect.Transient(effect.ReasonRequest, "the source %q closed the connection: %s", f.source, detail))
	case code == sqlite3.SQLITE_BUSY, code == sqlite3.SQLITE_LOCKED, code == sqlite3.SQLITE_CANTOPEN, code == sqlite3.SQLITE_PROTOCOL: // nothing ran
		return effect.Transient(effect.ReasonRequest, "the source %q is not available: %s", f.source, detail)
	case code == sqlite3.SQLITE_AUTH:
		detail = "it may not reach other files, settings or transactions"
		if s.readOnly != "" {
			detail += ", and " + s.readOnly
		}
	}
	return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s", f.source, detail)
}

// argumentName matches a name that database/sql accepts.
var argumentName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)

// sqliteArguments returns the arguments: bound by place to ?, ?1 and $1, and by name to :name, @name and $name.
// They have the types that SQLite stores: lists and maps are JSON texts, as for its JSON functions.
func sqliteArguments(s statement) ([]any, error) {
	arguments := make([]any, len(s.values))
	for i, bound := range s.values {
		switch value := bound.(type) {
		case json.Number:
			whole, err := value.Int64()
			bound = whole
			if err != nil {
				if bound, err = value.Float64(); err != nil {
					return nil, effect.Permanent(effect.ReasonRequest, "the parameter %q is out of the range of SQLite's numbers", effect.Clip(s.names[i]))
				}
			}
		case []any, map[string]any:
			bound = string(exactjson.EncodeOrNull(value))
		}
		arguments[i] = bound
		if argumentName.MatchString(s.names[i]) {
			arguments[i] = sql.Named(s.names[i], bound)
		}
	}
	return arguments, nil
}

// sqliteValue returns a value as JSON. SQLite has five types; the column's declared type, if any, tells the
// meaning of a number or a text.
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
		return float(value, 64)
	case bool:
		return json.RawMessage(strconv.FormatBool(value))
	case []byte:
		return base64Text(value)
	case time.Time:
		if declared == "DATE" {
			return text(value.Format(time.DateOnly))
		}
		return instant(value)
	case string:
		if declared == "JSON" {
			return compact(value)
		}
		return text(value)
	default:
		return null // the driver has no other types
	}
}
