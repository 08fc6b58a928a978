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
	// maxFrame is the longest body with room for what stands beside it, in bytes.
	maxFrame = maxBody + 64<<10
	// atOnce is how many requests of a socket are under work. Further ones are read when one of these is answered.
	atOnce = 16
)

// sockets serves sessions over WebSockets: each takes requests as NATS does, answers them as REST does, and tells the
// events of its session as an event stream does.
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

// socketRequests are what is asked over a socket, by the names that they have over NATS. Of an app and a session that
// have the same request it is the session's.
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
	conn, err := websocket.Accept(c.Response(), outer, &websocket.AcceptOptions{InsecureSkipVerify: true}) // the origin is known by now
	if err != nil {
		return nil // it has been answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxFrame)
	s := &socket{
		sockets: h, conn: conn, ctx: ctx, cancel: cancel, outer: outer, credential: h.by.Credential(c), payer: ratelimit.PayerOf(c),
		ids: map[string]string{"appId": c.Param("appId"), "sessionId": c.Param("sessionId")}, slots: make(chan struct{}, atOnce),
	}
	if s.send(toldFrame{Event: "open", LastEventID: strconv.FormatUint(begun.after, 10)}) == nil {
		go s.read()
		s.close(h.pump(ctx, s, begun))
	}
	return nil
}

// socket is one connection. Its handler sends the events, one goroutine reads, and each request has its own.
type socket struct {
	sockets
	conn       *websocket.Conn
	ctx        context.Context // ends with the connection
	cancel     context.CancelFunc
	outer      *http.Request // that has opened it
	credential secret.Secret // that came with it
	payer      ratelimit.Payer
	ids        map[string]string // of its path
	slots      chan struct{}     // has one of each request that is under work

	writing sync.Mutex
	mu      sync.Mutex
	closing bool           // no more requests are taken
	working sync.WaitGroup // its requests
}

// toldFrame is an event as clients get it.
type toldFrame struct {
	Event       string          `json:"event"`
	LastEventID string          `json:"lastEventId,omitempty"`
	Data        json.RawMessage `json:"data,omitempty"`
}

// askedFrame is a request of a client. The ids are those in its path that the socket's has not.
type askedFrame struct {
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

// answeredFrame is the answer to a request, of REST.
type answeredFrame struct {
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
	ctx, cancel := context.WithTimeout(s.ctx, writeTime) // a client that takes less is cut off
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

func (s *socket) event(event effect.Published) error {
	data := json.RawMessage(event.Data)
	if !json.Valid(data) { // others publish as well
		data, _ = exactjson.Encode(string(event.Data)) // a text
	}
	return s.send(toldFrame{kindOf(event), strconv.FormatUint(event.Sequence, 10), data})
}

func (s *socket) notice(name string, end tokenEnd) error {
	data, err := exactjson.Encode(end)
	if err != nil {
		return err
	}
	return s.send(toldFrame{Event: name, Data: data})
}

// alive is seen by pages as well, which are not told of pings.
func (s *socket) alive() error { return s.send(toldFrame{Event: "alive"}) }

// closes are the status and the reason, at most 123 bytes, with which a socket is closed.
var closes = map[ending]websocket.CloseError{
	behind:  {Code: websocket.StatusTryAgainLater, Reason: "events are taken too slowly, or cannot be read: connect again with lastEventId"},
	over:    {Code: websocket.StatusPolicyViolation, Reason: "the key, the token or the session has ended"},
	parting: {Code: websocket.StatusGoingAway, Reason: "this replica is stopping: connect again with lastEventId"},
}

// close takes no more requests, and closes the connection when those that it has are answered.
func (s *socket) close(end ending) {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	if end == gone {
		s.cancel() // nobody waits for the answers
	}
	s.working.Wait()
	if how, told := closes[end]; told {
		_ = s.conn.Close(how.Code, how.Reason)
	}
}

// read takes requests until the connection is over.
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

// frame waits for a frame, and reads it. It closes a connection over which no frame comes that can be read.
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
		if found := (*answer.Problem)(nil); errors.As(err, &found) { // there is no room
			_ = s.conn.Close(websocket.StatusTryAgainLater, "too many long requests are under work on this replica: connect again")
		}
	}
	return text, held, err
}

// answer carries a request out, and answers it.
func (s *socket) answer(frame []byte) {
	var asked askedFrame
	request, err := s.request(frame, &asked)
	var got *answer.Recorder
	if err != nil {
		got = answer.Refused(answer.ProblemOf(err))
	} else {
		got = answer.Whole(s.rest, request)
	}
	reply := answeredFrame{ID: asked.ID, Status: got.Status, Headers: map[string]string{}, Body: bytes.TrimSpace(got.Body.Bytes())}
	for _, name := range Replied {
		if value := got.Header().Get(name); value != "" {
			reply.Headers[name] = value
		}
	}
	if s.send(reply) != nil {
		s.cancel() // a client waits for each answer
	}
}

// request makes a frame a request of REST, with the credential of the socket.
func (s *socket) request(frame []byte, asked *askedFrame) (*http.Request, error) {
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
	ctx := trace.ContextWithSpanContext(s.ctx, trace.SpanContext{}) // each has a trace of its own
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

// target is the method and the path of a request. An id that lacks, and one too many, are faults.
func (s *socket) target(read *bodies.Body, asked *askedFrame) (method, path string) {
	known, is := socketRequests()[asked.Request]
	if !is {
		return "", "" // which is a fault by now
	}
	given := map[string]string{"messageId": asked.MessageID, "triggerId": asked.TriggerID, "repositoryId": asked.RepositoryID, "toolName": asked.ToolName}
	method, path = known.Target(func(name string) string {
		id := s.ids[name] + given[name]
		if id == "" {
			read.Add(fault.Point(name), "is missing: %s needs it", asked.Request)
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
