package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// Defaults of what a replica does at once.
const (
	// defaultTurns is how many messages and direct triggers are under work. Each takes
	// some 150 KiB, and many only wait for a model: one app, which gets at most half of
	// them, has 256 turns of two seconds under way at 128 messages a second.
	defaultTurns = 512
	// defaultRequests is how many others are: a page or a definition of 1 MiB takes
	// some megabytes while it is read and written.
	defaultRequests = 64
	// defaultWaiting is how many of either kind wait for their turn, each a connection
	// and a goroutine.
	defaultWaiting = 2000
	// waitTime is how long one waits. It is part of the 30 s that its body may take.
	waitTime = 10 * time.Second
	// A session's token is in a browser: a conversation in a few windows. It runs as
	// many requests of a kind, and sessionWaiting more wait, so that nobody with one
	// token keeps the app's other sessions out.
	sessionRunning = 16
	sessionWaiting = 64
)

// errBusy means that a request is neither taken nor queued.
var errBusy = errors.New("too much is under work here")

// admission bounds what is under work at once, fairly between apps. An app gets at most
// as much as is then left for the others: alone half of all, and beside another that
// takes what it can a third. What has to wait is served one app after the other, and
// within an app one session after the other.
type admission struct {
	most, mostWaiting int
	patience          time.Duration

	mu               sync.Mutex
	running, waiting int
	tenants          map[string]*tenant
	turns            []*tenant // that have somebody waiting; the first is served next
}

// tenant is what one app has under work.
type tenant struct {
	id               string
	running, waiting int
	flows            map[string]*flow
	turns            []*flow
}

// flow is the requests of one session's tokens, or all those with keys.
type flow struct {
	session string
	running int
	queue   []*waiter
}

// waiter is a request in its queue. Admitted is closed when it may go on.
type waiter struct{ admitted chan struct{} }

func newAdmission(most, mostWaiting int, patience time.Duration) *admission {
	return &admission{most: most, mostWaiting: mostWaiting, patience: patience, tenants: map[string]*tenant{}}
}

// enter waits for the request's turn. The error is errBusy, or ctx's own; without one
// leave must be called when the request is done.
func (a *admission) enter(ctx context.Context, app, session string) (leave func(), err error) {
	a.mu.Lock()
	t, f := a.flowOf(app, session)
	if len(f.queue) == 0 && a.mayRun(t, f) {
		a.run(t, f)
		a.mu.Unlock()
		return func() { a.leave(t, f) }, nil
	}
	if !a.mayWait(t, f) {
		a.tidy(t, f)
		a.mu.Unlock()
		return nil, errBusy
	}
	w := a.queue(t, f)
	a.mu.Unlock()
	if err := a.await(ctx, t, f, w); err != nil {
		return nil, err
	}
	return func() { a.leave(t, f) }, nil
}

// flowOf finds whom a request counts for.
func (a *admission) flowOf(app, session string) (*tenant, *flow) {
	t := a.tenants[app]
	if t == nil {
		t = &tenant{id: app, flows: map[string]*flow{}}
		a.tenants[app] = t
	}
	f := t.flows[session]
	if f == nil {
		f = &flow{session: session}
		t.flows[session] = f
	}
	return t, f
}

func (a *admission) mayRun(t *tenant, f *flow) bool {
	free := a.most - a.running
	return t.running < free && (f.session == "" || f.running < sessionRunning)
}

func (a *admission) mayWait(t *tenant, f *flow) bool {
	free := a.mostWaiting - a.waiting
	return t.waiting < free && (f.session == "" || len(f.queue) < sessionWaiting)
}

func (a *admission) run(t *tenant, f *flow) {
	a.running, t.running, f.running = a.running+1, t.running+1, f.running+1
}

func (a *admission) queue(t *tenant, f *flow) *waiter {
	w := &waiter{make(chan struct{})}
	if t.waiting == 0 {
		a.turns = append(a.turns, t)
	}
	if len(f.queue) == 0 {
		t.turns = append(t.turns, f)
	}
	f.queue = append(f.queue, w)
	a.waiting, t.waiting = a.waiting+1, t.waiting+1
	return w
}

