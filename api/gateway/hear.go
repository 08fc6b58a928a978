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
	// sessionHeader names the session where the path does not.
	sessionHeader = "X-Earshot-Session"
	// keyHeader is the client's own name for the message.
	keyHeader = "Idempotency-Key"
	// maxText is the longest text that is matched, in bytes, as over REST.
	maxText = 64 << 10
)

// hearing is a request that is listened to.
type hearing struct {
	app, session, trace string // the session as the path, the token or the header names it
	header              http.Header
	body                []byte
	*chat               // nil until it is read, and where it cannot be
	// visitor says that a session's token has sent it, whose word is no assistant's.
	visitor bool

	named        chan struct{} // closed when what follows is final
	messageID    string        // empty where nothing is matched
	said, before string        // the message, and what of the assistant it answers to

	start func() // has it posted, once
	timer *time.Timer
}

// heard is a request as it is listened to, unless its token may not name the session.
func (h *Handler) heard(c echo.Context, body []byte) (*hearing, error) {
	who, request := auth.PrincipalOf(c), c.Request()
	of := &hearing{
		app: c.Param("appId"), session: c.Param("sessionId"), trace: h.Trace(request.Context()),
		header: request.Header, body: body, visitor: !who.MaySay(matcher.ActorAgent), named: make(chan struct{}),
	}
	other := idOf(request.Header.Get(sessionHeader))
	if who.FrontEnd() {
		of.session = who.SessionID
		of.read()
		if of.namesOther(other) {
			return nil, auth.Forbidden()
		}
	}
	of.session = cmp.Or(of.session, other)
	return of, nil
}

// hear begins to listen to a request.
func (h *Handler) hear(c echo.Context, body []byte) (*hearing, error) {
	of, err := h.heard(c, body)
	if err != nil {
		return nil, err
	}
	select {
	case h.beside <- struct{}{}:
	default:
		close(of.named)
		h.metrics.messages.WithLabelValues(dropped).Inc()
		return of, nil
	}
	of.start = sync.OnceFunc(func() {
		h.Engine.Background(func(ctx context.Context) {
			defer func() { <-h.beside }()
			h.listen(ctx, of)
		})
	})
	if len(body) > smallBody {
		of.start()
		return of, nil
	}
	of.name()
	of.timer = time.AfterFunc(headStart, of.start)
	return of, nil
}

// headStart is what an answer has before what was said is matched. One that comes at once need
// not share the processor with it, nor wait until another goroutine is awake.
const headStart = 2 * time.Millisecond

// message is the id of what the user has said last; empty where nothing is matched. It waits for
// the body to be read, which takes microseconds, or of megabytes less time than to send them.
func (of *hearing) message() string {
	if of == nil {
		return ""
	}
	<-of.named
	return of.messageID
}

// begins says that the answer has begun, or never will; more often than once does no harm.
func (of *hearing) begins() {
	if of == nil || of.start == nil {
		return
	}
	if of.timer != nil {
		of.timer.Stop()
	}
	of.start()
}

// read reads the body. One that cannot be read is for the model to refuse.
func (of *hearing) read() {
	if of.chat == nil {
		of.chat, _ = readChat(of.body)
	}
}

// namesOther reports whether a request names another session than its token: in its header, or
// in its metadata.
func (of *hearing) namesOther(inHeader string) bool {
	inBody := ""
	if of.chat != nil {
		inBody = of.names("metadata", "session_id")
	}
	return inHeader != "" && inHeader != of.session || inBody != "" && inBody != of.session
}

// listen posts what the user has said last, and before it what that answers to.
func (h *Handler) listen(ctx context.Context, of *hearing) {
	of.name()
	if of.messageID == "" {
		return
	}
	if of.before != "" {
		h.post(ctx, of, trigger.Message{ID: of.messageID + "-before", Actor: matcher.ActorAgent, Text: of.before})
	}
	h.post(ctx, of, trigger.Message{ID: of.messageID, Actor: matcher.ActorUser, Text: of.said, Relayed: true})
}

// name finds out, once, the session and the id of the message. It has none where there is
// nothing to match: no session, no words, or a client that goes on with a message which it has
// named by a key of its own.
func (of *hearing) name() {
	select {
	case <-of.named:
		return
	default:
		defer close(of.named)
	}
	of.read()
	if of.chat == nil || of.last < 0 {
		return
	}
	of.session = cmp.Or(of.session, of.chat.session())
	text, key := of.says(of.last), of.header.Get(keyHeader)
	if of.session == "" || !matchable(text) || key != "" && of.goesOn() {
		return
	}
	of.messageID, of.said = cmp.Or(messageIDOf(key), of.id(of.session)), text
	if before := of.answered(); !of.visitor && matchable(before) {
		of.before = before
	}
}

func matchable(text string) bool { return len(text) <= maxText && strings.TrimSpace(text) != "" }

var visible = regexp.MustCompile(`^[!-~]{1,120}$`)

// messageIDOf is a client's key as the id of a message.
func messageIDOf(key string) string {
	if key == "" || visible.MatchString(key) {
		return key
	}
	return idOf(key)
}

// pauses are those before a message is posted again that the store did not take. Later than
// after them all, a reaction would be a wrong one.
var pauses = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}

// post posts a message. What comes of it comes as events and stands in the history.
func (h *Handler) post(ctx context.Context, of *hearing, m trigger.Message) {
	m.AppID, m.SessionID, m.TraceParent = of.app, of.session, of.trace
	var err error
	if m.Actor == matcher.ActorUser {
		m.Claims, m.Auth, err = h.Users(ctx, of.app, of.header)
	}
	if err == nil {
		_, err = h.Engine.PostAsync(ctx, m)
	}
	for i := 0; i < len(pauses) && answer.IsUnavailable(err) && pause(ctx, pauses[i]); i++ {
		_, err = h.Engine.PostAsync(ctx, m)
	}
	if errors.Is(err, trigger.ErrReused) && m.Actor == matcher.ActorAgent {
		err = nil // it was stored as it was before it was interrupted
	}
	h.metrics.messages.WithLabelValues(outcomeOf(err)).Inc()
	if err != nil {
		h.Logger.WarnContext(ctx, "listen.failed", "app", of.app, "session", of.session, "message", m.ID, "error", err.Error())
	}
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// outcomeOf is what became of a message, as it is counted.
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
