package api

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"earshot/api/server"
	"earshot/repositories/failpoint"
	"earshot/repositories/panics"
	"earshot/repositories/tracing"
)

// answered turns the error of a handler into an answer, so that the middleware around
// it sees the status that the client saw. A body that is still on its way is waited for
// first, as when there is no fault: whoever sends none is told so whatever else holds.
func answered(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if err == nil {
			return nil
		}
		var size *http.MaxBytesError
		if !c.Response().Committed && !errors.As(err, &size) {
			if unread := drain(c.Request()); unread != nil {
				err = unread
			}
		}
		c.Set(errorKey, err)
		c.Error(err)
		return nil
	}
}

// recovered turns a panic into an error. Where the answer has begun already, it cuts
// the connection instead, so that no client takes half an answer for a whole one.
func recovered(next echo.HandlerFunc) echo.HandlerFunc {
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

// errorKey is where answered leaves what went wrong, for the log.
const errorKey = "earshot.error"

// logged writes one line for each request: what it asked for and how it ended. Query,
// headers and bodies are left out, for they hold texts and credentials; the ids of
// the path stand in it once they are known to be ids.
func logged(logger *slog.Logger, now func() time.Time) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			began := now()
			err := next(c)
			ctx, status, level := c.Request().Context(), c.Response().Status, slog.LevelInfo
			switch {
			case status == http.StatusServiceUnavailable && c.Path() == pathReady:
				level = slog.LevelDebug // ready.failed says so, once
			case status >= http.StatusInternalServerError:
				level = slog.LevelError
			case isProbe(c): // probes come every few seconds
				level = slog.LevelDebug
			}
			if logger.Enabled(ctx, level) {
				attributes := append(outcome(c), slog.Int64("ms", now().Sub(began).Milliseconds()))
				logger.LogAttrs(ctx, level, "http.request", attributes...)
			}
			return err
		}
	}
}

// maxAttributes is how many a line has: those of outcome, three ids, an error, the time.
const maxAttributes = 11

func outcome(c echo.Context) []slog.Attr {
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

// methodName keeps a made-up method out of logs and metrics.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// traced names the request, and continues the trace of the caller (W3C Trace Context), or begins one, with a span
// of our own for the request, or at least the id of one: logs, events and calls carry it on.
func traced(tracer *tracing.Tracer) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			request := c.Request()
			server.RequestID(c.Response().Header(), request)
			if tracer == nil || isProbe(c) {
				ctx := propagation.TraceContext{}.Extract(request.Context(), propagation.HeaderCarrier(request.Header))
				id := spanBelow(trace.SpanContextFromContext(ctx))
				c.SetRequest(request.WithContext(trace.ContextWithSpanContext(ctx, id)))
				return next(c)
			}
			method, routed := methodName(request.Method), routeName(c)
			ctx, span := tracer.Below(request.Context(), request.Header.Get("traceparent"), method+" "+routed, trace.SpanKindServer)
			c.SetRequest(request.WithContext(ctx))
			defer func() {
				status, fault := c.Response().Status, ""
				if status >= http.StatusInternalServerError { // only a fault of ours is one, by the conventions for servers of HTTP
					fault = strconv.Itoa(status)
				}
				// The path is left out: it may hold what a caller made up.
				tracing.End(span, fault, tracing.HTTPMethod.String(method), tracing.HTTPRoute.String(routed), tracing.HTTPStatus.Int(status))
			}()
			return next(c)
		}
	}
}

// spanBelow returns a new span of the caller's trace, or of a new one that is sampled.
func spanBelow(caller trace.SpanContext) trace.SpanContext {
	var traceID trace.TraceID
	var spanID trace.SpanID
	_, _ = rand.Read(traceID[:]) // never fails
	_, _ = rand.Read(spanID[:])
	if !caller.IsValid() {
		caller = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, TraceFlags: trace.FlagsSampled})
	}
	return caller.WithSpanID(spanID).WithRemote(false)
}

// routeName is the route as the table has it, so that logs and metrics have few of
// them and hold nothing that a caller made up.
func routeName(c echo.Context) string {
	if c.Path() == "" {
		return "unknown"
	}
	return c.Path()
}

// counted counts requests by route, method and status. All three come from closed
// sets, so that no caller can make the number of time series grow.
func counted(registry *prometheus.Registry) echo.MiddlewareFunc {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_requests_total",
		Help: "Requests that were answered.",
	}, []string{"route", "method", "status"})
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(requests), &there) { // by another handler of the same registry
		requests = there.ExistingCollector.(*prometheus.CounterVec)
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			status := strconv.Itoa(c.Response().Status)
			requests.WithLabelValues(routeName(c), methodName(c.Request().Method), status).Inc()
			return err
		}
	}
}
