package sqlquery

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/repositories"
	"earshot/repositories/exactjson"
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

// openPostgres returns the pool, which connects with its first statement. All settings are from the source. The
// driver's ambient settings, such as a password file or a client certificate, are ignored: they are the
// operator's, not the app's.
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
	// ISO is the only date style that can be parsed without the server's settings.
	conn.RuntimeParams = map[string]string{"application_name": "earshot", "datestyle": "ISO", "client_encoding": "UTF8"}
	for name, value := range source.QueryParams {
		if name != "sslmode" {
			conn.RuntimeParams[name] = value.Reveal()
		}
	}
	conn.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if !strings.HasPrefix(network, "tcp") {
			return nil, fmt.Errorf("%w: %s is not TCP", ErrRefused, network)
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

// run runs a statement in a session without settings, objects or locks of earlier ones.
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
		_ = conn.PgConn().CancelRequest(ctx) // an unreachable server stops by itself
		_ = conn.Close(ctx)
	}()
	return rows, err
}

// postgresCall is a statement on a connection to PostgreSQL. It uses the messages of the extended query
// protocol (documentation, section 53.2.3) for two things that drivers do not offer: a bounded number of rows,
// which cuts a long result without aborting the statement; and values as the server's texts, so that no digit
// is lost.
type postgresCall struct {
	*pgconn.PgConn
	attempt
	source    string
	statement statement
}

// run runs the statement, or only describes it. A read-only statement runs in a read-only transaction, which it
// cannot change, since it is the only statement there.
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

// reset restores the session to the settings of its source: the next statement finds no temporary tables,
// settings, roles, locks, cursors or subscriptions. It reports whether the connection may be used again.
func (c *postgresCall) reset() bool {
	if c.TxStatus() != 'I' {
		return false // a transaction is still open
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	_, err := c.Exec(ctx, "discard all").ReadAll()
	return err == nil
}

// execute describes the statement, binds its values, and reads the rows.
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

// description is the server's description of a statement.
type description struct {
	parameters []uint32 // their types
	columns    []string
	types      []uint32
}

// describe parses the statement. It sends no Sync, so that the whole call is one implicit transaction, on one
// server connection even behind a pooler.
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

// sync flushes the buffer and reads until the server is ready for the next statement.
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
			return nil, effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: a tool cannot run COPY", c.source)
		case *pgproto3.ReadyForQuery:
			return rows, answer
		}
	}
}

// judge returns the failure for an error that the server returned, though the connection may also be broken.
func (c *postgresCall) judge(ctx context.Context, err error) error {
	if failure := postgresFailure(c.source, err, c.statement); failure != nil {
		return c.failed(failure, c.IsClosed() || ctx.Err() != nil)
	}
	if errors.As(err, new(*pgproto3.ExceededMaxBodyLenErr)) {
		err = effect.Permanent(effect.ReasonRequest, "the source %q sent a row that is longer than %d bytes", c.source, maxValueBytes)
	}
	return c.failed(err, true)
}

// postgresKinds are the codes and classes of codes that mean more than a refused statement (PostgreSQL
// documentation, appendix A). All others persist as long as the statement, its values and the database are
// unchanged.
var postgresKinds = map[string]answerKind{
	"28":    userRefused, // invalid authorization
	"57014": timedOut,    // the server's own timeout
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

// completionUnknown is the code of a statement that may have run.
const completionUnknown = "40003"

// postgresFailure returns the failure for an error that the server returned; nil for any other.
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
	if kind == userRefused { // pg_hba.conf refers to the client's address
		message = neterr.WithoutAddresses(message)
	}
	return answered(kind, source, message, "SQLSTATE "+answer.Code)
}

