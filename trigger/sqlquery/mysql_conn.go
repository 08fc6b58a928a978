package sqlquery

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"earshot/repositories/exactjson"
)

// mysqlConnector opens connections that know their number on the server.
type mysqlConnector struct{ driver.Connector }

// mysqlDriverConn is what the driver's connections offer.
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
	id   string // its number on the server
	// zone is that of its session; nil if its name is not known here.
	zone *time.Location
}

// mysqlConnKey is the key under which a context holds the connection that is opened.
type mysqlConnKey struct{}

// Connect opens a connection, and asks the server for the number and the time zone of the
// session.
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
		_ = rows.Close() // an error of it is one of the next statement
	}
	if err != nil {
		_ = inner.Close()
		return nil, err
	}
	opened.id = mysqlText(row[0])
	zone := mysqlText(row[1]) // an offset, or a name
	if at, err := time.Parse("-07:00", zone); err == nil {
		opened.zone = at.Location()
	} else if found, err := time.LoadLocation(zone); err == nil && zone != "" {
		opened.zone = found
	}
	return opened, nil
}

// mysqlText is a value of the driver as text.
func mysqlText(value driver.Value) string {
	if bytes, is := value.([]byte); is {
		return string(bytes)
	}
	return fmt.Sprint(value)
}

// mysqlWire is a network connection that reads no more than it is allowed to: the driver
// would make room for rows of any length.
type mysqlWire struct {
	net.Conn
	left atomic.Int64
}

// allow lets it read another row.
func (w *mysqlWire) allow() { w.left.Store(2 * maxValueBytes) } // with what is read ahead

// exceeded reports whether more came.
func (w *mysqlWire) exceeded() bool { return w.left.Load() < 0 }

// Read implements net.Conn.
func (w *mysqlWire) Read(b []byte) (int, error) {
	if w.exceeded() {
		return 0, errors.New("more was sent than is read")
	}
	n, err := w.Conn.Read(b)
	w.left.Add(-int64(n))
	return n, err
}

// SyscallConn lets the driver look whether the other side has closed the connection.
func (w *mysqlWire) SyscallConn() (syscall.RawConn, error) {
	if conn, is := w.Conn.(syscall.Conn); is {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// mysqlArguments are the values in the types that the driver sends: whole numbers as such,
// all others as their digits, since a float would lose some.
func mysqlArguments(values []any) []driver.NamedValue {
	arguments := make([]driver.NamedValue, len(values))
	for i, value := range values {
		arguments[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
		switch value := value.(type) {
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

// typeJSON is the type of a column that holds JSON.
const typeJSON = "JSON"

// mysqlValue writes a value of a column's type as JSON. zone is that of the session.
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
	case of == typeJSON && json.Valid([]byte(given)):
		return compact(given)
	case of == "BIT": // at most eight bytes
		var n uint64
		for i := range len(given) {
			n = n<<8 | uint64(given[i])
		}
		return json.RawMessage(strconv.FormatUint(n, 10))
	case of == "DATETIME", of == "TIMESTAMP":
		if of == "DATETIME" {
			zone = time.UTC
		}
		if zone != nil {
			if at, err := time.ParseInLocation("2006-01-02 15:04:05.999999999", given, zone); err == nil {
				return instant(at)
			}
		}
		return text(given) // 0000-00-00, or a time of a zone that is not known here
	case strings.HasSuffix(of, "BLOB"), strings.HasSuffix(of, "BINARY"), of == "GEOMETRY", of == "VECTOR":
		return base64Text([]byte(given))
	default:
		return text(given)
	}
}
