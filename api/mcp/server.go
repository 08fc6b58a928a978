// Package mcp serves the tools of an app or a session to agents over the Model Context Protocol: revision
// 2026-07-28, which has no sessions, and the two before.
//
// A tool call is a direct trigger with the source agent. A call becomes a task (extension
// io.modelcontextprotocol/tasks) if it takes too long, or waits for a subscriber's answer, a confirmation or
// values. The task's id is the trigger's, so the ledger keeps it on every replica and through crashes.
//
// Each message is checked here first. The official Go SDK handles the handshake, discovery, and requests whose
// headers are not those of their revision. Well-formed frequent requests (tools/list, tools/call, tasks/…,
// subscriptions/listen) are answered here: the SDK creates a connection and some 400 kB of garbage per request.
package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
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

// Engine fires tools and reads triggers.
type Engine interface {
	Catalog(ctx context.Context, appID, sessionID string) (*scope.Catalog, error)
	// Count counts a use against the limits per minute, and fails with a *ledger.RateError.
	Count(ctx context.Context, appID, sessionID string, use ledger.Use) error
	// Fire returns the JSON of a query.Match.
	Fire(ctx context.Context, direct trigger.Direct) (json.RawMessage, error)
	Trigger(ctx context.Context, appID, triggerID string) (query.Record, error)
	// FiredInSession reports whether a trigger is of the present generation of a session.
	FiredInSession(ctx context.Context, appID, sessionID, triggerID string) (bool, error)
	// Confirm releases a waiting trigger, Deny ends it, and Cancel ends one whose effects are deferred. The
	// record names by. The digest identifies the question; an empty one denies any. They fail with
	// query.ErrEnded if it is too late, and with trigger.ErrDigest if the digest differs.
	Confirm(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Deny(ctx context.Context, appID, triggerID, digest, by string) (query.Record, error)
	Cancel(ctx context.Context, appID, triggerID, by string) (query.Record, error)
	// Answer sets the answer of a trigger that waits for one; the first answer counts.
	Answer(ctx context.Context, appID, triggerID string, given effect.Answer) (query.Record, error)
	// Background runs a function outside of any request. Shutdown waits for it.
	Background(run func(ctx context.Context))
}

// PendingCalls keeps calls until their missing values are given. pendingcalls.Calls implements it.
type PendingCalls interface {
	Begin(ctx context.Context, scope repositories.Scope, id string, call pendingcalls.Call) error
	Get(ctx context.Context, scope repositories.Scope, id string) (pendingcalls.Call, error)
	Change(ctx context.Context, scope repositories.Scope, id string, change func(*pendingcalls.Call)) (pendingcalls.Call, error)
	End(ctx context.Context, scope repositories.Scope, id string) error
}

// Events reads the stream of events, like api.Events.
type Events interface {
	Now(ctx context.Context) (uint64, error)
	Follow(ctx context.Context, appID, sessionID string, after uint64) (<-chan effect.Published, error)
}

// User holds the verified claims of the agent's user. Explain adds to an error why tokens were refused.
type User struct {
	Claims  parameters.Claims
	Explain func(error) error
}

// Options configures New. All but PendingCalls, Events, Tracer and TaskAfter are required.
type Options struct {
	Engine Engine
	// PendingCalls missing: calls that lack values are faults.
	PendingCalls PendingCalls
	// Events missing: subscriptions answer 503.
	Events Events
	// EnterStream takes a stream slot of a scope.
	EnterStream func(scope repositories.Scope) (leave func(), err error)
	// Watch checks whether a request's key or token is still valid, and its session not closed.
	Watch func(ctx context.Context, who auth.Principal, scope repositories.Scope) (*auth.Watch, error)
	// Admission bounds concurrent requests; open streams do not count.
	Admission echo.MiddlewareFunc
	// Closing ends streams when it is closed.
	Closing <-chan struct{}
	// Users verifies the ID tokens of a request.
	Users func(c echo.Context) (User, error)
	// WithAudit runs do, which changes a trigger's state, and records it in the audit log.
	WithAudit func(ctx context.Context, c echo.Context, action audit.Action, triggerID string, do func() (query.Record, error)) error
	// Tracer starts the spans of calls; nil: none.
	Tracer *tracing.Tracer
	// TaskAfter is how long a call may take before it becomes a task. Missing: 2 s (section 19 of the
	// contract).
	TaskAfter time.Duration
	Retention time.Duration // how long the record of a finished task is kept
	NewID     func() string
}

// Server answers MCP requests. It is safe for concurrent use.
type Server struct {
	Options
	lists      *lru.Cache[listKey, []byte] // JSON of tool lists: thousands of tools cost only their bytes
	background chan struct{}               // one element per call that may continue after its answer
	// sdk answers all other requests, of all revisions.
	sdk *sdk.StreamableHTTPHandler
}

// maxBackground bounds calls that continue after the answer to their client. Further ones hold their request, so
// that a client has no more calls than requests.
const maxBackground = 1024

// New returns a Server.
func New(options Options) *Server {
	s := &Server{Options: options, background: make(chan struct{}, maxBackground)}
	s.lists, _ = lru.New[listKey, []byte](maxCachedLists) // fails only for a size of 0
	s.TaskAfter = cmp.Or(s.TaskAfter, 2*time.Second)
	modern, legacy := newSDKServer(true), newSDKServer(false)
	s.sdk = sdk.NewStreamableHTTPHandler(func(r *http.Request) *sdk.Server {
		if r.Header.Get(versionHeader) < revision {
			return legacy // also without the header: initialize, or no revision
		}
		return modern
	}, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		// auth.Guarded and auth.CrossOrigin check Host and Origin.
		DisableLocalhostProtection: true})
	return s
}

