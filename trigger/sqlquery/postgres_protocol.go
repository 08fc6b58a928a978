package sqlquery

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// connection is a connection to PostgreSQL that runs a statement in the messages of the
// extended query protocol (documentation, section 53.2.3), for two things that drivers do
// not offer: the server is asked for a number of rows and no more, which cuts a long result
// short without aborting the statement that makes it; and values travel as the texts that
// the server writes, so that no digit is lost.
type connection struct {
	*pgconn.PgConn
	source repositories.Source
	// unusable says that the connection must not be used again.
	unusable bool
	// sent says that the statement itself was sent, so that it may have run.
	sent bool
}

// run runs the statement. One that must not change anything runs in a read-only transaction, which
// it cannot change: it is the only statement there.
func (c *connection) run(ctx context.Context, s statement) (*table, error) {
	if s.readOnly == "" {
		return c.exchange(ctx, s)
	}
	if _, err := c.Exec(ctx, "begin read only").ReadAll(); err != nil {
		return nil, c.judge(ctx, err, s)
	}
	read, err := c.exchange(ctx, s)
	if !c.unusable {
		_, failed := c.Exec(ctx, "rollback").ReadAll()
		c.unusable = failed != nil
	}
	return read, err
}

// reset takes the session back to the settings of the source that it was opened with: the
// next statement finds no temporary tables, settings, roles, locks, cursors or
// subscriptions of this one. It reports whether the connection may be used again.
func (c *connection) reset() bool {
	if c.TxStatus() != 'I' {
		return false // a transaction was begun and not ended
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_, err := c.Exec(ctx, "discard all").ReadAll()
	return err == nil
}

// exchange has the statement described, binds its values, and reads the rows. What
// the server refuses is a failure; all else broke on the way.
func (c *connection) exchange(ctx context.Context, s statement) (*table, error) {
	described, err := c.describe(ctx, s)
	if err != nil {
		return nil, c.judge(ctx, err, s)
	}
	values, err := postgresValues(s, described.parameters)
	if err != nil {
		c.Frontend().SendSync(&pgproto3.Sync{})
		if settled := c.sync(ctx); settled != nil {
			c.unusable = true
		}
		return nil, err
	}
	read, err := c.execute(ctx, described, values)
	if err != nil {
		return nil, c.judge(ctx, err, s)
	}
	return read, nil
}

// check has the statement described, and runs nothing.
func (c *connection) check(ctx context.Context, s statement) error {
	described, err := c.describe(ctx, s)
	if err != nil {
		return c.judge(ctx, err, s)
	}
	_, wrong := postgresValues(s, described.parameters)
	c.Frontend().SendSync(&pgproto3.Sync{})
	if settled := c.sync(ctx); settled != nil {
		c.unusable = true
	}
	return wrong
}

// description is what the server says of a statement.
type description struct {
	parameters []uint32 // their types
	columns    []string
	types      []uint32
}

// describe parses the statement. There is no Sync behind it, so that all of one call
// is one implicit transaction, on one server connection where a pooler is in between.
func (c *connection) describe(ctx context.Context, s statement) (description, error) {
	var d description
	c.Frontend().SendParse(&pgproto3.Parse{Query: s.text})
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
			said := pgconn.ErrorResponseToPgError(message)
			c.Frontend().SendSync(&pgproto3.Sync{})
			return d, errors.Join(said, c.sync(ctx))
		}
	}
}

// sync sends what is buffered and reads until the server is ready for the next
// statement.
func (c *connection) sync(ctx context.Context) error {
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

// errCopy means that a statement is a COPY, which has no rows.
var errCopy = errors.New("it copies, which a tool cannot")

// execute binds the values and reads the rows, one more than are kept.
func (c *connection) execute(ctx context.Context, d description, values [][]byte) (*table, error) {
	c.Frontend().SendBind(&pgproto3.Bind{Parameters: values})
	c.Frontend().SendExecute(&pgproto3.Execute{MaxRows: maxRows + 1})
	c.Frontend().SendSync(&pgproto3.Sync{})
	c.sent = true
	if err := c.Frontend().Flush(); err != nil {
		return nil, err
	}
	read := newTable(d.columns)
	var said error
	for {
		message, err := c.ReceiveMessage(ctx)
		if err != nil {
			return nil, errors.Join(said, err)
		}
		switch message := message.(type) {
		case *pgproto3.DataRow:
			read.add(func(i int) json.RawMessage { return postgresValue(message.Values[i], d.types[i]) })
		case *pgproto3.ErrorResponse:
			said = pgconn.ErrorResponseToPgError(message)
		case *pgproto3.CopyInResponse, *pgproto3.CopyOutResponse, *pgproto3.CopyBothResponse:
			return nil, errCopy
		case *pgproto3.ReadyForQuery:
			return read, said
		}
	}
}

// judge turns an error into a failure where the server has told it, though the connection
// may be broken as well. Any other is a lost answer, or that of a statement not sent.
func (c *connection) judge(ctx context.Context, err error, s statement) error {
	var said *pgconn.PgError
	var tooLong *pgproto3.ExceededMaxBodyLenErr
	switch {
	case errors.As(err, &said):
		c.unusable = c.IsClosed() || ctx.Err() != nil
		failure := (&postgres{source: c.source}).fault(said, s)
		if c.sent {
			return &failureAfterSending{failure}
		}
		return failure
	case errors.As(err, &tooLong):
		c.unusable = true
		return effect.Permanent(effect.ReasonRequest, "the source %q sent a row that is longer than %d bytes", c.source.Name, maxValueBytes)
	case errors.Is(err, errCopy):
		c.unusable = true
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s", c.source.Name, err)
	}
	c.unusable = true
	if c.sent {
		return &lostAnswer{err}
	}
	return err
}
