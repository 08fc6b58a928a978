package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/payload"
)

const (
	pathAppEvents     = pathApp + "/events"
	pathSessionEvents = pathSession + "/events"
)

// Events reads the event stream for any number of subscribers.
type Events interface {
	// Now returns the sequence of the last event so far.
	Now(ctx context.Context) (uint64, error)
	// Follow delivers the events after a sequence, each once, until ctx ends. It closes the channel earlier
	// if it fails or the reader is too slow; following again from the last event misses nothing.
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// events serves server-sent events (HTML standard, section 9.2).
type events struct {
	store         Store
	engine        Engine
	events        Events
	authenticator auth.Authenticator
	limit         *admission.StreamLimit
	closing       <-chan struct{}
}

func (h events) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathAppEvents, access: eventKeys, handler: h.stream, query: []string{lastEventQuery}, share: admission.Stream},
		{method: http.MethodGet, path: pathSessionEvents, access: eventCallers, handler: h.stream, query: []string{auth.TokenQuery, lastEventQuery}, share: admission.Stream},
	}
}

func (h events) stream(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	sub, err := h.open(ctx, c)
	if err != nil {
		return err
	}
	defer sub.release()
	out := &eventWriter{out: c.Response(), controller: http.NewResponseController(c.Response())}
	out.out.Header().Set("Content-Type", "text/event-stream")
	out.out.Header().Set("X-Accel-Buffering", "no") // nginx would buffer events
	out.out.WriteHeader(http.StatusOK)
	// The id precedes any event: otherwise a client without an event would miss those during its reconnect.
	fmt.Fprintf(&out.text, "retry: %d\nid: %d\n\n", retryAfter, sub.after)
	if err := out.flush(); err != nil || c.Request().Method == http.MethodHead {
		return nil
	}
	h.pump(ctx, out, sub)
	return nil
}

// open takes a slot for a stream, and determines where it starts.
func (h events) open(ctx context.Context, c echo.Context) (_ *subscription, err error) {
	if _, err := h.store.App(ctx, c.Param("appId")); err != nil {
		return nil, err
	}
	sub := &subscription{Principal: auth.PrincipalOf(c), session: scopeOf(c)}
	if sub.release, err = h.limit.Enter(sub.session); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			sub.release()
		}
	}()
	sub.watch = h.authenticator.Watch(sub.Principal)
	if sub.session.SessionID != "" {
		if sub.generation, err = h.authenticator.Keys.CachedGeneration(ctx, sub.session.AppID, sub.session.SessionID); err != nil {
			return nil, err
		}
	}
	if sub.since, err = h.authenticator.Keys.LifeSince(ctx, sub.session.AppID, sub.Principal.SessionID); err != nil {
		return nil, err
	}
	if sub.after, err = h.startAfter(ctx, c); err != nil {
		return nil, err
	}
	if sub.published, err = h.events.Follow(ctx, sub.session.AppID, sub.session.SessionID, sub.after); err != nil {
		return nil, eventsUnreadable(err)
	}
	return sub, nil
}

// The last event that a client has seen: a reconnecting browser sends the header; a page with a new token
// uses the query, as it can set no header. The header is newer than the query.
const (
	lastEventHeader = "Last-Event-ID"
	lastEventQuery  = "lastEventId"
)

func (h events) startAfter(ctx context.Context, c echo.Context) (uint64, error) {
	if h.events == nil {
		return 0, eventsDisabled()
	}
	source, code, lastID := lastEventHeader, answer.InvalidHeader, c.Request().Header.Get(lastEventHeader)
	if lastID == "" {
		source, code, lastID = lastEventQuery, answer.InvalidQuery, c.QueryParam(lastEventQuery)
	}
	if lastID == "" {
		after, err := h.events.Now(ctx)
		if err != nil {
			return 0, eventsUnreadable(err)
		}
		return after, nil
	}
	after, err := strconv.ParseUint(lastID, 10, 64)
	if err != nil {
		return 0, answer.NewProblem(code, source+" "+answer.Quote(lastID)+" is not an id of this stream: send the id of its last event, unchanged")
	}
	return after, nil
}

