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
	pathAppEvents     = ofApp + "/events"
	pathSessionEvents = ofSession + "/events"
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
	apps    appReader
	engine  Triggers
	events  Events
	by      auth.Authenticator
	limit   *admission.StreamLimit
	closing <-chan struct{}
}

func (h events) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathAppEvents, handle: h.stream, query: []string{lastEventQuery}, kind: admission.Stream},
		{method: http.MethodGet, path: pathSessionEvents, handle: h.stream, query: []string{auth.TokenQuery, lastEventQuery}, kind: admission.Stream},
	}
}

func (h events) stream(c echo.Context) error {
	ctx, cancel := context.WithCancel(c.Request().Context())
	defer cancel()
	begun, err := h.open(ctx, c)
	if err != nil {
		return err
	}
	defer begun.leave()
	out := &eventWriter{out: c.Response(), with: http.NewResponseController(c.Response())}
	out.out.Header().Set("Content-Type", "text/event-stream")
	out.out.Header().Set("X-Accel-Buffering", "no") // nginx would buffer events
	out.out.WriteHeader(http.StatusOK)
	// The id precedes any event: otherwise a client without an event would miss those during its reconnect.
	fmt.Fprintf(&out.text, "retry: %d\nid: %d\n\n", retryAfter, begun.after)
	if err := out.flush(); err != nil || c.Request().Method == http.MethodHead {
		return nil
	}
	h.pump(ctx, out, begun)
	return nil
}

// stream is an opened event stream.
type stream struct {
	after     uint64 // the sequence after which it starts
	published <-chan effect.Published
	by        *openedWith
	leave     func() // releases its slot
}

// open takes a slot for a stream, and determines where it starts.
func (h events) open(ctx context.Context, c echo.Context) (begun stream, err error) {
	if _, err := h.apps.App(ctx, c.Param("appId")); err != nil {
		return begun, err
	}
	by := &openedWith{Principal: auth.PrincipalOf(c), session: scopeOf(c)}
	if begun.leave, err = h.limit.Enter(by.session); err != nil {
		return begun, err
	}
	defer func() {
		if err != nil {
			begun.leave()
		}
	}()
	by.watch = auth.NewWatch(h.by.Now, func(ctx context.Context) error { return h.by.StillGood(ctx, by.Principal) })
	by.outlives = by.session.SessionID != "" && !by.FrontEnd()
	if by.session.SessionID != "" {
		if by.life, err = h.by.Keys.LifeOf(ctx, by.session.AppID, by.session.SessionID); err != nil {
			return begun, err
		}
	}
	if by.since, err = h.by.Keys.LifeSince(ctx, by.session.AppID, by.Principal.SessionID); err != nil {
		return begun, err
	}
	begun.by = by
	if begun.after, err = h.start(ctx, c); err != nil {
		return begun, err
	}
	if begun.published, err = h.events.Follow(ctx, by.session.AppID, by.session.SessionID, begun.after); err != nil {
		err = unreadable(err)
	}
	return begun, err
}

// The last event that a client has seen: a reconnecting browser sends the header; a page with a new token
// uses the query, as it can set no header. The header is newer than the query.
const (
	lastEventHeader = "Last-Event-ID"
	lastEventQuery  = "lastEventId"
)

func (h events) start(ctx context.Context, c echo.Context) (uint64, error) {
	if h.events == nil {
		return 0, readsNoEvents()
	}
	from, wrong, last := lastEventHeader, answer.InvalidHeader, c.Request().Header.Get(lastEventHeader)
	if last == "" {
		from, wrong, last = lastEventQuery, answer.InvalidQuery, c.QueryParam(lastEventQuery)
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
		return 0, answer.NewProblem(wrong, from+" "+answer.Quote(last)+" is none of this stream's: send the id of its last event, unchanged")
	}
	return after, nil
}

