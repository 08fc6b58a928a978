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
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/labstack/echo/v4"

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
