package sqlquery

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/neterr"
	"earshot/repositories/parameters"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// mysqlServer is the connection pool of a MySQL or MariaDB database.
type mysqlServer struct {
	source    repositories.Source
	connector *mysqlConnector
	db        *sql.DB
	options   Options
}

// openMySQL returns the pool, which connects with its first statement. All settings are from the source. Each
// statement is its own transaction, whatever the server's default.
func openMySQL(source repositories.Source, o Options) (database, error) {
	setting := func(name string) string { return source.QueryParams[name].Reveal() }
	config := mysql.NewConfig()
	config.Logger = &mysql.NopLogger{} // it would log addresses
	config.Net, config.Addr = "tcp", net.JoinHostPort(source.Host, source.DatabasePort())
	config.User, config.Passwd, config.DBName = source.User, source.Password.Reveal(), source.Database
	config.TLSConfig = cmp.Or(setting("tls"), "preferred")
	config.ConnectionAttributes = "program_name:earshot"
	config.Params = map[string]string{"autocommit": "1"}
	if *source.ReadOnly { // backslashes escape in texts, as mysqlNonQuery assumes
		config.Params["sql_mode"] = "REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')"
	}
	if zone := strings.Trim(setting("time_zone"), "'"); zone != "" {
		config.Params["time_zone"] = "'" + zone + "'"
	}
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := o.Dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		wire := &mysqlWire{Conn: conn}
		wire.allow()
		if opened, is := ctx.Value(mysqlConnKey{}).(*mysqlConn); is {
			opened.wire = wire
		}
		return wire, nil
	}
	var err error
	if setting("charset") != "" || setting("collation") != "" {
		err = config.Apply(mysql.Charset(cmp.Or(setting("charset"), "utf8mb4"), setting("collation")))
	}
	var inner driver.Connector
	if err == nil {
		inner, err = mysql.NewConnector(config)
	}
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q cannot be read; its host, port and queryParams must be as MySQL takes them", source.Name)
	}
	m := &mysqlServer{source: source, connector: &mysqlConnector{inner}, options: o}
	m.db = sql.OpenDB(m.connector)
	m.db.SetMaxIdleConns(o.SourceLimit)
	m.db.SetConnMaxIdleTime(time.Minute)
	m.db.SetConnMaxLifetime(30 * time.Minute)
	return m, nil
}

func (m *mysqlServer) close() { _ = m.db.Close() } // running statements have ended

// run runs a statement in a session without state of earlier ones. The connection is reused if the statement
// left no state, else closed. If the server still works on an abandoned statement, it is killed.
func (m *mysqlServer) run(ctx context.Context, s statement) (rows *result, err error) {
	if err := s.mustBeQuery(mysqlNonQuery, mysqlQueries); err != nil {
		return nil, err
	}
	if mysqlReadsLocalFile(s.text) {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: a tool cannot run LOAD DATA LOCAL", m.source.Name)
	}
	pooled, err := m.db.Conn(ctx)
	if err != nil {
		return nil, m.options.unreached(ctx, m.source, closedByServer(err), mysqlFailure(m.source.Name, err, statement{}))
	}
	defer func() { _ = pooled.Close() }() // it may already be closed
	_ = pooled.Raw(func(conn any) error {
		c := &mysqlCall{mysqlConn: conn.(*mysqlConn), source: m.source.Name, statement: s}
		rows, err = c.run(ctx)
		if c.sent && ctx.Err() != nil {
			c.unusable = true
			go m.kill(c.id)
		}
		if c.unusable || !mysqlLeavesNothing(s.text) {
			return driver.ErrBadConn // closes it
		}
		return nil
	})
	return rows, err
}

