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
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
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
	Open   bool
	May    auth.Access
	Body   int64          // the longest body, in bytes; 0 if bodies are discarded
	Share  admission.Kind // the admission class of its requests
	Counts Counts         // its limits
	Bounds string         // further bounds in words, for protocols without requests
}

// Walls holds the limits of a replica, shared by all surfaces. It is safe for concurrent use.
type Walls struct {
	Memory *Memory
	Gates  *admission.Control
	floods floods
}

// New returns the limits of a replica.
func New(bounds admission.Bounds, registry *prometheus.Registry, now func() time.Time) *Walls {
	return &Walls{Memory: NewMemory(0), Gates: admission.NewControl(bounds, registry), floods: floods{now: now}}
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

// Table formats operations as a Markdown table. Operations of a surface with equal requirements share a row.
func Table(all []Needs) string {
	rows := map[string][]string{}
	for _, n := range all {
		size := "-"
		switch {
		case n.Body >= 1<<20:
			size = fmt.Sprintf("%d MiB", n.Body>>20)
		case n.Body > 0:
			size = fmt.Sprintf("%d KiB", n.Body>>10)
		}
		row := fmt.Sprintf("%s | %s | %s | %s | %s", n.who(), size, n.share(), cmp.Or(string(n.Counts), "-"), cmp.Or(n.Bounds, "-"))
		key := string(n.Surface) + " | " + row
		rows[key] = append(rows[key], "`"+n.Operation+"`")
	}
	lines := make([]string, 0, len(rows))
	for key, operations := range rows {
		surface, rest, _ := strings.Cut(key, " | ")
		slices.Sort(operations)
		lines = append(lines, "| "+surface+" | "+strings.Join(operations, ", ")+" | "+rest+" |\n")
	}
	slices.Sort(lines)
	return "| surface | ways in | who may come | longest body | whose share | counts to | and |\n| --- | --- | --- | --- | --- | --- | --- |\n" + strings.Join(lines, "")
}

func (n Needs) who() string {
	switch {
	case n.Open:
		return "anybody"
	case n.Surface == Console:
		return "who is signed in, as far as REST lets the key"
	case n.May.Anyone:
		return "any key or token"
	case len(n.May.Scopes) == 0:
		return "the operator"
	}
	scopes := make([]string, len(n.May.Scopes))
	for i, one := range n.May.Scopes {
		scopes[i] = "`" + string(one) + "`"
	}
	keys := "keys with " + strings.Join(scopes, " or ")
	if n.Surface == NATS {
		keys = "who may publish there; where keys are asked for, " + keys
	}
	if n.May.FrontEnd {
		return keys + ", tokens of the session"
	}
	return keys
}

func (n Needs) share() string {
	switch {
	case n.Share == admission.Grant:
		return "its address's, of 64 requests for tokens"
	case n.Open || n.Surface == Console:
		return "none"
	case n.Share == admission.Stream && n.Surface == MCP:
		return "a call: its app's, of messages and triggers; a subscription: its app's, of streams"
	case n.Share == admission.Stream:
		return "its app's, of streams"
	case n.Share == admission.Turn:
		return "its app's, of messages and triggers"
	case n.Share == admission.Relay:
		return "its app's, of relayed chats"
	case n.Share == admission.Rehearsal:
		return "its app's, of rehearsals"
	}
	return "its app's, of other requests"
}

const (
	refusals  = 20          // how many refused requests of a session's token an operation reads within floodTime
	floodTime = time.Second // how long refusals are counted, and the longest time without reading
)

// floods tracks session tokens that are refused for limits again and again, so that a flood is cheap: for the
// rest of a second, no body is read and Redis is not asked. Clients that respect Retry-After are never
// affected. Apps' keys are exempt, as they act for many sessions.
type floods struct {
	now func() time.Time

	mu    sync.Mutex
	ends  time.Time
	times map[flood]int // refusals of a token in the current second
}

// flood identifies the requests of a session to an operation.
type flood struct{ operation, app, session string }

// around wraps an operation that counts towards limits.
func (f *floods) around(n Needs, next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		who := auth.PrincipalOf(c)
		if !who.FrontEnd() {
			return next(c)
		}
		one := flood{n.Operation, who.AppID(), who.SessionID}
		f.mu.Lock()
		under := f.times[one] >= refusals && f.now().Before(f.ends)
		f.mu.Unlock()
		if under {
			return answer.NewProblem(answer.RateLimited, "this session keeps sending although its limits are reached: its requests are refused until the next second").With("Retry-After", answer.Soon)
		}
		err := next(c)
		if err != nil && answer.ProblemOf(err).Status == http.StatusTooManyRequests || c.Response().Status == http.StatusTooManyRequests {
			f.mu.Lock()
			defer f.mu.Unlock()
			if now := f.now(); !now.Before(f.ends) {
				f.ends, f.times = now.Add(floodTime), map[flood]int{}
			}
			f.times[one]++
		}
		return err
	}
}
