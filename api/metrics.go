package api

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsRoute shows all that the process has registered, in the format of Prometheus.
func metricsRoute(registry *prometheus.Registry) route {
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry})
	return route{method: http.MethodGet, path: pathMetrics, handle: echo.WrapHandler(handler), open: true}
}

// counted counts requests by route, method and status. All three come from closed
// sets, so that no caller can make the number of time series grow.
func counted(registry *prometheus.Registry) echo.MiddlewareFunc {
	requests := requestCounter(registry)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			err := next(c)
			status := strconv.Itoa(c.Response().Status)
			requests.WithLabelValues(routeName(c), methodName(c.Request().Method), status).Inc()
			return err
		}
	}
}

// requestCounter returns the registry's counter; a second handler on one registry
// shares it.
func requestCounter(registry *prometheus.Registry) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "earshot_http_requests_total",
		Help: "Requests that were answered, by route, method and status.",
	}, []string{"route", "method", "status"})
	var there prometheus.AlreadyRegisteredError
	if errors.As(registry.Register(counter), &there) {
		return there.ExistingCollector.(*prometheus.CounterVec)
	}
	return counter
}
