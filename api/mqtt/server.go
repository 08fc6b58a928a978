// Package mqtt serves the events of an app over MQTT in WebSockets, with SERMAS's topics and payloads, at /mqtt
// on the service's port. NATS needs no setup.
//
// The connections of an app share a broker that knows no other app and gets only the app's events. No filter,
// client id or last will can therefore reach events of other apps. Clients publish nothing.
//
// Messages have quality of service 0, as in SERMAS: a client that must not miss events uses NATS or server-sent
// events. Sessions end with their connection, so a client may reconnect to any replica.
package mqtt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"
	"github.com/mochi-mqtt/server/v2/packets"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
	"earshot/trigger/effect"
	"earshot/trigger/scope"
)

// Options configures New.
type Options struct {
	// Engine describes the tools that events name.
	Engine Catalogs
	// Events is read for the apps that clients follow. Missing: connections are refused.
	Events Events
	// Principal authenticates a token or key.
	Principal func(ctx context.Context, token secret.Secret) (auth.Principal, error)
	// Origins decides which pages of other hosts may connect. Missing: none may.
	Origins interface {
		AllowsOrigin(ctx context.Context, appID, origin string) (bool, error)
	}
	// StillValid returns why a principal is no longer valid.
	StillValid func(ctx context.Context, who auth.Principal) error
	// Lineages returns until when an access token was renewed. Missing: none was.
	Lineages Lineages
	// Enter takes a stream slot of an app.
	Enter func(scope repositories.Scope) (leave func(), err error)
	// Filters bounds the filters of an app's clients on this replica; all apps together may have twice as many.
	// Missing: 32,768.
	Filters int
	// Closing ends the connections when it is closed.
	Closing <-chan struct{}
	Now     func() time.Time
	Logger  *slog.Logger
}

// Catalogs returns the tools in scope.
type Catalogs interface {
	Catalog(ctx context.Context, appID, sessionID string) (*scope.Catalog, error)
}

// Events reads the event stream for any number of subscribers.
type Events interface {
	Now(ctx context.Context) (uint64, error)
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// Lineages returns when the newest renewal of an access token ends; the zero time without a renewal.
type Lineages interface {
	LineageExpires(ctx context.Context, appID, lineage string) (time.Time, error)
}

// Doors lists the requirements of the MQTT operations.
func Doors() []ratelimit.Needs {
	return []ratelimit.Needs{
		{Surface: ratelimit.MQTT, Operation: "CONNECT", May: follower, Body: maxPacket, Share: admission.Stream, Bounds: "10 s until it has come; 100 connections of a key or token; those of an app count as its event streams"},
		{Surface: ratelimit.MQTT, Operation: "SUBSCRIBE", May: follower, Body: maxPacket, Share: admission.Stream, Bounds: "64 filters of 512 bytes and 8 levels for a client, 32,768 for an app"},
	}
}

// Server serves MQTT 3.1, 3.1.1 and 5 to the clients of all apps. It is safe for concurrent use.
type Server struct {
	Options
	mu      sync.Mutex
	brokers map[string]*broker // by app, while a client is connected
	queued  atomic.Int64       // bytes queued for clients
	limits  *limits
}

// New returns a server.
func New(options Options) *Server {
	most := cmp.Or(options.Filters, defaultFilters)
	held := &limits{ofApp: most, inAll: appsWorth * most, filters: map[string]int{}, callers: map[string]int{}}
	return &Server{Options: options, brokers: map[string]*broker{}, limits: held}
}

const (
	// subprotocol is MQTT's name in WebSockets (MQTT 3.1.1, section 6.0); version 3.1 has its own.
	subprotocol, subprotocol31 = "mqtt", "mqttv3.1"
	// connectTime bounds the wait for the CONNECT packet.
	connectTime = 10 * time.Second
)

// Serve upgrades a request to a WebSocket, and returns when its connection ends.
func (s *Server) Serve(c echo.Context) error {
	if s.Events == nil {
		return answer.NewProblem(answer.EventsUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
	}
	if c.Request().Method != http.MethodGet || c.Request().Header.Get("Sec-WebSocket-Key") == "" {
		return answer.NewProblem(answer.UpgradeRequired, "this is MQTT over WebSocket: connect with an MQTT client to ws://"+c.Request().Host+c.Path()+", with a token as the user name").
			With("Upgrade", "websocket").With("Connection", "Upgrade")
	}
	socket, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{
		Subprotocols:       []string{subprotocol, subprotocol31},
		InsecureSkipVerify: true, // admit checks the origin, since the token in the first packet names the app
	})
	if err != nil {
		return nil // Accept has answered
	}
	socket.SetReadLimit(maxPacket)
	defer socket.CloseNow()
	origin, elsewhere := auth.CrossOrigin(c)
	if !elsewhere {
		origin = ""
	}
	s.talk(signin.WithClient(c.Request().Context(), signin.ClientOf(c.Request())), socket, origin)
	return nil
}

// talk serves a connection. The origin is that of a foreign page; empty for any other client.
func (s *Server) talk(ctx context.Context, socket *websocket.Conn, origin string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := &connection{
		Conn:  websocket.NetConn(ctx, socket, websocket.MessageBinary),
		queue: make(chan []byte, maxQueued), inAll: &s.queued, cut: func() { _ = socket.CloseNow() }, ended: make(chan struct{}), finished: make(chan struct{}),
	}
	go conn.write()
	defer conn.close()
	who, no := s.admit(ctx, conn, origin)
	if no != nil {
		no.send(conn.Conn)
		_ = socket.Close(websocket.StatusPolicyViolation, no.reason)
		return
	}
	// A caller is a key including keys made by it, or an access token including its renewals.
	part, room := s.limits.enter(who.AppID() + " " + cmp.Or(who.Lineage, who.RootKey))
	if !room {
		conn.refuse(tooManyOfOne).send(conn.Conn)
		return
	}
	defer part()
	leave, err := s.Enter(repositories.Scope{AppID: who.AppID()})
	if err != nil {
		conn.refuse(tooMany).send(conn.Conn)
		return
	}
	defer leave()
	b, err := s.join(ctx, who.AppID())
	if err != nil {
		conn.refuse(unavailable).send(conn.Conn)
		return
	}
	defer s.leave(b)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		b.serve(conn)
	}()
	_ = socket.Close(s.await(ctx, who, gone, conn.finished, b.ended))
	conn.close()
	<-gone
}

