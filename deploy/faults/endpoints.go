package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"earshot/deploy/testbed"
)

type object = map[string]any

// peekPath is that of calls which change nothing, whose record may be missing after a crash.
const peekPath = "/peek"

// behave answers the call of a tool as its path says:
//
//	/ok     200, and repeats the Authorization that it was sent
//	/busy   503 the first time, then 200
//	/hook   502 the first time for some, then 200
//	/dead   404 the first time, then 200
//	/hang   no answer the first time, then 200
//	/drip   200, and a body that never ends, byte by byte
//	/giga   200, and a body of a gigabyte
func behave(out http.ResponseWriter, request *http.Request, call testbed.Call) {
	first := call.Nth == 1
	switch {
	case call.Path == "/drip":
		pour(out, request, 1, 200*time.Millisecond)
	case call.Path == "/giga":
		pour(out, request, 1<<20, 0)
	case call.Path == hookPath && refused(call):
		http.Error(out, "not now", http.StatusBadGateway)
	case first && call.Path == "/busy":
		http.Error(out, "busy", http.StatusServiceUnavailable)
	case first && call.Path == "/dead":
		http.Error(out, "no such thing", http.StatusNotFound)
	case first && call.Path == "/hang":
		<-request.Context().Done()
	default:
		_ = json.NewEncoder(out).Encode(object{"ok": true, "you sent": call.Authorization}) // the caller may be gone
	}
}

func refused(call testbed.Call) bool { return call.Nth == 1 && strings.HasPrefix(call.ID, "7") }

func pour(out http.ResponseWriter, request *http.Request, size int, pause time.Duration) {
	piece, flusher := bytes.Repeat([]byte("x"), size), http.NewResponseController(out)
	for written := 0; written < 1<<30 && request.Context().Err() == nil; written += size {
		if _, err := out.Write(piece); err != nil || flusher.Flush() != nil {
			return
		}
		testbed.Wait(request.Context(), pause)
	}
}

// model is a fake LLM with the API of OpenAI. `call book {"day":"monday"}; note {}` makes it call both tools; with `flaky` it refuses
// the first time; with `fickle` it changes the value on a repeat. It repeats results of tools after reported.
type model struct {
	pause   atomic.Int64
	secrets *planted

	mu    sync.Mutex
	asked map[string]bool // texts that it answers otherwise the second time
}

const (
	changed  = "-again" // what a fickle word gets from the second time on
	reported = "the tools said: "
)

func (m *model) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a sender that died sends no more
	m.secrets.look("a request to the LLM", string(body))
	var asked struct {
		Stream   bool
		Messages []struct{ Role, Content string }
	}
	if json.Unmarshal(body, &asked) != nil || len(asked.Messages) == 0 {
		http.Error(out, "no chat completion", http.StatusBadRequest)
		return
	}
	testbed.Wait(request.Context(), time.Duration(m.pause.Load()))
	answer, last := testbed.Completion{Text: "none"}, asked.Messages[len(asked.Messages)-1]
	if last.Role == "tool" {
		var results []string
		for _, one := range asked.Messages {
			switch one.Role {
			case "tool":
				results = append(results, one.Content)
			case "user":
				results = nil
			}
		}
		answer.Text = reported + strings.Join(results, "; ")
	} else {
		flaky, fickle := strings.Contains(last.Content, "flaky"), strings.Contains(last.Content, "fickle")
		first := true
		if flaky || fickle {
			m.mu.Lock()
			first = !m.asked[last.Content]
			m.asked[last.Content] = true
			m.mu.Unlock()
		}
		if flaky && first {
			http.Error(out, "overloaded", http.StatusServiceUnavailable)
			return
		}
		if words, calling := strings.CutPrefix(last.Content, "call "); calling {
			if !first {
				words = strings.ReplaceAll(words, "fickle", "fickle"+changed)
			}
			for part := range strings.SplitSeq(words, "; ") {
				name, arguments, _ := strings.Cut(part, " ")
				answer.Calls = append(answer.Calls, [2]string{name, arguments})
			}
		}
	}
	answer.Write(out, asked.Stream)
}

// One path has no sessions; the other forgets them whenever the server is away. Calls are noted below remotePath.
const (
	remotePath    = "/mcp/"
	pathStateless = remotePath + "stateless"
	pathSessions  = remotePath + "sessions"
)

type mood int32

const (
	well  mood = iota
	busy       // 503 to everything
	away       // connections are cut
	moody      // busy for every eighth call, and away for another eighth, each at its first attempt alone
)

// remoteTools are those of the MCP server:
//
//	lookup  answers
//	stuck   503 the first time, then answers
//	lose    cuts the connection the first time, then answers
//	refuse  the tool fails the first time (isError), then answers
//	wire    as lose, and says that a repeat does more (idempotentHint false)
//
// An answer is {"page": …}, see pageFor.
var remoteTools = []string{"lookup", "stuck", "lose", "refuse", "wire"}

func pageFor(key, day string) string { return key + " on " + day }

