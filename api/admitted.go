package api

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// work is what a route asks of a replica, by which its requests are bounded.
type work int

const (
	// aRequest reads or writes definitions, records or keys.
	aRequest work = iota
	// aTurn is a message or a direct trigger, which may wait for a model or a tool.
	aTurn
	// aStream stays open, and is counted with its kind.
	aStream
)

// gates bound the requests of each kind. They are bounded apart, so that a flood of
// messages does not keep anybody from revoking the key that it comes with.
type gates struct {
	turns, requests *admission
	refused         *prometheus.CounterVec
}

func (o Options) gates() gates {
	return gates{
		turns:    newAdmission(o.Turns, o.Waiting, waitTime),
		requests: newAdmission(o.Requests, o.Waiting, waitTime),
		refused:  refusedCounter(o.Metrics),
	}
}

// refusedCounter counts requests that were answered 503 without being looked at.
func refusedCounter(registry *prometheus.Registry) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_refused_total",
		Help: "Requests that were refused because too many were under work, by kind: turn or request.",
	}, []string{"kind"})
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(counter), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return counter
}

// admitted lets a request wait for its turn among those of its app, and refuses it
// before anything of it is read or stored where there are too many.
func (g gates) admitted(kind work) echo.MiddlewareFunc {
	gate, label := g.turns, "turn"
	if kind == aRequest {
		gate, label = g.requests, "request"
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			leave, err := gate.enter(c.Request().Context(), c.Param("appId"), principalOf(c).sessionID)
			if errors.Is(err, errBusy) {
				g.refused.WithLabelValues(label).Inc()
				return newProblem(http.StatusServiceUnavailable, "too many requests of this app are under work on this replica; nothing of this one was done, send it again").with("Retry-After", soon)
			}
			if err != nil {
				return err
			}
			defer leave()
			return next(c)
		}
	}
}