// await returns when a connection should end, with the status and reason.
func (s *Server) await(ctx context.Context, who auth.Principal, gone, finished, ended <-chan struct{}) (websocket.StatusCode, string) {
	checks, watch := time.NewTicker(auth.Recheck), auth.NewWatch(s.Now, func(ctx context.Context) error { return s.good(ctx, &who) })
	defer checks.Stop()
	for {
		select {
		case <-gone:
			return websocket.StatusNormalClosure, ""
		case <-finished:
			return websocket.StatusPolicyViolation, quotaReason
		case <-ended:
			return websocket.StatusTryAgainLater, "the events cannot be read now: connect again"
		case <-s.Closing:
			return websocket.StatusGoingAway, "this replica is stopping: connect again"
		case <-ctx.Done():
			return websocket.StatusGoingAway, ""
		case <-checks.C:
			if err := watch.Over(ctx); err != nil {
				return websocket.StatusPolicyViolation, why(err)
			}
		}
	}
}

// good returns why a connection has to end. It continues if its token was renewed, without a reconnect.
func (s *Server) good(ctx context.Context, who *auth.Principal) error {
	over := func() bool { return !who.Expires.IsZero() && !s.Now().Before(who.Expires) }
	if over() && who.Lineage != "" && s.Lineages != nil {
		until, err := s.Lineages.LineageExpires(ctx, who.AppID(), who.Lineage)
		if err != nil {
			return err
		}
		who.Expires = until
	}
	if over() || who.Expires.IsZero() && who.Lineage != "" {
		return store.ErrKeyExpired
	}
	return s.StillValid(ctx, *who)
}

// why describes the end of a token briefly: a close reason has at most 123 bytes.
func why(err error) string {
	text := answer.ProblemOf(auth.Unauthorized(err)).Detail
	return text[:min(len(text), 120)]
}

const (
	// maxPacket is the longest packet of a client, in bytes.
	maxPacket = 64 << 10
	// maxFirst is the longest first packet, in bytes: room for an id and a token, which stay in memory with the
	// connection.
	maxFirst = 8 << 10
)

type refusal struct {
	version byte
	code    packets.Code
	reason  string // empty: the protocol cannot express it
}

var (
	unauthorized = packets.ErrNotAuthorized
	unavailable  = packets.ErrServerUnavailable
	tooMany      = packets.ErrServerBusy
	tooManyOfOne = packets.ErrQuotaExceeded
	unknown      = packets.ErrUnsupportedProtocolVersion
)

var quotaReason = fmt.Sprintf("too many filters: a client may have %d of at most %d bytes and %d levels, as long as its app has room", maxFilters, maxFilterBytes, maxFilterLevels)

