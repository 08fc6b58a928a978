package sqlquery

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"earshot/repositories"
	"earshot/trigger/effect"
)

var _ effect.Deliverer = (*Runner)(nil)

// Runner runs the statements of all apps. It is safe for concurrent use.
type Runner struct {
	apps      Apps
	databases *databases
	log       *slog.Logger
	checks    chan struct{} // those that are under way
}

// New returns a Runner, which opens a database with its first statement. It panics
// without Apps, which is a fault of the program.
func New(options Options) *Runner {
	if options.Apps == nil {
		panic("sqlquery.New: Options.Apps is missing")
	}
	o := options.withDefaults()
	return &Runner{apps: o.Apps, databases: newDatabases(o), log: o.Logger, checks: make(chan struct{}, maxChecks)}
}

// Close closes all databases. Running statements finish first; later ones open their
// database again.
func (r *Runner) Close() { r.databases.closeAll() }

// Deliver makes one attempt to run a statement. It ends with ctx or with the time that
// the tool has for one attempt, whichever is first.
func (r *Runner) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	outcome, err := r.deliver(ctx, delivery)
	if err != nil {
		outcome = effect.OutcomeOf(err)
	}
	r.log.DebugContext(ctx, "statement.attempted",
		"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
		"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
		"reason", outcome.Reason, "error", outcome.Error)
	return outcome
}

func (r *Runner) deliver(ctx context.Context, delivery effect.Effect) (effect.Outcome, error) {
	if delivery.Call == nil || !delivery.Call.RunsStatement() {
		return effect.Outcome{}, effect.Permanent(effect.ReasonRequest, "effect %q of kind %q holds no statement", delivery.ID, delivery.Kind)
	}
	tool := delivery.Call.Tool
	app, err := r.app(ctx, delivery)
	if err != nil {
		return effect.Outcome{}, err
	}
	source, err := sourceOf(app, tool)
	if err != nil {
		return effect.Outcome{}, err
	}
	query, err := prepare(app, tool, delivery.Call.Written())
	if err != nil {
		return effect.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, app.AttemptTimeout(tool))
	defer cancel()
	db, leave, err := r.databases.acquire(ctx, app.ID, source, query.readOnly != "")
	if err != nil {
		return effect.Outcome{}, err
	}
	defer leave()
	if effect.Late(ctx) {
		return effect.Outcome{}, effect.Transient(effect.ReasonTimeout, "the source %q was not asked: the time of the attempt was over", source.Name)
	}
	rows, err := db.run(ctx, query)
	if err != nil {
		return effect.Outcome{}, unanswered(ctx, source, tool, err)
	}
	return effect.Outcome{Verdict: effect.Done, Result: rows.json(), Truncated: rows.cut}, nil
}

// app returns the app of a call, from the effect or from the store. A deleted app is a
// permanent failure; a store that does not answer puts the statement off.
func (r *Runner) app(ctx context.Context, delivery effect.Effect) (*repositories.App, error) {
	if delivery.Call.App != nil {
		return delivery.Call.App, nil
	}
	ctx, cancel := context.WithTimeout(ctx, repositories.DefaultTimeout)
	defer cancel()
	app, err := r.apps.App(ctx, delivery.AppID)
	switch {
	case errors.Is(err, repositories.ErrNotFound), err == nil && app == nil:
		return nil, effect.Permanent(effect.ReasonRequest, "app %q is gone, and its sources with it", delivery.AppID)
	case err != nil:
		r.log.WarnContext(ctx, "statement.deferred", "app", delivery.AppID, "error", err.Error())
		return nil, effect.Deferral(0, "app %s cannot be looked up now", delivery.AppID)
	}
	return app, nil
}

func sourceOf(app *repositories.App, tool *repositories.Tool) (repositories.Source, error) {
	source, there := app.Source(tool.Source)
	if want := tool.SourceType(); !there || source.Type != want {
		return source, effect.Permanent(effect.ReasonRequest, "app %q has no %s source %q that the tool works on", app.ID, want, effect.Clip(tool.Source))
	}
	return source, nil
}

// Apps finds the app that a call belongs to. Its errors wrap repositories.ErrNotFound
// if there is none.
type Apps interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
}

// ErrRefused is wrapped by the error of a Dial that does not open a connection because
// the address is one that must not be reached. Such a call is dead.
var ErrRefused = errors.New("the address must not be reached")

// Options of a Runner. Only Apps is needed; what is zero has the default that stands
// with it.
type Options struct {
	Apps Apps
	// Dial opens the connections to databases; a plain dialer's. Addresses are IP
	// addresses with a port, as names are looked up before.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// SQLiteDir is the folder that SQLite files must be in; none, and then there are
	// no SQLite sources.
	SQLiteDir string
	// SourceLimit is how many statements may be under way on one source; 8.
	SourceLimit int
	// SlotWait is how long a call waits for one of these; 1 s.
	SlotWait time.Duration
	// Idle is how long a database stays open that nobody uses; 5 min.
	Idle time.Duration
	// Databases is how many are open at a time; 256.
	Databases int
	// Logger gets one line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

func (o Options) withDefaults() Options {
	setDefault(&o.SourceLimit, 8)
	setDefault(&o.SlotWait, time.Second)
	setDefault(&o.Idle, 5*time.Minute)
	setDefault(&o.Databases, 256)
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func setDefault[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}
