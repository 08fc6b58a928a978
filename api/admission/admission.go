// Package admission is the admission control of a replica: it bounds the requests and the
// event streams that are open at once, fairly between apps and between the sessions of one,
// and refuses the rest before anything of them is read.
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

// Defaults of what a replica does at once.
const (
	// defaultTurns is how many messages and direct triggers are under work. Each takes
	// some 150 KiB, and many only wait for a model: one app, which gets at most half of
	// them, has 256 turns of two seconds under way at 128 messages a second.
	defaultTurns = 512
	// defaultRequests is how many others are: a page or a definition of 1 MiB takes
	// some megabytes while it is read and written.
	defaultRequests = 64
	// mostRelays is how many chats are relayed, each some 100 KiB, that wait for a model most of
	// their time.
	mostRelays = 4096
	// mostGrants is how many requests for tokens are, each of which reads an app and signs.
	mostGrants = 64
	// mostRehearsals is how many rehearsals are, each some seconds of two cores, or a minute of a model.
	mostRehearsals = 2
	// defaultWaiting is how many of either kind wait for their turn, each a connection
	// and a goroutine.
	defaultWaiting = 2000
	// waitTime is how long one waits. It is part of the 30 s that its body may take.
	waitTime = 10 * time.Second
)

// Kind is the class of work that a request is, by which it is limited.
type Kind int

const (
	// Request reads or writes definitions, records or keys.
	Request Kind = iota
	// Turn is a message or a direct trigger, which may wait for a model or a tool.
	Turn
	// Stream stays open, and is counted with its kind.
	Stream
	// Relay is a chat that is relayed to a model.
	Relay
	// Grant is a stranger's request for a token. Its share is that of its address.
	Grant
	// Rehearsal tries a change of tools on many messages.
	Rehearsal
)

// Control is the admission control of a replica. Each kind of request has a limit of its
// own, so that a flood of messages does not keep anybody from revoking the key that it
// comes with.
type Control struct {
	turns, requests, relays, grants, rehearsals *queue
	refused                                     *prometheus.CounterVec
}

// Bounds are how much a replica does at once. What is zero has its default.
type Bounds struct {
	// Turns is how many messages and direct triggers are under work: 512. Requests is how many
	// others are: 64. Waiting is how many of each kind wait before further ones are answered 503:
	// 2,000.
	Turns, Requests, Waiting int
}

// NewControl makes the admission control of one replica.
func NewControl(b Bounds, registry *prometheus.Registry) *Control {
	waiting := cmp.Or(b.Waiting, defaultWaiting)
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_refused_total",
		Help: "Requests that were refused because too many were in progress, by kind: turn, request, relay, grant or rehearsal.",
	}, []string{"kind"})
	for _, kind := range []string{"turn", "request", "relay", "grant", "rehearsal"} {
		refused.WithLabelValues(kind) // Prometheus sees no increase in one that begins with 1
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

// Admitted lets a request wait for its turn among those of its app, and refuses it
// before anything of it is read or stored where there are too many.
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