// older maps refusals to the codes of earlier versions (MQTT 3.1.1, table 3.1).
var older = map[packets.Code]packets.Code{
	unauthorized: packets.Err3NotAuthorized, unavailable: packets.Err3ServerUnavailable, tooMany: packets.Err3ServerUnavailable,
	tooManyOfOne: packets.Err3ServerUnavailable, unknown: packets.Err3UnsupportedProtocolVersion,
}

func (c *connection) refuse(code packets.Code) *refusal {
	return &refusal{version: c.version, code: code, reason: code.Reason}
}

func (r *refusal) send(to io.Writer) {
	if r.version == 0 {
		return
	}
	code := r.code
	if r.version < 5 {
		code = older[code]
	}
	pk := packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connack}, ProtocolVersion: r.version, ReasonCode: code.Code}
	pk.Properties.ReasonString = r.reason
	var text bytes.Buffer
	if pk.ConnackEncode(&text) == nil {
		_, _ = to.Write(text.Bytes())
	}
}

func (s *Server) admit(ctx context.Context, conn *connection, origin string) (auth.Principal, *refusal) {
	if err := conn.SetReadDeadline(time.Now().Add(connectTime)); err != nil {
		return auth.Principal{}, &refusal{}
	}
	hello, err := conn.first()
	if err != nil {
		return auth.Principal{}, &refusal{reason: err.Error()}
	}
	if conn.version = hello.ProtocolVersion; conn.version < 3 || conn.version > 5 {
		conn.version = 4
		return auth.Principal{}, conn.refuse(unknown)
	}
	// SERMAS's client sends its token as the user name; others may use the password.
	token := hello.Connect.Username
	if len(token) == 0 {
		token = hello.Connect.Password
	}
	who, err := s.principal(ctx, secret.New(string(token)))
	if err == nil && origin != "" {
		err = s.admitPage(ctx, who.AppID(), origin)
	}
	if answer.IsUnavailable(err) {
		return who, conn.refuse(unavailable)
	}
	if err != nil {
		no := conn.refuse(unauthorized)
		no.reason = why(err)
		return who, no
	}
	return who, nil
}

// admitPage refuses a foreign page whose origin the app does not allow, as sockets and MCP do.
func (s *Server) admitPage(ctx context.Context, appID, origin string) error {
	if s.Origins == nil {
		return auth.ForeignPage(origin)
	}
	allowed, err := s.Origins.AllowsOrigin(ctx, appID, origin)
	if err == nil && !allowed {
		err = auth.ForeignPage(origin)
	}
	return err
}

var follower = auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}}.ReadOnly()

func (s *Server) principal(ctx context.Context, token secret.Secret) (auth.Principal, error) {
	if token.Empty() {
		return auth.Principal{}, refused("no token: send one of /api/platform/token as the user name")
	}
	who, err := s.Principal(ctx, token)
	switch {
	case err != nil:
		return who, err
	case who.Admin:
		return who, refused("the admin key belongs to no app: connect with a token of /api/platform/token, or a key of the app")
	case who.FrontEnd():
		return who, refused("the token of a session follows its session by /v1/apps/{appId}/sessions/{sessionId}/events")
	}
	return who, who.Check(follower, who.AppID(), "")
}

func refused(detail string) error { return answer.NewProblem(answer.NotPermitted, detail) }

var errNotMQTT = errors.New("the first packet is not a CONNECT packet of MQTT")

// first reads the CONNECT packet, and keeps its bytes for the broker.
func (c *connection) first() (hello packets.Packet, err error) {
	header := make([]byte, 1, 5)
	if _, err = io.ReadFull(c.Conn, header); err != nil || header[0] != packets.Connect<<4 {
		return hello, errNotMQTT
	}
	length := 0
	for shift := 0; ; shift += 7 {
		var next [1]byte
		if _, err = io.ReadFull(c.Conn, next[:]); err != nil || shift > 14 {
			return hello, errNotMQTT
		}
		header = append(header, next[0])
		length |= int(next[0]&0x7f) << shift
		if next[0] < 0x80 {
			break
		}
	}
	if length > maxFirst {
		return hello, errNotMQTT
	}
	body := make([]byte, length)
	if _, err = io.ReadFull(c.Conn, body); err != nil {
		return hello, errNotMQTT
	}
	c.read = append(header, body...)
	hello.FixedHeader = packets.FixedHeader{Type: packets.Connect, Remaining: length}
	if hello.ConnectDecode(body) != nil {
		return hello, errNotMQTT
	}
	return hello, nil
}
