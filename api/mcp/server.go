// Package mcp serves the tools of an app, or of a session, to agents by the Model Context Protocol: revision 2026-07-28,
// which knows no sessions, and by initialize the two before.
//
// A call of a tool is a direct trigger with the source agent. What takes longer than the tool's request may take, and what
// waits for a subscriber's answer, for a yes or for values, is a task (the extension io.modelcontextprotocol/tasks): its id
// is that of the trigger, so the ledger keeps it, on every replica and through every crash.
//
// The official Go SDK speaks the protocol: the handshake, discovery, and the refusal of requests that are not plainly right.
// Frequent requests (tools/list, tools/call, tasks/…, subscriptions/listen) are answered here once they are known to be
// right: the SDK makes a connection of its own, and some 400 kB of garbage, for each request.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/labstack/echo/v4"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/api/auth"
	"earshot/repositories"
	"earshot/repositories/audit"
	"earshot/repositories/exactjson"
	"earshot/repositories/parameters"
	"earshot/repositories/tracing"
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
	// Count counts a use against the limits of a minute; its error is a *ledger.RateError if one is reached.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// Fire returns the JSON of a query.Match.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Trigger(ctx context.Context, appID, triggerID string) (query.Record, error)
	Confirm(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Deny(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Cancel(ctx context.Context, appID, triggerID, by string) (query.Record, error)
	Answer(ctx context.Context, appID, triggerID string, given effect.Answer) (query.Record, error)
	// Background runs a function that no request waits for. A service that ends waits for it.
	Background(run func(ctx context.Context))
}

// Asked keeps the calls that lack values until the values are given; pendingcalls.Calls implements it.
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

// User is the verified claims of the user for whom an agent calls. Explained adds to an error why tokens that were sent
// did not verify.
type User struct {
	Claims    parameters.Claims
	Explained func(error) error
}

// Options are what New needs. All but Asked, Events and Tracer must be given.
type Options struct {
	Engine Engine
	// Asked missing: calls that lack values are faults, and no task is made of them.
	Asked Asked
	// Events missing: no client can subscribe.
	Events Events
	// Enter counts one more open stream of a scope.
	Enter func(scope repositories.Scope) (leave func(), err error)
	// StillGood returns why the key or token of a request is no longer valid.
	StillGood func(ctx context.Context, who auth.Principal) error
	// Admitted bounds how many requests are worked on at once; open streams do not count.
	Admitted echo.MiddlewareFunc
	// Closing ends streams when it is closed.
	Closing <-chan struct{}
	// Users verifies the ID tokens of a request.
	Users func(c echo.Context) (User, error)
	// Moved does what moves a trigger, and has it written down.
	Moved func(ctx context.Context, c echo.Context, action audit.Action, triggerID string, do func() (query.Record, error)) error
	// Tracer begins the spans of calls; nil: none.
	Tracer *tracing.Tracer
	// TaskAfter is how long a call may take before it is a task. Missing: 2 s (section 19 of the contract).
	TaskAfter time.Duration
	// Kept is how long the record of a task stays after it was done.
	Kept  time.Duration
	NewID func() string
}

// Server answers requests by MCP. It is safe for concurrent use.
type Server struct {
	Options
	lists *lru.Cache[listKey, []byte] // JSON of lists of tools: a list of thousands costs no more than its bytes
	slow  chan struct{}               // has one of each call that goes on behind its answer, or may
	// sdk answers all other requests, of clients of this revision and of earlier ones.
	sdk *sdk.StreamableHTTPHandler
}

// mostSlow is how many calls go on at once behind the answer to their client. A request waits for any further one, so that
// a client has no more calls under way than requests.
const mostSlow = 1024

// New returns a Server.
func New(options Options) *Server {
	s := &Server{Options: options, slow: make(chan struct{}, mostSlow)}
	s.lists, _ = lru.New[listKey, []byte](keptLists) // fails for a size of 0 only
	s.TaskAfter = cmp.Or(s.TaskAfter, 2*time.Second)
	modern, legacy := newSDKServer(true), newSDKServer(false)
	s.sdk = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get(versionHeader) < revision {
			return legacy // also without the header: it begins with initialize, or names no revision
		}
		return modern
	}, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		// auth.Guarded and auth.Elsewhere check Host and Origin of every request.
		DisableLocalhostProtection: true})
	return s
}