// kill ends a connection on the server, over another connection.
func (m *mysqlServer) kill(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	conn, err := m.connector.Connect(ctx)
	if err != nil {
		return // an unreachable server ends it by itself
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.(*mysqlConn).ExecContext(ctx, "KILL "+id, nil) // it may be gone
}

// mysqlCall is a statement on a connection to MySQL.
type mysqlCall struct {
	*mysqlConn
	attempt
	source    string
	statement statement
}

// run runs the statement, or only prepares it. A read-only statement runs in a read-only transaction, which it
// cannot end, since it is the only statement there.
func (c *mysqlCall) run(ctx context.Context) (*result, error) {
	c.wire.allow()
	if c.statement.onlyPrepare {
		prepared, err := c.prepare(ctx)
		if err == nil && prepared != nil {
			err = prepared.Close()
		}
		return nil, err
	}
	if c.statement.readOnly == "" {
		return c.execute(ctx)
	}
	if _, err := c.BeginTx(ctx, driver.TxOptions{ReadOnly: true}); err != nil {
		return nil, c.judge(ctx, err)
	}
	rows, err := c.execute(ctx)
	if !c.unusable {
		_, failed := c.ExecContext(ctx, "ROLLBACK", nil)
		c.unusable = failed != nil
	}
	return rows, err
}

// notPreparable is the error code for a statement that cannot be prepared.
const notPreparable = 1295

// prepare prepares the statement on the server; nil if the server does not prepare its kind.
func (c *mysqlCall) prepare(ctx context.Context) (driver.Stmt, error) {
	prepared, err := c.PrepareContext(ctx, c.statement.text)
	var answer *mysql.MySQLError
	if errors.As(err, &answer) && answer.Number == notPreparable && len(c.statement.values) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	if want, given := prepared.NumInput(), len(c.statement.values); want != given {
		_ = prepared.Close() // the connection stays usable
		return nil, effect.Permanent(effect.ReasonRequest, "the statement has %d ?, and the tool has %d parameters: each ? takes the next parameter", want, given)
	}
	return prepared, nil
}

// execute prepares the statement, binds its values, and reads the rows.
func (c *mysqlCall) execute(ctx context.Context) (*result, error) {
	prepared, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	c.sent = true
	var rows driver.Rows
	if prepared == nil {
		rows, err = c.QueryContext(ctx, c.statement.text, nil)
	} else {
		defer func() { _ = prepared.Close() }() // the server does not answer a close
		rows, err = prepared.(driver.StmtQueryContext).QueryContext(ctx, mysqlArguments(c.statement, c.zone))
	}
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	read, err := c.read(rows)
	if closed := rows.Close(); err == nil && !c.unusable {
		err = closed
	}
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	return read, nil
}

// read reads the rows that are kept. It abandons a query with more rows; it reads a changing statement to its
// end, since ending early would undo the change.
func (c *mysqlCall) read(rows driver.Rows) (*result, error) {
	columns := rows.Columns()
	row, types := make([]driver.Value, len(columns)), make([]string, len(columns))
	for i := range columns {
		types[i] = rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		if slices.Contains(c.statement.json, columns[i]) {
			types[i] = typeJSON
		}
	}
	read := newResult(columns)
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return read, nil
		} else if err != nil {
			return nil, err
		}
		c.wire.allow()
		if !read.add(func(i int) json.RawMessage { return mysqlValue(row[i], types[i], c.zone) }) && mysqlNonQuery(c.statement.text) == "" {
			c.unusable = true
			_ = c.wire.Close() // else closing would read the rest
			return read, nil
		}
	}
}

// judge returns the failure for an error that the server returned.
func (c *mysqlCall) judge(ctx context.Context, err error) error {
	if failure := mysqlFailure(c.source, err, c.statement); failure != nil {
		return c.failed(failure, ctx.Err() != nil)
	}
	if c.wire.exceeded() {
		return c.failed(effect.Permanent(effect.ReasonRequest, "the source %q sent a row that is longer than %d bytes", c.source, maxValueBytes), true)
	}
	return c.failed(closedByServer(err), true)
}

// closedByServer maps a broken connection to net.ErrClosed, as for the other databases.
func closedByServer(err error) error {
	if (errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn)) && neterr.Reason(err) == "" {
		return errors.Join(net.ErrClosed, err)
	}
	return err
}

