package sqlquery

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"time"
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
	// zone is that of its session; nil where it is not known by its name here.
	zone *time.Location
}

// mysqlConnKey is where a context has the connection that is opened.
type mysqlConnKey struct{}

// Connect opens a connection.
func (c *mysqlConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened := &mysqlConn{}
	ctx = context.WithValue(ctx, mysqlConnKey{}, opened)
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	opened.mysqlDriverConn = inner.(mysqlDriverConn)
	if err := opened.introduce(ctx); err != nil {
		_ = inner.Close()
		return nil, err
	}
	return opened, nil
}

// introduce asks the server for the number and the time zone of the session.
func (c *mysqlConn) introduce(ctx context.Context) error {
	rows, err := c.QueryContext(ctx, "SELECT CONNECTION_ID(), IF(@@session.time_zone = 'SYSTEM', @@system_time_zone, @@session.time_zone)", nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	row := make([]driver.Value, 2)
	if err := rows.Next(row); err != nil {
		return err
	}
	c.id, c.zone = textOfMySQL(row[0]), zoneOf(textOfMySQL(row[1]))
	return nil
}

// textOfMySQL is a value as the driver has it, in words.
func textOfMySQL(value driver.Value) string {
	if bytes, is := value.([]byte); is {
		return string(bytes)
	}
	return fmt.Sprint(value)
}

// zoneOf finds a zone of MySQL: an offset, or a name.
func zoneOf(name string) *time.Location {
	if at, err := time.Parse("-07:00", name); err == nil {
		return at.Location()
	}
	zone, err := time.LoadLocation(name)
	if name == "" || err != nil {
		return nil
	}
	return zone
}

// mysqlWire is a network connection that reads no more than it is allowed to: the driver
// would make room for rows of any length.
type mysqlWire struct {
	net.Conn
	left atomic.Int64
}

var errTooLong = errors.New("more was sent than is read")

// allow lets it read another row.
func (w *mysqlWire) allow() { w.left.Store(2 * maxValueBytes) } // what is read ahead among it

// exceeded reports whether more came.
func (w *mysqlWire) exceeded() bool { return w.left.Load() < 0 }

// Read reads.
func (w *mysqlWire) Read(b []byte) (int, error) {
	if w.exceeded() {
		return 0, errTooLong
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
