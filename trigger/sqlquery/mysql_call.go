package sqlquery

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/go-sql-driver/mysql"

	"earshot/trigger/effect"
)

// mysqlCall is a statement on a connection to MySQL.
type mysqlCall struct {
	*mysqlConn
	server    *mysqlServer
	statement statement
	// sent says that the statement itself was sent, so that it may have run.
	sent bool
	// unusable says that the connection must not be used again.
	unusable bool
}

// run runs the statement. One that must not change anything runs in a read-only
// transaction, which it cannot end: it is the only statement there.
func (c *mysqlCall) run(ctx context.Context) (*table, error) {
	c.wire.allow()
	if c.statement.readOnly == "" {
		return c.exchange(ctx)
	}
	if _, err := c.BeginTx(ctx, driver.TxOptions{ReadOnly: true}); err != nil {
		return nil, c.judge(ctx, err)
	}
	read, err := c.exchange(ctx)
	if !c.unusable {
		_, failed := c.ExecContext(ctx, "ROLLBACK", nil)
		c.unusable = failed != nil
	}
	return read, err
}

// check has the statement prepared. What cannot be prepared is not looked at.
func (c *mysqlCall) check(ctx context.Context) error {
	prepared, err := c.prepare(ctx)
	if err != nil || prepared == nil {
		return err
	}
	return prepared.Close()
}

// notPreparable is the code of a statement that runs only as it is.
const notPreparable = 1295

// prepare has the server parse the statement; nil where it prepares none of the kind.
func (c *mysqlCall) prepare(ctx context.Context) (driver.Stmt, error) {
	prepared, err := c.PrepareContext(ctx, c.statement.text)
	var said *mysql.MySQLError
	if errors.As(err, &said) && said.Number == notPreparable && len(c.statement.values) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, c.judge(ctx, err)
	}
	if asked, given := prepared.NumInput(), len(c.statement.values); asked != given {
		_ = prepared.Close() // the connection is as it was
		return nil, effect.Permanent(effect.ReasonRequest, "the statement has %d times ?, and the tool has %d parameters: each ? takes the next one", asked, given)
	}
	return prepared, nil
}

// exchange prepares the statement, binds its values, and reads the rows.
func (c *mysqlCall) exchange(ctx context.Context) (*table, error) {
	prepared, err := c.prepare(ctx)
	if err != nil {
		return nil, err
	}
	c.sent = true
	var rows driver.Rows
	if prepared == nil {
		rows, err = c.QueryContext(ctx, c.statement.text, nil)
	} else {
		defer func() { _ = prepared.Close() }() // nobody answers
		rows, err = prepared.(driver.StmtQueryContext).QueryContext(ctx, mysqlArguments(c.statement.values))
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

// read reads the rows that are kept. A query is left where there are more of them; what
// changes something is heard to its end, since an end before it would undo the change.
func (c *mysqlCall) read(rows driver.Rows) (*table, error) {
	columns := rows.Columns()
	row, types := make([]driver.Value, len(columns)), make([]string, len(columns))
	for i := range columns {
		types[i] = rows.(driver.RowsColumnTypeDatabaseTypeName).ColumnTypeDatabaseTypeName(i)
		if slices.Contains(c.statement.json, columns[i]) {
			types[i] = typeJSON
		}
	}
	read := newTable(columns)
	for {
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return read, nil
		} else if err != nil {
			return nil, err
		}
		c.wire.allow()
		if !read.add(func(i int) json.RawMessage { return mysqlValue(row[i], types[i], c.zone) }) && mysqlNonQueryWords(c.statement.text) == "" {
			c.unusable = true
			_ = c.wire.Close() // else the rest would be read
			return read, nil
		}
	}
}

// judge turns an error into a failure where the server has told it. Any other is a lost
// answer, or that of a statement not sent.
func (c *mysqlCall) judge(ctx context.Context, err error) error {
	var said *mysql.MySQLError
	if errors.As(err, &said) {
		c.unusable = ctx.Err() != nil
		failure := c.server.fault(said, c.statement)
		if c.sent {
			return &failureAfterSending{failure}
		}
		return failure
	}
	c.unusable = true
	if c.wire.exceeded() {
		return effect.Permanent(effect.ReasonRequest, "the source %q sent a row that is longer than %d bytes", c.server.source.Name, maxValueBytes)
	}
	if err = closedByServer(err); c.sent {
		return &lostAnswer{err}
	}
	return err
}
