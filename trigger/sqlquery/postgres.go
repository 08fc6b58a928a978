package sqlquery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/trigger/effect"
)

// postgresServer is the connection pool of a PostgreSQL database.
type postgresServer struct {
	source repositories.Source
	pool   *pgxpool.Pool
	// superuser is called if the role of a read-only source is a superuser.
	superuser func()
	options   Options
}

// openPostgres makes the pool, which connects with its first statement. All settings are from
// the source. What the driver would take from its own surroundings, such as a password file or a
// client certificate, are credentials of the operator, and not of the app.
func openPostgres(source repositories.Source, o Options, superuser func()) (database, error) {
	quote := func(value string) string { // PostgreSQL documentation, section 34.1.1.1
		return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
	}
	mode := cmp.Or(source.QueryParams["sslmode"].Reveal(), "prefer") // as libpq does
	config, err := pgxpool.ParseConfig(fmt.Sprintf(
		"host=%s port=%s dbname=%s user=%s sslmode=%s sslcert='' sslkey='' target_session_attrs=any",
		quote(source.Host), quote(source.DatabasePort()), quote(source.Database), quote(source.User), quote(mode)))
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q cannot be read; its host, port and queryParams must be as PostgreSQL takes them", source.Name)
	}
	config.MaxConns, config.MinConns, config.MinIdleConns = int32(o.SourceLimit), 0, 0
	config.MaxConnIdleTime, config.MaxConnLifetime = time.Minute, 30*time.Minute
	conn := config.ConnConfig
	conn.Password = source.Password.Reveal()
	// ISO is the one style of dates that can be read without knowing the server's.
	conn.RuntimeParams = map[string]string{"application_name": "earshot", "datestyle": "ISO", "client_encoding": "UTF8"}
	for name, value := range source.QueryParams {
		if name != "sslmode" {
			conn.RuntimeParams[name] = value.Reveal()
		}
	}
	conn.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !strings.HasPrefix(network, "tcp") {
			return nil, fmt.Errorf("%w: %s is no TCP", ErrRefused, network)
		}
		return o.Dial(ctx, network, address)
	}
	conn.MaxProtocolMessageBodyLen = maxValueBytes
	conn.ConnectTimeout = 0 // the statement's time bounds it
	conn.ValidateConnect = nil
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q cannot be opened", source.Name)
	}
	return &postgresServer{source, pool, superuser, o}, nil
}

func (p *postgresServer) close() { p.pool.Close() }

// cleanupTimeout bounds the reset of a session, and the end of a connection.
const cleanupTimeout = 5 * time.Second

// run runs a statement in a session that is as good as new: what an earlier one has set,
// made or locked is gone.
func (p *postgresServer) run(ctx context.Context, s statement) (*result, error) {
	if err := s.mustBeQuery(postgresNonQuery, postgresQueries); err != nil {
		return nil, err
	}
	pooled, err := p.pool.Acquire(ctx)
	if err != nil {
		answer := postgresFailure(p.source.Name, err, statement{})
		if errors.As(err, new(*pgconn.ParseConfigError)) {
			answer = effect.Permanent(effect.ReasonRequest, "the source %q cannot be read", p.source.Name)
		}
		return nil, p.options.unreached(ctx, p.source, err, answer)
	}
	c := &postgresCall{PgConn: pooled.Conn().PgConn(), source: p.source.Name, statement: s}
	if s.readOnly != "" && c.ParameterStatus("is_superuser") == "on" {
		p.superuser()
	}
	rows, err := c.run(ctx)
	if !c.unusable && c.reset() {
		pooled.Release()
		return rows, err
	}
	conn := pooled.Hijack()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = conn.PgConn().CancelRequest(ctx) // a server that cannot be reached stops by itself
		_ = conn.Close(ctx)
	}()
	return rows, err
}

// postgresCall is a statement on a connection to PostgreSQL. It runs in the messages of the
// extended query protocol (documentation, section 53.2.3), for two things that drivers do
// not offer: the server is asked for a number of rows and no more, which cuts a long result
// short without aborting the statement that makes it; and values travel as the texts that
// the server writes, so that no digit is lost.
type postgresCall struct {
	*pgconn.PgConn
	attempt
	source    string
	statement statement
}

// run runs the statement, or has it described only. One that must not change anything runs in
// a read-only transaction, which it cannot change: it is the only statement there.
func (c *postgresCall) run(ctx context.Context) (*result, error) {
	if c.statement.readOnly == "" || c.statement.onlyPrepare {
		return c.execute(ctx)
	}
	if _, err := c.Exec(ctx, "begin read only").ReadAll(); err != nil {
		return nil, c.judge(ctx, err)
	}
	rows, err := c.execute(ctx)
	if !c.unusable {
		_, failed := c.Exec(ctx, "rollback").ReadAll()
		c.unusable = failed != nil
	}
	return rows, err
}

