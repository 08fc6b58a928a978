package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// traced continues the trace of the caller (W3C Trace Context), or begins one, with a
// span of our own for the request.
func traced(provider trace.TracerProvider) echo.MiddlewareFunc {
	tracer := provider.Tracer("earshot/api")
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			request := c.Request()
			ctx := propagation.TraceContext{}.Extract(request.Context(), propagation.HeaderCarrier(request.Header))
			ctx, span := tracer.Start(ctx, routeName(c), trace.WithSpanKind(trace.SpanKindServer))
			defer span.End()
			c.SetRequest(request.WithContext(ctx))
			err := next(c)
			describeSpan(span, c)
			return err
		}
	}
}

// describeSpan says what the request was and how it ended, in OpenTelemetry's own terms
// (semantic conventions for HTTP servers: only a 5xx is an error of a server's span).
func describeSpan(span trace.Span, c echo.Context) {
	status := c.Response().Status
	span.SetAttributes(
		attribute.String("http.request.method", methodName(c.Request().Method)),
		attribute.String("http.route", routeName(c)),
		attribute.Int("http.response.status_code", status),
	)
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// traceParent writes the request's span in the form in which a message carries it.
func traceParent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier.Get("traceparent")
}

// requestID names the request in the log and in the answer to an internal error: the
// id of its span, which is its own even where callers share a trace.
func requestID(c echo.Context) string {
	return trace.SpanContextFromContext(c.Request().Context()).SpanID().String()
}

// routeName is the route as the table has it, so that logs and metrics have few of
// them and hold nothing that a caller made up.
func routeName(c echo.Context) string {
	if c.Path() == "" {
		return "unknown"
	}
	return c.Path()
}