// mysqlKinds are the errors of MySQL and MariaDB that mean more than a refused statement. All others persist as
// long as the statement, its values and the database are unchanged.
var mysqlKinds = map[uint16]answerKind{
	1044: userRefused, // access to the database denied
	1045: userRefused, // access denied
	1130: userRefused, // the host may not connect
	1251: userRefused, // unsupported authentication
	1698: userRefused, // access denied, of another authentication
	1820: userRefused, // the password must be changed
	3118: userRefused, // the account is locked

	1317: timedOut, // interrupted
	1969: timedOut, // MariaDB: max_statement_time
	3024: timedOut, // MySQL: max_execution_time

	1021: unavailable, // disk full
	1037: unavailable, // out of memory
	1040: unavailable, // too many connections
	1041: unavailable, // out of resources
	1053: unavailable, // shutting down
	1129: unavailable, // the host is blocked for a while
	1203: unavailable, // too many connections of the user
	1205: unavailable, // waited too long for a lock
	1206: unavailable, // too many locks
	1213: unavailable, // deadlock
	1226: unavailable, // the user has exceeded a limit
	1927: unavailable, // MariaDB: the connection was killed
}

var (
	// mysqlAccount finds the place that a user connects from, as in 'earshot'@'10.0.0.1'.
	mysqlAccount = regexp.MustCompile(`@'[^']*'`)
	// quotedData finds the data that a message quotes.
	quotedData = regexp.MustCompile(`(?s)((?:entry|value:?|string:?) )'.*?'( for | at |$)`)
	// quotedStatement finds the part of a statement that a message quotes.
	quotedStatement = regexp.MustCompile(`(?s)near '.*'`)
)

// mysqlFailure returns the failure for an error that the server returned; nil for any other.
func mysqlFailure(source string, err error, s statement) error {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return nil
	}
	message := neterr.WithoutAddresses(mysqlAccount.ReplaceAllString(answer.Message, ""))
	message = quotedData.ReplaceAllString(message, "$1'"+secret.Masked+"'$2")
	if len(s.pasted) > 0 {
		message = quotedStatement.ReplaceAllString(message, "near '"+secret.Masked+"'")
	}
	return answered(mysqlKinds[answer.Number], source, withoutValues(message, false, s), fmt.Sprintf("error %d", answer.Number))
}

// mysqlConnector opens connections that know their id on the server.
type mysqlConnector struct{ driver.Connector }

// mysqlDriverConn is the interface of the driver's connections.
type mysqlDriverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.QueryerContext
	driver.ExecerContext
	driver.SessionResetter
	driver.Validator
}

// mysqlConn is a connection to a server.
type mysqlConn struct {
	mysqlDriverConn
	wire *mysqlWire
	id   string // its id on the server
	// zone is its session's; time.UTC whatever UTC is called there, and nil if the name is unknown here.
	zone *time.Location
}

// mysqlConnKey is the context key of the connection being opened.
type mysqlConnKey struct{}

// Connect opens a connection, and reads its id and the time zone of its session.
func (c *mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened := &mysqlConn{}
	ctx = context.WithValue(ctx, mysqlConnKey{}, opened)
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	opened.mysqlDriverConn = inner.(mysqlDriverConn)
	rows, err := opened.QueryContext(ctx, "SELECT CONNECTION_ID(), IF(@@session.time_zone = 'SYSTEM', @@system_time_zone, @@session.time_zone)", nil)
	row := make([]driver.Value, 2)
	if err == nil {
		err = rows.Next(row)
		_ = rows.Close() // the next statement has its error
	}
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	opened.id = mysqlText(row[0])
	zone := mysqlText(row[1]) // an offset, or a name
	if slices.Contains([]string{"+00:00", "UTC", "Etc/UTC", "GMT"}, zone) {
		opened.zone = time.UTC
	} else if at, err := time.Parse("-07:00", zone); err == nil {
		opened.zone = at.Location()
	} else if found, err := time.LoadLocation(zone); err == nil && zone != "" {
		opened.zone = found
	}
	return opened, nil
}