// reset takes the session back to the settings of the source that it was opened with: the
// next statement finds no temporary tables, settings, roles, locks, cursors or
// subscriptions of this one. It reports whether the connection may be used again.
func (c *postgresCall) reset() bool {
	if c.TxStatus() != 'I' {
		return false // a transaction was begun and not ended
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_, err := c.Exec(ctx, "discard all").ReadAll()
	return err == nil
}

// execute has the statement described, binds its values, and reads the rows.
func (c *postgresCall) execute(ctx context.Context) (*result, error) {
	described, err := c.describe(ctx)
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	values, err := postgresValues(c.statement, described.parameters)
	if err != nil || c.statement.onlyPrepare {
		c.Frontend().SendSync(&pgproto3.Sync{})
		c.unusable = c.sync(ctx) != nil
		return nil, err
	}
	rows, err := c.read(ctx, described, values)
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	return rows, nil
}

// description is what the server says of a statement.
type description struct {
	parameters []uint32 // their types
	columns    []string
	types      []uint32
}

// describe parses the statement. There is no Sync behind it, so that all of one call
// is one implicit transaction, on one server connection where a pooler is in between.
func (c *postgresCall) describe(ctx context.Context) (description, error) {
	var d description
	c.Frontend().SendParse(&pgproto3.Parse{Query: c.statement.text})
	c.Frontend().SendDescribe(&pgproto3.Describe{ObjectType: 'S'})
	c.Frontend().Send(&pgproto3.Flush{})
	if err := c.Frontend().Flush(); err != nil {
		return d, err
	}
	for {
		message, err := c.ReceiveMessage(ctx)
		if err != nil {
			return d, err
		}
		switch message := message.(type) {
		case *pgproto3.ParameterDescription:
			d.parameters = append(d.parameters, message.ParameterOIDs...)
		case *pgproto3.RowDescription:
			for _, field := range message.Fields {
				d.columns = append(d.columns, string(field.Name))
				d.types = append(d.types, field.DataTypeOID)
			}
			return d, nil
		case *pgproto3.NoData:
			return d, nil
		case *pgproto3.ErrorResponse:
			answer := pgconn.ErrorResponseToPgError(message)
			c.Frontend().SendSync(&pgproto3.Sync{})
			return d, errors.Join(answer, c.sync(ctx))
		}
	}
}

// sync sends what is buffered and reads until the server is ready for the next
// statement.
func (c *postgresCall) sync(ctx context.Context) error {
	if err := c.Frontend().Flush(); err != nil {
		return err
	}
	for {
		message, err := c.ReceiveMessage(ctx)
		if err != nil {
			return err
		}
		if _, ready := message.(*pgproto3.ReadyForQuery); ready {
			return nil
		}
	}
}

// read binds the values and reads the rows, one more than are kept.
func (c *postgresCall) read(ctx context.Context, d description, values [][]byte) (*result, error) {
	c.Frontend().SendBind(&pgproto3.Bind{Parameters: values})
	c.Frontend().SendExecute(&pgproto3.Execute{MaxRows: maxRows + 1})
	c.Frontend().SendSync(&pgproto3.Sync{})
	c.sent = true
	if err := c.Frontend().Flush(); err != nil {
		return nil, err
	}
	rows := newResult(d.columns)
	var answer error
	for {
		message, err := c.ReceiveMessage(ctx)
		if err != nil {
			return nil, errors.Join(answer, err)
		}
		switch message := message.(type) {
		case *pgproto3.DataRow:
			rows.add(func(i int) json.RawMessage { return postgresValue(message.Values[i], d.types[i]) })
		case *pgproto3.ErrorResponse:
			answer = pgconn.ErrorResponseToPgError(message)
		case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyBothResponse:
			return nil, effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: it copies, which a tool cannot", c.source)
		case *pgproto3.ReadyForQuery:
			return rows, answer
		}
	}
}

// judge turns an error into a failure if the server has answered it, though the connection
// may be broken as well.
func (c *postgresCall) judge(ctx context.Context, err error) error {
	if failure := postgresFailure(c.source, err, c.statement); failure != nil {
		return c.failed(failure, c.IsClosed() || ctx.Err() != nil)
	}
	if errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) {
		err = effect.Permanent(effect.ReasonRequest, "the source %q sent a row that is longer than %d bytes", c.source, maxValueBytes)
	}
	return c.failed(err, true)
}

// postgresKinds are the codes, and classes of codes, that say more than that the statement is
// refused (PostgreSQL documentation, appendix A). All others stay as long as the statement,
// its values and the database are the same.
var postgresKinds = map[string]answerKind{
	"28":    userRefused, // invalid authorization
	"57014": timedOut,    // the server's own time is over
	"08":    unavailable, // connection exceptions
	"53":    unavailable, // insufficient resources, such as too many connections
	"57":    unavailable, // operator intervention: shutting down, starting up, cancelled
	"58":    unavailable, // system errors
	"40001": unavailable, // serialization failure
	"40P01": unavailable, // deadlock detected
	"55P03": unavailable, // lock not available
	"55006": unavailable, // object in use
	"25P03": unavailable, // idle in transaction for too long
}

// completionUnknown is the code of a statement that may have run: the server does not know.
const completionUnknown = "40003"

// postgresFailure is the failure of an error that the server answered; nil for any other.
func postgresFailure(source string, err error, s statement) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return nil
	}
	class := answer.Code[:min(2, len(answer.Code))]
	message := withoutValues(answer.Message, class == "22", s) // 22: about data
	if answer.Code == completionUnknown {
		return &afterSending{errors.New(message)}
	}
	kind, known := postgresKinds[answer.Code]
	if !known {
		kind = postgresKinds[class]
	}
	if kind == userRefused { // pg_hba.conf knows us by our address
		message = neterr.WithoutAddresses(message)
	}
	return answered(kind, source, message, "SQLSTATE "+answer.Code)
}
