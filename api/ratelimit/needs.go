// Package ratelimit is what everything passes that comes in from outside, whatever protocol it speaks.
//
// Each surface (REST, MCP, chats, SERMAS, the console, MQTT, NATS) lists its ways in as Needs: who may
// come, how long a body may be, whose share it takes, which limits it counts to. Around builds the walls
// out of that, so that a way in that lists nothing lets nobody in. The lists of all surfaces are walked
// by a test, which tries every wall at every way in, and deploy/SECURITY.md is made of them.
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

// Surface is a protocol that clients speak.
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

// Counts are the limits of an app, and of its session, to which a way in counts.
type Counts string

// The limits, as the fields of settings.limits and settings.openai.limits begin.
const (
	Nothing  Counts = ""
	Messages Counts = "messages, drafts, bytes"
	Triggers Counts = "triggers, bytes"
	Models   Counts = "requests to the model, messages, bytes"
)

// Needs are what one way in asks of the walls.
type Needs struct {
	Surface   Surface
	Operation string // as "POST /v1/apps/:appId/triggers", or what a protocol calls it
	// Open lets strangers in. Others may come as May says.
	Open bool
	May  auth.Access
	// Body is the longest body that is read, in bytes; 0 where what is sent is thrown away.
	Body int64
	// Share is whose share of the replica a request takes while it is under work.
	Share admission.Kind
	// Counts are the limits that it counts to.
	Counts Counts
	// Bounds are what else is held here, in words, for protocols that have no requests.
	Bounds string
}

// Walls are those of one replica, which all surfaces share. They are safe for concurrent use.
type Walls struct {
	Memory *Memory
	Gates  *admission.Control
	floods floods
}

// New makes the walls of a replica. A nil now is time.Now.
func New(bounds admission.Bounds, registry *prometheus.Registry, now func() time.Time) *Walls {
	w := &Walls{Memory: NewMemory(0), Gates: admission.NewControl(bounds, registry), floods: floods{now: now}}
	if now == nil {
		w.floods.now = time.Now
	}
	return w
}

// Around is what stands before a handler once it is known who asks: a flood is refused unread, the body
// is booked as it comes in, and the request takes its share. A stranger's body is read whole before that,
// so that half a body holds no place.
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
				sent, err := io.ReadAll(body)
				if err != nil {
					return answer.Unread(err)
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

// PayerOf is who pays for the body of a request.
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

// Bounded bounds a body that is read, in bytes. One that announces more is refused at once: net/http
// would wait for the rest of a short one, were the connection kept.
func Bounded(w http.ResponseWriter, request *http.Request, most int64) error {
	if request.ContentLength > most {
		w.Header().Set("Connection", "close")
		return &http.MaxBytesError{Limit: most}
	}
	request.Body = http.MaxBytesReader(w, request.Body, most)
	return nil
}