// eventsDisabled returns the problem of a service without Options.Events.
func eventsDisabled() error {
	return answer.NewProblem(answer.EventsUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
}

func eventsUnreadable(cause error) error {
	return answer.NewProblem(answer.EventsUnavailable, "the events cannot be read now; connect again, with the Last-Event-ID if you have one").
		With("Retry-After", answer.Soon).Because(cause)
}

const (
	heartbeat    = 15 * time.Second // some proxies drop a connection that is silent for 30 s
	tokenWarning = time.Minute      // how long before expiry of its key or token a stream sends a notice

	tokenExpiring = "token.expiring"
	tokenExpired  = "token.expired" // the last event of its stream
)

// eventSink writes the events of one stream. An error means that its client is gone.
type eventSink interface {
	event(event effect.Published) error
	// notice sends an event of the service itself, without an id, so that a client resumes after the last
	// stream event.
	notice(name string, data tokenNotice) error
	keepAlive() error
}

// streamEnd is the reason why a stream ends.
type streamEnd int

const (
	endClientGone streamEnd = iota // the client disconnected
	endTooSlow                     // the reader is too slow, or the events cannot be read: the client may resume
	endNoAccess                    // the key, token or session ended
	endShutdown                    // this process stops
)

func (h events) pump(ctx context.Context, out eventSink, sub *subscription) streamEnd {
	heartbeats, checks := time.NewTicker(heartbeat), time.NewTicker(auth.Recheck)
	defer heartbeats.Stop()
	defer checks.Stop()
	if sub.warn(out, h.authenticator.Now()) != nil {
		return endClientGone
	}
	for {
		select {
		case event, open := <-sub.published:
			if !open {
				return endTooSlow
			}
			if end, ends := h.checkAccess(ctx, out, sub); ends { // the event may be of the session's next life
				return end
			}
			shows, err := h.sees(ctx, sub, event)
			if err != nil {
				return endTooSlow
			}
			if shows && out.event(event) != nil {
				return endClientGone
			}
		case <-heartbeats.C:
			if out.keepAlive() != nil {
				return endClientGone
			}
		case <-checks.C:
			if end, ends := h.checkAccess(ctx, out, sub); ends {
				return end
			}
		case <-h.closing:
			return endShutdown
		case <-ctx.Done():
			return endClientGone
		}
	}
}

// subscription is an open stream, with its key or token.
type subscription struct {
	auth.Principal
	watch      *auth.Watch
	warned     bool // whether the expiry notice was sent
	session    repositories.Scope
	generation store.Generation // of the session when the stream was opened
	since      time.Time        // when the life of a token's session began, or of the app
	after      uint64           // the sequence after which it starts
	published  <-chan effect.Published
	release    func() // releases its slot
}

// sees reports whether a stream shows an event. It hides what an earlier app of that id has left. Tokens of front-ends
// may read neither repositories nor what an earlier life of their session leaves: its triggers may still end in this one.
func (h events) sees(ctx context.Context, sub *subscription, event effect.Published) (bool, error) {
	switch {
	case event.Time.Before(sub.since):
		return false, nil
	case !sub.FrontEnd():
		return true, nil
	case strings.HasPrefix(event.Subject, "tool.changed."):
		return false, nil
	case sub.generation.Session == "": // it was never closed
		return true, nil
	}
	id := triggerOf(event)
	if id == "" {
		return true, nil
	}
	return h.engine.FiredInSession(ctx, sub.session.AppID, sub.session.SessionID, id)
}

// triggerOf returns the trigger of an event; empty for none.
func triggerOf(event effect.Published) string {
	var of struct {
		ID        string `json:"id"`
		TriggerID string `json:"triggerId"`
	}
	_ = json.Unmarshal(event.Data, &of) // other publishers may send anything
	if strings.HasPrefix(event.Subject, "app.") || kindOf(event) == payload.KindTrigger {
		return of.ID
	}
	return of.TriggerID
}

type tokenNotice struct {
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	Detail    string    `json:"detail,omitempty"` // why it ended early
}

// warn sends the expiry notice once, when it is due.
func (o *subscription) warn(out eventSink, now time.Time) error {
	if o.warned || o.Expires.IsZero() || now.Before(o.Expires.Add(-tokenWarning)) {
		return nil
	}
	o.warned = true
	return out.notice(tokenExpiring, tokenNotice{ExpiresAt: o.Expires})
}

// checkAccess reports whether a stream has to end because its key, token or session has ended. It sends the
// notices before and at the end.
func (h events) checkAccess(ctx context.Context, out eventSink, sub *subscription) (reason streamEnd, ends bool) {
	now := h.authenticator.Now()
	if !sub.Expires.IsZero() && !now.Before(sub.Expires) {
		_ = out.notice(tokenExpired, tokenNotice{ExpiresAt: sub.Expires}) // the last event
		return endNoAccess, true
	}
	if sub.warn(out, now) != nil {
		return endClientGone, true
	}
	err := sub.watch.Over(ctx)
	switch {
	case err == nil && (sub.session.SessionID == "" || sub.FrontEnd()): // a session's token ends with it
		return endNoAccess, false
	case err == nil: // the session may have been closed or erased
		generation, err := h.authenticator.Keys.CachedGeneration(ctx, sub.session.AppID, sub.session.SessionID)
		return endNoAccess, err == nil && generation != sub.generation
	case answer.IsUnavailable(err):
		return endTooSlow, true
	}
	_ = out.notice(tokenExpired, tokenNotice{ExpiresAt: sub.Expires, Detail: answer.ProblemOf(auth.Unauthorized(err)).Detail})
	return endNoAccess, true
}

const (
	writeTimeout = 10 * time.Second // how long a client may take for one event
	retryAfter   = 2000             // after how many ms a browser reconnects
)

// eventWriter writes a stream of server-sent events.
type eventWriter struct {
	out        http.ResponseWriter
	controller *http.ResponseController
	text       bytes.Buffer
}

// kindOf returns the first two words of an event's subject.
func kindOf(event effect.Published) string {
	words := strings.SplitN(event.Subject, ".", 3)
	return strings.Join(words[:min(2, len(words))], ".")
}

// event writes one event: its sequence, the first two words of its subject, its payload.
func (w *eventWriter) event(event effect.Published) error {
	fmt.Fprintf(&w.text, "id: %d\nevent: %s\n", event.Sequence, kindOf(event))
	// Our payloads are one line; a payload of another publisher must not end the event. It is not copied: a
	// slow stream would keep the copy in memory.
	for rest, more := event.Data, true; more; {
		end := bytes.IndexAny(rest, "\r\n")
		line := rest
		if more = end >= 0; more {
			line, rest = rest[:end], bytes.TrimPrefix(rest[end:], []byte("\r"))
			rest = bytes.TrimPrefix(rest, []byte("\n"))
		}
		w.text.WriteString("data: ")
		if err := w.write(line); err != nil {
			return err
		}
		w.text.WriteByte('\n')
	}
	w.text.WriteByte('\n')
	return w.flush()
}

func (w *eventWriter) notice(name string, data tokenNotice) error {
	text, err := exactjson.Encode(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.text, "event: %s\ndata: %s\n\n", name, text)
	return w.flush()
}

func (w *eventWriter) keepAlive() error {
	w.text.WriteString(": alive\n\n")
	return w.flush()
}

// write sends the buffer and then text, without copying text.
func (w *eventWriter) write(text []byte) error {
	defer w.text.Reset()
	_ = w.controller.SetWriteDeadline(time.Now().Add(writeTimeout)) // recorders in tests support none
	if _, err := w.out.Write(w.text.Bytes()); err != nil {
		return err
	}
	_, err := w.out.Write(text)
	return err
}

func (w *eventWriter) flush() error {
	if err := w.write(nil); err != nil {
		return err
	}
	return w.controller.Flush()
}
