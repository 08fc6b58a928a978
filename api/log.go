package api

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"
)

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
			attributes := append(outcome(c), slog.Int64("ms", now().Sub(began).Milliseconds()))
			logger.LogAttrs(c.Request().Context(), level(c), "http.request", attributes...)
			return err
		}
	}
}

func outcome(c echo.Context) []slog.Attr {
	attributes := []slog.Attr{
		slog.String("method", methodName(c.Request().Method)),
		slog.String("route", routeName(c)),
		slog.Int("status", c.Response().Status),
		slog.Int64("bytes", c.Response().Size),
		slog.String("request", requestID(c)),
		slog.String("trace", trace.SpanContextFromContext(c.Request().Context()).TraceID().String()),
	}
	if ids, ok := c.Get(idsKey).([]slog.Attr); ok {
		attributes = append(attributes, ids...)
	}
	if cause, ok := c.Get(errorKey).(error); ok && c.Response().Status >= http.StatusInternalServerError {
		attributes = append(attributes, slog.String("error", cause.Error()))
	}
	return attributes
}

// level keeps the probes, which come every few seconds, out of an ordinary log.
func level(c echo.Context) slog.Level {
	switch {
	case c.Response().Status >= http.StatusInternalServerError:
		return slog.LevelError
	case c.Path() == pathHealth, c.Path() == pathReady, c.Path() == pathMetrics:
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
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
