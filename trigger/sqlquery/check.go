package sqlquery

import (
	"context"
	"fmt"
	"strings"
	"time"

	"earshot/repositories"
	"earshot/trigger/effect"
)

// Bounds of a check: how long it may take, how many statements it tries, and how many are
// under way in this process, each on one connection at a time.
const (
	checkTime  = 2 * time.Second
	maxChecked = 100
	maxChecks  = 8
)

// Check has the databases prepare the statements of tools, and says in notes which they
// refuse, and which sources do not answer. Nothing runs. Statements with template parameters
// and those that are a parameter are left out: their text is known when they run.
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
		err := r.checkOne(ctx, app, tool)
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

func (r *Runner) checkOne(ctx context.Context, app *repositories.App, tool *repositories.Tool) error {
	select {
	case r.checks <- struct{}{}:
		defer func() { <-r.checks }()
	case <-ctx.Done():
		return effect.Transient(effect.ReasonTimeout, "the source %q was not asked in time", tool.Source)
	}
	source, err := sourceOf(app, tool)
	if err != nil {
		return err
	}
	query, err := prepare(app, tool, nil)
	if err != nil {
		return err
	}
	db, leave, err := r.databases.acquire(ctx, app.ID, source, query.readOnly != "")
	if err != nil {
		return err
	}
	defer leave()
	if err := db.check(ctx, query); err != nil {
		return unanswered(ctx, source, tool, err)
	}
	return nil
}

// check has the server parse the statement, on a connection that is left as good as new.
func (p *postgres) check(ctx context.Context, s statement) error {
	if err := refused(s, nonQueryWords, postgresQueries); err != nil {
		return err
	}
	return p.on(ctx, s, func(c *connection) error { return c.check(ctx, s) })
}

// check compiles the statement, as EXPLAIN does, which runs nothing.
func (f *sqliteFile) check(ctx context.Context, s statement) error {
	if !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s.text)), "explain") {
		s.text = "explain " + s.text
	}
	_, err := f.run(ctx, s)
	return err
}