func (a *admission) await(ctx context.Context, t *tenant, f *flow, w *waiter) error {
	timer := time.NewTimer(a.patience)
	defer timer.Stop()
	err := errBusy
	select {
	case <-w.admitted:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, other := range f.queue {
		if other == w {
			f.queue = append(f.queue[:i:i], f.queue[i+1:]...)
			a.left(t, f)
			a.tidy(t, f)
			return err
		}
	}
	return nil // it was admitted in the same moment
}

// left counts one who waits no more.
func (a *admission) left(t *tenant, f *flow) {
	a.waiting, t.waiting = a.waiting-1, t.waiting-1
	if len(f.queue) == 0 {
		t.turns = without(t.turns, f)
	}
	if t.waiting == 0 {
		a.turns = without(a.turns, t)
	}
}

func (a *admission) leave(t *tenant, f *flow) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running, t.running, f.running = a.running-1, t.running-1, f.running-1
	for a.admitNext() {
	}
	a.tidy(t, f)
}

// admitNext lets the next one in, and reports whether there was one who may.
func (a *admission) admitNext() bool {
	for _, t := range a.turns {
		for _, f := range t.turns {
			if !a.mayRun(t, f) {
				continue
			}
			next := f.queue[0]
			f.queue = f.queue[1:]
			a.turns, t.turns = append(without(a.turns, t), t), append(without(t.turns, f), f)
			a.left(t, f)
			a.run(t, f)
			close(next.admitted)
			return true
		}
	}
	return false
}

// tidy forgets whom nothing counts for.
func (a *admission) tidy(t *tenant, f *flow) {
	if f.running == 0 && len(f.queue) == 0 {
		delete(t.flows, f.session)
	}
	if len(t.flows) == 0 {
		delete(a.tenants, t.id)
	}
}

// without returns a list without a member, as a list of its own.
func without[T comparable](all []T, member T) []T {
	rest := make([]T, 0, len(all))
	for _, one := range all {
		if one != member {
			rest = append(rest, one)
		}
	}
	return rest
}

// work is what a route asks of a replica, by which its requests are bounded.
type work int

const (
	// aRequest reads or writes definitions, records or keys.
	aRequest work = iota
	// aTurn is a message or a direct trigger, which may wait for a model or a tool.
	aTurn
	// aStream stays open, and is counted with its kind.
	aStream
)

// admissions bound the requests of each kind. They are bounded apart, so that a flood of
// messages does not keep anybody from revoking the key that it comes with.
type admissions struct {
	turns, requests *admission
	refused         *prometheus.CounterVec
}

func (o Options) admissions() admissions {
	return admissions{
		turns:    newAdmission(o.Turns, o.Waiting, waitTime),
		requests: newAdmission(o.Requests, o.Waiting, waitTime),
		refused:  refusedCounter(o.Metrics),
	}
}

// refusedCounter counts requests that were answered 503 without being looked at.
func refusedCounter(registry *prometheus.Registry) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_refused_total",
		Help: "Requests that were refused because too many were under work, by kind: turn or request.",
	}, []string{"kind"})
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(counter), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return counter
}

// admitted lets a request wait for its turn among those of its app, and refuses it
// before anything of it is read or stored where there are too many.
func (g admissions) admitted(kind work) echo.MiddlewareFunc {
	gate, label := g.turns, "turn"
	if kind == aRequest {
		gate, label = g.requests, "request"
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			leave, err := gate.enter(c.Request().Context(), c.Param("appId"), principalOf(c).sessionID)
			if errors.Is(err, errBusy) {
				g.refused.WithLabelValues(label).Inc()
				return newProblem(http.StatusServiceUnavailable, "too many requests of this app are under work on this replica; nothing of this one was done, send it again").with("Retry-After", soon)
			}
			if err != nil {
				return err
			}
			defer leave()
			return next(c)
		}
	}
}
