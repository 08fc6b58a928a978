package sqlquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/repositories"
	"earshot/repositories/neterr"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

// postgres is the connection pool of a PostgreSQL database.
type postgres struct {
	source repositories.Source
	pool   *pgxpool.Pool
	// superuser is called where the role of a read-only source is a superuser.
	superuser func()
	log       *slog.Logger
}

// openPostgres makes the pool, which connects with its first statement.
func openPostgres(source repositories.Source, o Options, superuser func()) (database, error) {
	config, err := postgresConfig(source, o)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q cannot be read; its host, port and queryParams must be as PostgreSQL takes them", source.Name)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, effect.Permanent(effect.ReasonRequest, "the source %q cannot be opened", source.Name)
	}
	return &postgres{source, pool, superuser, o.Logger}, nil
}

// postgresConfig takes all settings from the source. What the driver would take from its own
// surroundings, such as a password file or a client certificate, are credentials of
// the operator and not of whoever owns the app.
func postgresConfig(source repositories.Source, o Options) (*pgxpool.Config, error) {
	mode := source.QueryParams["sslmode"].Reveal()
	if mode == "" {
		mode = "prefer" // as libpq does
	}
	config, err := pgxpool.ParseConfig(fmt.Sprintf(
		"host=%s port=%s dbname=%s user=%s sslmode=%s sslcert='' sslkey='' target_session_attrs=any",
		quote(source.Host), quote(source.DatabasePort()), quote(source.Database), quote(source.User), quote(mode)))
	if err != nil {
		return nil, err
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
	return config, nil
}

// quote writes a value of a connection string (PostgreSQL documentation, section
// 34.1.1.1).
func quote(value string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value) + "'"
}

func (p *postgres) close() { p.pool.Close() }

// run runs a statement in a session that is as good as new: what an earlier one has
// set, made or locked is gone.
func (p *postgres) run(ctx context.Context, s statement) (*table, error) {
	if err := refused(s, nonQueryWords, postgresQueries); err != nil {
		return nil, err
	}
	var read *table
	err := p.on(ctx, s, func(c *connection) (err error) {
		read, err = c.run(ctx, s)
		return err
	})
	return read, err
}

// on lends a connection, which is then reset, or given up.
func (p *postgres) on(ctx context.Context, s statement, use func(c *connection) error) error {
	pooled, err := p.pool.Acquire(ctx)
	if err != nil {
		p.log.InfoContext(ctx, "source.unreached", "source", p.source.Name, "error", err.Error())
		return p.unconnected(err)
	}
	c := &connection{PgConn: pooled.Conn().PgConn(), source: p.source}
	if s.readOnly != "" && c.ParameterStatus("is_superuser") == "on" {
		p.superuser()
	}
	err = use(c)
	if c.unusable || !c.reset() {
		abandon(pooled)
	} else {
		pooled.Release()
	}
	return err
}

// postgresQueries are the statements of PostgreSQL that run where queries alone do.
const postgresQueries = "SELECT, WITH, VALUES, TABLE, SHOW, and EXPLAIN of these, without INSERT, UPDATE, DELETE, MERGE and SELECT INTO in them"

// cleanupTimeout bounds the reset of a session, and the end of a connection.
const cleanupTimeout = 5 * time.Second

// abandon asks the server to stop what runs on a connection, and closes it.
func abandon(pooled *pgxpool.Conn) {
	conn := pooled.Hijack()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
		defer cancel()
		_ = conn.PgConn().CancelRequest(ctx) // one that cannot be reached stops by itself
		_ = conn.Close(ctx)
	}()
}

// unconnected turns the error of a connection that was not opened into a failure.
func (p *postgres) unconnected(err error) error {
	var said *pgconn.PgError
	var parse *pgconn.ParseConfigError
	switch {
	case errors.Is(err, ErrRefused):
		return effect.Permanent(effect.ReasonBlocked, "the source %q: %s", p.source.Name, refusal(p.source, err))
	case errors.As(err, &said):
		return p.fault(said, statement{})
	case errors.As(err, &parse):
		return effect.Permanent(effect.ReasonRequest, "the source %q cannot be read", p.source.Name)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return effect.Transient(effect.ReasonRequest, "the source %q cannot be reached: %s", p.source.Name, publicText(err))
	}
}

// Error codes after which another attempt may succeed, as whole classes and alone
// (PostgreSQL documentation, appendix A). All others stay as long as the statement, its
// values and the database are the same.
var (
	transientClasses = []string{
		"08", // connection exceptions
		"53", // insufficient resources, too many connections among them
		"57", // operator intervention: shutting down, starting up, cancelled
		"58", // system errors
	}
	transientCodes = []string{
		"40001", // serialization failure
		"40P01", // deadlock detected
		"55P03", // lock not available
		"55006", // object in use
		"25P03", // idle in transaction for too long
	}
)

// queryCancelled is the code of a statement that ran out of the server's own time.
const queryCancelled = "57014"

// completionUnknown is the code of a statement that may have run: the server does not know.
const completionUnknown = "40003"

// fault turns the server's error into a failure.
func (p *postgres) fault(said *pgconn.PgError, s statement) error {
	class := said.Code[:min(2, len(said.Code))]
	message := effect.Clip(withoutValues(said.Message, class, s))
	switch {
	case class == "28": // pg_hba.conf knows us by our address
		message = neterr.WithoutAddresses(message)
		return effect.Permanent(effect.ReasonAuth, "the source %q refuses the user: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	case said.Code == queryCancelled:
		return effect.Transient(effect.ReasonTimeout, "the source %q: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	case said.Code == completionUnknown:
		return &lostAnswer{errors.New(message)}
	case slices.Contains(transientClasses, class), slices.Contains(transientCodes, said.Code):
		return effect.Transient(effect.ReasonRequest, "the source %q: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	default:
		return effect.Permanent(effect.ReasonRequest, "the source %q refused the statement: %s (SQLSTATE %s)", p.source.Name, message, said.Code)
	}
}

var quotedText = regexp.MustCompile(`"[^"]*"`)

// minHidden is the length from which a value is hidden in a message: a shorter one would
// be found in ordinary words.
const minHidden = 4

// withoutValues keeps the values of a call out of a message: where the message is about
// data (class 22) all that it quotes, and elsewhere what equals a value. Details and
// hints, which quote whole rows, are left out altogether.
func withoutValues(message, class string, s statement) string {
	if class == "22" {
		message = quotedText.ReplaceAllString(message, `"`+secret.Masked+`"`)
	}
	for _, value := range append(slices.Clone(s.values), s.pasted...) {
		for _, hidden := range textsOf(value) {
			if len(hidden) >= minHidden {
				message = strings.ReplaceAll(message, hidden, secret.Masked)
			}
		}
	}
	return message
}

// textsOf returns the forms that a value may have in a message: each of its members, and
// without the delimiters that an escape has put around it.
func textsOf(value any) []string {
	switch value := value.(type) {
	case string:
		if len(value) < 2 {
			return []string{value}
		}
		closing := value[len(value)-1:]
		return []string{value, strings.ReplaceAll(value[1:len(value)-1], closing+closing, closing)}
	case json.Number:
		return []string{value.String()}
	case []any:
		var texts []string
		for _, member := range value {
			texts = append(texts, textsOf(member)...)
		}
		return texts
	default:
		return nil
	}
}
