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
	"earshot/repositories/outages"
)

// Paths of the probes, which are asked for every few seconds.
const (
	pathHealth  = "/healthz"
	pathReady   = "/readyz"
	pathMetrics = "/metrics"
)

// readyTime is how long a backing service may take to answer a probe. Orchestrators
// commonly wait for a second by default; two leave room for those that wait longer.
const readyTime = 2 * time.Second

// Check is the readiness check of one backing service.
type Check struct {
	Name string // shown to everybody, as in redis or nats
	// Ready returns why nothing can be done with it, and Away where some can. The error goes to
	// the log alone, for it may name hosts, but for what its Public says, or a method Words in the words of the
	// service. It must return soon after ctx ends.
	Ready func(ctx context.Context) error
}

// Public is an error of a service that answers and cannot be used: everybody may read
// what it returns, which goes on after the name of the service, as in "is full".
type Public interface{ Public() string }

// spoken is an error that holds what the service says of it itself, fit for everybody to read.
type spoken interface{ Words() string }

// Away is the error of a service that consists of parts, some of which cannot be used.
type Away struct {
	Parts []Part
	// All says that nothing is left to work with. The service is ready otherwise.
	All bool
}

// Part is one that cannot be used.
type Part struct {
	Name string // shown to everybody
	Err  error
}

// Error names all parts.
func (a *Away) Error() string {
	var texts []string
	for _, part := range a.Parts {
		texts = append(texts, strings.TrimPrefix(part.Name+": "+part.Err.Error(), ": "))
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of the parts.
func (a *Away) Unwrap() []error {
	var list []error
	for _, part := range a.Parts {
		list = append(list, part.Err)
	}
	return list
}

// probes serves the liveness and readiness probes of orchestrators.
type probes struct {
	checks   []Check
	troubles *outages.Log
	metrics  *prometheus.Registry
}

func (h probes) routes() []route {
	// It answers as long as the process can, and looks at nothing else: a restart would heal nothing else.
	health := func(c echo.Context) error { return answer.JSON(c, http.StatusOK, map[string]string{"status": "alive"}) }
	metrics := echo.WrapHandler(promhttp.HandlerFor(h.metrics, promhttp.HandlerOpts{Registry: h.metrics}))
	return []route{
		{method: http.MethodGet, path: pathHealth, handle: health, open: true},
		{method: http.MethodGet, path: pathReady, handle: h.ready, open: true, query: []string{queryVerbose}},
		{method: http.MethodGet, path: pathMetrics, handle: metrics, open: true},
	}
}

// queryVerbose asks for the state of each service.
const queryVerbose = "verbose"

func (h probes) ready(c echo.Context) error {
	verbose := c.QueryParams().Has(queryVerbose) && c.QueryParam(queryVerbose) != "false"
	var services []serviceState
	var silent, wrong []string
	for i, err := range h.look(c.Request().Context()) {
		name := h.checks[i].Name
		if verbose {
			services = append(services, stateOf(name, err))
		}
		if usable(err) {
			continue
		}
		var shown Public
		if errors.As(err, &shown) {
			wrong = append(wrong, name+" "+shown.Public())
		} else {
			silent = append(silent, name)
		}
	}
	if len(silent) > 0 {
		wrong = append([]string{"no answer from " + strings.Join(silent, ", ")}, wrong...)
	}
	if len(wrong) > 0 {
		problem := answer.NewProblem(answer.NotReady, "not ready: "+strings.Join(wrong, "; ")).With("Retry-After", answer.Soon)
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
	stateReady  = "ready"
	statePartly = "partly"
	stateAway   = "away"
)

// serviceState is one service as everybody may see it.
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
	state.State = stateAway
	if usable(err) {
		state.State = statePartly
	} else {
		state.Says = saysOf(err)
	}
	if parts := (*Away)(nil); errors.As(err, &parts) {
		for _, part := range parts.Parts {
			if part.Name != "" {
				state.Away = append(state.Away, partState{part.Name, saysOf(part.Err)})
			}
		}
	}
	return state
}

// saysOf is what everybody may read of an error, in the words of the service where there are any.
func saysOf(err error) string {
	var words spoken
	if errors.As(err, &words) {
		return words.Words()
	}
	var told Public
	if errors.As(err, &told) {
		return told.Public()
	}
	return "no answer"
}

// usable reports whether something can be done with a service in spite of its error.
func usable(err error) bool {
	var parts *Away
	return err == nil || errors.As(err, &parts) && !parts.All
}

// look asks all services at once, and writes a line where the state of one changes: probes come every few seconds.
func (h probes) look(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	found := make([]error, len(h.checks))
	var asking sync.WaitGroup
	for i, check := range h.checks {
		asking.Go(func() { found[i] = check.Ready(ctx) })
	}
	asking.Wait()
	for i, err := range found {
		service := h.checks[i].Name
		if err == nil {
			h.troubles.Over(ctx, service, "ready.again", "service", service)
			continue
		}
		event := "ready.failed"
		if usable(err) {
			event = "ready.partly"
		}
		// The texts of errors tell no states apart: they name ports that are others each time.
		state := stateOf(service, err)
		h.troubles.Trouble(ctx, service, fmt.Sprint(state.State, state.Says, state.Away), event, "service", service, "error", err)
	}
	return found
}
