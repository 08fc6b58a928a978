package api

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/auth"
	"earshot/api/server"
	"earshot/repositories"
)

// Origins decides which pages may call an app from a browser.
type Origins interface {
	AllowsOrigin(ctx context.Context, appID, origin string) (bool, error)
}

const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsExposed = "ETag, Location, Retry-After, Preference-Applied, WWW-Authenticate, X-Earshot-Message-Id, X-Request-Id"
	// corsAge is how long a browser caches the answer to a preflight, in seconds.
	corsAge = "600"
)

// crossOrigin lets pages of the app's allowed origins read answers and errors (CORS protocol of the Fetch
// standard). It protects nothing: a page is authorized by its key or token, which a browser never sends by
// itself.
func crossOrigin(origins Origins) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			// This also covers unknown paths, so that a page can read the 404.
			rest, inApp := strings.CutPrefix(strings.TrimPrefix(c.Request().URL.Path, auth.MetadataPath), "/v1/apps/")
			appID, _, _ := strings.Cut(rest, "/")
			if !inApp || repositories.CheckID("appId", appID) != nil || origins == nil {
				return next(c)
			}
			c.Response().Header().Add(echo.HeaderVary, echo.HeaderOrigin)
			origin := c.Request().Header.Get(echo.HeaderOrigin)
			preflight := c.Request().Method == http.MethodOptions && origin != "" && c.Request().Header.Get(echo.HeaderAccessControlRequestMethod) != ""
			if origin != "" {
				allowed, err := origins.AllowsOrigin(c.Request().Context(), appID, origin)
				if err != nil {
					return err
				}
				if allowed {
					allowOrigin(c, origin, preflight)
				}
			}
			if preflight {
				return c.NoContent(http.StatusNoContent)
			}
			return next(c)
		}
	}
}

func allowOrigin(c echo.Context, origin string, preflight bool) {
	header := c.Response().Header()
	header.Set(echo.HeaderAccessControlAllowOrigin, origin)
	if !preflight {
		header.Set(echo.HeaderAccessControlExposeHeaders, corsExposed)
		return
	}
	var allowed []string
	for name := range strings.SplitSeq(strings.ToLower(c.Request().Header.Get(echo.HeaderAccessControlRequestHeaders)), ",") {
		if name = strings.TrimSpace(name); readsHeader(name) {
			allowed = append(allowed, name)
		}
	}
	header.Add(echo.HeaderVary, echo.HeaderAccessControlRequestHeaders)
	header.Set(echo.HeaderAccessControlAllowMethods, corsMethods)
	header.Set(echo.HeaderAccessControlAllowHeaders, strings.Join(allowed, ", "))
	header.Set(echo.HeaderAccessControlMaxAge, corsAge)
}

func readsHeader(name string) bool {
	switch name {
	case "authorization", "content-type", "prefer", "last-event-id", "if-match", "if-none-match", "cache-control", "traceparent", "tracestate",
		"x-earshot-session", "x-request-id", "idempotency-key", "openai-organization", "openai-project",
		"mcp-protocol-version", "mcp-method", "mcp-name":
		return true
	}
	if strings.HasPrefix(name, "x-stainless-") || strings.HasPrefix(name, "mcp-param-") { // headers of OpenAI's and MCP's clients
		return true
	}
	service, isToken := strings.CutSuffix(name, repositories.TokenHeaderEnd)
	return isToken && repositories.CheckID("service", service) == nil
}

// maxBody is the longest request body, in bytes (section 3 of the contract).
const maxBody = 1 << 20

// hardening is set on all answers. Its values are shared: replace them, do not change them.
var hardening = http.Header{
	"X-Content-Type-Options": {"nosniff"},
	"X-Frame-Options":        {"DENY"},
	"Referrer-Policy":        {"no-referrer"},
	"Cache-Control":          {"no-store"},
}

// limitBodies bounds request bodies, and sets the headers of hardening, which a handler may replace.
func limitBodies(limit time.Duration, longer map[string]int64) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			maps.Copy(c.Response().Header(), hardening)
			request := c.Request()
			if request.ProtoMajor > 1 {
				c.Response().Writer = server.PacedWriter(c.Response().Writer, limit)
			}
			most := cmp.Or(longer[c.Path()], maxBody)
			if request.ContentLength > most {
				return &http.MaxBytesError{Limit: most}
			}
			request.Body = http.MaxBytesReader(c.Response().Writer, request.Body, most)
			if request.Method == http.MethodOptions { // no route answers these
				return drainBody(next)(c)
			}
			return next(c)
		}
	}
}
