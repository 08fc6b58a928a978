// Package sermas serves SERMAS's clients, such as its @sermas/api-client: the REST paths under /api for tools,
// chat, memory and tokens.
//
// It is a client of REST in the same process: it passes requests on with their key or token, so that the same
// rules apply. It adds tokens, which clients get for the id and secret of a module. It also keeps repository
// ids unique in an app: a repository written to another session moves there.
package sermas

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"earshot/api/admission"
	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/api/ratelimit"
	"earshot/api/server"
	"earshot/api/signin"
	"earshot/repositories"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

// Options configures New. All fields but On are required.
type Options struct {
	// On serves SERMAS's clients. Otherwise the answer says how to turn it on.
	On   bool
	REST http.Handler // the handler of the API, which gets the clients' requests
	// Auth authenticates requests.
	Auth   auth.Authenticator
	Store  Store
	Tokens Tokens
	// Walls bounds the work in progress and the memory of its bodies.
	Walls *ratelimit.Walls
	// SignIns slows down clients that guess the secrets of modules.
	SignIns  *signin.Guard
	TokenTTL time.Duration    // the lifetime of an access token
	Now      func() time.Time // the clock of tokens, and NewID makes their ids
	NewID    func() string
	Logger   *slog.Logger
}

// Store reads definitions. Its errors are those of store.Store.
type Store interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
	Apps(ctx context.Context, after string, limit int) (items []*repositories.App, next string, err error)
	Generation(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// ScopesOf lists the scopes of an app with a repository of that id.
	ScopesOf(ctx context.Context, appID, repositoryID string) ([]repositories.Scope, error)
	ExtendLineage(ctx context.Context, appID, lineage string, until time.Time) error
	AllowsOrigin(ctx context.Context, appID, origin string) (bool, error)
}

// Tokens signs access tokens and refresh tokens.
type Tokens interface {
	SignAccess(token store.AccessToken, id string) (secret.Secret, error)
	SignRefresh(token store.AccessToken, id string) (secret.Secret, error)
	OpenRefresh(given secret.Secret) (store.AccessToken, error)
	Grant(appID string, module repositories.Module) string
	SameGrant(grant, appID string, module repositories.Module) bool
}

// Limits of EARSHOT_SERMAS_TOKEN_TTL: the client renews a token 30 s before its end, with a timer of at most
// 2^31 ms.
const (
	MinTokenTTL     = 35 * time.Second
	MaxTokenTTL     = 24 * 24 * time.Hour
	DefaultTokenTTL = 5 * time.Minute
)

type handler struct{ Options }

const (
	root     = "/api"   // the path of all SERMAS paths
	maxBody  = 1 << 20  // the longest body, in bytes, as in REST
	maxGrant = 16 << 10 // the longest request for a token, in bytes; any client may send one
)

// New returns a handler that serves SERMAS's paths and passes all others to REST. It is safe for concurrent
// use.
func New(options Options) http.Handler {
	h := &handler{options}
	router := echo.New()
	router.HTTPErrorHandler = h.fail
	router.Use(h.prepare)
	router.RouteNotFound(root, h.unknown)
	router.RouteNotFound(root+"/*", h.unknown)
	if h.On {
		for _, one := range h.routes() {
			method, path, _ := strings.Cut(one.Operation, " ")
			router.Add(method, path, h.protected(one))
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == root || strings.HasPrefix(r.URL.Path, root+"/") {
			router.ServeHTTP(w, r)
			return
		}
		h.REST.ServeHTTP(w, r)
	})
}

type route struct {
	ratelimit.Needs
	handle echo.HandlerFunc
	query  []string // its parameters
}

// Doors lists the requirements of the operations.
func Doors() (all []ratelimit.Needs) {
	for _, one := range (&handler{}).routes() {
		all = append(all, one.Needs)
	}
	return all
}

