package api

import (
	"sync"

	"earshot/repositories"
)

const (
	// mostStreams is how many event streams an app may have open on one replica: each
	// is a connection and a buffer, and other apps need theirs.
	mostStreams = 10_000
	// mostSessionStreams is how many of them may be one session's. A session is one
	// conversation, in a few windows; more is a token that somebody plays with.
	mostSessionStreams = 100
)

// rooms counts the open event streams of each app and session.
type rooms struct {
	most int
	mu   sync.Mutex
	open map[repositories.Scope]int
}

func newRooms(most int) *rooms { return &rooms{most: most, open: map[repositories.Scope]int{}} }

// enter takes a place among the app's streams, and among the session's where there is
// one.
func (r *rooms) enter(scope repositories.Scope) (leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	app := repositories.Scope{AppID: scope.AppID}
	if r.open[app] >= r.most || scope != app && r.open[scope] >= mostSessionStreams {
		return nil, false
	}
	r.open[app]++
	if scope != app {
		r.open[scope]++
	}
	return func() { r.leave(app, scope) }, true
}

func (r *rooms) leave(app, scope repositories.Scope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free(app)
	if scope != app {
		r.free(scope)
	}
}

func (r *rooms) free(scope repositories.Scope) {
	if r.open[scope]--; r.open[scope] == 0 {
		delete(r.open, scope)
	}
}
