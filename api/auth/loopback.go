package auth

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
)

// Guarded protects a service that asks for no key from the pages in its developer's
// browser, which could otherwise do all there. It refuses requests for a host that is
// not this machine by name, as a page whose own name was pointed here would send (DNS
// rebinding), and those from pages of elsewhere, unless the app allows their origin.
func Guarded(open map[string]bool) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			origin, elsewhere := Elsewhere(c)
			switch {
			case needsNoKey(c, open):
			case !isLoopback(c.Request().Host):
				return answer.NewProblem(http.StatusForbidden, "without keys this service answers on loopback names alone, as 127.0.0.1 or localhost")
			case elsewhere:
				return NoPage(origin)
			}
			return next(c)
		}
	}
}

// Elsewhere reports whether a request comes from a page that is neither the service's own nor of
// an origin that the app allows, and of which origin.
func Elsewhere(c echo.Context) (origin string, elsewhere bool) {
	origin = c.Request().Header.Get(echo.HeaderOrigin)
	allowed := c.Response().Header().Get(echo.HeaderAccessControlAllowOrigin) != ""
	return origin, origin != "" && !allowed && !sameOrigin(origin, c.Request().Host)
}

// NoPage is the answer to a request from a page of elsewhere.
func NoPage(origin string) error {
	return answer.NewProblem(http.StatusForbidden, "pages of "+answer.Quote(origin)+" may not call: add the origin to settings.allowedOrigins of the app")
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	address, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return strings.EqualFold(name, "localhost") || err == nil && address.IsLoopback()
}

func sameOrigin(origin, host string) bool {
	parsed, err := url.Parse(origin)
	return err == nil && strings.EqualFold(parsed.Host, host)
}