// newSDKServer returns a server that has no tools of its own: requests about tools come to it only to be refused. It tells
// clients of earlier revisions of no tasks and of no notifications, for which they would need a session.
func newSDKServer(modern bool) *sdk.Server {
	can := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: modern}}
	if modern {
		can.Extensions = map[string]any{tasksExtension: map[string]any{}}
	}
	server := sdk.NewServer(serviceInfo, &sdk.ServerOptions{
		Capabilities: can,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
			switch area, _, _ := strings.Cut(method, "/"); area {
			case "prompts", "resources", "completion", "logging": // the SDK would answer with an empty list
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "there is no " + method + " here, but tools"}
			}
			return next(ctx, method, request)
		}
	})
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		if err := sdk.AddReceivingCustomMethod(server, method, refused); err != nil {
			panic(err) // none of them is the SDK's own
		}
	}
	return server
}

type refusedParams struct{ sdk.ParamsBase }

type refusedResult struct{ sdk.ResultBase }

// refused is the SDK's answer to methods of tasks whose headers or _meta are not right. Most it refuses by itself.
func refused(context.Context, *sdk.ServerSession, *refusedParams) (*refusedResult, error) {
	return nil, errors.New("tasks are of revision " + revision + ": name it in the header and in _meta")
}

// methods are those that are answered here, beside subscriptions/listen. A nil result says that the answer is written.
var methods = map[string]func(*rpcCall) (result any, err error){
	methodList:       (*rpcCall).listTools,
	methodCall:       (*rpcCall).callTool,
	methodTaskGet:    (*rpcCall).getTask,
	methodTaskUpdate: (*rpcCall).updateTask,
	methodTaskCancel: (*rpcCall).cancelTask,
}

// Serve answers a request to one of the server's URLs.
func (s *Server) Serve(c echo.Context) error {
	if origin, elsewhere := auth.Elsewhere(c); elsewhere {
		return auth.NoPage(origin)
	}
	if mode := c.QueryParam("tools"); mode != "" && mode != searchMode {
		return answer.NewProblem(answer.InvalidQuery, "tools="+answer.Quote(mode)+" is not known; tools="+searchMode+" is")
	}
	body, err := io.ReadAll(c.Request().Body)
	if err != nil {
		return answer.Unread(err)
	}

	request := readRequest(c.Request().Header, body)
	handle := methods[request.Method]
	x := &rpcCall{server: s, c: c, Scope: repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}, request: request}
	switch {
	case !known(c.Request().Header):
		return unknownVersion(x)
	case !request.plain || handle == nil && request.Method != methodSubscribe:
		return s.delegate(x, body)
	}
	if x.user, err = s.Users(c); err != nil {
		return err
	}
	if handle == nil {
		return x.subscribe()
	}
	return s.Admitted(func(echo.Context) error {
		result, err := handle(x)
		switch {
		case err != nil:
			return x.fail(err)
		case result == nil:
			return nil
		}
		text, err := exactjson.Encode(result)
		if err != nil {
			return err
		}
		return x.write(http.StatusOK, `,"result":`, text)
	})(c)
}

// delegate has the SDK answer. It asks for both types of answers in Accept, and gives the first: a client that names
// neither, as curl does, gets that as well.
func (s *Server) delegate(x *rpcCall, body []byte) error {
	to := x.c.Request()
	to.Body = io.NopCloser(bytes.NewReader(body))
	if accepts := to.Header.Get("Accept"); accepts == "" || accepts == "*/*" {
		to.Header.Set("Accept", "application/json, text/event-stream")
	}
	if to.Header.Get("Content-Type") == "" {
		to.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	}
	out := &refusal{ResponseWriter: x.c.Response()}
	s.sdk.ServeHTTP(out, to)
	if out.status != 0 {
		return out.answer(x, body)
	}
	if x.c.Response().Header().Get(echo.HeaderContentType) == echo.MIMEApplicationJSON {
		_, _ = x.c.Response().Write([]byte{'\n'}) // as all answers end
	}
	return nil
}