type remote struct {
	key      string // the X-Api-Key of its clients
	sink     *testbed.Sink
	secrets  *planted
	mood     atomic.Int32
	firsts   atomic.Int64 // calls that came for the first time
	served   *mcp.Server
	plain    http.Handler
	sessions atomic.Pointer[mcp.StreamableHTTPHandler]
	done     sync.Map // idempotency keys of the calls that were carried out
}

func newRemote(sink *testbed.Sink, secrets *planted) *remote {
	r := &remote{key: secrets.remote, sink: sink, secrets: secrets, served: mcp.NewServer(&mcp.Implementation{Name: "scripted", Version: "1"}, nil)}
	for _, name := range remoteTools {
		tool := &mcp.Tool{Name: name, Description: "Tool " + name, InputSchema: json.RawMessage(`{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`)}
		if name == "wire" {
			tool.Annotations = &mcp.ToolAnnotations{IdempotentHint: false, DestructiveHint: new(bool)}
		}
		r.served.AddTool(tool, r.call)
	}
	r.plain = mcp.NewStreamableHTTPHandler(r.server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	r.set(away)
	r.set(well)
	return r
}

func (r *remote) server(*http.Request) *mcp.Server { return r.served }

// set puts the server into a mood. While away it forgets its sessions.
func (r *remote) set(m mood) {
	r.mood.Store(int32(m))
	if m == away {
		r.sessions.Store(mcp.NewStreamableHTTPHandler(r.server, nil))
	}
}

func (r *remote) ServeHTTP(out http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body) // a caller that died sends no more
	r.secrets.look("the body of a call", string(body))
	now := mood(r.mood.Load())
	if now == away {
		panic(http.ErrAbortHandler) // cuts the connection
	}
	if now != busy && request.Header.Get("X-Api-Key") != r.key {
		http.Error(out, "not you", http.StatusForbidden)
		return
	}
	var asked struct {
		Method string
		Params struct {
			Name      string
			Arguments json.RawMessage
			Meta      struct {
				Key string `json:"earshot/idempotencyKey"`
			} `json:"_meta"`
		}
	}
	tool, first := "", false // no tool if it is another request
	if json.Unmarshal(body, &asked) == nil && asked.Method == "tools/call" {
		key := asked.Params.Meta.Key
		if other := request.Header.Get("Idempotency-Key"); other != key {
			key += " and " + other
		}
		tool = asked.Params.Name
		call := testbed.Call{Path: remotePath + tool, ID: request.Header.Get("webhook-id"), IdempotencyKey: key, Body: string(asked.Params.Arguments)}
		first = r.sink.Note(call).Nth == 1
	}
	if now == moody && first {
		now = map[int64]mood{0: busy, 4: away}[r.firsts.Add(1)%8]
	}
	switch {
	case now == busy, first && tool == "stuck":
		http.Error(out, "busy", http.StatusServiceUnavailable)
		return
	case now == away, first && (tool == "lose" || tool == "wire"):
		panic(http.ErrAbortHandler)
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	if request.URL.Path == pathStateless {
		r.plain.ServeHTTP(out, request)
	} else {
		r.sessions.Load().ServeHTTP(out, request)
	}
}

func (r *remote) call(_ context.Context, asked *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var given struct{ Day string }
	if err := json.Unmarshal(asked.Params.Arguments, &given); err != nil {
		return nil, err
	}
	key, _ := asked.Params.Meta["earshot/idempotencyKey"].(string)
	arrived := slices.DeleteFunc(r.sink.Calls(), func(one testbed.Call) bool { return one.ID != key })
	if asked.Params.Name == "refuse" && len(arrived) == 1 {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "not today"}}}, nil
	}
	r.done.Store(key, true)
	return &mcp.CallToolResult{StructuredContent: object{"page": pageFor(key, given.Day)}, Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
}

// planted are the credentials of a system, each a word that occurs nowhere else.
type planted struct {
	admin, llm, password, module, token, remote string
	key                                         string // EARSHOT_SECRET_KEY
	signing                                     string // of the app

	mu    sync.Mutex
	found []string
}

func plant() *planted {
	word := func(name string) string { return "PLANTED" + name + "credential0123456789" }
	return &planted{
		admin: word("admin"), llm: word("llm"), password: word("password"), module: word("module"), token: word("token"), remote: word("remote"),
		key:     base64.StdEncoding.EncodeToString([]byte("PLANTEDkey0123456789012345678901")),
		signing: "whsec_" + base64.StdEncoding.EncodeToString([]byte("PLANTEDsigning01234567890123456789")),
	}
}

const user = "clerk"

// words are the credentials in all forms in which they could turn up.
func (p *planted) words() []string {
	return []string{
		p.admin, p.llm, p.password, p.module, p.token, p.remote, p.key, strings.TrimPrefix(p.signing, "whsec_"), "PLANTEDkey", "PLANTEDsigning",
		base64.StdEncoding.EncodeToString([]byte(user + ":" + p.password)),
	}
}

// look records credentials in a text where they do not belong.
func (p *planted) look(place, text string) {
	for _, word := range p.words() {
		if strings.Contains(text, word) {
			p.mu.Lock()
			p.found = append(p.found, fmt.Sprintf("%s holds the credential that starts with %.14s", place, word))
			p.mu.Unlock()
		}
	}
}

func (p *planted) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.found)
}
