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

// answerErrors writes the error of a handler as an answer, so that the outer middleware sees the client's
// status. It first waits for a pending body, as on success: a stalled body is reported before any other
// fault.
func answerErrors(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if err == nil {
			return nil
		}
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); !tooLong && !c.Response().Committed {
			if unread := drain(c.Request()); unread != nil {
				err = unread
			}
		}
		c.Set(errorKey, err)
		c.Error(err)
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
