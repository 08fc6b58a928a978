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

const pathSocket = pathSession + "/socket"

const (
	maxFrame      = maxBody + 64<<10 // the longest body plus room for the other fields, in bytes
	maxConcurrent = 16               // how many requests of a socket run at once; further ones wait
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
		{method: http.MethodGet, path: pathSocket, access: eventCallers, handler: h.serve, readsBody: true, query: []string{auth.TokenQuery, lastEventQuery}, share: admission.Stream,
			bounds: "16 requests at once, each held to what it is over HTTP; frames of 1 MiB"},
	}
}

// socketRequests returns the requests of a socket by their NATS names. Where an app and a session share a
// name, it is the session's.
var socketRequests = sync.OnceValue(func() map[string]Request {
	all := map[string]Request{}
	for _, one := range Requests() {
		name := strings.Split(strings.TrimPrefix(one.Subject, requestSubjects), ".")[0]
		if _, has := all[name]; !has || strings.HasPrefix(one.Path, pathSession) {
			all[name] = one
		}
	}
	return all
})

func (h sockets) serve(c echo.Context) error {
	if origin, elsewhere := auth.CrossOrigin(c); elsewhere {
		return auth.ForeignPage(origin)
	}
	handshake := c.Request()
	if handshake.Method != http.MethodGet || handshake.Header.Get("Sec-WebSocket-Key") == "" {
		return answer.NewProblem(answer.UpgradeRequired, "this is a WebSocket: connect to ws://"+handshake.Host+handshake.URL.Path).
			With("Upgrade", "websocket").With("Connection", "Upgrade")
	}
	ctx, cancel := context.WithCancel(handshake.Context())
	defer cancel()
	sub, err := h.open(ctx, c)
	if err != nil {
		return err
	}
	defer sub.release()
	conn, err := websocket.Accept(c.Response(), handshake, &websocket.AcceptOptions{InsecureSkipVerify: true}) // auth.CrossOrigin has checked the origin
	if err != nil {
		return nil // Accept has answered
	}
	defer conn.CloseNow()
	conn.SetReadLimit(maxFrame)
	s := &socket{
		sockets: h, conn: conn, ctx: ctx, cancel: cancel, handshake: handshake, credential: h.authenticator.Credential(c), payer: ratelimit.PayerOf(c),
		ids: map[string]string{"appId": c.Param("appId"), "sessionId": c.Param("sessionId")}, slots: make(chan struct{}, maxConcurrent),
	}
	if s.send(eventFrame{Event: "open", LastEventID: strconv.FormatUint(sub.after, 10)}) == nil {
		go s.readFrames()
		end := h.pump(ctx, s, sub)
		s.mu.Lock()
		s.closing = true
		s.mu.Unlock()
		if end == endClientGone {
			s.cancel() // no client waits for the answers
		}
		s.requests.Wait()
		if closeError, known := closeErrors[end]; known {
			_ = s.conn.Close(closeError.Code, closeError.Reason)
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
	handshake  *http.Request // the opening request
	credential secret.Secret // of the opening request
	payer      ratelimit.Payer
	ids        map[string]string // of the path
	slots      chan struct{}     // one element per running request

	writeMutex sync.Mutex
	mu         sync.Mutex
	closing    bool           // no further requests are taken
	requests   sync.WaitGroup // running requests
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
	s.writeMutex.Lock()
	defer s.writeMutex.Unlock()
	ctx, cancel := context.WithTimeout(s.ctx, writeTimeout) // a slower client is disconnected
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, text)
}

func (s *socket) event(event effect.Published) error {
	data := json.RawMessage(event.Data)
	if !exactjson.Embeddable(data) { // other publishers may send anything
		data, _ = exactjson.Encode(string(event.Data)) // as a JSON string
	}
	return s.send(eventFrame{kindOf(event), strconv.FormatUint(event.Sequence, 10), data})
}

func (s *socket) notice(name string, end tokenNotice) error {
	data, err := exactjson.Encode(end)
	if err != nil {
		return err
	}
	return s.send(eventFrame{Event: name, Data: data})
}

// keepAlive sends an event, as pages do not see pings.
func (s *socket) keepAlive() error { return s.send(eventFrame{Event: "alive"}) }

// closeErrors holds the close status and reason, at most 123 bytes.
var closeErrors = map[streamEnd]websocket.CloseError{
	endTooSlow:  {Code: websocket.StatusTryAgainLater, Reason: "events are taken too slowly, or cannot be read: connect again with lastEventId"},
	endNoAccess: {Code: websocket.StatusPolicyViolation, Reason: "the key, the token or the session has ended"},
	endShutdown: {Code: websocket.StatusGoingAway, Reason: "this replica is stopping: connect again with lastEventId"},
}

// readFrames takes requests until the connection ends.
func (s *socket) readFrames() {
	defer s.cancel()
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			return
		}
		frame, body, err := s.readFrame()
		if err != nil {
			return
		}
		done := func() {
			body.Free()
			<-s.slots
		}
		s.mu.Lock()
		if s.closing {
			done()
		} else {
			s.requests.Go(func() {
				defer done()
				panics.Run(s.logger, "http", pathSocket, func() { s.handle(frame) })
			})
		}
		s.mu.Unlock()
	}
}

