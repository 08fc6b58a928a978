// Package sqlquery delivers the effects of SQL tools: it runs the statement of a fired tool on the app's
// database: PostgreSQL, MySQL (or MariaDB) or SQLite.
//
// Runner is an effect.Deliverer. One Deliver is one attempt: the template parameters are pasted, the others
// bound, the statement runs, and its rows become the result of the call, an array of objects. The ledger
// decides when the next attempt is due.
//
// It guarantees:
//
//   - A parameter reaches the database as a bound value, never as a part of the statement. A template parameter is
//     pasted once its rules (allowedValues, escape) allow it. One call runs one statement.
//   - Values keep their digits both ways: numbers never pass through a float, unless the database stores floats.
//   - A slow or unavailable database holds at most a few attempts of its own app and none of others. No statement
//     runs longer than the tool's time.
//   - No connection is opened that Options.Dial refuses, and no file outside the operator's folder.
//   - No outcome contains a credential or the values of a failed statement.
//
// It does not guarantee that a statement runs once: after a lost answer it runs again, unless the tool is
// marked as not idempotent.
package sqlquery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// ErrRefused is wrapped by the error of a Dial that refuses an address. Such a call is dead.
var ErrRefused = errors.New("the address must not be reached")

// Options are the options of a Runner. Only Apps is required; each comment ends with the default.
type Options struct {
	Apps effect.Apps
	// Dial opens the connections to databases; a plain dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// SQLiteDir is the folder of SQLite files; none, which allows no SQLite sources.
	SQLiteDir string
	// SourceLimit bounds the concurrent statements of one source; 8.
	SourceLimit int
	// SlotWait is how long a call waits for a slot; 1 s.
	SlotWait time.Duration
	// Idle is how long an unused database stays open; 5 min.
	Idle time.Duration
	// Databases bounds the open databases; 256.
	Databases int
	// Logger gets a line for every attempt, at debug level; slog.Default().
	Logger *slog.Logger
}

// Runner runs the statements of all apps. It is safe for concurrent use.
type Runner struct {
	apps      effect.Apps
	databases *databases
	log       *slog.Logger
	checks    chan struct{} // one slot per check in progress
}

var _ effect.Deliverer = (*Runner)(nil)

// New returns a Runner, which opens a database with its first statement. It panics without Apps, a programming
// error.
func New(o Options) *Runner {
	if o.Apps == nil {
		panic("sqlquery.New: Options.Apps is missing")
	}
	o.SourceLimit, o.Databases = cmp.Or(o.SourceLimit, 8), cmp.Or(o.Databases, 256)
	o.SlotWait, o.Idle = cmp.Or(o.SlotWait, time.Second), cmp.Or(o.Idle, 5*time.Minute)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	}
	return &Runner{apps: o.Apps, databases: newDatabases(o), log: o.Logger, checks: make(chan struct{}, maxChecks)}
}

// Close closes all databases. Running statements finish first; later ones reopen their database.
func (r *Runner) Close() { r.databases.closeAll() }

// Deliver makes one attempt to run a statement. It ends with ctx or after the tool's time for an attempt.
func (r *Runner) Deliver(ctx context.Context, delivery effect.Effect) (outcome effect.Outcome) {
	defer func() {
		r.log.DebugContext(ctx, "statement.attempted",
			"app", delivery.AppID, "session", delivery.SessionID, "trigger", delivery.TriggerID, "attempt", delivery.Attempt,
			"done", outcome.Verdict == effect.Done, "dead", outcome.Verdict == effect.Dead, "deferred", outcome.Deferred,
			"reason", outcome.Reason, "error", outcome.Error)
	}()
	call := delivery.Call
	if call == nil || !call.RunsStatement() {
		return effect.OutcomeOf(effect.Permanent(effect.ReasonRequest, "effect %q of kind %q holds no statement", delivery.ID, delivery.Kind))
	}
	app, err := effect.AppOf(ctx, r.apps, delivery, r.log, "statement.deferred")
	if err != nil {
		return effect.OutcomeOf(err)
	}
	if source, there := app.Source(call.Tool.Source); there {
		defer func() { outcome.Host = source.Host }()
	}
	limited, cancel := context.WithTimeout(ctx, app.AttemptTimeout(call.Tool))
	defer cancel()
	rows, err := r.run(limited, app, call.Tool, call.Written(), false)
	if err != nil {
		return effect.OutcomeOf(err)
	}
	rows.text.WriteByte(']')
	return effect.Outcome{Verdict: effect.Done, Result: rows.text.Bytes(), Truncated: rows.cut}
}

// run runs the statement of a tool on its source, or only prepares it.
func (r *Runner) run(ctx context.Context, app *repositories.App, tool *repositories.Tool, values map[string]any, onlyPrepare bool) (*result, error) {
	source, there := app.Source(tool.Source)
	if want := tool.SourceType(); !there || source.Type != want {
		return nil, effect.Permanent(effect.ReasonRequest, "app %q has no %s source %q, which the tool names", app.ID, want, effect.Clip(tool.Source))
	}
	query, err := prepare(app, tool, values)
	if err != nil {
		return nil, err
	}
	query.onlyPrepare = onlyPrepare
	db, release, err := r.databases.acquire(ctx, app.ID, source, query.readOnly != "")
	if err != nil {
		return nil, err
	}
	defer release()
	if effect.Late(ctx) {
		return nil, effect.Transient(effect.ReasonTimeout, "the source %q was not asked: the time of the attempt was over", source.Name)
	}
	rows, err := db.run(ctx, query)
	if err != nil {
		return nil, failureOf(ctx, source.Name, tool.Request.Repeatable(), err)
	}
	return rows, nil
}

// Bounds of a check: its time, the statements tried, and the concurrent checks of this process, each on one
// connection at a time.
const (
	checkTime  = 2 * time.Second
	maxChecked = 100
	maxChecks  = 8
)

// Check prepares the statements of tools on their databases, and returns notes on refused statements and silent
// sources. Nothing runs. It skips statements with template parameters or given by a parameter: their text is
// known only at run time.
func (r *Runner) Check(ctx context.Context, app *repositories.App, tools []repositories.Tool) []string {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	var notes []string
	silent, tried := map[string]bool{}, 0
	for i := range tools {
		tool := &tools[i]
		if !tool.RunsStatement() || tool.Executes() || len(tool.TemplateParameters) > 0 || silent[tool.Source] {
			continue
		}
		if tried++; tried > maxChecked {
			return append(notes, fmt.Sprintf("the first %d statements were tried, and no more", maxChecked))
		}
		err := effect.Transient(effect.ReasonTimeout, "the source %q was not asked in time", tool.Source)
		select {
		case r.checks <- struct{}{}:
			_, err = r.run(ctx, app, tool, nil, true)
			<-r.checks
		case <-ctx.Done():
		}
		if err == nil {
			continue
		}
		outcome := effect.OutcomeOf(err)
		if outcome.Verdict == effect.Dead && outcome.Reason == effect.ReasonRequest {
			notes = append(notes, fmt.Sprintf("tool %q: %s", tool.Name, outcome.Error))
			continue
		}
		silent[tool.Source] = true
		notes = append(notes, "statements were not tried: "+outcome.Error)
	}
	return notes
}
