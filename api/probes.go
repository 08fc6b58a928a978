package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"earshot/api/answer"
	"earshot/repositories/lists"
	"earshot/repositories/outages"
)

// Paths of the probes.
const (
	pathHealth  = "/healthz"
	pathReady   = "/readyz"
	pathMetrics = "/metrics"
)

// readyTime bounds the answer of a backing service. Orchestrators commonly wait 1 s by default; 2 s suit
// those that wait longer.
const readyTime = 2 * time.Second

// Check is the readiness check of one backing service.
type Check struct {
	Name string // public, such as redis or nats
	// Ready returns an error if the service is unusable, and Away if it is partly usable. Only the log gets
	// the error, which may name hosts; the public gets its Public or Words text. It must return soon after
	// ctx ends.
	Ready func(ctx context.Context) error
}

// Public is an error of a service that answers but is unusable. Its public text follows the service's name,
// as in "is full".
type Public interface{ Public() string }

// detailed is an error with the service's own public text.
type detailed interface{ Detail() string }

// Unavailable is the error of a service with several parts, some of them unusable.
type Unavailable struct {
	Parts []Part
	// All reports that no part is usable. Otherwise the service is ready.
	All bool
}

// Part is an unusable part.
type Part struct {
	Name string // public
	Err  error
}

// Error names all parts.
func (a *Unavailable) Error() string {
	texts := lists.Map(a.Parts, func(part Part) string { return strings.TrimPrefix(part.Name+": "+part.Err.Error(), ": ") })
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of the parts.
func (a *Unavailable) Unwrap() []error {
	return lists.Map(a.Parts, func(part Part) error { return part.Err })
}

type probes struct {
	checks   []Check
	troubles *outages.Log
	metrics  *prometheus.Registry
}

func (h probes) routes() []route {
	// It answers as long as the process can and checks nothing else: a restart would repair nothing else.
	health := func(c echo.Context) error { return answer.JSON(c, http.StatusOK, map[string]string{"status": "alive"}) }
	metrics := echo.WrapHandler(promhttp.HandlerFor(h.metrics, promhttp.HandlerOpts{Registry: h.metrics}))
	return []route{
		{method: http.MethodGet, path: pathHealth, handler: health, open: true},
		{method: http.MethodGet, path: pathReady, handler: h.ready, open: true, query: []string{queryVerbose}},
		{method: http.MethodGet, path: pathMetrics, handler: metrics, open: true},
	}
}

// queryVerbose asks for the state of each service.
const queryVerbose = "verbose"

func (h probes) ready(c echo.Context) error {
	verbose := c.QueryParams().Has(queryVerbose) && c.QueryParam(queryVerbose) != "false"
	var services []serviceState
	var unreachable, problems []string
	for i, err := range h.check(c.Request().Context()) {
		name := h.checks[i].Name
		if verbose {
			services = append(services, stateOf(name, err))
		}
		if usable(err) {
			continue
		}
		var public Public
		if errors.As(err, &public) {
			problems = append(problems, name+" "+public.Public())
		} else {
			unreachable = append(unreachable, name)
		}
	}
	if len(unreachable) > 0 {
		problems = append([]string{"no answer from " + strings.Join(unreachable, ", ")}, problems...)
	}
	if len(problems) > 0 {
		problem := answer.NewProblem(answer.NotReady, "not ready: "+strings.Join(problems, "; ")).With("Retry-After", answer.Soon)
		if verbose {
			problem.Services = services
		}
		return problem
	}
	return answer.JSON(c, http.StatusOK, struct {
		Status   string         `json:"status"`
		Services []serviceState `json:"services,omitempty"`
	}{stateReady, services})
}

// States of a service.
const (
	stateReady       = "ready"
	statePartly      = "partly"
	stateUnavailable = "away"
)

// serviceState is the public state of a service.
type serviceState struct {
	Name  string      `json:"name"`
	State string      `json:"state"`
	Says  string      `json:"says,omitempty"`
	Away  []partState `json:"away,omitempty"`
}

type partState struct {
	Name string `json:"name"`
	Says string `json:"says"`
}

func stateOf(name string, err error) serviceState {
	state := serviceState{Name: name, State: stateReady}
	if err == nil {
		return state
	}
	state.State = stateUnavailable
	if usable(err) {
		state.State = statePartly
	} else {
		state.Says = saysOf(err)
	}
	if parts := (*Unavailable)(nil); errors.As(err, &parts) {
		for _, part := range parts.Parts {
			if part.Name != "" {
				state.Away = append(state.Away, partState{part.Name, saysOf(part.Err)})
			}
		}
	}
	return state
}

// saysOf returns the public text of an error, preferably the service's own.
func saysOf(err error) string {
	var detail detailed
	if errors.As(err, &detail) {
		return detail.Detail()
	}
	var public Public
	if errors.As(err, &public) {
		return public.Public()
	}
	return "no answer"
}

// usable reports whether a service can be used, at least in part.
func usable(err error) bool {
	var parts *Unavailable
	return err == nil || errors.As(err, &parts) && !parts.All
}

// check checks all services at once, and logs only changes of state: probes come every few seconds.
func (h probes) check(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	errs := make([]error, len(h.checks))
	var checks sync.WaitGroup
	for i, check := range h.checks {
		checks.Go(func() { errs[i] = check.Ready(ctx) })
	}
	checks.Wait()
	for i, err := range errs {
		service := h.checks[i].Name
		if err == nil {
			h.troubles.Over(ctx, service, "ready.again", "service", service)
			continue
		}
		event := "ready.failed"
		if usable(err) {
			event = "ready.partly"
		}
		// Error texts do not identify a state: they name a different port each time.
		state := stateOf(service, err)
		h.troubles.Trouble(ctx, service, fmt.Sprint(state.State, state.Says, state.Away), event, "service", service, "error", err)
	}
	return errs
}