// readFrame waits for a frame and reads it. It closes the connection if the frame cannot be read.
func (s *socket) readFrame() (text []byte, body *ratelimit.Body, err error) {
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
	timeout := time.AfterFunc(server.BodyTime, cancel)
	defer timeout.Stop()
	body = s.memory.Hold(&http.Request{Body: io.NopCloser(reader)}, s.payer, maxFrame)
	if text, err = io.ReadAll(body); err != nil {
		body.Free()
		if problem := (*answer.Problem)(nil); errors.As(err, &problem) { // out of memory for bodies
			_ = s.conn.Close(websocket.StatusTryAgainLater, "too many long requests are in progress on this replica: connect again")
		}
	}
	return text, body, err
}

func (s *socket) handle(frame []byte) {
	var fields requestFrame
	request, err := s.request(frame, &fields)
	var recorder *answer.Recorder
	if err != nil {
		recorder = answer.Refused(answer.ProblemOf(err))
	} else {
		recorder = answer.Whole(s.rest, request)
	}
	reply := replyFrame{ID: fields.ID, Status: recorder.Status, Headers: map[string]string{}, Body: bytes.TrimSpace(recorder.Body.Bytes())}
	for _, name := range ReplyHeaders {
		if value := recorder.Header().Get(name); value != "" {
			reply.Headers[name] = value
		}
	}
	if s.send(reply) != nil {
		s.cancel() // the client waits for each answer
	}
}

func (s *socket) request(frame []byte, fields *requestFrame) (*http.Request, error) {
	parsed, err := s.bodies.Read("SocketRequest", frame)
	if err != nil {
		return nil, err
	}
	parsed.Into(fields)
	method, path := s.target(parsed, fields)
	for name := range fields.Headers {
		if !ForwardsHeader(name) {
			parsed.Add(fault.Point("headers", name), "is not supported here; supported are %s and {name}_token", strings.Join(forwardedHeaders, ", "))
		}
	}
	if err := parsed.Err(); err != nil {
		return nil, err
	}
	if string(fields.Body) == "null" {
		fields.Body = nil // as any optional field
	}
	ctx := trace.ContextWithSpanContext(s.ctx, trace.SpanContext{}) // each has its own trace
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.handshake.Host+path, bytes.NewReader(fields.Body))
	if err != nil {
		return nil, answer.NewProblem(answer.InvalidPath, "the ids in the path are not valid")
	}
	for name, value := range fields.Headers {
		request.Header.Set(name, value)
	}
	if !s.credential.Empty() {
		request.Header.Set("Authorization", "Bearer "+s.credential.Reveal())
	}
	request.URL.RawQuery = fields.Query
	request.RemoteAddr, request.TLS, request.RequestURI = s.handshake.RemoteAddr, s.handshake.TLS, request.URL.RequestURI()
	return request, nil
}

// target returns the method and path of a request. A missing or surplus id is a fault.
func (s *socket) target(parsed *bodies.Body, fields *requestFrame) (method, path string) {
	operation, ok := socketRequests()[fields.Request]
	if !ok {
		return "", "" // already a fault of the schema
	}
	ids := map[string]string{"messageId": fields.MessageID, "triggerId": fields.TriggerID, "repositoryId": fields.RepositoryID, "toolName": fields.ToolName}
	method, path = operation.Target(func(name string) string {
		id := s.ids[name] + ids[name]
		if id == "" {
			parsed.Miss(fault.Point(name), ": "+string(fields.Request)+" needs it")
		}
		delete(ids, name)
		return id
	})
	for name, id := range ids {
		if id != "" {
			parsed.Add(fault.Point(name), "is not allowed beside %s, but in its body", fields.Request)
		}
	}
	return method, path
}
