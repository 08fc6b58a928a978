package httpcall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/httpcall"
	"earshot/repositories"
	"earshot/trigger/effect"
	"earshot/trigger/effect/effecttest"
)

// toolServer is a real MCP server that can be broken.
type toolServer struct {
	*endpoint
	served *mcp.Server
	asked  atomic.Pointer[mcp.CallToolRequest]
	// faulty answers instead of the server if it returns true.
	faulty atomic.Pointer[func(w http.ResponseWriter, r *http.Request, method string) bool]
	kind   *mcp.StreamableHTTPOptions
	// handler serves; a new one knows none of the sessions.
	handler atomic.Pointer[mcp.StreamableHTTPHandler]
}

// kinds are the server modes.
var kinds = map[string]mcp.StreamableHTTPOptions{
	"without sessions": {Stateless: true}, "without sessions, in JSON": {Stateless: true, JSONResponse: true},
	"with sessions": {}, "with sessions, in JSON": {JSONResponse: true},
}

const findSchema = `{"type":"object","properties":{"query":{"type":"string","x-mcp-header":"Query"},"n":{"type":"integer"},
"all":{"type":"boolean","x-mcp-header":"All"}},"required":["query"]}`

func newToolServer(t *testing.T, kind mcp.StreamableHTTPOptions) *toolServer {
	s := &toolServer{kind: &kind, served: mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, &mcp.ServerOptions{PageSize: 2})}
	s.restart()
	s.endpoint = newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		var message struct{ Method string }
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &message)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if faulty := s.faulty.Load(); faulty != nil && (*faulty)(w, r, message.Method) {
			return
		}
		s.handler.Load().ServeHTTP(w, r)
	})
	s.add("find", findSchema, func(mcp.CallToolParamsRaw) *mcp.CallToolResult { return text("Ann") })
	return s
}

func (s *toolServer) restart() {
	s.handler.Store(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.served }, s.kind))
}

func (s *toolServer) add(name, schema string, answer func(mcp.CallToolParamsRaw) *mcp.CallToolResult) {
	s.served.AddTool(&mcp.Tool{Name: name, Description: "Tool " + name, InputSchema: json.RawMessage(schema)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.asked.Store(r)
		return answer(*r.Params), nil
	})
}

// fails answers instead of the server for a method.
func (s *toolServer) fails(method string, answer http.HandlerFunc) {
	faulty := func(w http.ResponseWriter, r *http.Request, asked string) bool {
		if asked == method || method == "" {
			answer(w, r)
		}
		return asked == method || method == ""
	}
	s.faulty.Store(&faulty)
}

// saysResult answers a request of JSON-RPC with a result.
func saysResult(result func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked struct{ ID json.Number }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		saysJSON(200, `{"jsonrpc":"2.0","id":`+asked.ID.String()+`,"result":`+result()+`}`)(w, r)
	}
}

// times counts requests for a method.
func (s *toolServer) times(method string) int {
	n := 0
	for _, one := range s.requests() {
		if strings.Contains(one.body, `"method":"`+method+`"`) {
			n++
		}
	}
	return n
}

func text(texts ...string) *mcp.CallToolResult {
	result := &mcp.CallToolResult{}
	for _, one := range texts {
		result.Content = append(result.Content, &mcp.TextContent{Text: one})
	}
	return result
}

// remoteRig is a rig with the server as the source "crm".
func remoteRig(t *testing.T, url string, change func(*repositories.Source), options ...func(*httpcall.Options)) *rig {
	r := newRig(t, options...)
	source := repositories.Source{Name: "crm", Type: "mcp", URL: url + "/mcp"}
	if change != nil {
		change(&source)
	}
	r.apps["clinic"].Sources = []repositories.Source{source}
	return r
}

// remote delivers a tool of the server, given by its fields.
func (r *rig) remote(fields, values string) effect.Outcome {
	r.t.Helper()
	tool := effecttest.Tool(r.t, `"type":"mcp","source":"crm"`+fields)
	delivery := effecttest.Fired(r.t, tool, values)
	delivery.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	return r.Deliver(r.t.Context(), delivery)
}

const find = `,"remoteName":"find","parameters":` + findSchema

