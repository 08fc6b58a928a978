package admission

import (
	"cmp"
	"strconv"
	"sync"

	"earshot/api/answer"
	"earshot/repositories"
)

const (
	// defaultStreams bounds the event streams of an app on a replica: each takes a connection and a buffer.
	defaultStreams = 10_000
	// maxSessionStreams bounds those of a session, which is one conversation in a few windows.
	maxSessionStreams = 100
)

// StreamLimit bounds the open event streams of each app and session.
type StreamLimit struct {
	max  int
	mu   sync.Mutex
	open map[repositories.Scope]int
}

// NewStreamLimit bounds the streams of an app; zero means 10,000.
func NewStreamLimit(most int) *StreamLimit {
	return &StreamLimit{max: cmp.Or(most, defaultStreams), open: map[repositories.Scope]int{}}
}

// Enter takes a slot of the app, and of the session if there is one. Its error is the problem for the client.
func (r *StreamLimit) Enter(scope repositories.Scope) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	app := repositories.Scope{AppID: scope.AppID}
	if r.open[app] >= r.max || scope != app && r.open[scope] >= maxSessionStreams {
		return nil, answer.NewProblem(answer.StreamsExceeded, "too many event streams are open: an app may have "+strconv.Itoa(r.max)+
			" on one replica, a session "+strconv.Itoa(maxSessionStreams)+" of them").With("Retry-After", "5")
	}
	r.open[app]++
	if scope != app {
		r.open[scope]++
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.free(app)
		if scope != app {
			r.free(scope)
		}
	}, nil
}

func (r *StreamLimit) free(scope repositories.Scope) {
	if r.open[scope]--; r.open[scope] == 0 {
		delete(r.open, scope)
	}
}
