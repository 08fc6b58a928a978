package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/repositories"
	"earshot/trigger/effect"
)

const (
	pathAppEvents     = "/v1/apps/:appId/events"
	pathSessionEvents = "/v1/apps/:appId/sessions/:sessionId/events"
	// tokenQuery is where a browser's EventSource sends its session token.
	tokenQuery = "access_token"
)

// Events reads the stream of events for any number of followers.
type Events interface {
	// Now is where one begins who wants what comes.
	Now(ctx context.Context) (uint64, error)
	// Follow hands out what comes after a sequence, each event once, until ctx ends. It
	// closes the channel before that where it cannot go on, or the reader is too slow:
	// whoever follows again from its last event misses nothing.
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// events serves the events as server-sent events (HTML standard, section 9.2).
type events struct {
	apps    appReader
	events  Events
	by      authenticator
	limit   *streamLimit
	closing <-chan struct{}
}

func (h events) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathAppEvents, handle: h.stream, kind: aStream},
		{method: http.MethodGet, path: pathSessionEvents, handle: h.stream, query: []string{tokenQuery}, kind: aStream},
	}
}

func (h events) stream(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	if _, err := h.apps.App(ctx, c.Param("appId")); err != nil {
		return err
	}
	leave, ok := h.limit.enter(scopeOf(c))
	if !ok {
		return newProblem(http.StatusTooManyRequests, "too many event streams are open: an app may have "+strconv.Itoa(h.limit.most)+
			" on one replica, a session "+strconv.Itoa(mostSessionStreams)+" of them").with("Retry-After", "5")
	}
	defer leave()
	after, err := h.start(ctx, c.Request().Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	published, err := h.events.Follow(ctx, c.Param("appId"), c.Param("sessionId"), after)
	if err != nil {
		return unreadable(err)
	}
	out := newEventWriter(c.Response())
	if err := out.begin(after); err != nil || c.Request().Method == http.MethodHead {
		return nil
	}
	h.pump(ctx, out, published, principalOf(c))
	return nil
}

// start is where the stream begins: behind the last event that the client has, or now.
func (h events) start(ctx context.Context, last string) (uint64, error) {
	if h.events == nil {
		return 0, newProblem(http.StatusServiceUnavailable, "this service reads no events").with("Retry-After", soon)
	}
	if last == "" {
		after, err := h.events.Now(ctx)
		if err != nil {
			return 0, unreadable(err)
		}
		return after, nil
	}
	after, err := strconv.ParseUint(last, 10, 64)
	if err != nil {
		return 0, badRequest("Last-Event-ID " + quoteShort(last) + " is none of this stream's: send the id of its last event, unchanged")
	}
	return after, nil
}

func unreadable(cause error) error {
	found := newProblem(http.StatusServiceUnavailable, "the events cannot be read now; connect again, with Last-Event-ID where there is one").with("Retry-After", soon)
	found.cause = cause
	return found
}

const (
	// heartbeat is less than the 30 s after which some proxies take a connection that
	// is silent for dead.
	heartbeat = 15 * time.Second
	// recheck is how often a stream looks whether its key is still good; with the age
	// that the answer may have it is less than the second that a revocation may take.
	recheck = 500 * time.Millisecond
	// unchecked is how long a stream stays open while its key cannot be looked up.
	unchecked = 30 * time.Second
)

// pump writes events until somebody ends it: the client, the tail, the end of its key
// or of this process.
func (h events) pump(ctx context.Context, out *eventWriter, published <-chan effect.Published, who principal) {
	beats, checks := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer beats.Stop()
	defer checks.Stop()
	checked := h.by.now()
	for {
		select {
		case event, open := <-published:
			if !open || shows(who, event) && out.event(event) != nil {
				return
			}
		case <-beats.C:
			if out.beat() != nil {
				return
			}
		case <-checks.C:
			if !h.stillOpen(ctx, who, &checked) {
				return
			}
		case <-h.closing:
			return
		case <-ctx.Done():
			return
		}
	}
}

// stillOpen reports whether the stream's key or token is still good.
func (h events) stillOpen(ctx context.Context, who principal, checked *time.Time) bool {
	if !who.expires.IsZero() && !h.by.now().Before(who.expires) {
		return false
	}
	err := h.by.stillGood(ctx, who)
	if err == nil {
		*checked = h.by.now()
		return true
	}
	return isUnavailable(err) && h.by.now().Sub(*checked) < unchecked
}

// shows keeps definitions from front-ends: their tokens do not read repositories.
func shows(who principal, event effect.Published) bool {
	return !who.frontEnd() || !strings.HasPrefix(event.Subject, "tool.changed.")
}

const (
	// mostStreams is how many event streams an app may have open on one replica: each
	// is a connection and a buffer, and other apps need theirs.
	mostStreams = 10_000
	// mostSessionStreams is how many of them may be one session's. A session is one
	// conversation, in a few windows; more is a token that somebody plays with.
	mostSessionStreams = 100
)

// streamLimit counts the open event streams of each app and session.
type streamLimit struct {
	most int
	mu   sync.Mutex
	open map[repositories.Scope]int
}

func newStreamLimit(most int) *streamLimit {
	return &streamLimit{most: most, open: map[repositories.Scope]int{}}
}

// enter takes a place among the app's streams, and among the session's where there is
// one.
func (r *streamLimit) enter(scope repositories.Scope) (leave func(), ok bool) {
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

func (r *streamLimit) leave(app, scope repositories.Scope) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free(app)
	if scope != app {
		r.free(scope)
	}
}

func (r *streamLimit) free(scope repositories.Scope) {
	if r.open[scope]--; r.open[scope] == 0 {
		delete(r.open, scope)
	}
}