func TestAToolOfAServerIsCalled(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			s := newToolServer(t, kind)
			r := remoteRig(t, s.URL, func(source *repositories.Source) {
				source.Headers = repositories.Headers{"X-Api-Key": credential("planted-key"), "Accept": credential("text/html")}
			}, func(o *httpcall.Options) { o.Now = time.Now }) // Verify uses the machine's time
			const signing = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
			r.apps["clinic"].SigningSecret = credential(signing)
			verifier := testbed.Got(standardwebhooks.NewWebhook(signing))(t)
			for range 3 {
				outcome := r.remote(find, `{"query":"Ån","n":9007199254740993,"all":true}`)
				require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
				require.JSONEq(t, `"Ann"`, string(outcome.Result))
				require.Equal(t, 200, outcome.Status)
			}
			asked := s.asked.Load()
			require.JSONEq(t, `{"query":"Ån","n":9007199254740993,"all":true}`, string(asked.Params.Arguments), "numbers keep their digits")
			require.Equal(t, "t1", asked.Params.Meta["earshot/idempotencyKey"])
			require.Equal(t, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", asked.Params.Meta["traceparent"])
			require.Equal(t, 3, s.times("tools/call"))
			require.Equal(t, 1, s.times("server/discover")+s.times("initialize")*(1-s.times("server/discover")), "one session is enough")
			for _, one := range s.requests() {
				require.Equal(t, "planted-key", one.header.Get("X-Api-Key"))
				if strings.Contains(one.body, `"tools/call"`) {
					require.Equal(t, "t1", one.header.Get("Webhook-Id"))
					require.Equal(t, "t1", one.header.Get("Idempotency-Key"))
					require.NoError(t, verifier.Verify([]byte(one.body), one.header))
					require.Equal(t, "=?base64?w4Vu?=", one.header.Get("Mcp-Param-Query"))
					require.Equal(t, "true", one.header.Get("Mcp-Param-All"))
					require.NotEqual(t, "text/html", one.header.Get("Accept"), "what the protocol needs is not the source's to say")
				} else {
					require.Empty(t, one.header.Get("Webhook-Id"), one.body)
				}
			}
		})
	}
}

func TestResultsOfServers(t *testing.T) {
	s := newToolServer(t, kinds["without sessions"])
	r := remoteRig(t, s.URL, nil)
	for name, test := range map[string]struct {
		result *mcp.CallToolResult
		want   string
	}{
		"structured": {&mcp.CallToolResult{Content: text("x").Content, StructuredContent: json.RawMessage(`{"id":9007199254740993}`)}, `{"id":9007199254740993}`},
		"JSON text":  {text(` {"id":9007199254740993} `), `{"id":9007199254740993}`},
		"number":     {text(`5`), `"5"`},
		"several":    {text("a", `[1]`), `["a",[1]]`},
		"too deep":   {text("a", strings.Repeat("[", 501)+strings.Repeat("]", 501)), `["a","` + strings.Repeat("[", 501) + strings.Repeat("]", 501) + `"]`},
		"other":      {&mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: []byte("x"), MIMEType: "image/png"}}}, `{"type":"image","mimeType":"image/png","data":"eA=="}`},
		"nothing":    {&mcp.CallToolResult{Content: []mcp.Content{}}, ``},
	} {
		s.add("say", `{"type":"object"}`, func(mcp.CallToolParamsRaw) *mcp.CallToolResult { return test.result })
		outcome := r.remote(`,"remoteName":"say"`, `{}`)
		require.Equal(t, effect.Done, outcome.Verdict, "%s: %s", name, outcome.Error)
		if test.want == "" {
			require.Empty(t, outcome.Result)
			continue
		}
		require.JSONEq(t, test.want, string(outcome.Result), name)
		require.Contains(t, string(outcome.Result), strings.Trim(test.want, `{}[]`)[:3], "byte for byte")
	}
	s.add("say", `{"type":"object"}`, func(mcp.CallToolParamsRaw) *mcp.CallToolResult { return text(strings.Repeat("long ", 100_000)) })
	outcome := r.remote(`,"remoteName":"say"`, `{}`)
	require.Equal(t, effect.Done, outcome.Verdict)
	require.True(t, outcome.Truncated)
	require.Equal(t, `"`+strings.Repeat("long ", 100_000)[:effect.MaxResult]+`"`, string(outcome.Result), "without a second quote")
}

