package endpoints

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// RemotePath is what the paths of MCP servers, and of the calls of their tools, begin with.
const RemotePath = "/mcp/"

// Paths of an MCP server: one that has no sessions, and one that has, which forgets them
// whenever it is away.
const (
	PathStateless = RemotePath + "stateless"
	PathSessions  = RemotePath + "sessions"
)

// Trouble is what is wrong with an MCP server.
type Trouble int32

// The troubles. Of a server that is away nobody gets an answer.
const (
	Well Trouble = iota
	Busy         // 503 to everything
	Away         // connections are cut
	// Moody is a server that is busy for every eighth call, and cuts the connection of another
	// eighth, each at its first attempt alone.
	Moody
)

// Remote is an MCP server with tools for a source of type mcp. What it does with a call is said
// by the name of the tool:
//
//	lookup  answers
//	stuck   503 the first time, then answers
//	lose    cuts the connection the first time, then answers
//	refuse  the tool fails the first time (isError), then answers
//	wire    as lose, and says that a repeat does more (idempotentHint false)
//
// An answer is {"page": …}, see Page.
type Remote struct {
	// Key is the X-Api-Key of whoever may ask; empty for anybody.
	Key string

	sink    *Sink
	trouble atomic.Int32
	firsts  atomic.Int64 // calls that came for the first time
	served  *mcp.Server
	plain   http.Handler
	// sessions is another handler after each time that the server was away.
	sessions atomic.Pointer[mcp.StreamableHTTPHandler]
}

// Page is the answer to a call under an idempotency key, for a day.
func Page(key, day string) string { return key + " on " + day }

const daySchema = `{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`

func newRemote(sink *Sink) *Remote {
	r := &Remote{sink: sink, served: mcp.NewServer(&mcp.Implementation{Name: "scripted", Version: "1"}, nil)}
	for _, name := range []string{"lookup", "stuck", "lose", "refuse", "wire"} {
		tool := &mcp.Tool{Name: name, Description: "Tool " + name, InputSchema: json.RawMessage(daySchema)}
		if name == "wire" {
			tool.Annotations = &mcp.ToolAnnotations{IdempotentHint: false, DestructiveHint: new(bool)}
		}
		r.served.AddTool(tool, r.call)
	}
	r.plain = mcp.NewStreamableHTTPHandler(r.server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	r.forget()
	return r
}

func (r *Remote) server(*http.Request) *mcp.Server { return r.served }

// forget has the sessions that are open be known no more.
func (r *Remote) forget() { r.sessions.Store(mcp.NewStreamableHTTPHandler(r.server, nil)) }

// Set puts the server into some trouble, or out of it.
func (r *Remote) Set(t Trouble) {
	r.trouble.Store(int32(t))
	if t == Away {
		r.forget()
	}
}

// rpc is what the script reads of a request.
type rpc struct {
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct {
			Key string `json:"earshot/idempotencyKey"`
		} `json:"_meta"`
	}
}

func (r *Remote) serve(out http.ResponseWriter, request *http.Request, body string) {
	switch Trouble(r.trouble.Load()) {
	case Away:
		panic(http.ErrAbortHandler) // cuts the connection
	case Well, Moody:
		if request.Header.Get("X-Api-Key") != r.Key {
			http.Error(out, "not you", http.StatusForbidden)
			return
		}
	case Busy:
		r.note(request, body)
		http.Error(out, "busy", http.StatusServiceUnavailable)
		return
	}
	asked, first := r.note(request, body)
	mood := r.mood(asked, first)
	switch {
	case mood == Busy, first && asked == "stuck":
		http.Error(out, "busy", http.StatusServiceUnavailable)
		return
	case mood == Away, first && (asked == "lose" || asked == "wire"):
		panic(http.ErrAbortHandler)
	}
	request.Body = io.NopCloser(strings.NewReader(body))
	if request.URL.Path == PathStateless {
		r.plain.ServeHTTP(out, request)
		return
	}
	r.sessions.Load().ServeHTTP(out, request)
}

// mood is the trouble that a moody server has with a call.
func (r *Remote) mood(asked string, first bool) Trouble {
	if Trouble(r.trouble.Load()) != Moody || !first || asked == "" {
		return Well
	}
	return map[int64]Trouble{0: Busy, 4: Away}[r.firsts.Add(1)%8]
}

// note logs a call of a tool, and says which it is of and whether it is the first of its id; it is
// empty for all else that a server is asked.
func (r *Remote) note(request *http.Request, body string) (tool string, first bool) {
	var asked rpc
	if json.Unmarshal([]byte(body), &asked) != nil || asked.Method != "tools/call" {
		return "", false
	}
	call := Call{
		Path: RemotePath + asked.Params.Name, ID: request.Header.Get("webhook-id"),
		IdempotencyKey: asked.Params.Meta.Key, Body: string(asked.Params.Arguments),
	}
	if other := request.Header.Get("Idempotency-Key"); other != call.IdempotencyKey {
		call.IdempotencyKey += " and " + other
	}
	return asked.Params.Name, r.sink.note(call)
}

// call carries a call out.
func (r *Remote) call(_ context.Context, asked *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var given struct{ Day string }
	if err := json.Unmarshal(asked.Params.Arguments, &given); err != nil {
		return nil, err
	}
	key, _ := asked.Params.Meta["earshot/idempotencyKey"].(string)
	if asked.Params.Name == "refuse" && r.sink.times(key) == 1 {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "not today"}}}, nil
	}
	r.sink.done(key)
	return &mcp.CallToolResult{StructuredContent: object{"page": Page(key, given.Day)}, Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}
