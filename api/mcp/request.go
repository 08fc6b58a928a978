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
)

// revision is the newest of the protocol that is spoken.
const revision = "2026-07-28"

// Headers that repeat what the body says, for those who look at no body (SEP-2243).
const (
	versionHeader = "Mcp-Protocol-Version"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// Methods that are answered here.
const (
	methodList       = "tools/list"
	methodCall       = "tools/call"
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
	methodSubscribe  = "subscriptions/listen"
)

var methods = map[string]func(*exchange) error{
	methodList:       (*exchange).listTools,
	methodCall:       func(x *exchange) error { return toolCall{tasks{x}}.callTool() },
	methodSubscribe:  (*exchange).subscribe,
	methodTaskGet:    func(x *exchange) error { return tasks{x}.getTask() },
	methodTaskUpdate: func(x *exchange) error { return tasks{x}.updateTask() },
	methodTaskCancel: func(x *exchange) error { return tasks{x}.cancelTask() },
}

// request is a JSON-RPC request.
type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params params          `json:"params"`
	// modern says that it is of revision; others are of those before.
	modern bool
	// plain says that its headers and its body agree, and nothing is missing. What is wrong with
	// others is for the SDK to say.
	plain bool
}

// params are the parameters of all methods that are answered here.
type params struct {
	Meta           meta                       `json:"_meta"`
	Name           string                     `json:"name"`
	Arguments      map[string]any             `json:"arguments"`
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses"`
	RequestState   string                     `json:"requestState"`
	Notifications  *subscription              `json:"notifications"`
}

// meta is what a client says of itself with each request (SEP-2575), and of this one.
type meta struct {
	Version      string        `json:"io.modelcontextprotocol/protocolVersion"`
	Client       *client       `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities *capabilities `json:"io.modelcontextprotocol/clientCapabilities"`
	// TriggerID is the idempotency key of a call: the same again fires nothing.
	TriggerID string `json:"earshot/triggerId"`
	// Metadata is kept with the trigger.
	Metadata repositories.Metadata `json:"earshot/metadata"`
	// TraceParent is the span that the call is of, which need not be that of the HTTP request.
	TraceParent string `json:"traceparent"`
}

type client struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type capabilities struct {
	Elicitation *struct {
		Form json.RawMessage `json:"form"`
		URL  json.RawMessage `json:"url"`
	} `json:"elicitation"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// tasks reports whether the client can be answered with a task.
func (r *request) tasks() bool {
	if !r.modern {
		return false
	}
	_, declared := r.Params.Meta.Capabilities.Extensions[tasksExtension]
	return declared
}

// elicits reports whether the client asks its user what it is told to ask. One that declares no
// mode fills forms.
func (r *request) elicits() bool {
	if !r.modern {
		return false
	}
	can := r.Params.Meta.Capabilities.Elicitation
	return can != nil && (can.Form != nil || can.URL == nil)
}

// readRequest reads a request and finds out whether it is plain.
func readRequest(header http.Header, body []byte) *request {
	r := &request{}
	if exactjson.Unmarshal(body, r) != nil || len(r.ID) == 0 || string(r.ID) == "null" {
		return r
	}
	version, said := header.Get(versionHeader), r.Params.Meta
	r.modern = version == revision
	if !r.modern {
		r.plain = version < revision && said.Version == "" && (r.Method == methodList || r.Method == methodCall)
		return r
	}
	r.plain = said.Version == revision && said.Capabilities != nil && header.Get(methodHeader) == r.Method &&
		(r.Method != methodCall || r.Params.Name != "" && header.Get(nameHeader) == r.Params.Name)
	return r
}

// Codes of errors (JSON-RPC 2.0; SEP-2243, SEP-2575).
const (
	codeInvalidParams     = -32602
	codeInternal          = -32603
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
)

// rpcError is an error of the protocol.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error returns its message.
func (e *rpcError) Error() string { return e.Message }

func invalid(message string) error { return &rpcError{Code: codeInvalidParams, Message: message} }

// needsTasks is the error of a request for a task by a client that has not said that it knows
// them.
func needsTasks() error {
	return &rpcError{Code: codeMissingCapability, Message: "this needs a client that declares the extension " + tasksExtension,
		Data: map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: map[string]any{}}}}}
}

// exchange is a request that is answered here.
type exchange struct {
	server  *Server
	c       echo.Context
	request *request
	user    User
	// values are the arguments with what the user was asked for; nil where nothing was. The
	// client repeats its own arguments in each round, with the headers that go with them.
	values map[string]any
	// wrapped says that the call came by call_tool, whose schema names no headers.
	wrapped bool
	// trace is where the call stands in its trace.
	trace string
}

// tasks are what an exchange says of calls that take their time, and toolCall is one that calls a tool.
type (
	tasks    struct{ *exchange }
	toolCall struct{ tasks }
)

func (x *exchange) ctx() context.Context { return x.c.Request().Context() }

func (x *exchange) scope() repositories.Scope {
	return repositories.Scope{AppID: x.c.Param("appId"), SessionID: x.c.Param("sessionId")}
}

// done is a result with nothing in it but that it is one.
type done struct {
	ResultType string `json:"resultType,omitempty"`
	Meta       any    `json:"_meta,omitempty"`
}

// complete is the head of every result but those of other types.
func (x *exchange) complete() done {
	if !x.request.modern {
		return done{}
	}
	return done{"complete", identified}
}

// identified is how a result names its server (SEP-2575).
var identified = map[string]any{sdk.MetaKeyServerInfo: serviceInfo}

// reply answers with a result, or with the error in its place.
func (x *exchange) reply(result any, err error) error {
	if err != nil {
		return x.fail(err)
	}
	text, err := exactjson.Encode(result)
	if err != nil {
		return err
	}
	return x.write(http.StatusOK, `,"result":`, text)
}

func (x *exchange) write(status int, member string, text []byte) error {
	line := make([]byte, 0, len(text)+len(x.request.ID)+48)
	line = append(append(line, `{"jsonrpc":"2.0","id":`...), x.request.ID...)
	line = append(append(append(line, member...), text...), "}\n"...)
	return x.c.Blob(status, echo.MIMEApplicationJSON, line)
}

// fail answers with an error: one of the protocol, or what a problem says. The status is what
// the revision asks for, or that of the problem, so that what stands in between understands it.
func (x *exchange) fail(err error) error {
	var own *rpcError
	status := http.StatusOK
	if errors.As(err, &own) {
		if x.request.modern {
			status = http.StatusBadRequest
		}
	} else {
		problem := answer.ProblemOf(err)
		if status = problem.Status; status == http.StatusInternalServerError {
			return err // the log says more
		}
		problem.SetHeader(x.c.Response().Header())
		own = &rpcError{Code: codeInternal, Message: problem.Detail}
	}
	text, err := exactjson.Encode(own)
	if err != nil {
		return err
	}
	return x.write(status, `,"error":`, text)
}

type refusedParams struct{ sdk.ParamsBase }

type refusedResult struct{ sdk.ResultBase }

// refused is what the SDK answers to methods of tasks, which come to it only where their
// headers or their _meta are not right. Most it refuses by itself.
func refused(context.Context, *sdk.ServerSession, *refusedParams) (*refusedResult, error) {
	return nil, errors.New("tasks are of revision " + revision + ": name it in the header and in _meta")
}
