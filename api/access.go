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

// accessGroups lists who may call which operations (section 9 of the contract). A key needs one of a
// group's scopes.
var accessGroups = []struct {
	auth.Access
	operations []string
}{
	{auth.Access{Anyone: true}, []string{"GET /v1/whoami"}},
	{auth.Access{Scopes: []store.Permission{store.PermitApp}}, []string{
		"GET " + pathApp, "PUT " + pathApp, "PATCH " + pathApp,
		"POST " + pathApp + "/keys", "GET " + pathApp + "/keys", "DELETE " + pathApp + "/keys/:keyId",
		"GET " + pathApp + "/sources", "GET " + pathApp + "/audit", "GET " + pathApp + "/usage", "GET " + pathApp + "/usage/hosts",
		"GET " + pathApp + "/webhooks", "GET " + pathApp + "/webhooks/:webhookName/deliveries", "POST " + pathApp + "/webhooks/:webhookName/resend",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTools}}, []string{
		"GET " + pathApp + "/repositories", "POST " + pathApp + "/repositories",
		"PUT " + pathApp + "/repositories/:repositoryId", "PATCH " + pathApp + "/repositories/:repositoryId",
		"GET " + pathApp + "/repositories/:repositoryId", "DELETE " + pathApp + "/repositories/:repositoryId",
		"DELETE " + pathApp + "/repositories/:repositoryId/tools/:toolName", "DELETE " + pathSession + "/repositories/:repositoryId/tools/:toolName",
		"GET " + pathApp + "/repositories/:repositoryId/versions", "GET " + pathApp + "/repositories/:repositoryId/versions/:version",
		"POST " + pathApp + "/repositories/:repositoryId/versions/:version/restore",
		"GET " + pathApp + "/tests", "GET " + pathApp + "/tests/:testName", "PUT " + pathApp + "/tests/:testName", "DELETE " + pathApp + "/tests/:testName",
		"GET " + pathSession + "/repositories", "POST " + pathSession + "/repositories",
		"PUT " + pathSession + "/repositories/:repositoryId", "PATCH " + pathSession + "/repositories/:repositoryId",
		"GET " + pathSession + "/repositories/:repositoryId", "DELETE " + pathSession + "/repositories/:repositoryId",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTools, store.PermitTriggers}}, []string{
		"GET " + pathApp + "/tools", "GET " + pathSession + "/tools", "GET " + pathApp + "/tools/usage",
		"POST " + pathApp + "/tools/search", "POST " + pathSession + "/tools/search",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}}, []string{
		"GET " + pathApp + "/sessions", "PUT " + pathSession, "DELETE " + pathSession, "POST " + pathSession + "/token",
		"POST " + pathApp + "/rehearsals",
		"GET " + pathUser + "/export", "DELETE " + pathUser,
		"GET " + pathSession + "/export", "GET " + pathSession + "/messages/:messageId/explain",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true}, []string{
		"GET " + pathSession,
		"POST " + pathSession + "/messages", "GET " + pathSession + "/messages",
		"GET " + pathSession + "/messages/:messageId", "DELETE " + pathSession + "/messages/:messageId",
		"POST " + pathSession + "/messages/:messageId/commit",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true, OwnSession: true}, []string{
		"POST " + pathApp + pathCompletions, "POST " + pathSession + pathCompletions,
		"POST " + pathApp + pathResponses, "POST " + pathSession + pathResponses,
		"GET " + pathApp + pathModels, "GET " + pathSession + pathModels,
		"GET " + pathApp + pathModel, "GET " + pathSession + pathModel,
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}}, []string{
		"POST " + pathApp + "/mcp", "POST " + pathApp + "/mcp/:repositoryId",
		"POST " + pathApp + "/triggers", "GET " + pathApp + "/triggers", "DELETE " + pathApp + "/triggers",
		"GET " + pathApp + "/triggers/:triggerId", "DELETE " + pathApp + "/triggers/:triggerId", "POST " + pathApp + "/triggers/:triggerId/retry",
		"POST " + pathApp + "/triggers/retry", "GET " + pathApp + "/backlog",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}, FrontEnd: true}, []string{
		"POST " + pathSession + "/triggers", // only with source ui when called with a session token
		"POST " + pathSession + "/mcp", "POST " + pathSession + "/mcp/:repositoryId",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitTriggers}, FrontEnd: true, ByTrigger: true}, []string{
		"POST " + pathApp + "/triggers/:triggerId/answer", "POST " + pathApp + "/triggers/:triggerId/confirm",
		"POST " + pathApp + "/triggers/:triggerId/deny", "POST " + pathApp + "/triggers/:triggerId/cancel",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}}, []string{
		"GET " + pathApp + "/events", "GET " + pathSession + "/triggers",
	}},
	{auth.Access{Scopes: []store.Permission{store.PermitMessages, store.PermitTriggers}, FrontEnd: true}, []string{
		"GET " + pathSession + "/events", "GET " + pathSocket,
	}},
}

// accessTable returns the access of each operation. A route without an entry is reserved for the admin:
// listing, creating and deleting apps, and any forgotten route.
func accessTable() map[string]auth.Access {
	table := map[string]auth.Access{}
	for _, group := range accessGroups {
		for _, operation := range group.operations {
			table[operation] = group.Access
			// Operations that leave the app unchanged. MCP is left out, as it uses POST for everything; read-only
			// keys list tools and triggers by GET.
			if strings.HasPrefix(operation, http.MethodGet+" ") || strings.HasSuffix(operation, "/tools/search") {
				table[operation] = group.ReadOnly()
			}
		}
	}
	return table
}

// Identities verifies the ID token of a user. Its error is an *identity.Refused, which tells the sender why
// and repeats nothing of the token.
type Identities interface {
	Verify(ctx context.Context, service repositories.AuthService, token string) (claims map[string]any, err error)
	// VerifyAccess verifies an access token, which may be bound to a resource.
	VerifyAccess(ctx context.Context, service repositories.AuthService, token, resource string) (claims map[string]any, err error)
}

type users struct {
	apps       appReader
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
	app, err := u.apps.App(ctx, appID)
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
			verified.refuse(service.Name, &identity.Refused{Fault: "malformed", Reason: "it was sent twice, and nobody knows which one is meant"})
			continue
		}
		claims, err := u.identities.Verify(ctx, service, tokens[0])
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
