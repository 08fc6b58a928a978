package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/repositories/bodies"
	"earshot/repositories/exactjson"
	"earshot/repositories/fault"
	"earshot/repositories/panics"
	"earshot/repositories/secret"
	"earshot/trigger/effect"
)

const pathSocket = ofSession + "/socket"

const (
	// maxFrame is the longest body plus room for the other fields, in bytes.
	maxFrame = maxBody + 64<<10
	// atOnce is how many requests of a socket run at once; further ones wait.
	atOnce = 16
)

// sockets serves sessions over WebSockets: requests as over NATS, answers as over REST, and events as in an
// event stream.
type sockets struct {
	events
	bodies *bodies.Definitions
	memory *ratelimit.Memory
	rest   http.Handler
	logger *slog.Logger
}

func (h sockets) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathSocket, handle: h.serve, reads: true, query: []string{auth.TokenQuery, lastEventQuery}, kind: admission.Stream,
			bounds: "16 requests at once, each held to what it is over HTTP; frames of 1 MiB"},
	}
}

// socketRequests returns the requests of a socket by their NATS names. Where an app and a session share a
// name, it is the session's.
var socketRequests = sync.OnceValue(func() map[string]Request {
	all := map[string]Request{}
	for _, one := range Requests() {
		name := strings.Split(strings.TrimPrefix(one.Subject, requestSubjects), ".")[0]
		if _, has := all[name]; !has || strings.HasPrefix(one.Path, ofSession) {
			all[name] = one
		}
	}
	return all
})

func (h sockets) serve(c echo.Context) error {
	if origin, elsewhere := auth.Elsewhere(c); elsewhere {
		return auth.NoPage(origin)
	}
	outer := c.Request()
	if outer.Method != http.MethodGet || outer.Header.Get("Sec-WebSocket-Key") == "" {
		return answer.NewProblem(answer.UpgradeRequired, "this is a WebSocket: connect to ws://"+outer.Host+outer.URL.Path).
			With("Upgrade", "websocket").With("Connection", "Upgrade")
	}
	ctx, cancel := context.WithCancel(outer.Context())
	defer cancel()
	begun, err := h.open(ctx, c)
	if err != nil {
		return err
	}
	defer begun.leave()
	conn, err := websocket.Accept(c.Response(), outer, &websocket.AcceptOptions{InsecureSkipVerify: true}) // auth.Elsewhere has checked the origin
	if err != nil {
		return nil // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxFrame)
	s := &socket{
		sockets: h, conn: conn, ctx: ctx, cancel: cancel, outer: outer, credential: h.by.Credential(c), payer: ratelimit.PayerOf(c),
		ids: map[string]string{"appId": c.Param("appId"), "sessionId": c.Param("sessionId")}, slots: make(chan struct{}, atOnce),
	}
	if s.send(eventFrame{Event: "open", LastEventID: strconv.FormatUint(begun.after, 10)}) == nil {
		go s.read()
		end := h.pump(ctx, s, begun)
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if end == gone {
			s.cancel() // no client waits for the answers
		}
		s.working.Wait()
		if how, known := closes[end]; known {
			_ = s.conn.Close(how.Code, how.Reason)
		}
	}
	return nil
}

// socket is one connection. Its handler sends events, one goroutine reads, and each request runs in its
// own.
type socket struct {
	sockets
	conn       *websocket.Conn
	ctx        context.Context // ends with the connection
	cancel     context.CancelFunc
	outer      *http.Request // the opening request
	credential secret.Secret // of the opening request
	payer      ratelimit.Payer
	ids        map[string]string // of the path
	slots      chan struct{}     // one element per running request

	writing sync.Mutex
	mu      sync.Mutex
	closing bool           // no further requests are taken
	working sync.WaitGroup // running requests
}

// eventFrame is an event as sent to clients.
type eventFrame struct {
	Event       string          `json:"event"`
	LastEventID string          `json:"lastEventId,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
}

// requestFrame is a client's request. Its ids are those in the path that the socket does not fix.
type requestFrame struct {
	ID           string            `json:"id"`
	Request      string            `json:"request"`
	MessageID    string            `json:"messageId"`
	TriggerID    string            `json:"triggerId"`
	RepositoryID string            `json:"repositoryId"`
	ToolName     string            `json:"toolName"`
	Query        string            `json:"query"`
	Headers      map[string]string `json:"headers"`
	Body         json.RawMessage   `json:"body"`
}

// replyFrame is the REST answer to a request.
type replyFrame struct {
	ID      string            `json:"id,omitempty"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    json.RawMessage   `json:"body,omitempty"`
}

func (s *socket) send(frame any) error {
	text, err := exactjson.Encode(frame)
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, writeTime) // a slower client is disconnected
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

func (s *socket) event(event effect.Published) error {
	data := json.RawMessage(event.Data)
	if !json.Valid(data) { // other publishers may send anything
		data, _ = exactjson.Encode(string(event.Data)) // as a JSON string
	}
	return s.send(eventFrame{kindOf(event), strconv.FormatUint(event.Sequence, 10), data})
}

func (s *socket) notice(name string, end tokenEnd) error {
	data, err := exactjson.Encode(end)
	if err != nil {
		return err
	}
	return s.send(eventFrame{Event: name, Data: data})
}

// alive sends an event, as pages do not see pings.
func (s *socket) alive() error { return s.send(eventFrame{Event: "alive"}) }

// closes holds the close status and reason, at most 123 bytes.
var closes = map[ending]websocket.CloseError{
	behind:  {Code: websocket.StatusTryAgainLater, Reason: "events are taken too slowly, or cannot be read: connect again with lastEventId"},
	over:    {Code: websocket.StatusPolicyViolation, Reason: "the key, the token or the session has ended"},
	parting: {Code: websocket.StatusGoingAway, Reason: "this replica is stopping: connect again with lastEventId"},
}

// read takes requests until the connection ends.
func (s *socket) read() {
	defer s.cancel()
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		frame, held, err := s.frame()
		if err != nil {
			return
		}
		s.mu.Lock()
		if !s.closing {
			s.working.Go(func() {
				defer func() {
					held.Free()
					<-s.slots
				}()
				panics.Run(s.logger, "http", pathSocket, func() { s.answer(frame) })
			})
		}
		s.mu.Unlock()
	}
}

