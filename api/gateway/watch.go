package gateway

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/matcher"
	"earshot/trigger"
	"earshot/trigger/ledger"
)

const (
	// sessionHeader names the session if the path does not.
	sessionHeader = "X-Earshot-Session"
	// keyHeader is the client's own name for the message.
	keyHeader = "Idempotency-Key"
	// maxText is the longest text that is matched, in bytes, as over REST.
	maxText = 64 << 10
	// headStart is the time of an answer before the matching of the message begins. One that comes at
	// once need not share the processor with it, nor wait until another goroutine is awake.
	headStart = 2 * time.Millisecond
)

// chatRequest is a request for an answer whose message is matched.
type chatRequest struct {
	form                form
	app, session, trace string // the session as the path, the token or the header names it
	header              http.Header
	body                []byte
	*chat               // nil until it is read, or if it cannot be
	// visitor says that a session's token has sent it, which may not speak for the assistant.
	visitor bool

	named     chan struct{} // closed when the following are final
	messageID string        // empty if nothing is matched
	text      string
	stored    []item // of the response that it goes on from
	looked    bool   // for these

	post  func() // posts the message, once
	timer *time.Timer
}

// newRequest returns a request, unless its token may not name the session.
func (h *Handler) newRequest(c echo.Context, f form, body []byte) (*chatRequest, error) {
	who, request := auth.PrincipalOf(c), c.Request()
	r := &chatRequest{
		form: f, app: c.Param("appId"), session: c.Param("sessionId"), trace: h.Trace(request.Context()),
		header: request.Header, body: body, visitor: !who.MaySay(matcher.ActorAgent), named: make(chan struct{}),
	}
	other := idOf(request.Header.Get(sessionHeader))
	if who.FrontEnd() {
		r.session = who.SessionID
		r.read()
		inBody := ""
		if r.chat != nil {
			inBody = r.field("metadata", "session_id")
		}
		if other != "" && other != r.session || inBody != "" && inBody != r.session {
			return nil, auth.Forbidden()
		}
	}
	r.session = cmp.Or(r.session, other)
	return r, nil
}

// read reads the body. The model refuses one that cannot be read.
func (r *chatRequest) read() {
	if r.chat == nil {
		r.chat, _ = readChat(r.form, r.body)
	}
}

// watch returns a request whose message is posted while the model answers: the user's, and before
// it the assistant's that it answers.
func (h *Handler) watch(c echo.Context, f form, body []byte) (*chatRequest, error) {
	r, err := h.newRequest(c, f, body)
	if err != nil {
		return nil, err
	}
	select {
	case h.posting <- struct{}{}:
	default:
		close(r.named)
		h.metrics.messages.WithLabelValues("dropped").Inc()
		return r, nil
	}
	r.post = sync.OnceFunc(func() {
		h.Engine.Background(func(ctx context.Context) {
			defer func() { <-h.posting }()
			r.identify()
			if r.messageID == "" {
				return
			}
			if before := h.before(ctx, r); before != "" {
				h.post(ctx, r, trigger.Message{ID: r.messageID + "-before", Actor: matcher.ActorAgent, Text: before})
			}
			h.post(ctx, r, trigger.Message{ID: r.messageID, Actor: matcher.ActorUser, Text: r.text, Relayed: true})
		})
	})
	if len(body) > smallBody {
		r.post()
		return r, nil
	}
	r.identify()
	r.timer = time.AfterFunc(headStart, r.post)
	return r, nil
}

// identify finds out, once, the session and the id of the message. It has none if there is nothing
// to match: no session, no words, or a client that goes on with a message which it has named by a
// key of its own.
func (r *chatRequest) identify() {
	select {
	case <-r.named:
		return
	default:
		defer close(r.named)
	}
	r.read()
	if r.chat == nil || r.last < 0 {
		return
	}
	r.session = cmp.Or(r.session, r.chat.session())
	text, key := r.lastText(), r.header.Get(keyHeader)
	if r.session == "" || !matchable(text) || key != "" && r.goesOn() {
		return
	}
	if key != "" && !plainKey.MatchString(key) {
		key = idOf(key)
	}
	r.messageID, r.text = cmp.Or(key, r.id(r.session)), text
}

var plainKey = regexp.MustCompile(`^[!-~]{1,120}$`)

func matchable(text string) bool { return len(text) <= maxText && strings.TrimSpace(text) != "" }

// awaitID is the id of the user's last message; empty if nothing is matched. It waits for the body
// to be read, which takes microseconds, or of megabytes less time than to send them.
func (r *chatRequest) awaitID() string {
	if r == nil {
		return ""
	}
	<-r.named
	return r.messageID
}

// begin posts the message: the answer has begun, or never will. It may be called more than once.
func (r *chatRequest) begin() {
	if r == nil || r.post == nil {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.post()
}

// pauses are those before a message is posted again that the store did not take. A reaction later
// than that would be a wrong one.
var pauses = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// post posts a message. Its effects come as events and stand in the history.
func (h *Handler) post(ctx context.Context, r *chatRequest, m trigger.Message) {
	m.AppID, m.SessionID, m.TraceParent = r.app, r.session, r.trace
	var err error
	if m.Actor == matcher.ActorUser {
		m.Claims, m.Auth, err = h.Users(ctx, r.app, r.header)
	}
	if err == nil {
		_, err = h.Engine.PostAsync(ctx, m)
	}
	for i := 0; i < len(pauses) && answer.IsUnavailable(err) && ctx.Err() == nil; i++ {
		select {
		case <-ctx.Done():
		case <-time.After(pauses[i]):
			_, err = h.Engine.PostAsync(ctx, m)
		}
	}
	if errors.Is(err, trigger.ErrReused) && m.Actor == matcher.ActorAgent {
		err = nil // it was stored as it was before it was interrupted
	}
	h.metrics.messages.WithLabelValues(outcomeOf(err)).Inc()
	if err != nil {
		h.Logger.WarnContext(ctx, "listen.failed", "app", r.app, "session", r.session, "message", m.ID, "error", err.Error())
	}
}

func outcomeOf(err error) string {
	limit := (*ledger.RateError)(nil)
	switch {
	case err == nil:
		return "kept"
	case errors.As(err, &limit):
		return "limited"
	default:
		return "failed"
	}
}