// readsNoEvents returns the problem of a service without Options.Events.
func readsNoEvents() error {
	return answer.NewProblem(answer.EventsUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
}

func unreadable(cause error) error {
	return answer.NewProblem(answer.EventsUnavailable, "the events cannot be read now; connect again, with Last-Event-ID where there is one").
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
	notice(name string, data tokenEnd) error
	alive() error
}

// ending is the reason why a stream ends.
type ending int

const (
	gone    ending = iota // the client disconnected
	behind                // the reader is too slow, or the events cannot be read: the client may resume
	over                  // the key, token or session ended
	parting               // this process stops
)

// pump writes events until the stream ends, and returns the reason.
func (h events) pump(ctx context.Context, out eventSink, of stream) ending {
	by := of.by
	beats, checks := time.NewTicker(heartbeat), time.NewTicker(auth.Recheck)
	defer beats.Stop()
	defer checks.Stop()
	if by.warn(out, h.by.Now()) != nil {
		return gone
	}
	for {
		select {
		case event, open := <-of.published:
			if !open {
				return behind
			}
			if end, ends := h.ended(ctx, out, by); ends { // the event may be of the session's next life
				return end
			}
			shows, err := h.sees(ctx, by, event)
			if err != nil {
				return behind
			}
			if shows && out.event(event) != nil {
				return gone
			}
		case <-beats.C:
			if out.alive() != nil {
				return gone
			}
		case <-checks.C:
			if end, ends := h.ended(ctx, out, by); ends {
				return end
			}
		case <-h.closing:
			return parting
		case <-ctx.Done():
			return gone
		}
	}
}

// openedWith is the key or token of a stream.
type openedWith struct {
	auth.Principal
	watch  *auth.Watch
	warned bool // whether the expiry notice was sent
	// outlives reports that the key does not end with the session of the stream, as a session token would.
	outlives bool
	session  repositories.Scope
	life     store.Generation // of the session when the stream was opened
	since    time.Time        // when the life of a token's session began, or of the app
}

// sees reports whether a stream shows an event. It hides what an earlier app of that id has left. Tokens of front-ends
// may read neither repositories nor what an earlier life of their session leaves: its triggers may still end in this one.
func (h events) sees(ctx context.Context, by *openedWith, event effect.Published) (bool, error) {
	switch {
	case event.Time.Before(by.since):
		return false, nil
	case !by.FrontEnd():
		return true, nil
	case strings.HasPrefix(event.Subject, "tool.changed."):
		return false, nil
	case by.life.Session == "": // it was never closed
		return true, nil
	}
	id := triggerOf(event)
	if id == "" {
		return true, nil
	}
	return h.engine.FiredIn(ctx, by.session.AppID, by.session.SessionID, id)
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

type tokenEnd struct {
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	Detail    string    `json:"detail,omitempty"` // why it ended early
}

// warn sends the expiry notice once, when it is due.
func (o *openedWith) warn(out eventSink, now time.Time) error {
	if o.warned || o.Expires.IsZero() || now.Before(o.Expires.Add(-tokenWarning)) {
		return nil
	}
	o.warned = true
	return out.notice(tokenExpiring, tokenEnd{ExpiresAt: o.Expires})
}

// ended reports whether a stream has to end because its key, token or session has ended. It sends the
// notices before and at the end.
func (h events) ended(ctx context.Context, out eventSink, by *openedWith) (end ending, ends bool) {
	now := h.by.Now()
	if !by.Expires.IsZero() && !now.Before(by.Expires) {
		_ = out.notice(tokenExpired, tokenEnd{ExpiresAt: by.Expires}) // the last event
		return over, true
	}
	if by.warn(out, now) != nil {
		return gone, true
	}
	err := by.watch.Over(ctx)
	switch {
	case err == nil && !by.outlives:
		return over, false
	case err == nil: // the session may have been closed or erased
		life, err := h.by.Keys.LifeOf(ctx, by.session.AppID, by.session.SessionID)
		return over, err == nil && life != by.life
	case answer.IsUnavailable(err):
		return behind, true
	}
	_ = out.notice(tokenExpired, tokenEnd{ExpiresAt: by.Expires, Detail: answer.ProblemOf(auth.Unauthorized(err)).Detail})
	return over, true
}

const (
	writeTime  = 10 * time.Second // how long a client may take for one event
	retryAfter = 2000             // after how many ms a browser reconnects
)

// eventWriter writes a stream of server-sent events.
type eventWriter struct {
	out  http.ResponseWriter
	with *http.ResponseController
	text bytes.Buffer
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

func (w *eventWriter) notice(name string, data tokenEnd) error {
	text, err := exactjson.Encode(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(&w.text, "event: %s\ndata: %s\n\n", name, text)
	return w.flush()
}

func (w *eventWriter) alive() error {
	w.text.WriteString(": alive\n\n")
	return w.flush()
}

// write sends the buffer and then text, without copying text.
func (w *eventWriter) write(text []byte) error {
	defer w.text.Reset()
	_ = w.with.SetWriteDeadline(time.Now().Add(writeTime)) // recorders in tests support none
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
	return w.with.Flush()
}