func TestWhatServersRefuseFails(t *testing.T) {
	s := newToolServer(t, kinds["with sessions"])
	r := remoteRig(t, s.URL, func(source *repositories.Source) {
		source.Headers = repositories.Headers{"Authorization": credential("Bearer planted-token")}
	})
	s.add("fail", `{"type":"object"}`, func(mcp.CallToolParamsRaw) *mcp.CallToolResult {
		failed := text("no such customer for planted-token", "sorry")
		failed.IsError = true
		return failed
	})
	outcome := r.remote(`,"remoteName":"fail"`, `{}`)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonRequest)
	require.Equal(t, "the tool failed: no such customer for ***\nsorry", outcome.Error)

	outcome = r.remote(`,"remoteName":"unknown"`, `{}`)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "(-32602)")
	outcome = r.remote(find, `{"query":"x"}`)
	require.Equal(t, effect.Done, outcome.Verdict, "a refusal breaks nothing")

	s.fails("tools/call", saysJSON(200, `<p>Welcome</p>`))
	require.Contains(t, remoteRig(t, s.URL, nil).remote(find, `{"query":"x"}`).Error, "nothing that a server of MCP answers")
	s.fails("tools/call", saysResult(func() string {
		return `{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list","params":{}}}}`
	}))
	require.Contains(t, remoteRig(t, s.URL, nil).remote(find, `{"query":"x"}`).Error, "asks for more (input_required)")
}

func TestAServerThatIsOutOfOrderIsTriedAgain(t *testing.T) {
	stream := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, ": nothing comes\n\n")
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"jsonrpc"`)
	}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		status int
	}{
		"503": {says(503, "busy"), 503}, "500": {says(500, "broken"), 500}, "429": {says(429, ""), 429},
		"reset": {hijack(""), 0}, "a stream without an answer": {stream, 0}, "half an answer": {cut, 0},
	} {
		for _, method := range []string{"", "tools/call"} {
			s := newToolServer(t, kinds["without sessions"])
			s.fails(method, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				test.answer(w, r)
			})
			r := remoteRig(t, s.URL, nil)
			outcome := r.remote(find, `{"query":"x"}`)
			require.Equal(t, effect.Retry, outcome.Verdict, "%s %s: %s", name, method, outcome.Error)
			require.Equal(t, test.status, outcome.Status, name)
			require.NotContains(t, outcome.Error, "127.0.0.1:9", name)
			if test.status != 0 {
				require.Equal(t, 7*time.Second, outcome.After, name)
				require.Equal(t, method != "", outcome.Reached, "%s %s: the call itself was sent", name, method)
			}
			s.faulty.Store(nil)
			require.Equal(t, effect.Done, r.remote(find, `{"query":"x"}`).Verdict, "%s: it is back", name)

			once := r.remote(find+`,"request":{"idempotent":false}`, `{"query":"x"}`)
			require.Equal(t, effect.Done, once.Verdict)
			s.fails(method, test.answer)
			once = remoteRig(t, s.URL, nil).remote(find+`,"request":{"idempotent":false}`, `{"query":"x"}`)
			switch {
			case method == "":
				require.Equal(t, effect.Retry, once.Verdict, "%s: nothing of the call was sent", name)
			case test.status != 0:
				require.Equal(t, effect.Dead, once.Verdict, "%s: any answer ends it", name)
			default:
				require.Equal(t, effect.ReasonUnknown, once.Reason, "%s: %s", name, once.Error)
			}
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	outcome := remoteRig(t, gone.URL, nil).remote(find+`,"request":{"idempotent":false}`, `{"query":"x"}`)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.Contains(t, outcome.Error, "connection refused")
}

func TestAServerThatHangsIsGivenItsTime(t *testing.T) {
	for _, method := range []string{"tools/call", "server/discover"} {
		s := newToolServer(t, kinds["without sessions"])
		s.fails(method, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		outcome := remoteRig(t, s.URL, nil).remote(find+`,"request":{"timeout":"1s"}`, `{"query":"x"}`)
		effecttest.Ended(t, outcome, effect.Retry, effect.ReasonTimeout)
	}
}

func TestAnswersOfServersAreBounded(t *testing.T) {
	endless := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: "+strings.Repeat("x", 1<<16)+"\n"); err != nil {
				return
			}
		}
	}
	for _, answer := range []http.HandlerFunc{endless, saysJSON(200, strings.Repeat("[", 9<<20))} {
		s := newToolServer(t, kinds["without sessions"])
		s.fails("tools/call", answer)
		outcome := remoteRig(t, s.URL, nil).remote(find, `{"query":"x"}`)
		require.Equal(t, effect.Dead, outcome.Verdict)
		require.Contains(t, outcome.Error, "longer than an answer may be")
		s.fails("tools/list", answer)
		_, _, err := remoteRig(t, s.URL, nil).offered()
		require.ErrorContains(t, err, "longer than an answer may be")
	}
}

func TestASessionThatTheServerForgotIsBegunAnew(t *testing.T) {
	s := newToolServer(t, kinds["with sessions"])
	r := remoteRig(t, s.URL, nil)
	require.Equal(t, effect.Done, r.remote(find, `{"query":"x"}`).Verdict)
	s.restart()
	outcome := r.remote(find, `{"query":"x"}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	s.restart()
	outcome = r.remote(find+`,"request":{"idempotent":false}`, `{"query":"x"}`)
	require.Equal(t, effect.Done, outcome.Verdict, "a call that is made once is made in a session of its own")
	require.Equal(t, 4, s.times("tools/call"))
	require.Equal(t, 1, s.times("server/discover"), "a server of an older revision is not asked each time")
}

