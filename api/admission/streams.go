package admission

import (
	"cmp"
	"strconv"
	"sync"

	"earshot/api/answer"
	"earshot/repositories"
)

const (
	// defaultStreams is how many event streams an app may have open on one replica: each
	// is a connection and a buffer, and other apps need theirs.
	defaultStreams = 10_000
	// maxSessionStreams is how many of them may be one session's. A session is one
	// conversation, in a few windows; more is a token that somebody plays with.
	maxSessionStreams = 100
)

// StreamLimit limits how many event streams each app and session has open at once.
type StreamLimit struct {
	max  int
	mu   sync.Mutex
	open map[repositories.Scope]int
}

// NewStreamLimit bounds the streams of an app, by 10,000 where most is zero.
func NewStreamLimit(most int) *StreamLimit {
	return &StreamLimit{max: cmp.Or(most, defaultStreams), open: map[repositories.Scope]int{}}
}

// Enter counts one more stream of the app, and of the session where there is one. Its
// error is the problem that answers the request.
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
	return func() { r.leave(app, scope) }, nil
}

func (r *StreamLimit) leave(app, scope repositories.Scope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free(app)
	if scope != app {
		r.free(scope)
	}
}

func (r *StreamLimit) free(scope repositories.Scope) {
	if r.open[scope]--; r.open[scope] == 0 {
		delete(r.open, scope)
	}
}