// postgresValues returns the values as texts, in the order of their numbers. The server parses each as the type
// that the statement needs, and refuses an invalid one. Values that the statement does not use are left out.
func postgresValues(s statement, types []uint32) ([][]byte, error) {
	if len(types) > len(s.values) {
		return nil, effect.Permanent(effect.ReasonRequest, "the statement binds $%d, and the tool has %d parameters", len(types), len(s.values))
	}
	values := make([][]byte, len(types))
	for i, oid := range types {
		if s.values[i] != nil {
			values[i] = []byte(postgresText(s.values[i], oid))
		}
	}
	return values, nil
}

func postgresText(value any, oid uint32) string {
	switch value := value.(type) {
	case string:
		return value
	case json.Number:
		return value.String()
	case bool:
		return strconv.FormatBool(value)
	case []any:
		if oid != pgtype.JSONOID && oid != pgtype.JSONBOID {
			return arrayText(value, oid)
		}
	}
	return string(exactjson.EncodeOrNull(value))
}

// arrayText returns the literal of an array (PostgreSQL documentation, section 8.15.2). Every element is
// quoted, so that none is parsed as syntax.
func arrayText(list []any, oid uint32) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, member := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		switch inner := member.(type) {
		case nil:
			b.WriteString("NULL")
		case []any:
			b.WriteString(arrayText(inner, oid))
		default:
			b.WriteString(`"` + arrayEscaper.Replace(postgresText(member, oid)) + `"`)
		}
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// postgresValue returns a value of the server as JSON. A type without a JSON form, or of an extension, becomes
// PostgreSQL's text.
func postgresValue(raw []byte, oid uint32) json.RawMessage {
	if raw == nil {
		return null
	}
	given := string(raw)
	if list, ok := readArray(raw, oid); ok {
		return list
	}
	switch oid {
	case pgtype.BoolOID:
		return json.RawMessage(strconv.FormatBool(given == "t"))
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID:
		return number(given)
	case pgtype.JSONOID, pgtype.JSONBOID:
		return compact(given)
	case pgtype.ByteaOID: // the server sends hexadecimal
		if digits, is := strings.CutPrefix(given, `\x`); is {
			if decoded, err := hex.DecodeString(digits); err == nil {
				return base64Text(decoded)
			}
		}
	case pgtype.TimestamptzOID, pgtype.TimestampOID:
		for _, layout := range timeLayouts {
			if at, err := time.Parse(layout, given); err == nil {
				return instant(at)
			}
		}
	}
	return text(given)
}

// timeLayouts are the layouts of DateStyle ISO, with all forms of zones; a time without a zone is UTC. Times
// outside RFC 3339, infinity and years before Christ, match none.
var timeLayouts = []string{
	"2006-01-02 15:04:05.999999999Z07", "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999Z07:00:00", "2006-01-02 15:04:05.999999999",
}

// builtIn has the types of PostgreSQL. It only looks types up, which many goroutines may do.
var builtIn = pgtype.NewMap()

// readArray returns the text of an array of a built-in type as a JSON array of its elements, nested alike. It reports
// false for another type and for an unknown form.
func readArray(raw []byte, oid uint32) (json.RawMessage, bool) {
	known, is := builtIn.TypeForOID(oid)
	if !is {
		return nil, false
	}
	codec, is := known.Codec.(*pgtype.ArrayCodec)
	var array pgtype.Array[*string]
	if !is || pgtype.NewMap().Scan(oid, pgtype.TextFormatCode, raw, &array) != nil { // a map that scans is for one goroutine
		return nil, false
	}
	list := make([]any, len(array.Elements))
	for i, element := range array.Elements {
		if element != nil {
			list[i] = postgresValue([]byte(*element), codec.ElementType.OID)
		}
	}
	for _, dimension := range slices.Backward(array.Dims[min(1, len(array.Dims)):]) { // from the innermost lists outwards
		if dimension.Length < 1 {
			return nil, false
		}
		var nested []any
		for inner := range slices.Chunk(list, int(dimension.Length)) {
			nested = append(nested, inner)
		}
		list = nested
	}
	return exactjson.EncodeOrNull(list), true
}
