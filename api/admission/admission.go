// Package admission is the admission control of a replica. It bounds concurrent requests and event streams,
// fairly between apps and between the sessions of an app, and refuses others before it reads them.
package admission

import (
	"cmp"
	"errors"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/signin"
)

// Default limits of a replica.
const (
	// defaultTurns bounds concurrent messages and direct triggers. Each takes some 150 KiB, and many only wait
	// for a model. An app, which gets at most half, has 256 turns of two seconds in progress at 128 messages
	// per second.
	defaultTurns = 512
	// defaultRequests bounds other requests: a page or a definition of 1 MiB takes some megabytes in memory.
	defaultRequests = 64
	// mostRelays bounds relayed chats. Each takes some 100 KiB and mostly waits for a model.
	mostRelays = 4096
	// mostGrants bounds requests for tokens, each of which reads an app and signs.
	mostGrants = 64
	// mostRehearsals bounds rehearsals. Each takes some seconds of two cores, or a minute of a model.
	mostRehearsals = 2
	// defaultWaiting bounds waiting requests per kind. Each takes a connection and a goroutine.
	defaultWaiting = 2000
	// waitTime bounds the wait. It is part of the 30 s for a request's body.
	waitTime = 10 * time.Second
)

// Kind is the class of a request for admission.
type Kind int

const (
	// Request reads or writes definitions, records or keys.
	Request Kind = iota
	// Turn is a message or a direct trigger, which may wait for a model or a tool.
	Turn
	// Stream stays open, and has its own limit.
	Stream
	// Relay is a relayed chat.
	Relay
	// Grant is a stranger's request for a token. Its share belongs to its address.
	Grant
	// Rehearsal tries a change of tools on many messages.
	Rehearsal
)

// Control is the admission control of a replica. Each kind of request has its own limit, so that a flood of
// messages cannot block the revocation of its key.
type Control struct {
	turns, requests, relays, grants, rehearsals *queue
	refused                                     *prometheus.CounterVec
}

// Bounds are the limits of a replica. Zero means the default.
type Bounds struct {
	// Turns bounds concurrent messages and direct triggers: 512. Requests bounds other requests: 64. Waiting
	// bounds the waiting requests per kind, beyond which the answer is 503: 2,000.
	Turns, Requests, Waiting int
}

// NewControl returns the admission control of a replica.
func NewControl(b Bounds, registry *prometheus.Registry) *Control {
	waiting := cmp.Or(b.Waiting, defaultWaiting)
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_refused_total",
		Help: "Requests that were refused because too many were in progress, by kind: turn, request, relay, grant or rehearsal.",
	}, []string{"kind"})
	for _, kind := range []string{"turn", "request", "relay", "grant", "rehearsal"} {
		refused.WithLabelValues(kind) // Prometheus misses the increase of a series that starts at 1
	}
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(refused), &there) {
		refused = there.ExistingCollector.(*prometheus.CounterVec)
	}
	return &Control{
		turns:    newQueue(cmp.Or(b.Turns, defaultTurns), waiting, waitTime),
		requests: newQueue(cmp.Or(b.Requests, defaultRequests), waiting, waitTime),
		relays:   newQueue(mostRelays, waiting, waitTime),
		grants:   newQueue(mostGrants, waiting, waitTime),

		rehearsals: newQueue(mostRehearsals, waiting, waitTime),
		refused:    refused,
	}
}

// Admitted makes a request wait for a slot, fairly among apps. It refuses the request unread if too many wait.
func (g *Control) Admitted(kind Kind) echo.MiddlewareFunc {
	gate, label, of := g.turns, "turn", "app"
	switch kind {
	case Request:
		gate, label = g.requests, "request"
	case Relay:
		gate, label = g.relays, "relay"
	case Rehearsal:
		gate, label = g.rehearsals, "rehearsal"
	case Grant:
		gate, label, of = g.grants, "grant", "address"
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			whose, session := c.Param("appId"), auth.PrincipalOf(c).SessionID
			if kind == Grant {
				whose = signin.ClientOf(c.Request())
			}
			leave, err := gate.enter(c.Request().Context(), whose, session)
			if errors.Is(err, errBusy) {
				g.refused.WithLabelValues(label).Inc()
				return answer.NewProblem(answer.Overloaded, "too many requests of this "+of+" are under work on this replica; nothing of this one was done, send it again").With("Retry-After", answer.Soon)
			}
			if err != nil {
				return err
			}
			defer leave()
			return next(c)
		}
	}
}
