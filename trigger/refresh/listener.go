package refresh

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"earshot/repositories"
	"earshot/repositories/panics"
	"earshot/repositories/store"
)

const (
	// mostListeners bounds the servers that a replica listens to, mostOfApp those of one app; others are still polled.
	mostListeners = 256
	mostOfApp     = mostListeners / 4
	// ticksToListen is the number of ticks between searches for sources without a listener.
	ticksToListen = 10
	// checkInterval is the interval between checks that a source with a listener is unchanged.
	checkInterval = time.Minute
	// leastPause is the least interval between refreshes requested by a server, as between any two of a
	// source.
	leastPause = 5 * time.Second
	// Pauses before a listener reconnects.
	firstPause, longestPause = time.Second, 5 * time.Minute
)

// listeners are the sources that this replica listens to. Every replica listens; a notification makes a source
// due, and one replica refreshes it.
type listeners struct {
	listening sync.WaitGroup
	mu        sync.Mutex
	of        map[string]bool
}

// listen starts listeners for sources without one here. While the store is unavailable there are none.
func (r *Refresher) listen(ctx context.Context) {
	if r.Listen == nil {
		return
	}
	all, _ := r.Store.Refreshed(ctx, mostListeners)
	r.mu.Lock()
	defer r.mu.Unlock()
	ofApp := map[string]int{}
	for name := range r.of {
		app, _, _ := strings.Cut(name, "/")
		ofApp[app]++
	}
	for _, to := range all {
		name := to.AppID + "/" + to.Source
		if r.of[name] || len(r.of) >= mostListeners || ofApp[to.AppID] >= mostOfApp {
			continue
		}
		r.of[name] = true
		ofApp[to.AppID]++
		r.listening.Go(func() {
			defer func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				delete(r.of, name)
			}()
			panics.Run(r.Logger, "refresh", name, func() { r.listenTo(ctx, to) })
		})
	}
}

// listenTo listens until ctx ends, or the source is gone or changed. It gives up a server that offers no
// notifications.
func (r *Refresher) listenTo(ctx context.Context, to store.Refresh) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.MaxInterval = firstPause, longestPause
	source, app := r.source(ctx, to)
	for app != nil {
		stream, end := context.WithCancel(ctx)
		news, lasted := make(chan struct{}, 1), false
		var helpers sync.WaitGroup
		helpers.Go(func() { r.refresh(stream, to, news) })
		helpers.Go(func() {
			defer end()
			for r.Pause(stream, checkInterval) == nil && r.same(stream, to, source) {
				lasted = true
			}
		})
		offered, err := r.Listen(stream, app, to.Source, func() {
			select {
			case news <- struct{}{}:
			default: // it is already due
			}
		})
		end()
		helpers.Wait()
		if !offered && err == nil { // a changed server may offer it
			for r.Pause(ctx, checkInterval) == nil && r.same(ctx, to, source) {
			}
			return
		}
		if lasted {
			pauses.Reset()
		}
		r.Logger.DebugContext(ctx, "source.unheard", "app", to.AppID, "source", to.Source, "error", err)
		if r.Pause(ctx, pauses.NextBackOff()) != nil || !r.same(ctx, to, source) {
			return
		}
		source, app = r.source(ctx, to)
	}
}

// refresh makes a source due for each notification, with a pause after it.
func (r *Refresher) refresh(ctx context.Context, of store.Refresh, news <-chan struct{}) {
	for {
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
		if err := r.Store.RefreshNow(ctx, of.AppID, of.Source); err != nil && ctx.Err() == nil {
			r.Logger.WarnContext(ctx, "source.unread", "app", of.AppID, "source", of.Source, "error", err.Error())
		}
		if r.Pause(ctx, leastPause) != nil {
			return
		}
	}
}

// source reads a source with its app; a nil app means that it is missing or unreadable.
func (r *Refresher) source(ctx context.Context, of store.Refresh) (repositories.Source, *repositories.App) {
	app, err := r.Store.App(ctx, of.AppID)
	if err != nil {
		return repositories.Source{}, nil
	}
	source, there := app.Source(of.Source)
	if !there || source.Type != repositories.SourceMCP {
		return source, nil
	}
	return source, app
}

// same reports whether a source is unchanged and still used by a repository; also true while the store is
// unavailable.
func (r *Refresher) same(ctx context.Context, of store.Refresh, was repositories.Source) bool {
	if _, err := r.Store.App(ctx, of.AppID); err != nil && !errors.Is(err, repositories.ErrNotFound) {
		return ctx.Err() == nil
	}
	is, app := r.source(ctx, of)
	if app == nil || !reflect.DeepEqual(is, was) {
		return false
	}
	listed, err := r.Store.SourcedFrom(ctx, of.AppID, of.Source)
	return err != nil || len(listed) > 0
}