// mysqlText returns a value of the driver as text.
func mysqlText(value driver.Value) string {
	if bytes, is := value.([]byte); is {
		return string(bytes)
	}
	return fmt.Sprint(value)
}

// mysqlWire is a network connection that bounds the bytes read: the driver would allocate rows of any length.
type mysqlWire struct {
	net.Conn
	left atomic.Int64
}

func (w *mysqlWire) allow() { w.left.Store(2 * maxValueBytes) } // with read-ahead

func (w *mysqlWire) exceeded() bool { return w.left.Load() < 0 }

// Read implements net.Conn.
func (w *mysqlWire) Read(b []byte) (int, error) {
	if w.exceeded() {
		return 0, errors.New("the answer is too long")
	}
	n, err := w.Conn.Read(b)
	w.left.Add(-int64(n))
	return n, err
}

// SyscallConn lets the driver check whether the other side has closed the connection.
func (w *mysqlWire) SyscallConn() (syscall.RawConn, error) {
	if conn, is := w.Conn.(syscall.Conn); is {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

var hasOffset = regexp.MustCompile(`(?:Z|[+-]\d\d:\d\d)$`)

// mysqlArguments returns the values in the types that the driver sends: integers as such, other numbers as
// digits, since a float would lose some. A date-time with an offset becomes one of the session's zone, as MySQL 8
// would read it: other servers ignore the offset. Without a known zone it stays as it is.
func mysqlArguments(s statement, zone *time.Location) []driver.NamedValue {
	arguments := make([]driver.NamedValue, len(s.values))
	for i, value := range s.values {
		arguments[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
		switch value := value.(type) {
		case string:
			if zone == nil || !slices.Contains(s.dateTimes, s.names[i]) || !hasOffset.MatchString(value) {
				continue
			}
			if at, known := parameters.DateTime.At(value, time.UTC); known {
				arguments[i].Value = at.In(zone).Format("2006-01-02 15:04:05.999999")
			}
		case json.Number:
			arguments[i].Value = value.String()
			if whole, err := strconv.ParseInt(value.String(), 10, 64); err == nil {
				arguments[i].Value = whole
			} else if whole, err := strconv.ParseUint(value.String(), 10, 64); err == nil {
				arguments[i].Value = whole
			}
		case []any, map[string]any:
			arguments[i].Value = string(exactjson.EncodeOrNull(value)) // as its JSON functions read them
		}
	}
	return arguments
}

// typeJSON is the type of a JSON column.
const typeJSON = "JSON"

// mysqlValue returns a value of a column's type as JSON. zone is the session's.
func mysqlValue(value driver.Value, of string, zone *time.Location) json.RawMessage {
	switch value := value.(type) {
	case nil:
		return null
	case int64:
		return json.RawMessage(strconv.FormatInt(value, 10))
	case float32:
		return float(float64(value), 32)
	case float64:
		return float(value, 64)
	}
	given := mysqlText(value)
	switch {
	case of == "DECIMAL", of == "YEAR", strings.HasSuffix(of, "INT"), of == "FLOAT", of == "DOUBLE":
		return number(given)
	case of == typeJSON:
		return compact(given)
	case of == "BIT": // at most eight bytes
		var n uint64
		for i := range len(given) {
			n = n<<8 | uint64(given[i])
		}
		return json.RawMessage(strconv.FormatUint(n, 10))
	case of == "DATETIME", of == "TIMESTAMP":
		at, err := time.ParseInLocation("2006-01-02 15:04:05.999999999", given, cmp.Or(zone, time.UTC))
		switch {
		case err == nil && of == "DATETIME" && zone != time.UTC: // UTC would be another instant than the session means
			return text(at.Format("2006-01-02T15:04:05.999999999"))
		case err == nil && zone != nil:
			return instant(at)
		}
		return text(given) // 0000-00-00, or a time of an unknown zone
	case strings.HasSuffix(of, "BLOB"), strings.HasSuffix(of, "BINARY"), of == "GEOMETRY", of == "VECTOR":
		return base64Text([]byte(given))
	default:
		return text(given)
	}
}
