// Package ratelimit holds the limits for everything that comes from outside, over any protocol.
//
// Each surface (REST, MCP, chats, SERMAS, the console, MQTT, NATS) lists its operations as Needs: who may call,
// the longest body, the admission share, and the limits. Around enforces these, so that an operation without an
// entry admits no caller. A test tries every limit on every operation of all surfaces, and deploy/SECURITY.md
// is generated from them.
package ratelimit

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
)

// Surface is a protocol of clients.
type Surface string

// The surfaces.
const (
	REST    Surface = "REST"
	MCP     Surface = "MCP"
	Chats   Surface = "chats"
	SERMAS  Surface = "SERMAS"
	Console Surface = "console"
	MQTT    Surface = "MQTT"
	NATS    Surface = "NATS"
)

// Counts are the limits of an app and its session that an operation counts towards.
type Counts string

// The limits, as the fields of settings.limits and settings.openai.limits begin.
const (
	Nothing  Counts = ""
	Messages Counts = "messages, drafts, bytes"
	Triggers Counts = "triggers, bytes"
	Models   Counts = "requests to the model, messages, bytes"
)

// Needs are the requirements of an operation.
type Needs struct {
	Surface   Surface
	Operation string // such as "POST /v1/apps/:appId/triggers", or a protocol's own name
	// Open admits strangers; otherwise May applies.
	Open bool
	May  auth.Access
	// Body is the longest body, in bytes; 0 if bodies are discarded.
	Body int64
	// Share is the admission class of its requests.
	Share admission.Kind
	// Counts are its limits.
	Counts Counts
	// Bounds are further bounds in words, for protocols without requests.
	Bounds string
}

// Walls holds the limits of a replica, shared by all surfaces. It is safe for concurrent use.
type Walls struct {
	Memory *Memory
	Gates  *admission.Control
	floods floods
}

// New returns the limits of a replica. A nil now means time.Now.
func New(bounds admission.Bounds, registry *prometheus.Registry, now func() time.Time) *Walls {
	w := &Walls{Memory: NewMemory(0), Gates: admission.NewControl(bounds, registry), floods: floods{now: now}}
	if now == nil {
		w.floods.now = time.Now
	}
	return w
}

// Around wraps a handler after authentication. It refuses a flood unread, reserves memory for the body, and
// takes an admission slot. A stranger's body is read completely first, so that a partial body holds no slot.
func (w *Walls) Around(n Needs) echo.MiddlewareFunc {
	admitted := func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	if n.Share != admission.Stream && (!n.Open || n.Share == admission.Grant) {
		admitted = w.Gates.Admitted(n.Share)
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		next = admitted(next)
		read := func(c echo.Context) error {
			request := c.Request()
			if request.ContentLength == 0 {
				return next(c)
			}
			body := w.Memory.Hold(request, PayerOf(c), n.Body)
			defer body.Free()
			if n.Open && n.Body > 0 {
				sent, err := answer.ReadBody(body)
				if err != nil {
					return err
				}
				request.Body = io.NopCloser(bytes.NewReader(sent))
			}
			return next(c)
		}
		if n.Counts == Nothing {
			return read
		}
		return w.floods.around(n, read)
	}
}

// PayerOf returns the payer of a request's body.
func PayerOf(c echo.Context) Payer {
	who := auth.PrincipalOf(c)
	payer := Payer{App: cmp.Or(c.Param("appId"), who.AppID())}
	switch {
	case who.FrontEnd():
		payer.Caller = payer.App + "/" + who.SessionID
	case !who.Admin && who.AppID() == "":
		return Stranger(c.Request())
	}
	return payer
}

// Bounded limits a body, in bytes. A longer Content-Length is refused at once, and closes the connection:
// otherwise net/http would wait for the rest of a short body.
func Bounded(w http.ResponseWriter, request *http.Request, most int64) error {
	if request.ContentLength > most {
		w.Header().Set("Connection", "close")
		return &http.MaxBytesError{Limit: most}
	}
	request.Body = http.MaxBytesReader(w, request.Body, most)
	return nil
}