// routes lists the operations. REST checks the permissions of those without a May.
func (h *handler) routes() []route {
	const repository, chat = root + "/dialogue/tools/:repositoryId", root + "/dialogue/speech/chat/:appId/:sessionId"
	grant := ratelimit.Needs{Open: true, Body: maxGrant, Share: admission.Grant, Bounds: "who guesses pauses"}
	tools := ratelimit.Needs{May: toolAccess, Body: maxBody, Share: admission.Request}
	posts := ratelimit.Needs{May: auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true}, Body: maxBody, Share: admission.Turn, Counts: ratelimit.Messages}
	reads := ratelimit.Needs{May: posts.May.ReadOnly(), Share: admission.Request}
	at := func(needs ratelimit.Needs, operation string, handle echo.HandlerFunc, query ...string) route {
		needs.Surface, needs.Operation = ratelimit.SERMAS, operation
		return route{needs, handle, query}
	}
	return []route{
		at(grant, "POST "+root+"/platform/token", h.grant),
		at(grant, "POST "+root+"/platform/token/", h.grant),
		at(grant, "POST "+root+"/platform/token/access_token", h.grant),
		at(grant, "POST "+root+"/platform/token/refresh", h.renew),
		at(grant, "POST "+root+"/platform/token/refresh_token", h.renew),
		at(tools, "POST "+repository, h.setTools, "appId"),
		at(tools, "PUT "+repository, h.addTools, "appId"),
		at(tools, "DELETE "+repository, h.removeTools, "appId"),
		at(tools, "PUT "+root+"/app/:appId/tools", h.setAppTools),
		at(posts, "POST "+chat, h.chat),
		at(reads, "GET "+root+"/dialogue/memory/:sessionId", h.memory, "appId"),
	}
}

// protected wraps a handler with its limits. REST takes the admission slot of passed requests.
func (h *handler) protected(to route) echo.HandlerFunc {
	needs := to.Needs
	if !needs.Open {
		needs.Share = admission.Stream
	}
	within := answer.KnownQuery(to.query)(h.Walls.Around(needs)(to.handle))
	return func(c echo.Context) error {
		if err := ratelimit.Bounded(c.Response().Writer, c.Request(), cmp.Or(needs.Body, maxBody)); err != nil {
			return err
		}
		if !needs.Open {
			if err := auth.Known(h.Auth, c); err != nil {
				return err
			}
			if appID := c.Param("appId"); appID != "" {
				if err := auth.PrincipalOf(c).Check(needs.May, appID, c.Param("sessionId")); err != nil {
					return err
				}
			}
		}
		return within(c)
	}
}

// prepare sets the headers of every answer, and answers preflights. A preflight does not name the app, whose
// settings decide whether a page may read an answer. So all origins pass, as browsers never send a key by
// themselves.
func (h *handler) prepare(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		header := c.Response().Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Cache-Control", "no-store")
		request := c.Request()
		if request.ProtoMajor > 1 {
			c.Response().Writer = server.PacedWriter(c.Response().Writer, server.DefaultWriteTime)
		}
		if origin := request.Header.Get(echo.HeaderOrigin); request.Method == http.MethodOptions && origin != "" && h.On {
			header.Set(echo.HeaderAccessControlAllowOrigin, origin)
			header.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, PUT, DELETE")
			header.Set(echo.HeaderAccessControlAllowHeaders, request.Header.Get(echo.HeaderAccessControlRequestHeaders))
			header.Set(echo.HeaderAccessControlMaxAge, "600")
			header.Add(echo.HeaderVary, echo.HeaderOrigin)
			return c.NoContent(http.StatusNoContent)
		}
		return next(c)
	}
}

// fail writes an error, and logs an internal one.
func (h *handler) fail(err error, c echo.Context) {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) && answer.ProblemOf(err).Status >= http.StatusInternalServerError {
		h.Logger.Error("sermas.failed", "route", c.Path(), "error", err.Error())
	}
	answer.WriteError(err, c)
}