// frame waits for a frame and reads it. It closes the connection if the frame cannot be read.
func (s *socket) frame() (text []byte, held *ratelimit.Body, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	kind, reader, err := s.conn.Reader(ctx)
	if err != nil {
		return nil, nil, err
	}
	if kind != websocket.MessageText {
		_ = s.conn.Close(websocket.StatusUnsupportedData, "a frame is a text of JSON")
		return nil, nil, errors.ErrUnsupported
	}
	late := time.AfterFunc(server.BodyTime, cancel)
	defer late.Stop()
	held = s.memory.Hold(&http.Request{Body: io.NopCloser(reader)}, s.payer, maxFrame)
	if text, err = io.ReadAll(held); err != nil {
		held.Free()
		if found := (*answer.Problem)(nil); errors.As(err, &found) { // out of memory for bodies
			_ = s.conn.Close(websocket.StatusTryAgainLater, "too many long requests are under work on this replica: connect again")
		}
	}
	return text, held, err
}

// answer runs a request and sends its answer.
func (s *socket) answer(frame []byte) {
	var asked requestFrame
	request, err := s.request(frame, &asked)
	var got *answer.Recorder
	if err != nil {
		got = answer.Refused(answer.ProblemOf(err))
	} else {
		got = answer.Whole(s.rest, request)
	}
	reply := replyFrame{ID: asked.ID, Status: got.Status, Headers: map[string]string{}, Body: bytes.TrimSpace(got.Body.Bytes())}
	for _, name := range Replied {
		if value := got.Header().Get(name); value != "" {
			reply.Headers[name] = value
		}
	}
	if s.send(reply) != nil {
		s.cancel() // the client waits for each answer
	}
}

// request converts a frame into a REST request with the socket's credential.
func (s *socket) request(frame []byte, asked *requestFrame) (*http.Request, error) {
	read, err := s.bodies.Read("SocketRequest", frame)
	if err != nil {
		return nil, err
	}
	read.Into(asked)
	method, path := s.target(read, asked)
	for name := range asked.Headers {
		if !Carries(name) {
			read.Add(fault.Point("headers", name), "is not carried: %s and {name}_token are", strings.Join(carried, ", "))
		}
	}
	if err := read.Err(); err != nil {
		return nil, err
	}
	if string(asked.Body) == "null" {
		asked.Body = nil // as any optional field
	}
	ctx := trace.ContextWithSpanContext(s.ctx, trace.SpanContext{}) // each has its own trace
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.outer.Host+path, bytes.NewReader(asked.Body))
	if err != nil {
		return nil, answer.NewProblem(answer.InvalidPath, "the ids of the request cannot be read")
	}
	for name, value := range asked.Headers {
		request.Header.Set(name, value)
	}
	if !s.credential.Empty() {
		request.Header.Set("Authorization", "Bearer "+s.credential.Reveal())
	}
	request.URL.RawQuery = asked.Query
	request.RemoteAddr, request.TLS, request.RequestURI = s.outer.RemoteAddr, s.outer.TLS, request.URL.RequestURI()
	return request, nil
}

// target returns the method and path of a request. A missing or surplus id is a fault.
func (s *socket) target(read *bodies.Body, asked *requestFrame) (method, path string) {
	known, is := socketRequests()[asked.Request]
	if !is {
		return "", "" // already a fault of the schema
	}
	given := map[string]string{"messageId": asked.MessageID, "triggerId": asked.TriggerID, "repositoryId": asked.RepositoryID, "toolName": asked.ToolName}
	method, path = known.Target(func(name string) string {
		id := s.ids[name] + given[name]
		if id == "" {
			read.Miss(fault.Point(name), ": "+string(asked.Request)+" needs it")
		}
		delete(given, name)
		return id
	})
	for name, id := range given {
		if id != "" {
			read.Add(fault.Point(name), "does not go with %s, unless in its body", asked.Request)
		}
	}
	return method, path
}