func TestTokensOfServersAreRenewed(t *testing.T) {
	tokens := newIssuer(t)
	s := newToolServer(t, kinds["with sessions"])
	var good atomic.Value
	good.Store("tok-1")
	faulty := func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Header.Get("Authorization") != "Bearer "+good.Load().(string) {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		return false
	}
	s.faulty.Store(&faulty)
	r := remoteRig(t, s.URL, func(source *repositories.Source) {
		source.Auth = &repositories.SourceAuth{Bearer: &repositories.Bearer{ClientType: repositories.GrantClientCredentials, ClientID: "c", ClientSecret: credential("planted-secret"), TokenURL: tokens.URL}}
	})
	s.add("echo", `{"type":"object"}`, func(mcp.CallToolParamsRaw) *mcp.CallToolResult { return text("you are " + good.Load().(string)) })
	outcome := r.remote(`,"remoteName":"echo"`, `{}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	good.Store("tok-2")
	outcome = r.remote(`,"remoteName":"echo"`, `{}`)
	require.Equal(t, effect.Done, outcome.Verdict, outcome.Error)
	require.Len(t, tokens.requests(), 2)
	r.clock.Advance(2 * time.Hour)
	tokens.answers(says(503, ""))
	outcome = r.remote(`,"remoteName":"echo"`, `{}`)
	require.Equal(t, effect.Retry, outcome.Verdict)
	require.False(t, outcome.Reached, "the token endpoint is not the server")
	tokens.answers(nil)
	good.Store("nobody's")
	outcome = r.remote(`,"remoteName":"echo"`, `{}`)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonAuth)
	tokens.answers(says(503, ""))
	outcome = r.remote(`,"remoteName":"echo"`, `{}`)
	effecttest.Ended(t, outcome, effect.Retry, effect.ReasonAuth)
	require.NotContains(t, fmt.Sprint(outcome, r.log.String()), "planted-secret")
}

func TestServersInsideAreNotReached(t *testing.T) {
	s := newToolServer(t, kinds["without sessions"])
	r := remoteRig(t, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), nil, func(o *httpcall.Options) { o.Policy = policy(t, "deny") })
	outcome := r.remote(find, `{"query":"x"}`)
	effecttest.Ended(t, outcome, effect.Dead, effect.ReasonBlocked)
	require.NotContains(t, outcome.Error, "127.0.0.1")
	_, _, err := r.offered()
	require.ErrorContains(t, err, "calls must not reach localhost")
	require.Empty(t, s.requests())

	other := newEndpoint(t, nil)
	s.fails("", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	outcome = remoteRig(t, s.URL, nil).remote(find, `{"query":"x"}`)
	require.Equal(t, effect.Dead, outcome.Verdict)
	require.Contains(t, outcome.Error, "redirects are not followed")
	require.Empty(t, other.requests())
}

// offered asks the source's server for its tools.
func (r *rig) offered() ([]repositories.Tool, []string, error) {
	return r.Offered(r.t.Context(), r.apps["clinic"], "crm")
}

func TestAServerIsAskedForItsTools(t *testing.T) {
	for name, kind := range kinds {
		s := newToolServer(t, kind)
		for i := range 5 {
			s.add(fmt.Sprintf("add_%d", i), `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}}}`, nil)
		}
		r := remoteRig(t, s.URL, func(source *repositories.Source) { source.Allow = []string{"add_*"} })
		tools, notes, err := r.offered()
		require.NoError(t, err, name)
		require.Len(t, tools, 5, name)
		require.Equal(t, `{"type":"object","properties":{"z":{"type":"integer","maximum":9007199254740993},"a":{"type":"string"}}}`, string(tools[0].Parameters))
		require.Equal(t, "Tool add_0", tools[0].Description)
		require.Empty(t, notes)
		require.Equal(t, 3, s.times("tools/list"), "page by page")
	}
	s := newToolServer(t, kinds["without sessions"])
	page := 0
	s.fails("tools/list", saysResult(func() string {
		page++
		return fmt.Sprintf(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"t%d","inputSchema":{"type":"object"}},{"name":"wrong","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}}],"nextCursor":"c%[1]d"}`, page)
	}))
	tools, notes, err := remoteRig(t, s.URL, nil).offered()
	require.NoError(t, err)
	require.Len(t, tools, 200)
	require.Contains(t, notes[0], "x-mcp-header")
	require.Contains(t, notes[len(notes)-1], "does not end")
	page = 0
	s.fails("tools/list", saysResult(func() string {
		page++
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[],"nextCursor":"again"}`
	}))
	_, notes, err = remoteRig(t, s.URL, nil).offered()
	require.NoError(t, err)
	require.Contains(t, notes[len(notes)-1], "does not end")
	require.Equal(t, 2, page, "a server that goes in circles is left")
}

// hears listens to the source crm, and returns its notifications and its end.
func (r *rig) hears(ctx context.Context) (news chan struct{}, ended chan string) {
	news, ended = make(chan struct{}, 100), make(chan string, 1)
	go func() {
		offered, err := r.Listen(ctx, r.apps["clinic"], "crm", func() { news <- struct{}{} })
		ended <- fmt.Sprint(offered, " ", err)
	}()
	return news, ended
}

// legacy lets a server refuse the revision without sessions.
func (s *toolServer) legacy() {
	s.fails("server/discover", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
}

func TestAServerIsHeardWhenItsToolsChange(t *testing.T) {
	for name, legacy := range map[string]bool{"2026-07-28": false, "2025-11-25": true} {
		t.Run(name, func(t *testing.T) {
			s := newToolServer(t, mcp.StreamableHTTPOptions{Stateless: !legacy})
			r := remoteRig(t, s.URL, func(of *repositories.Source) { of.Headers = repositories.Headers{"X-Key": credential("planted")} })
			ctx, cancel := context.WithCancel(t.Context())
			news, ended := r.hears(ctx)
			<-news // it listens
			s.add("other", findSchema, nil)
			<-news
			require.Equal(t, legacy, s.times("subscriptions/listen") == 0)
			for _, one := range s.requests() {
				require.Equal(t, "planted", one.header.Get("X-Key"), one.body)
			}
			cancel()
			require.Equal(t, "true <nil>", <-ended)

			news, ended = r.hears(t.Context())
			<-news
			s.add("third", findSchema, nil)
			<-news
			s.CloseClientConnections()
			require.Equal(t, "true <nil>", <-ended, "the stream has ended")
		})
	}
}

func TestNobodyListensToAServerThatSaysNothing(t *testing.T) {
	s := newToolServer(t, mcp.StreamableHTTPOptions{})
	s.served = mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}})
	r := remoteRig(t, s.URL, nil)
	_, ended := r.hears(t.Context())
	require.Equal(t, "false <nil>", <-ended)
	require.Zero(t, s.times("subscriptions/listen"))

	s = newToolServer(t, mcp.StreamableHTTPOptions{Stateless: true}) // GET is 405
	s.legacy()
	_, ended = remoteRig(t, s.URL, nil).hears(t.Context())
	require.Equal(t, "false <nil>", <-ended)

	s.fails("", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, ended = remoteRig(t, s.URL, nil).hears(t.Context())
	require.Contains(t, <-ended, "503")

	_, ended = remoteRig(t, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), nil, func(o *httpcall.Options) { o.Policy = policy(t, "deny") }).hears(t.Context())
	require.Contains(t, <-ended, "must not reach localhost")
}

func TestAServerThatTalksWithoutEndIsLeft(t *testing.T) {
	s := newToolServer(t, mcp.StreamableHTTPOptions{Stateless: true})
	s.fails("subscriptions/listen", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, ": "+strings.Repeat("x", 1<<10)+"\n\n")
		}
	})
	_, ended := remoteRig(t, s.URL, nil).hears(t.Context())
	select {
	case got := <-ended:
		require.Contains(t, got, "true")
	case <-time.After(time.Minute):
		t.Fatal("it is read for ever")
	}
}
