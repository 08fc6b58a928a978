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

// Options are what New needs. All must be given, but for On.
type Options struct {
	// On is whether clients of SERMAS are served. Else they are told how they would be.
	On bool
	// REST is the handler of the API, which is asked what SERMAS's clients ask.
	REST http.Handler
	// Auth finds out who makes a request.
	Auth   auth.Authenticator
	Store  Store
	Tokens Tokens
	// Walls bound what is under work, and what its bodies take.
	Walls *ratelimit.Walls
	// SignIns slows down clients that guess the secrets of modules.
	SignIns *signin.Guard
	// TokenTTL is how long an access token is good.
	TokenTTL time.Duration
	// Now is the clock of tokens, and NewID makes their ids.
	Now    func() time.Time
	NewID  func() string
	Logger *slog.Logger
}

// Store is what is asked of the definitions beside REST. Its errors are those of store.Store.
type Store interface {
	App(ctx context.Context, appID string) (*repositories.App, error)
	Apps(ctx context.Context, after string, limit int) (items []*repositories.App, next string, err error)
	Generation(ctx context.Context, appID, sessionID string) (store.Generation, error)
	// Places lists the scopes of an app in which there is a repository of that id.
	Places(ctx context.Context, appID, repositoryID string) ([]repositories.Scope, error)
	ExtendLineage(ctx context.Context, appID, lineage string, until time.Time) error
	AllowsOrigin(ctx context.Context, appID, origin string) (bool, error)
}

// Tokens signs access tokens, and those that they are renewed with.
type Tokens interface {
	SignAccess(token store.AccessToken, id string) (secret.Secret, error)
	SignRefresh(token store.AccessToken, id string) (secret.Secret, error)
	OpenRefresh(given secret.Secret) (store.AccessToken, error)
	Grant(appID string, module repositories.Module) string
	SameGrant(grant, appID string, module repositories.Module) bool
}

// Shortest and longest EARSHOT_SERMAS_TOKEN_TTL: the client renews a token 30 s before its end,
// with a timer that takes no more than 2^31 ms.
const (
	MinTokenTTL     = 35 * time.Second
	MaxTokenTTL     = 24 * 24 * time.Hour
	DefaultTokenTTL = 5 * time.Minute
)

// handler serves the paths of SERMAS.
type handler struct{ Options }

const (
	// root is where all paths of SERMAS are.
	root = "/api"
	// maxBody is the longest body that is read, in bytes, as of REST.
	maxBody = 1 << 20
	// maxGrant is the longest request for a token, in bytes: anybody may make one.
	maxGrant = 16 << 10
)

// New returns a handler that serves the paths of SERMAS, and leaves all others to REST. It is
// safe for concurrent use.
func New(options Options) http.Handler {
	h := &handler{options}
	own := h.router()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == root || strings.HasPrefix(r.URL.Path, root+"/") {
			own.ServeHTTP(w, r)
			return
		}
		h.REST.ServeHTTP(w, r)
	})
}

// way is one of the ways in.
type way struct {
	ratelimit.Needs
	handle echo.HandlerFunc
}

// Doors lists the ways in.
func Doors() (all []ratelimit.Needs) {
	for _, one := range (&handler{}).ways() {
		all = append(all, one.Needs)
	}
	return all
}

// ways are the ways in. Those without a May ask REST, which knows who may.
func (h *handler) ways() []way {
	const repository, chat = root + "/dialogue/tools/:repositoryId", root + "/dialogue/speech/chat/:appId/:sessionId"
	grant := ratelimit.Needs{Open: true, Body: maxGrant, Share: admission.Grant, Bounds: "who guesses pauses"}
	tools := ratelimit.Needs{May: toolAccess, Body: maxBody, Share: admission.Request}
	says := ratelimit.Needs{May: auth.Access{Scopes: []store.Permission{store.PermitMessages}, FrontEnd: true}, Body: maxBody, Share: admission.Turn, Counts: ratelimit.Messages}
	reads := ratelimit.Needs{May: says.May, Share: admission.Request}
	return []way{
		wayAt(grant, "POST "+root+"/platform/token", h.grant),
		wayAt(grant, "POST "+root+"/platform/token/", h.grant),
		wayAt(grant, "POST "+root+"/platform/token/access_token", h.grant),
		wayAt(grant, "POST "+root+"/platform/token/refresh", h.renew),
		wayAt(grant, "POST "+root+"/platform/token/refresh_token", h.renew),
		wayAt(tools, "POST "+repository, h.setTools),
		wayAt(tools, "PUT "+repository, h.addTools),
		wayAt(tools, "DELETE "+repository, h.removeTools),
		wayAt(tools, "PUT "+root+"/app/:appId/tools", h.setAppTools),
		wayAt(says, "POST "+chat, h.chat),
		wayAt(reads, "GET "+root+"/dialogue/memory/:sessionId", h.memory),
	}
}

// wayAt is a way in at a method and a path.
func wayAt(needs ratelimit.Needs, operation string, handle echo.HandlerFunc) way {
	needs.Surface, needs.Operation = ratelimit.SERMAS, operation
	return way{needs, handle}
}

// router serves what is below root.
func (h *handler) router() http.Handler {
	router := echo.New()
	router.HTTPErrorHandler = h.fail
	router.Use(h.entered)
	router.RouteNotFound(root, h.unknown)
	router.RouteNotFound(root+"/*", h.unknown)
	if !h.On {
		return router
	}
	for _, one := range h.ways() {
		method, path, _ := strings.Cut(one.Operation, " ")
		router.Add(method, path, h.through(one))
	}
	return router
}

// through is a handler behind its walls. What is asked of REST takes its share there.
func (h *handler) through(to way) echo.HandlerFunc {
	needs := to.Needs
	if !needs.Open {
		needs.Share = admission.Stream
	}
	within := h.Walls.Around(needs)(to.handle)
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

// entered bounds what is read, says how answers may be used, and answers the preflights of
// browsers. Whether a page may read an answer is for the app to say, which a preflight does not
// name; it keeps nobody out, since a browser sends no key by itself.
func (h *handler) entered(next echo.HandlerFunc) echo.HandlerFunc {
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

// fail writes an error, and logs one of ours, which the answer does not show.
func (h *handler) fail(err error, c echo.Context) {
	var routing *echo.HTTPError
	if !errors.As(err, &routing) && answer.ProblemOf(err).Status >= http.StatusInternalServerError {
		h.Logger.Error("sermas.failed", "route", c.Path(), "error", err.Error())
	}
	answer.WriteError(err, c)
}