// newSDKServer returns a server without tools: it gets only malformed requests about tools. It offers earlier
// revisions no tasks and no notifications, which would need a session.
func newSDKServer(modern bool) *sdk.Server {
	capabilities := &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{ListChanged: modern}}
	if modern {
		capabilities.Extensions = map[string]any{tasksExtension: map[string]any{}}
	}
	server := sdk.NewServer(serviceInfo, &sdk.ServerOptions{
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	for _, method := range []string{methodTaskGet, methodTaskUpdate, methodTaskCancel} {
		if err := sdk.AddReceivingCustomMethod(server, method, refuseTaskMethod); err != nil {
			panic(err) // the SDK has none of these methods
		}
	}
	return server
}

type taskMethodParams struct{ sdk.ParamsBase }

type taskMethodResult struct{ sdk.ResultBase }

const ofRevision = " of revision " + revision + ": name it in the header and in _meta"

// refuseTaskMethod answers task methods with wrong headers or _meta that the SDK does not refuse itself.
func refuseTaskMethod(context.Context, *sdk.ServerSession, *taskMethodParams) (*taskMethodResult, error) {
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "tasks are" + ofRevision}
}

// methods are answered here, besides subscriptions/listen. A nil result means that the answer is written.
var methods = map[string]func(*rpcCall) (result any, err error){
	methodList:       (*rpcCall).listTools,
	methodCall:       (*rpcCall).callTool,
	methodTaskGet:    (*rpcCall).getTask,
	methodTaskUpdate: (*rpcCall).updateTask,
	methodTaskCancel: (*rpcCall).cancelTask,
}

// Serve answers a request.
func (s *Server) Serve(c echo.Context) error {
	if origin, crossOrigin := auth.CrossOrigin(c); crossOrigin {
		return auth.ForeignPage(origin)
	}
	if mode := c.QueryParam("tools"); mode != "" && mode != searchMode {
		return answer.NewProblem(answer.InvalidQuery, "tools="+answer.Quote(mode)+" is unknown; the only value is tools="+searchMode)
	}
	body, err := answer.ReadBody(c.Request().Body)
	if err != nil {
		return err
	}

	request, fault := readRequest(c.Request().Header, body)
	handle := methods[request.Method]
	x := &rpcCall{server: s, c: c, Scope: repositories.Scope{AppID: c.Param("appId"), SessionID: c.Param("sessionId")}, request: request}
	named := c.Request().Header.Get(versionHeader)
	switch {
	case named != "" && !slices.Contains(sdk.SupportedProtocolVersions(), named): // SEP-2575
		return writeError(x, http.StatusBadRequest, &rpcError{
			Code: sdk.CodeUnsupportedProtocolVersion, Message: "revision " + exactQuote(named) + " is not spoken here",
			Data: sdk.UnsupportedProtocolVersionData{Supported: sdk.SupportedProtocolVersions(), Requested: named},
		})
	case fault != nil:
		return x.fail(fault)
	case !request.hasAnswer(): // the spec has a 202 for whatever needs no answer, known or not
		return c.NoContent(http.StatusAccepted)
	case !request.modern && (request.Method == methodSubscribe || strings.HasPrefix(request.Method, "tasks/")):
		return x.fail(&rpcError{Code: codeUnknownMethod, Message: request.Method + " is" + ofRevision})
	case request.Method == methodInitialize || request.Method == methodDiscover:
		return s.Admission(func(echo.Context) error {
			if _, err := s.Engine.Catalog(x.ctx(), x.AppID, x.SessionID); err != nil { // an app that does not exist has no server
				return x.fail(err)
			}
			return s.delegate(x, body)
		})(c)
	case !request.complete || handle == nil && request.Method != methodSubscribe:
		return s.delegate(x, body)
	}
	if x.user, err = s.Users(c); err != nil {
		return err
	}
	if handle == nil {
		return x.subscribe()
	}
	return s.Admission(func(echo.Context) error {
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

// delegate lets the SDK answer. A missing Accept header is completed, and the answer is then JSON, as curl
// expects.
func (s *Server) delegate(x *rpcCall, body []byte) error {
	request := x.c.Request()
	request.Body = io.NopCloser(bytes.NewReader(body))
	if accept := request.Header.Get("Accept"); accept == "" || accept == "*/*" {
		request.Header.Set("Accept", "application/json, text/event-stream")
	}
	if request.Header.Get("Content-Type") == "" {
		request.Header.Set("Content-Type", echo.MIMEApplicationJSON)
	}
	recorder := &refusal{ResponseWriter: x.c.Response()}
	s.sdk.ServeHTTP(recorder, request)
	if recorder.status != 0 { // a JSON-RPC error instead of the plain text
		recorder.Header().Del(echo.HeaderContentType)
		return writeError(x, recorder.status, &rpcError{Code: codeInvalidRequest, Message: strings.TrimSpace(recorder.text.String())})
	}
	if x.c.Response().Header().Get(echo.HeaderContentType) == echo.MIMEApplicationJSON {
		_, _ = x.c.Response().Write([]byte{'\n'}) // like all answers
	}
	return nil
}
