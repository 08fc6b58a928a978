// Package refresh keeps the tools of repositories from an MCP server equal to the server's. One replica at a
// time reads a source periodically, and at once when its server notifies of a change. An unavailable server
// costs only a log line: repositories keep their tools. A refresh never overwrites concurrent changes.
package refresh

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"earshot/repositories"
	"earshot/repositories/outages"
	"earshot/repositories/panics"
	"earshot/repositories/store"
)

const (
	// tick is the interval between searches for due sources: a fraction of the shortest interval of a source.
	tick = time.Second
	// lease is a replica's lease of one source: longer than its server may take.
	lease = 2 * time.Minute
	// mostConcurrent bounds the sources that a replica reads concurrently.
	mostConcurrent = 8
)

// Store has the due sources, and the repositories with tools from them.
type Store interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
	DueRefreshes(ctx context.Context, lease time.Duration, most int) ([]store.Refresh, error)
	EndRefresh(ctx context.Context, r store.Refresh, next time.Duration) error
	Refreshed(ctx context.Context, most int) ([]store.Refresh, error)
	RefreshNow(ctx context.Context, appID, source string) error
	SourcedFrom(ctx context.Context, appID, source string) ([]store.Sourced, error)
	ReplaceTools(ctx context.Context, of store.Sourced, tools []repositories.Tool) (changed bool, err error)
}

// Options are the dependencies of a Refresher; all but Listen are required.
type Options struct {
	Store Store
	// Offer reads the tools of a source's server, and returns notes on omitted ones.
	Offer func(ctx context.Context, app *repositories.App, source string) (tools []repositories.Tool, notes []string, err error)
	// Listen calls changed when it has connected to the server of a source, and whenever that reports a change
	// of its tools, until ctx or the stream ends. offered is false if the server has no such notifications.
	// Without Listen there are no listeners.
	Listen func(ctx context.Context, app *repositories.App, source string, changed func()) (offered bool, err error)
	// Pause waits, or returns the error of an ended ctx.
	Pause  func(ctx context.Context, d time.Duration) error
	Logger *slog.Logger
}

// Refresher refreshes the due sources.
type Refresher struct {
	Options
	listeners
}

// New returns a Refresher.
func New(o Options) *Refresher { return &Refresher{o, listeners{of: map[string]bool{}}} }

// Run refreshes due sources until ctx ends.
func (r *Refresher) Run(ctx context.Context) {
	var refreshes sync.WaitGroup
	defer refreshes.Wait()
	defer r.listening.Wait()
	slots, troubles := make(chan struct{}, mostConcurrent), outages.New(r.Logger)
	for n := 0; r.Pause(ctx, tick) == nil; n++ {
		if n%ticksToListen == 0 {
			r.listen(ctx)
		}
		room := cap(slots) - len(slots)
		if room == 0 {
			continue
		}
		due, err := r.Store.DueRefreshes(ctx, lease, room)
		if err == nil {
			troubles.Over(ctx, "sources", "sources.due")
		} else if ctx.Err() == nil {
			troubles.Trouble(ctx, "sources", "", "sources.undue", "error", err.Error())
		}
		for _, one := range due {
			slots <- struct{}{}
			refreshes.Go(func() {
				defer func() { <-slots }()
				panics.Run(r.Logger, "refresh", one.AppID+"/"+one.Source, func() {
					ctx, cancel := context.WithTimeout(ctx, lease)
					defer cancel()
					next, err := r.updateTools(ctx, one)
					if ctx.Err() == nil {
						err = errors.Join(err, r.Store.EndRefresh(ctx, one, next))
					}
					if err != nil && ctx.Err() == nil {
						r.Logger.Warn("source.unread", "app", one.AppID, "source", one.Source, "error", err.Error())
					}
				})
			})
		}
	}
}

// updateTools sets the repositories to the server's current tools. It returns the time until the next refresh; 0 if no
// repository uses the source.
func (r *Refresher) updateTools(ctx context.Context, due store.Refresh) (next time.Duration, err error) {
	app, err := r.Store.App(ctx, due.AppID)
	if errors.Is(err, repositories.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return tick, err
	}
	source, there := app.Source(due.Source)
	if !there || source.Type != repositories.SourceMCP {
		return 0, nil
	}
	next = source.RefreshEvery()
	listed, err := r.Store.SourcedFrom(ctx, due.AppID, due.Source)
	if err != nil {
		return next, err
	}
	if len(listed) == 0 {
		return 0, nil
	}
	if err := (&repositories.Tool{Source: due.Source}).CheckReadable(app); err != nil {
		return next, err
	}
	tools, notes, err := r.Offer(ctx, app, due.Source)
	if err != nil {
		return next, err
	}
	changed := 0
	for _, one := range listed {
		was, failed := r.Store.ReplaceTools(ctx, one, tools)
		if err = errors.Join(err, failed); was {
			changed++
		}
	}
	if changed > 0 {
		r.Logger.Info("source.changed", "app", due.AppID, "source", due.Source, "tools", len(tools), "repositories", changed, "notes", notes)
	}
	return next, err
}
