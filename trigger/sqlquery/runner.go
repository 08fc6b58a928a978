package sqlquery

import (
	"context"
	"errors"
	"log/slog"

	"earshot/repositories"
	"earshot/repositories/store"
	"earshot/trigger/effect"
)

var _ effect.Deliverer = (*Runner)(nil)

// Runner runs the statements of all apps. It is safe for concurrent use.
type Runner struct {
	apps      Apps
	databases *databases
	log       *slog.Logger
}

// New returns a Runner, which opens a database with its first statement. It panics
// without Apps, which is a fault of the program.
func New(options Options) *Runner {
	if options.Apps == nil {
		panic("sqlquery.New: Options.Apps is missing")
	}
	o := options.withDefaults()
	return &Runner{apps: o.Apps, databases: newDatabases(o), log: o.Logger}
}

// Close closes all databases. Statements that run are let finish; later ones open
// their database again.
func (r *Runner) Close() { r.databases.closeAll() }

// Deliver makes one attempt to run a statement. It ends with ctx or with the time that
// the tool has for one attempt, whichever is first.
func (r *Runner) Deliver(ctx context.Context, delivery effect.Effect) effect.Outcome {
	outcome, err := r.deliver(ctx, delivery)
	if err != nil {
		outcome = outcomeOf(err)
	}
	r.log.DebugContext(ctx, "statement.attempted",
		"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
		"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
		"reason", outcome.Reason, "error", outcome.Error)
	return outcome
}

func (r *Runner) deliver(ctx context.Context, delivery effect.Effect) (effect.Outcome, error) {
	if delivery.Call == nil || !delivery.Call.RunsStatement() {
		return effect.Outcome{}, dead(effect.ReasonRequest, "effect %q of kind %q holds no statement", delivery.ID, delivery.Kind)
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
	query, err := prepare(tool, delivery.Call.Values)
	if err != nil {
		return effect.Outcome{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, app.AttemptTimeout(tool))
	defer cancel()
	db, leave, err := r.databases.enter(ctx, app.ID, source)
	if err != nil {
		return effect.Outcome{}, err
	}
	defer leave()
	if effect.Late(ctx) {
		return effect.Outcome{}, retry(effect.ReasonTimeout, "the source %q was not asked: the time of the attempt was over", source.Name)
	}
	rows, err := db.run(ctx, query)
	if err != nil {
		return effect.Outcome{}, unanswered(ctx, source, tool, err)
	}
	return effect.Outcome{Verdict: effect.Done, Result: rows.json(), Truncated: rows.cut}, nil
}

// app returns the call's app, looked up where it is not at hand. An app that is gone
// makes its statements impossible; a store that is away puts them off.
func (r *Runner) app(ctx context.Context, delivery effect.Effect) (*repositories.App, error) {
	if delivery.Call.App != nil {
		return delivery.Call.App, nil
	}
	ctx, cancel := context.WithTimeout(ctx, repositories.DefaultTimeout)
	defer cancel()
	app, err := r.apps.App(ctx, delivery.AppID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && app == nil:
		return nil, dead(effect.ReasonRequest, "app %q is gone, and its sources with it", delivery.AppID)
	case err != nil:
		r.log.WarnContext(ctx, "statement.deferred", "app", delivery.AppID, "error", err.Error())
		return nil, deferred(0, "app %s cannot be looked up now", delivery.AppID)
	}
	return app, nil
}

// needs is the type of source that a type of tool works on.
var needs = map[string]string{
	repositories.ToolPostgres: repositories.SourcePostgres,
	repositories.ToolSQLite:   repositories.SourceSQLite,
}

func sourceOf(app *repositories.App, tool *repositories.Tool) (repositories.Source, error) {
	source, there := app.Source(tool.Source)
	if want := needs[tool.Type]; !there || source.Type != want {
		return source, dead(effect.ReasonRequest, "app %q has no %s source %q that the tool works on", app.ID, want, clip(tool.Source))
	}
	return source, nil
}
