package admission

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// A session's token is in a browser: a conversation in a few windows. It may run sessionRunning requests of
	// a kind, and sessionWaiting more wait, so that one token cannot block the app's other sessions.
	sessionRunning = 16
	sessionWaiting = 64
)

// errBusy means that a request is neither admitted nor queued.
var errBusy = errors.New("too much is under work here")

// queue bounds concurrent requests, fairly between apps. An app may use as many slots as it leaves free for
// others: alone half, and a third beside another busy app. Waiting requests are served round-robin by app, and
// within an app by session.
type queue struct {
	max, maxWaiting int
	patience        time.Duration

	mu               sync.Mutex
	running, waiting int
	tenants          map[string]*tenant
	order            []*tenant // with waiting requests; the first is served next
}

// tenant holds the running and waiting requests of an app.
type tenant struct {
	id               string
	running, waiting int
	flows            map[string]*flow
	order            []*flow
}

// flow holds the requests of a session's tokens, or all those with keys.
type flow struct {
	session string
	running int
	queue   []*waiter
}

// waiter is a queued request; admitted is closed when it may run.
type waiter struct{ admitted chan struct{} }

func newQueue(most, mostWaiting int, patience time.Duration) *queue {
	return &queue{max: most, maxWaiting: mostWaiting, patience: patience, tenants: map[string]*tenant{}}
}

// enter waits for a slot. It fails with errBusy or ctx's error; otherwise call leave when the request is done.
func (a *queue) enter(ctx context.Context, app, session string) (leave func(), err error) {
	a.mu.Lock()
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
	if len(f.queue) == 0 && a.mayRun(t, f) {
		a.run(t, f)
		a.mu.Unlock()
		return func() { a.leave(t, f) }, nil
	}
	if t.waiting >= a.maxWaiting-a.waiting || session != "" && len(f.queue) >= sessionWaiting {
		a.tidy(t, f)
		a.mu.Unlock()
		return nil, errBusy
	}
	w := &waiter{make(chan struct{})}
	if t.waiting == 0 {
		a.order = append(a.order, t)
	}
	if len(f.queue) == 0 {
		t.order = append(t.order, f)
	}
	f.queue = append(f.queue, w)
	a.waiting, t.waiting = a.waiting+1, t.waiting+1
	a.mu.Unlock()
	if err := a.wait(ctx, t, f, w); err != nil {
		return nil, err
	}
	return func() { a.leave(t, f) }, nil
}

func (a *queue) mayRun(t *tenant, f *flow) bool {
	free := a.max - a.running
	return t.running < free && (f.session == "" || f.running < sessionRunning)
}

func (a *queue) run(t *tenant, f *flow) {
	a.running, t.running, f.running = a.running+1, t.running+1, f.running+1
}

func (a *queue) wait(ctx context.Context, t *tenant, f *flow, w *waiter) error {
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
	return nil // it was admitted at the same moment
}

// left removes a request from the waiting counts.
func (a *queue) left(t *tenant, f *flow) {
	a.waiting, t.waiting = a.waiting-1, t.waiting-1
	if len(f.queue) == 0 {
		t.order = without(t.order, f)
	}
	if t.waiting == 0 {
		a.order = without(a.order, t)
	}
}

func (a *queue) leave(t *tenant, f *flow) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running, t.running, f.running = a.running-1, t.running-1, f.running-1
	for a.admitNext() {
	}
	a.tidy(t, f)
}

// admitNext admits the next waiting request, and reports whether there was one.
func (a *queue) admitNext() bool {
	for _, t := range a.order {
		for _, f := range t.order {
			if !a.mayRun(t, f) {
				continue
			}
			next := f.queue[0]
			f.queue = f.queue[1:]
			a.order, t.order = append(without(a.order, t), t), append(without(t.order, f), f)
			a.left(t, f)
			a.run(t, f)
			close(next.admitted)
			return true
		}
	}
	return false
}

// tidy removes an empty flow and tenant.
func (a *queue) tidy(t *tenant, f *flow) {
	if f.running == 0 && len(f.queue) == 0 {
		delete(t.flows, f.session)
	}
	if len(t.flows) == 0 {
		delete(a.tenants, t.id)
	}
}

// without returns a copy of a list without a member.
func without[T comparable](all []T, member T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return one == member })
}
