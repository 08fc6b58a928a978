package sqlquery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"earshot/repositories"
	"earshot/repositories/unreached"
	"earshot/trigger/effect"
)

// postgres is a PostgreSQL database.
type postgres struct {
	source repositories.Source
	pool   *pgxpool.Pool
	// superuser is told of a read-only source whose role may do everything.
	superuser func()
	log       *slog.Logger
}

// defaultPort is that of libpq.
const defaultPort = "5432"

// openPostgres connects to nothing yet.
func openPostgres(source repositories.Source, o Options, superuser func()) (database, error) {
	config, err := postgresConfig(source, o)
	if err != nil {
		return nil, dead(effect.ReasonRequest, "the source %q cannot be read; its host, port and queryParams must be as PostgreSQL takes them", source.Name)
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, dead(effect.ReasonRequest, "the source %q cannot be opened", source.Name)
	}
	return &postgres{source, pool, superuser, o.Logger}, nil
}

// postgresConfig takes all from the source. What the driver would take from its own
// surroundings, such as a password file or a client certificate, are credentials of
// the operator and not of whoever owns the app.
func postgresConfig(source repositories.Source, o Options) (*pgxpool.Config, error) {
	port := source.Port
	if port == "" {
		port = defaultPort
	}
	mode := source.QueryParams["sslmode"].Reveal()
	if mode == "" {
		mode = "prefer" // as libpq does
	}
	config, err := pgxpool.ParseConfig(fmt.Sprintf(
		"host=%s port=%s dbname=%s user=%s sslmode=%s sslcert='' sslkey='' target_session_attrs=any",
		quote(source.Host), quote(port), quote(source.Database), quote(source.User), quote(mode)))
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
	conn.MaxProtocolMessageBodyLen = mostValue
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
	if words := notQuery(s.text); p.source.ReadOnly && words != "" {
		return nil, p.refused(words, s)
	}
	pooled, err := p.pool.Acquire(ctx)
	if err != nil {
		p.log.InfoContext(ctx, "source.unreached", "source", p.source.Name, "error", err.Error())
		return nil, p.unconnected(err)
	}
	c := &connection{PgConn: pooled.Conn().PgConn(), source: p.source}
	if p.source.ReadOnly && c.ParameterStatus("is_superuser") == "on" {
		p.superuser()
	}
	read, err := c.run(ctx, s)
	if c.broken || !c.forget() {
		abandon(pooled)
	} else {
		pooled.Release()
	}
	return read, err
}

// refused says why a statement does not run on a read-only source. What is pasted stays
// out of it.
func (p *postgres) refused(words string, s statement) error {
	what := clip(words) + " is"
	if len(s.pasted) > 0 {
		what = "what it says is"
	}
	return dead(effect.ReasonRequest, "the source %q is read-only, and %s no query: it runs SELECT, WITH, VALUES, TABLE, SHOW, and EXPLAIN of these, "+
		"without INSERT, UPDATE, DELETE, MERGE and SELECT INTO in them", p.source.Name, what)
}

// leaveWithin bounds the farewell to a connection, and what is done for the next use.
const leaveWithin = 5 * time.Second

// abandon asks the server to stop what runs on a connection, and closes it.
func abandon(pooled *pgxpool.Conn) {
	conn := pooled.Hijack()
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), leaveWithin)
		defer cancel()
		_ = conn.PgConn().CancelRequest(ctx) // one that cannot be reached stops by itself
		_ = conn.Close(ctx)
	}()
}

// unconnected judges why there is no connection.
func (p *postgres) unconnected(err error) error {
	var said *pgconn.PgError
	var parse *pgconn.ParseConfigError
	switch {
	case errors.Is(err, ErrRefused):
		return dead(effect.ReasonBlocked, "the source %q: %s", p.source.Name, p.refusal(err))
	case errors.As(err, &said):
		return p.fault(said, statement{})
	case errors.As(err, &parse):
		return dead(effect.ReasonRequest, "the source %q cannot be read", p.source.Name)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	default:
		return retry(effect.ReasonRequest, "the source %q cannot be reached: %s", p.source.Name, plainly(err))
	}
}

// refusal returns the text that the dialer gave for an address, where that is what the
// source names as its host: what a name leads to is for the log alone.
func (p *postgres) refusal(err error) string {
	if _, not := netip.ParseAddr(p.source.Host); not != nil {
		return ErrRefused.Error() + ": " + p.source.Host + " does not lead to a public one; an operator, whose log has it, can open it with EARSHOT_PRIVATE_URLS=ADDRESS/BITS"
	}
	said := err.Error()
	if at := strings.Index(said, ErrRefused.Error()); at >= 0 {
		said = said[at:]
	}
	line, _, _ := strings.Cut(said, "\n")
	return clip(line)
}

// plainly says why the server was not reached, without the addresses, the user and the
// database that the driver names.
func plainly(err error) string {
	if reason := unreached.Reason(err); reason != "" {
		return reason
	}
	said := err.Error()
	if at := strings.LastIndex(said, ": "); at >= 0 {
		said = said[at+2:]
	}
	return clip(said)
}
