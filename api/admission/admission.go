// Package admission is the admission control of a replica. It bounds concurrent requests and event streams,
// fairly between apps and between the sessions of an app, and refuses others before it reads them.
package admission

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/server"
	"earshot/api/signin"
	"earshot/repositories"
)

// Default limits of a replica.
const (
	// defaultTurns bounds concurrent messages and direct triggers. Each takes some 150 KiB, and many only wait
	// for a model. An app, which gets at most half, has 256 turns of two seconds in progress at 128 messages
	// per second.
	defaultTurns = 512
	// defaultRequests bounds other requests: a page or a definition of 1 MiB takes some megabytes in memory.
	defaultRequests = 64
	// mostRelays bounds relayed chats. Each takes some 100 KiB and mostly waits for a model.
	mostRelays = 4096
	// mostGrants bounds requests for tokens, each of which reads an app and signs.
	mostGrants = 64
	// mostRehearsals bounds rehearsals. Each takes some seconds of two cores, or a minute of a model.
	mostRehearsals = 2
	// defaultWaiting bounds waiting requests per kind. Each takes a connection and a goroutine.
	defaultWaiting = 2000
	// waitTime bounds the wait. It is part of the 30 s for a request's body.
	waitTime = 10 * time.Second
)

// Kind is the class of a request for admission.
type Kind int

const (
	// Request reads or writes definitions, records or keys.
	Request Kind = iota
	// Turn is a message or a direct trigger, which may wait for a model or a tool.
	Turn
	// Stream stays open, and has its own limit.
	Stream
	// Relay is a relayed chat.
	Relay
	// Grant is a stranger's request for a token. Its share belongs to its address.
	Grant
	// Rehearsal tries a change of tools on many messages.
	Rehearsal
)

// Control is the admission control of a replica. Each kind of request has its own limit, so that a flood of
// messages cannot block the revocation of its key.
type Control struct {
	gates   map[Kind]gate // of all kinds but Stream
	refused *prometheus.CounterVec
}

// gate is the queue of a kind of requests, with its name in metrics.
type gate struct {
	label string
	*queue
}

// Bounds are the limits of a replica. Zero means the default.
type Bounds struct {
	// Turns bounds concurrent messages and direct triggers: 512. Requests bounds other requests: 64. Waiting
	// bounds the waiting requests per kind, beyond which the answer is 503: 2,000.
	Turns, Requests, Waiting int
}

// NewControl returns the admission control of a replica.
func NewControl(b Bounds, registry *prometheus.Registry) *Control {
	open := func(label string, most int) gate {
		return gate{label, newQueue(most, cmp.Or(b.Waiting, defaultWaiting))}
	}
	return &Control{
		gates: map[Kind]gate{
			Turn: open("turn", cmp.Or(b.Turns, defaultTurns)), Request: open("request", cmp.Or(b.Requests, defaultRequests)),
			Relay: open("relay", mostRelays), Grant: open("grant", mostGrants), Rehearsal: open("rehearsal", mostRehearsals),
		},
		refused: server.Counter(registry, "earshot_http_refused_total",
			"Requests that were refused because too many were in progress, by kind: turn, request, relay, grant or rehearsal.",
			[]string{"kind"}, "turn", "request", "relay", "grant", "rehearsal"),
	}
}

// Admitted makes a request wait for a slot, fairly among apps. It refuses the request unread if too many wait.
func (g *Control) Admitted(kind Kind) echo.MiddlewareFunc {
	at := g.gates[kind]
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			of, whose, session := "of this app", c.Param("appId"), auth.PrincipalOf(c).SessionID
			if kind == Grant {
				of, whose = "of this address", signin.ClientOf(c.Request())
			}
			leave, err := at.enter(c.Request().Context(), whose, session)
			if errors.Is(err, errBusy) {
				g.refused.WithLabelValues(at.label).Inc()
				if errors.Is(err, errSessionBusy) {
					of = "with tokens of this session"
				}
				return answer.NewProblem(answer.Overloaded, "too many requests "+of+" are in progress on this replica; this one was not started, send it again").With("Retry-After", answer.Soon)
			}
			if err != nil {
				return err
			}
			defer leave()
			return next(c)
		}
	}
}

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

const (
	// A session's token is in a browser: a conversation in a few windows. It may run sessionRunning requests of
	// a kind, and sessionWaiting more wait, so that one token cannot block the app's other sessions.
	sessionRunning = 16
	sessionWaiting = 64
)

// errBusy means that a request is neither admitted nor queued; errSessionBusy is one for the limits of a session.
var (
	errBusy        = errors.New("too many requests are in progress here")
	errSessionBusy = fmt.Errorf("%w of the session", errBusy)
)

// queue bounds concurrent requests, fairly between apps. An app may use as many slots as it leaves free for
// others: alone half, and a third beside another busy app. Waiting requests are served round-robin by app, and
// within an app by session.
type queue struct {
	max, maxWaiting int

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

func newQueue(most, mostWaiting int) *queue {
	return &queue{max: most, maxWaiting: mostWaiting, tenants: map[string]*tenant{}}
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
	if ofSession := session != "" && len(f.queue) >= sessionWaiting; ofSession || t.waiting >= a.maxWaiting-a.waiting {
		a.tidy(t, f)
		a.mu.Unlock()
		if ofSession {
			return nil, errSessionBusy
		}
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
	timer := time.NewTimer(waitTime)
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
			if err == errBusy && f.session != "" && f.running >= sessionRunning {
				err = errSessionBusy
			}
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

func without[T comparable](all []T, member T) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return one == member })
}
