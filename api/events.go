package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/trigger/effect"
)

const (
	pathAppEvents     = "/v1/apps/:appId/events"
	pathSessionEvents = "/v1/apps/:appId/sessions/:sessionId/events"
)

// Events reads the stream of events for any number of subscribers.
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
	by      auth.Authenticator
	limit   *admission.StreamLimit
	closing <-chan struct{}
}

func (h events) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathAppEvents, handle: h.stream, kind: admission.Stream},
		{method: http.MethodGet, path: pathSessionEvents, handle: h.stream, query: []string{auth.TokenQuery}, kind: admission.Stream},
	}
}

func (h events) stream(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	if _, err := h.apps.App(ctx, c.Param("appId")); err != nil {
		return err
	}
	leave, err := h.limit.Enter(scopeOf(c))
	if err != nil {
		return err
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
	h.pump(ctx, out, published, auth.PrincipalOf(c))
	return nil
}

// start is where the stream begins: behind the last event that the client has, or now.
func (h events) start(ctx context.Context, last string) (uint64, error) {
	if h.events == nil {
		return 0, answer.NewProblem(http.StatusServiceUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
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
		return 0, answer.BadRequest("Last-Event-ID " + answer.Quote(last) + " is none of this stream's: send the id of its last event, unchanged")
	}
	return after, nil
}

func unreadable(cause error) error {
	return answer.NewProblem(http.StatusServiceUnavailable, "the events cannot be read now; connect again, with Last-Event-ID where there is one").
		With("Retry-After", answer.Soon).Because(cause)
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
func (h events) pump(ctx context.Context, out *eventWriter, published <-chan effect.Published, who auth.Principal) {
	beats, checks := time.NewTicker(heartbeat), time.NewTicker(recheck)
	defer beats.Stop()
	defer checks.Stop()
	checked := h.by.Now()
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
func (h events) stillOpen(ctx context.Context, who auth.Principal, checked *time.Time) bool {
	if !who.Expires.IsZero() && !h.by.Now().Before(who.Expires) {
		return false
	}
	err := h.by.StillGood(ctx, who)
	if err == nil {
		*checked = h.by.Now()
		return true
	}
	return answer.IsUnavailable(err) && h.by.Now().Sub(*checked) < unchecked
}

// shows keeps definitions from front-ends: their tokens do not read repositories.
func shows(who auth.Principal, event effect.Published) bool {
	return !who.FrontEnd() || !strings.HasPrefix(event.Subject, "tool.changed.")
}
