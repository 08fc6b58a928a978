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
	sessionHeader = "X-Earshot-Session" // names the session if the path does not
	keyHeader     = "Idempotency-Key"   // the client's own id of the message
	maxText       = 64 << 10            // the longest text that is matched, in bytes, as in REST
	// headStart delays matching after the answer begins, so that a fast answer neither shares the CPU with
	// it nor waits for another goroutine.
	headStart = 2 * time.Millisecond
)

// chatRequest is a request whose message is matched.
type chatRequest struct {
	form                form
	app, session, trace string // the session of the path, else of the token or the header
	header              http.Header
	body                []byte
	*chat               // nil until parsed, or if it cannot be parsed
	// visitor reports a session token, which may not speak for the assistant.
	visitor bool

	named     chan struct{} // closed when the next two fields are final
	messageID string        // empty if nothing is matched
	text      string
	stored    []item // of the previous response
	fetched   bool   // stored was requested

	post  func() // posts the message, once
	timer *time.Timer
}

// newRequest returns a request; it fails if the token may not name the session.
func (h *Handler) newRequest(c echo.Context, f form, body []byte) (*chatRequest, error) {
	who, request := auth.PrincipalOf(c), c.Request()
	r := &chatRequest{
		form: f, app: c.Param("appId"), session: c.Param("sessionId"), trace: h.Trace(request.Context()),
		header: request.Header, body: body, visitor: !who.MaySay(matcher.ActorAgent), named: make(chan struct{}),
	}
	other := idOf(request.Header.Get(sessionHeader))
	if who.FrontEnd() && r.session == "" { // a path is checked already
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

// read parses the body. The model refuses an invalid one.
func (r *chatRequest) read() {
	if r.chat == nil {
		r.chat, _ = readChat(r.form, r.body)
	}
}

// watch returns a request whose messages are posted while the model answers: the assistant's before the
// user's last one, then the user's.
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

// identify determines once the session and the message id. The id stays empty if there is nothing to match:
// no session, no text, or a client that continues after a message with its own key.
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

// begin posts the message once the answer has begun or failed. Repeated calls do nothing.
func (r *chatRequest) begin() {
	if r == nil || r.post == nil {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	r.post()
}

// pauses precede the retries of a message that the store did not accept. A later reaction would be wrong.
var pauses = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// post posts a message. Its effects appear as events and in the history.
func (h *Handler) post(ctx context.Context, r *chatRequest, m trigger.Message) {
	m.AppID, m.SessionID, m.TraceParent = r.app, r.session, r.trace
	try := func() (err error) {
		if m.Actor == matcher.ActorUser {
			m.Claims, m.Auth, err = h.Users(ctx, r.app, r.header)
		}
		if err == nil {
			_, err = h.Engine.PostAsync(ctx, m)
		}
		return err
	}
	err := try()
	for i := 0; i < len(pauses) && answer.IsUnavailable(err) && ctx.Err() == nil; i++ {
		select {
		case <-ctx.Done():
		case <-time.After(pauses[i]):
			err = try()
		}
	}
	if errors.Is(err, trigger.ErrReused) && m.Actor == matcher.ActorAgent {
		err = nil // it was stored before an interruption
	}
	h.metrics.messages.WithLabelValues(outcomeOf(err)).Inc()
	if err != nil {
		h.Logger.WarnContext(ctx, "listen.failed", "app", r.app, "session", r.session, "message", m.ID, "error", err.Error())
	}
}

func outcomeOf(err error) string {
	var limit *ledger.RateError
	switch {
	case err == nil:
		return "kept"
	case errors.As(err, &limit):
		return "limited"
	default:
		return "failed"
	}
}
