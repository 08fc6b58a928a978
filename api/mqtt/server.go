// Package mqtt serves the events of an app over MQTT in WebSockets, as the SERMAS toolkit does:
// its topics, its payloads, at /mqtt on the service's own port. Nothing has to be set up in NATS.
//
// The connections of one app share a broker that knows nothing of any other app, and is fed
// from the app's part of the stream. So no filter, client id or last will of a client reaches
// the events of others. Clients publish nothing.
//
// Messages have quality of service 0, as in SERMAS: a client that must not miss one subscribes on NATS, or
// resumes a stream of server-sent events. Sessions end with their connections, so that
// it does not matter which replica the next connection meets.
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

// Options are what New needs.
type Options struct {
	// Engine describes the tools that events name.
	Engine Catalogs
	// Events is read for the apps that clients follow. Missing: connections are refused.
	Events Events
	// Principal finds out whose a token or key is.
	Principal func(ctx context.Context, token secret.Secret) (auth.Principal, error)
	// StillGood returns why a principal is one no more.
	StillGood func(ctx context.Context, who auth.Principal) error
	// Lineages knows until when access tokens were renewed. Missing: none was.
	Lineages Lineages
	// Enter counts one more connection of an app.
	Enter func(scope repositories.Scope) (leave func(), err error)
	// Filters is how many filters the clients of an app may have here; all apps have room for
	// twice as many. Missing: 32,768.
	Filters int
	// Closing ends the connections when it is closed.
	Closing <-chan struct{}
	Now     func() time.Time
	Logger  *slog.Logger
}

// Catalogs knows which tools are in scope.
type Catalogs interface {
	Catalog(ctx context.Context, appID, sessionID string) (*scope.Catalog, error)
}

// Events reads the stream of events for any number of subscribers.
type Events interface {
	Now(ctx context.Context) (uint64, error)
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// Lineages knows when the newest of the access tokens ends that were renewed one into the other;
// the zero time where none was.
type Lineages interface {
	LineageExpires(ctx context.Context, appID, lineage string) (time.Time, error)
}

// Doors lists the ways in.
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
	queued  atomic.Int64       // bytes that wait for clients
	limits  *limits
}

// New returns a server without clients.
func New(options Options) *Server {
	most := cmp.Or(options.Filters, defaultFilters)
	held := &limits{ofApp: most, inAll: appsWorth * most, filters: map[string]int{}, callers: map[string]int{}}
	return &Server{Options: options, brokers: map[string]*broker{}, limits: held}
}

const (
	// subprotocol is how MQTT is named in WebSockets (MQTT 3.1.1, section 6.0); clients of
	// version 3.1 name their own.
	subprotocol, subprotocol31 = "mqtt", "mqttv3.1"
	// connectTime is how long a client may take until it has said who it is.
	connectTime = 10 * time.Second
)

// Serve takes the request of a client for a WebSocket, and returns when its connection is over.
func (s *Server) Serve(c echo.Context) error {
	if s.Events == nil {
		return answer.NewProblem(answer.EventsUnavailable, "this service reads no events").With("Retry-After", answer.Soon)
	}
	if c.Request().Method != http.MethodGet || c.Request().Header.Get("Sec-WebSocket-Key") == "" {
		return answer.NewProblem(answer.UpgradeRequired, "this is MQTT over WebSocket: connect with an MQTT client to ws://"+c.Request().Host+c.Path()+", with a token as the user name").
			With("Upgrade", "websocket").With("Connection", "Upgrade")
	}
	socket, err := websocket.Accept(c.Response(), c.Request(), &websocket.AcceptOptions{
		Subprotocols: []string{subprotocol, subprotocol31},
		// A page of any origin may connect, since no browser sends a token by itself: it
		// is in the first packet.
		InsecureSkipVerify: true,
	})
	if err != nil {
		return nil // it has been answered
	}
	socket.SetReadLimit(maxPacket)
	defer socket.CloseNow()
	s.talk(signin.WithClient(c.Request().Context(), signin.ClientOf(c.Request())), socket)
	return nil
}

func (s *Server) talk(ctx context.Context, socket *websocket.Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	conn := &connection{
		Conn:  websocket.NetConn(ctx, socket, websocket.MessageBinary),
		queue: make(chan []byte, maxQueued), inAll: &s.queued, cut: func() { _ = socket.CloseNow() }, ended: make(chan struct{}), finished: make(chan struct{}),
	}
	go conn.write()
	defer conn.close()
	who, no := s.admit(ctx, conn)
	if no != nil {
		no.send(conn.Conn)
		_ = socket.Close(websocket.StatusPolicyViolation, no.reason)
		return
	}
	// A caller is a key with those that were made by it, or an access token with its renewals.
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

// await returns when a connection is to end, with the status and the reason of its close.
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

// good returns why a connection has to end. It goes on if its token was renewed meanwhile: a client
// that renews its token does not need to connect again.
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
	return s.StillGood(ctx, *who)
}

// why is the end of a token in a few words: the reason of a close has 123 bytes.
func why(err error) string {
	text := answer.ProblemOf(auth.Unauthorized(err)).Detail
	return text[:min(len(text), 120)]
}
