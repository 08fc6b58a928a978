package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
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
	// Ready returns what is wrong. The error goes to the log alone, for it may name
	// hosts, but for what a Public error says. It must return soon after ctx ends.
	Ready func(ctx context.Context) error
}

// Public is an error of a service that answers and cannot be used: everybody may read
// what it returns, which goes on after the name of the service, as in "is full".
type Public interface{ Public() string }

// probes serves the liveness and readiness probes of orchestrators.
type probes struct {
	checks []Check
	logger *slog.Logger
}

func (h probes) routes() []route {
	return []route{
		{method: http.MethodGet, path: pathHealth, handle: h.health, open: true},
		{method: http.MethodGet, path: pathReady, handle: h.ready, open: true},
	}
}

// health answers as long as the process can: it looks at nothing else, since a restart
// would heal nothing else.
func (h probes) health(c echo.Context) error {
	return answer.JSON(c, http.StatusOK, map[string]string{"status": "alive"})
}

func (h probes) ready(c echo.Context) error {
	if down := h.down(c.Request().Context()); len(down) > 0 {
		return answer.NewProblem(http.StatusServiceUnavailable, "not ready: "+strings.Join(down, "; ")).
			With("Retry-After", answer.Soon)
	}
	return answer.JSON(c, http.StatusOK, map[string]string{"status": "ready"})
}

// down asks all services at once and says which do not answer, in their order, and then
// what is wrong with others.
func (h probes) down(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, readyTime)
	defer cancel()
	failed := make([]error, len(h.checks))
	var asking sync.WaitGroup
	for i, check := range h.checks {
		asking.Go(func() { failed[i] = check.Ready(ctx) })
	}
	asking.Wait()
	var silent, wrong []string
	for i, err := range failed {
		if err == nil {
			continue
		}
		h.logger.WarnContext(ctx, "ready.failed", "service", h.checks[i].Name, "error", err)
		var told Public
		if errors.As(err, &told) {
			wrong = append(wrong, h.checks[i].Name+" "+told.Public())
		} else {
			silent = append(silent, h.checks[i].Name)
		}
	}
	if len(silent) > 0 {
		wrong = append([]string{"no answer from " + strings.Join(silent, ", ")}, wrong...)
	}
	return wrong
}
