package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/parameters"
	"earshot/repositories/tracing"
	"earshot/repositories/version"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/ledger"
	"earshot/trigger/pendingcalls"
	"earshot/trigger/query"
	"earshot/trigger/scope"
)

// Engine is what the server needs of the ledger.
type Engine interface {
	Catalog(ctx context.Context, appID, sessionID string) (*scope.Catalog, error)
	SearchTools(ctx context.Context, appID, sessionID, text string, limit int) ([]scope.FoundTool, error)
	// Count counts a use against the limits of a minute; its error is a *ledger.RateError where
	// one is reached.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// Fire returns the JSON of a query.Match.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Trigger(ctx context.Context, appID, triggerID string) (query.Record, error)
	Confirm(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Deny(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Cancel(ctx context.Context, appID, triggerID, by string) (query.Record, error)
	Answer(ctx context.Context, appID, triggerID string, given effect.Answer) (query.Record, error)
	// NextAttempt says which attempt at the call of a trigger is under way, or due next, and when.
	NextAttempt(ctx context.Context, record query.Record) (query.NextAttempt, error)
	// Background runs a function that no request waits for. A service that ends waits for it.
	Background(run func(ctx context.Context))
}

// Asked keeps the calls that lack values until somebody has given them; asked.Calls does.
type Asked interface {
	Begin(ctx context.Context, scope repositories.Scope, id string, call pendingcalls.Call) error
	Get(ctx context.Context, scope repositories.Scope, id string) (pendingcalls.Call, error)
	Change(ctx context.Context, scope repositories.Scope, id string, change func(*pendingcalls.Call)) (pendingcalls.Call, error)
	End(ctx context.Context, scope repositories.Scope, id string) error
}

// Events is the stream of events, as api.Events reads it.
type Events interface {
	Now(ctx context.Context) (uint64, error)
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// User is the verified claims of the user for whom an agent calls. Explained adds to an error
// why tokens that were sent did not do.
type User struct {
	Claims    parameters.Claims
	Explained func(error) error
}

// Options are what New needs. All but Asked and Events must be given.
type Options struct {
	Engine Engine
	// Asked missing: calls that lack values are faults, and no task is made of them.
	Asked Asked
	// Events missing: nobody can subscribe.
	Events Events
	// Enter counts one more open stream of a scope.
	Enter func(scope repositories.Scope) (leave func(), err error)
	// StillGood returns why the key or token of a request is none any more.
	StillGood func(ctx context.Context, who auth.Principal) error
	// Admitted bounds how many requests are worked on at once; open streams are not among them.
	Admitted echo.MiddlewareFunc
	// Closing ends streams when it is closed.
	Closing <-chan struct{}
	// Users verifies the ID tokens of a request.
	Users func(c echo.Context) (User, error)
	// Tracer begins the spans of calls; nil: none.
	Tracer *tracing.Tracer
	// TaskAfter is how long a call may take before it is a task. Missing: 2 s.
	TaskAfter time.Duration
	// Kept is how long the record of a task stays after it was done.
	Kept  time.Duration
	NewID func() string
}

// Server answers requests by MCP. It is safe for concurrent use.
type Server struct {
	Options
	lists *lists
	slow  chan struct{} // has one of each call that goes on behind its answer, or may
	// sdk speaks what is not answered here, to clients of this revision and of earlier ones.
	sdk *sdk.StreamableHTTPHandler
}

// New returns a Server.
func New(options Options) *Server {
	s := &Server{Options: options, lists: newLists(), slow: make(chan struct{}, mostSlow)}
	s.TaskAfter = cmp.Or(s.TaskAfter, defaultTaskAfter)
	modern, legacy := newSDKServer(true), newSDKServer(false)
	s.sdk = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if v := r.Header.Get(versionHeader); v != "" && v < revision {
			return legacy
		}
		if r.Header.Get(versionHeader) == "" {
			return legacy // it begins with initialize, or names no revision
		}
		return modern
	}, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		// Host and Origin are looked at for all that is served (auth.Guarded, auth.Elsewhere).
		DisableLocalhostProtection: true})
	return s
}

// serviceInfo is how the server calls itself.
var serviceInfo = &sdk.Implementation{Name: "earshot", Title: "Earshot", Version: version.Current().Version}

// tasksExtension is the extension by which calls become tasks (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// newSDKServer returns a server that has no tools of its own: what concerns tools comes to it
// only where it is to be refused. Clients of earlier revisions are told of no tasks and of no
// notifications, for which they would need a session.
func newSDKServer(modern bool) *sdk.Server {
	can := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: modern}}
	if modern {
		can.Extensions = map[string]any{tasksExtension: map[string]any{}}
	}
	server := sdk.NewServer(serviceInfo, &sdk.ServerOptions{
		Capabilities: can,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	server.AddReceivingMiddleware(toolsAlone)
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		if err := sdk.AddReceivingCustomMethod(server, method, refused); err != nil {
			panic(err) // none of them is the SDK's own
		}
	}
	return server
}

// toolsAlone refuses what the SDK would answer with an empty list: there are tools here, and
// nothing else.
func toolsAlone(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, sent sdk.Request) (sdk.Result, error) {
		switch of, _, _ := strings.Cut(method, "/"); of {
		case "prompts", "resources", "completion", "logging":
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + method + " here, but tools"}
		}
		return next(ctx, method, sent)
	}
}

// Serve answers a request to one of the server's URLs.
func (s *Server) Serve(c echo.Context) error {
	if origin, elsewhere := auth.Elsewhere(c); elsewhere {
		return auth.NoPage(origin)
	}
	if mode := c.QueryParam("tools"); mode != "" && mode != searchMode {
		return answer.BadRequest("tools=" + answer.Quote(mode) + " is not known; tools=" + searchMode + " is")
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return answer.Unread(err)
	}
	sent := readRequest(c.Request().Header, body)
	if handle := methods[sent.Method]; handle != nil && sent.plain {
		user, err := s.Users(c)
		if err != nil {
			return err
		}
		x := &exchange{server: s, c: c, request: sent, user: user}
		if sent.Method == methodSubscribe {
			return x.subscribe()
		}
		return s.Admitted(func(echo.Context) error { return handle(x) })(c)
	}
	s.delegate(c, body)
	return nil
}

// delegate has the SDK answer. It asks for both types of answers in Accept, of which it gives
// the first; who names neither, as curl does, gets that as well.
func (s *Server) delegate(c echo.Context, body []byte) {
	to := c.Request()
	to.Body = io.NopCloser(bytes.NewReader(body))
	if accepts := to.Header.Get("Accept"); accepts == "" || accepts == "*/*" {
		to.Header.Set("Accept", "application/json, text/event-stream")
	}
	if to.Header.Get("Content-Type") == "" {
		to.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	}
	s.sdk.ServeHTTP(c.Response(), to)
	if c.Response().Header().Get(echo.HeaderContentType) == echo.MIMEApplicationJSON {
		_, _ = c.Response().Write([]byte{'\n'}) // as all answers end
	}
}
