package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/api/answer"
	"earshot/repositories"
	"earshot/repositories/exactjson"
	"earshot/repositories/version"
)

// revision is the newest supported revision of the protocol.
const revision = "2026-07-28"

// tasksExtension is the extension that turns calls into tasks (SEP-2663).
const tasksExtension = "io.modelcontextprotocol/tasks"

// Headers that repeat parts of the body for proxies (SEP-2243).
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

const (
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
	methodSubscribe  = "subscriptions/listen"
)

type rpcRequest struct {
	ID     json.RawMessage
	Method string
	Params rpcParams
	// modern reports that the request has this revision, not an earlier one.
	modern bool
	// complete reports that headers and body agree and are complete. The SDK refuses other requests.
	complete bool
	// acceptsStream reports that the client accepts a stream.
	acceptsStream bool
}

type rpcParams struct {
	Meta           requestMeta                `json:"_meta"`
	Name           string                     `json:"name"`
	Arguments      map[string]any             `json:"arguments"`
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	RequestState   string                     `json:"requestState"`
	Cursor         string                     `json:"cursor"`
	Notifications  *subscription              `json:"notifications"`
}

// requestMeta is the client's description of itself and of the request (SEP-2575).
type requestMeta struct {
	Version string `json:"io.modelcontextprotocol/protocolVersion"`
	Client  *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities *struct {
		Elicitation *struct {
			Form json.RawMessage `json:"form"`
			URL  json.RawMessage `json:"url"`
		} `json:"elicitation"`
		Extensions map[string]json.RawMessage `json:"extensions"`
	} `json:"io.modelcontextprotocol/clientCapabilities"`
	TriggerID   string                `json:"earshot/triggerId"` // the idempotency key of a call: a repeat fires nothing
	Metadata    repositories.Metadata `json:"earshot/metadata"`  // stored with the trigger
	TraceParent string                `json:"traceparent"`       // the call's span, which may differ from that of the HTTP request
	// ProgressToken, a string or number, requests progress notifications.
	ProgressToken json.RawMessage `json:"progressToken"`
}

func (r *rpcRequest) supportsTasks() bool {
	if !r.modern {
		return false
	}
	_, declared := r.Params.Meta.Capabilities.Extensions[tasksExtension]
	return declared
}

// supportsElicitation reports whether the client can ask its user. Without a declared mode it supports forms.
func (r *rpcRequest) supportsElicitation() bool {
	if !r.modern {
		return false
	}
	elicitation := r.Params.Meta.Capabilities.Elicitation
	return elicitation != nil && (elicitation.Form != nil || elicitation.URL == nil)
}

// Error codes (JSON-RPC 2.0; SEP-2243, SEP-2575).
const (
	codeParse             = -32700
	codeInvalidRequest    = -32600
	codeUnknownMethod     = -32601
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
)

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns its message.
func (e *rpcError) Error() string { return e.Message }

func invalid(code answer.Code, message string) error {
	return &rpcError{Code: codeInvalidParams, Message: message, Data: errorData{Code: code}}
}

// errorData is the machine-readable part of an error, as in a problem.
type errorData struct {
	Code     answer.Code `json:"code"`
	Required any         `json:"requiredCapabilities,omitempty"`
}

// rpcCall is a request that this package answers.
type rpcCall struct {
	server *Server
	c      echo.Context
	repositories.Scope
	request *rpcRequest
	user    User
	// values are the arguments merged with the user's answers; nil without any. The client repeats its own
	// arguments and headers in each round.
	values map[string]any
	// viaCallTool reports a call through call_tool, whose schema names no headers.
	viaCallTool bool
	trace       string
	stream      *stream // the started stream; nil while the answer may still be plain JSON
}

func (x *rpcCall) ctx() context.Context { return x.c.Request().Context() }

// serviceInfo describes the server, and identified names it in results (SEP-2575).
var (
	serviceInfo = &sdk.Implementation{Name: "earshot", Title: "Earshot", Version: version.Current().Version}
	serverMeta  = map[string]any{sdk.MetaKeyServerInfo: serviceInfo}
)

type resultHead struct {
	ResultType string `json:"resultType,omitempty"`
	Meta       any    `json:"_meta,omitempty"`
}

// head returns the head of a result; empty for earlier revisions.
func (x *rpcCall) head(resultType string) resultHead {
	if !x.request.modern {
		return resultHead{}
	}
	return resultHead{resultType, serverMeta}
}

func (x *rpcCall) write(status int, member string, text []byte) error {
	id := x.request.ID
	if len(id) == 0 { // of an unreadable request
		id = json.RawMessage("null")
	}
	line := make([]byte, 0, len(text)+len(id)+48)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), id...)
	line = append(append(append(line, member...), text...), "}\n"...)
	if x.stream != nil {
		return x.stream.send("event: message\ndata: " + string(line) + "\n")
	}
	return x.c.Blob(status, echo.MIMEApplicationJSON, line)
}

// fail answers with a protocol error or a problem. The HTTP status is that of the revision, or of the problem,
// for proxies.
func (x *rpcCall) fail(err error) error {
	var rpcErr *rpcError
	status := http.StatusOK
	if errors.As(err, &rpcErr) {
		switch {
		case rpcErr.Code == codeUnknownMethod && x.request.modern:
			status = http.StatusNotFound
		case x.request.modern || rpcErr.Code == codeParse || rpcErr.Code == codeInvalidRequest:
			status = http.StatusBadRequest
		}
	} else {
		problem := answer.ProblemOf(err)
		if status = problem.Status; status == http.StatusInternalServerError {
			if x.stream != nil { // only this call can answer on its stream
				_ = writeError(x, status, &rpcError{Code: codeInternal, Message: "internal error; the log says more"})
			}
			return err
		}
		problem.SetHeader(x.c.Response().Header())
		rpcErr = &rpcError{Code: codeInternal, Message: problem.Detail, Data: problem}
	}
	return writeError(x, status, rpcErr)
}

func writeError(x *rpcCall, status int, rpcErr *rpcError) error {
	text, err := exactjson.Encode(rpcErr)
	if err != nil {
		return err
	}
	return x.write(status, `,"error":`, text)
}

func exactQuote(text string) string { return string(exactjson.EncodeOrNull(text)) }

func (x *rpcCall) findTool(name, repositoryID string) (*repositories.Tool, error) {
	catalog, err := x.server.Engine.Catalog(x.ctx(), x.AppID, x.SessionID)
	if err != nil {
		return nil, err
	}
	candidate, found := catalog.Find(name, repositoryID)
	if !found {
		return nil, invalid(answer.UnknownTool, "unknown tool "+exactQuote(name))
	}
	return candidate.Tool.For(x.user.Claims)
}
