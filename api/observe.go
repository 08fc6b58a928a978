package api

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"earshot/api/answer"
	"earshot/api/server"
	"earshot/repositories"
	"earshot/repositories/failpoint"
	"earshot/repositories/lists"
	"earshot/repositories/outages"
	"earshot/repositories/panics"
	"earshot/repositories/tracing"
)

// missingApp answers for the app if that is missing as well: a client makes an app first, and then what is in it.
func missingApp(stored Store) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			appID := c.Param("appId")
			if err == nil || appID == "" || answer.ProblemOf(err).Status != http.StatusNotFound {
				return err
			}
			_, readErr := stored.App(c.Request().Context(), appID)
			if missing, ok := errors.AsType[*repositories.NotFoundError](readErr); ok && missing.Kind == "app" {
				return missing
			}
			return err
		}
	}
}

// answerErrors writes the error of a handler as an answer, so that the outer middleware sees the client's
// status. It first waits for a pending body, as on success: a stalled body is reported before any other
// fault.
func answerErrors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		body := c.Request().Body // without the bound that others set
		err := next(c)
		if err == nil {
			return nil
		}
		_, tooLong := errors.AsType[*http.MaxBytesError](err)
		if !tooLong && !c.Response().Committed {
			if unread := drain(c.Request()); unread != nil {
				err = unread
			}
		}
		c.Set(errorKey, err)
		c.Error(err)
		if tooLong {
			discardRest(c, body)
		}
		return nil
	}
}

// recoverPanics turns a panic into an error. If the answer has begun, it aborts the connection, so that no
// client takes a partial answer as complete.
func recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if value == http.ErrAbortHandler || c.Response().Committed {
				panic(http.ErrAbortHandler)
			}
			panics.Count("http")
			err = fmt.Errorf("panic: %s\n%s", panics.Text(value), debug.Stack())
		}()
		failpoint.Panic("http " + routeName(c))
		return next(c)
	}
}

// errorKey is the context key of the error for the log.
const errorKey = "earshot.error"

// logRequests writes one line per request with its route and status. It leaves out query, headers and bodies,
// which hold texts and credentials. Path ids are logged once checked.
func logRequests(logger *slog.Logger, now func() time.Time) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := now()
			err := next(c)
			ctx, status, level := c.Request().Context(), c.Response().Status, slog.LevelInfo
			switch {
			case status == http.StatusServiceUnavailable && c.Path() == pathReady:
				level = slog.LevelDebug // ready.failed reports it once
			case status >= http.StatusInternalServerError:
				level = slog.LevelError
			case isProbe(c): // every few seconds
				level = slog.LevelDebug
			}
			if logger.Enabled(ctx, level) {
				attributes := append(requestAttributes(c), slog.Int64("ms", now().Sub(start).Milliseconds()))
				logger.LogAttrs(ctx, level, "http.request", attributes...)
			}
			return err
		}
	}
}

// maxAttributes is the size of a line: those of outcome, three ids, an error, the time.
const maxAttributes = 11

func requestAttributes(c echo.Context) []slog.Attr {
	attributes := append(make([]slog.Attr, 0, maxAttributes),
		slog.String("method", methodName(c.Request().Method)),
		slog.String("route", routeName(c)),
		slog.Int("status", c.Response().Status),
		slog.Int64("bytes", c.Response().Size),
		slog.String("request", server.RequestID(c.Response().Header(), c.Request())),
		slog.String("trace", trace.SpanContextFromContext(c.Request().Context()).TraceID().String()),
	)
	if ids, ok := c.Get(idsKey).([]slog.Attr); ok {
		attributes = append(attributes, ids...)
	}
	if cause, ok := c.Get(errorKey).(error); ok && c.Response().Status >= http.StatusInternalServerError {
		attributes = append(attributes, slog.String("error", cause.Error()))
	}
	return attributes
}

func isProbe(c echo.Context) bool {
	return c.Path() == pathHealth || c.Path() == pathReady || c.Path() == pathMetrics
}

// methodName maps invented methods to "other" for logs and metrics.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// traceRequests sets the request id and continues the caller's trace (W3C Trace Context) or begins one. It starts
// a span, or at least a span id, which logs, events and calls carry on.
func traceRequests(tracer *tracing.Tracer) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			request := c.Request()
			server.RequestID(c.Response().Header(), request)
			if tracer == nil || isProbe(c) {
				ctx := propagation.TraceContext{}.Extract(request.Context(), propagation.HeaderCarrier(request.Header))
				// A new span id in the caller's trace, or in a new sampled trace.
				var traceID trace.TraceID
				var spanID trace.SpanID
				_, _ = rand.Read(traceID[:]) // never fails
				_, _ = rand.Read(spanID[:])
				caller := trace.SpanContextFromContext(ctx)
				if !caller.IsValid() {
					caller = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, TraceFlags: trace.FlagsSampled})
				}
				c.SetRequest(request.WithContext(trace.ContextWithSpanContext(ctx, caller.WithSpanID(spanID).WithRemote(false))))
				return next(c)
			}
			method, routed := methodName(request.Method), routeName(c)
			ctx, span := tracer.Below(request.Context(), request.Header.Get("traceparent"), method+" "+routed, trace.SpanKindServer)
			c.SetRequest(request.WithContext(ctx))
			defer func() {
				status, fault := c.Response().Status, ""
				if status >= http.StatusInternalServerError { // HTTP conventions: only a server's own fault is an error
					fault = strconv.Itoa(status)
				}
				// The path is left out: a caller may have invented it.
				tracing.End(span, fault, tracing.HTTPMethod.String(method), tracing.HTTPRoute.String(routed), tracing.HTTPStatus.Int(status))
			}()
			return next(c)
		}
	}
}

// routeName returns the route's pattern: logs and metrics get few distinct values, none of a caller's
// making.
func routeName(c echo.Context) string {
	if c.Path() == "" {
		return "unknown"
	}
	return c.Path()
}

// countRequests counts requests by route, method and status, all from closed sets, so that no caller can add time
// series.
func countRequests(registry *prometheus.Registry) echo.MiddlewareFunc {
	requests := server.Counter(registry, "earshot_http_requests_total", "Requests that were answered.", []string{"route", "method", "status"})
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			status := strconv.Itoa(c.Response().Status)
			requests.WithLabelValues(routeName(c), methodName(c.Request().Method), status).Inc()
			return err
		}
	}
}

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
	// Ready returns an error if the service is unusable, and an *Unavailable if it is partly usable. Only the
	// log gets the error, which may name hosts; the public gets its Public or Detail text. It must return soon
	// after ctx ends.
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
