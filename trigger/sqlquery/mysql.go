package sqlquery

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

// mysqlServer is the connection pool of a MySQL or MariaDB database.
type mysqlServer struct {
	source    repositories.Source
	connector *mysqlConnector
	db        *sql.DB
	options   Options
}

// openMySQL makes the pool, which connects with its first statement.
func openMySQL(source repositories.Source, o Options) (database, error) {
	config, err := mysqlConfig(source, o)
	if err != nil {
		return nil, unreadableMySQL(source)
	}
	inner, err := mysql.NewConnector(config)
	if err != nil {
		return nil, unreadableMySQL(source)
	}
	m := &mysqlServer{source: source, connector: &mysqlConnector{inner}, options: o}
	m.db = sql.OpenDB(m.connector)
	m.db.SetMaxIdleConns(o.SourceLimit)
	m.db.SetConnMaxIdleTime(time.Minute)
	m.db.SetConnMaxLifetime(30 * time.Minute)
	return m, nil
}

func unreadableMySQL(source repositories.Source) error {
	return effect.Permanent(effect.ReasonRequest, "the source %q cannot be read; its host, port and queryParams must be as MySQL takes them", source.Name)
}

// mysqlBackslashes has backslashes escape in the texts of a session, as the check of its
// statements takes them.
const mysqlBackslashes = "REPLACE(@@sql_mode, 'NO_BACKSLASH_ESCAPES', '')"

// mysqlConfig takes all settings from the source. Each statement is a transaction of its
// own, whatever the server has for a default.
func mysqlConfig(source repositories.Source, o Options) (*mysql.Config, error) {
	settings := func(name string) string { return source.QueryParams[name].Reveal() }
	config := mysql.NewConfig()
	config.Logger = &mysql.NopLogger{} // it would log addresses
	config.Net, config.Addr = "tcp", net.JoinHostPort(source.Host, source.DatabasePort())
	config.User, config.Passwd, config.DBName = source.User, source.Password.Reveal(), source.Database
	config.TLSConfig = cmp.Or(settings("tls"), "preferred")
	config.ConnectionAttributes = "program_name:earshot"
	config.Params = map[string]string{"autocommit": "1"}
	if *source.ReadOnly {
		config.Params["sql_mode"] = mysqlBackslashes
	}
	if zone := strings.Trim(settings("time_zone"), "'"); zone != "" {
		config.Params["time_zone"] = "'" + zone + "'"
	}
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := dialHost(ctx, source, o.Dial)
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
	if settings("charset") == "" && settings("collation") == "" {
		return config, nil
	}
	return config, config.Apply(mysql.Charset(cmp.Or(settings("charset"), "utf8mb4"), settings("collation")))
}

// dialHost connects to the first address of a source's host that answers.
func dialHost(ctx context.Context, source repositories.Source, dial func(context.Context, string, string) (net.Conn, error)) (net.Conn, error) {
	addresses := []string{source.Host}
	if _, not := netip.ParseAddr(source.Host); not != nil {
		found, err := net.DefaultResolver.LookupHost(ctx, source.Host)
		if err != nil {
			return nil, err
		}
		addresses = found
	}
	var faults []error
	for _, address := range addresses {
		conn, err := dial(ctx, "tcp", net.JoinHostPort(address, source.DatabasePort()))
		if err == nil {
			return conn, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

func (m *mysqlServer) close() { _ = m.db.Close() } // running statements have ended

// mysqlQueries are the statements of MySQL that run where queries alone do.
const mysqlQueries = "SELECT, WITH, VALUES, TABLE, SHOW, DESCRIBE and EXPLAIN, without INTO, INSERT, UPDATE, DELETE, REPLACE and comments with ! in them"

// run runs a statement in a session that nothing of an earlier one is left in.
func (m *mysqlServer) run(ctx context.Context, s statement) (read *table, err error) {
	if err := refused(s, mysqlNonQueryWords, mysqlQueries); err != nil {
		return nil, err
	}
	err = m.on(ctx, s, func(c *mysqlCall) error {
		read, err = c.run(ctx)
		return err
	})
	return read, err
}

// check has the server prepare the statement, and runs nothing.
func (m *mysqlServer) check(ctx context.Context, s statement) error {
	if err := refused(s, mysqlNonQueryWords, mysqlQueries); err != nil {
		return err
	}
	return m.on(ctx, s, func(c *mysqlCall) error { return c.check(ctx) })
}

// on lends a connection, which is given back where it is as good as new, and else closed.
// What a server still does on one that was left is stopped.
func (m *mysqlServer) on(ctx context.Context, s statement, use func(c *mysqlCall) error) error {
	pooled, err := m.db.Conn(ctx)
	if err != nil {
		m.options.Logger.InfoContext(ctx, "source.unreached", "source", m.source.Name, "error", err.Error())
		return m.unconnected(err)
	}
	defer func() { _ = pooled.Close() }() // or it is gone already
	_ = pooled.Raw(func(conn any) error {
		c := &mysqlCall{mysqlConn: conn.(*mysqlConn), server: m, statement: s}
		err = use(c)
		if c.sent && ctx.Err() != nil {
			c.unusable = true
			go m.kill(c.id)
		}
		if c.unusable || !mysqlLeavesNothing(s.text) {
			return driver.ErrBadConn // which closes it
		}
		return nil
	})
	return err
}

// kill ends a connection on the server, over another one.
func (m *mysqlServer) kill(id string) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	conn, err := m.connector.Connect(ctx)
	if err != nil {
		return // a server that cannot be reached ends it by itself
	}
	defer func() { _ = conn.Close() }()
	_, _ = conn.(*mysqlConn).ExecContext(ctx, "KILL "+id, nil) // it may be gone
}

// unconnected turns the error of a connection that was not opened into a failure.
func (m *mysqlServer) unconnected(err error) error {
	var said *mysql.MySQLError
	switch {
	case errors.Is(err, ErrRefused):
		return effect.Permanent(effect.ReasonBlocked, "the source %q: %s", m.source.Name, refusal(m.source, err))
	case errors.As(err, &said):
		return m.fault(said, statement{})
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return effect.Transient(effect.ReasonRequest, "the source %q cannot be reached: %s", m.source.Name, publicText(closedByServer(err)))
	}
}

// closedByServer puts what the driver says of a broken connection into the words of all
// others.
func closedByServer(err error) error {
	if (errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, driver.ErrBadConn)) && neterr.Reason(err) == "" {
		return errors.Join(net.ErrClosed, err)
	}
	return err
}
