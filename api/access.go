package api

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/identity"
	"earshot/api/server"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/store"
)

// Paths of an app, of one of its sessions and of one of its users.
const (
	pathApp     = "/v1/apps/:appId"
	pathSession = pathApp + "/sessions/:sessionId"
	pathUser    = pathApp + "/users/:user"
)

// Paths of the OpenAI-compatible endpoint, below an app or a session.
const (
	pathCompletions = answer.OpenAIPath + "chat/completions"
	pathResponses   = answer.OpenAIPath + "responses"
	pathModels      = answer.OpenAIPath + "models"
	pathModel       = pathModels + "/:modelId"
)

// Who may call a route (section 9 of the contract): keys of the app with one of the scopes; callers are these and
// session tokens. A route without an access is reserved for the admin: listing, creating and deleting apps, and any
// forgotten route.
var (
	anyCaller      = auth.Access{Anyone: true}
	appKeys        = keysOf(store.PermitApp)
	toolKeys       = keysOf(store.PermitTools)
	listingKeys    = keysOf(store.PermitTools, store.PermitTriggers)
	messageKeys    = keysOf(store.PermitMessages)
	messageCallers = auth.Access{Scopes: messageKeys.Scopes, FrontEnd: true}
	chatCallers    = auth.Access{Scopes: messageKeys.Scopes, FrontEnd: true, OwnSession: true}
	triggerKeys    = keysOf(store.PermitTriggers)
	triggerCallers = auth.Access{Scopes: triggerKeys.Scopes, FrontEnd: true}
	triggerOwners  = auth.Access{Scopes: triggerKeys.Scopes, FrontEnd: true, ByTrigger: true}
	eventKeys      = keysOf(store.PermitMessages, store.PermitTriggers)
	eventCallers   = auth.Access{Scopes: eventKeys.Scopes, FrontEnd: true}
)

func keysOf(scopes ...store.Permission) auth.Access { return auth.Access{Scopes: scopes} }

// Identities verifies the ID token of a user, or an access token, which may be bound to a resource. Its error is an
// *identity.Refused, which tells the sender why and repeats nothing of the token.
type Identities interface {
	Verify(ctx context.Context, service repositories.AuthService, token, resource string) (claims map[string]any, err error)
}

type users struct {
	store      Store
	identities Identities
}

// user holds the verified claims of a user, and why other tokens were refused, in words and by service.
type user struct {
	claims   parameters.Claims
	refusals []string
	faults   map[string]string // nil for none
}

// verify verifies the ID tokens of a request, in the {service}_token headers of the app's services. Requests
// without any cost nothing. The claims of an access token are already verified.
func (u users) verify(c echo.Context) (user, error) {
	verified, err := u.verifyHeaders(c.Request().Context(), c.Param("appId"), c.Request().Header)
	if service, claims := auth.ClaimsOf(c); service != "" && err == nil {
		if verified.claims == nil {
			verified.claims = parameters.Claims{}
		}
		verified.claims[service] = claims
	}
	return verified, err
}

func (u users) verifyHeaders(ctx context.Context, appID string, headers http.Header) (user, error) {
	hasToken := false
	for name := range headers {
		end := name[max(0, len(name)-len(repositories.TokenHeaderEnd)):]
		hasToken = hasToken || strings.EqualFold(end, repositories.TokenHeaderEnd)
	}
	if u.identities == nil || !hasToken {
		return user{}, nil
	}
	app, err := u.store.App(ctx, appID)
	if err != nil {
		return user{}, err
	}
	verified := user{claims: parameters.Claims{}}
	for _, service := range app.AuthServices {
		header := repositories.TokenHeader(service.Name)
		tokens := headers.Values(header)
		if len(tokens) == 0 || len(tokens) == 1 && tokens[0] == "" {
			continue
		}
		if len(tokens) > 1 {
			verified.refuse(service.Name, &identity.Refused{Fault: "malformed", Reason: "it was sent twice; send one token"})
			continue
		}
		claims, err := u.identities.Verify(ctx, service, tokens[0], "")
		if err != nil {
			verified.refuse(service.Name, err)
			continue
		}
		verified.claims[service.Name] = claims
	}
	return verified, nil
}

func (u *user) refuse(service string, err error) {
	u.refusals = append(u.refusals, repositories.TokenHeader(service)+": "+err.Error())
	if u.faults == nil {
		u.faults = map[string]string{}
	}
	u.faults[service] = "unavailable"
	if refused := (*identity.Refused)(nil); errors.As(err, &refused) {
		u.faults[service] = refused.Fault
	}
}

// explain adds to an Unverified error why the tokens of the request were refused.
func (u user) explain(err error) error {
	unverified := &repositories.Unverified{}
	if !errors.As(err, &unverified) || len(u.refusals) == 0 {
		return err
	}
	problem := *answer.ProblemOf(err)
	problem.Detail += "; " + strings.Join(u.refusals, "; ")
	return &problem
}

// Origins decides which pages may call an app from a browser.
type Origins interface {
	AllowsOrigin(ctx context.Context, appID, origin string) (bool, error)
}

const (
	corsMethods = "GET, POST, PUT, PATCH, DELETE"
	corsExposed = "ETag, Location, Retry-After, Preference-Applied, WWW-Authenticate, X-Earshot-Message-Id, X-Request-Id"
	corsAge     = "600" // how long a browser caches the answer to a preflight, in seconds
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
		"x-earshot-session", "x-request-id", "idempotency-key", "openai-beta", "openai-organization", "openai-project",
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
