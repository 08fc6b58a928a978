package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/api"
	agentsmcp "earshot/api/mcp"
	"earshot/deploy/testbed"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/retrieval"
	"earshot/repositories/keyspace"
	"earshot/repositories/lists"
	"earshot/repositories/store"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// feed is a stream of events written by a test.
type feed chan effect.Published

func (feed) Now(context.Context) (uint64, error) { return 1, nil }

func (f feed) Follow(context.Context, string, string, uint64) (<-chan effect.Published, error) {
	return f, nil
}

// subscription is an open stream of notifications.
type subscription struct {
	agent
	answer *http.Response
	lines  *bufio.Scanner
}

func (a agent) subscribes(to string) subscription {
	a.T.Helper()
	body := `{"jsonrpc":"2.0","id":"s-1","method":"subscriptions/listen","params":{"notifications":` + to +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + a.can + `}}}`
	request, err := http.NewRequestWithContext(a.T.Context(), "POST", a.URL+a.path, strings.NewReader(body))
	require.NoError(a.T, err)
	for name, value := range map[string]string{"Authorization": "Bearer " + apitest.AdminKey, "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "subscriptions/listen", "Content-Type": "application/json"} {
		request.Header.Set(name, value)
	}
	apitest.SetHeaders(request, a.headers...)
	got, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(a.T, err)
	a.T.Cleanup(func() { _ = got.Body.Close() })
	require.Equal(a.T, 200, got.StatusCode)
	require.Equal(a.T, "text/event-stream", got.Header.Get("Content-Type"))
	return subscription{a, got, bufio.NewScanner(got.Body)}
}

// next returns the next message of the stream; nil at its end.
func (s subscription) next() (message map[string]any) {
	s.T.Helper()
	for s.lines.Scan() {
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
			require.NoError(s.T, json.Unmarshal([]byte(data), &message))
			return message
		}
	}
	return nil
}

func TestASubscriberHearsOfToolsAndTasksOfItsScope(t *testing.T) {
	events := make(feed, 10)
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events = events })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+asks+`]}`).Is(201, "")
	a := agentAt(s, agentsOfSession, withTasks)
	id := a.calls("measure", `{}`)["taskId"].(string)
	stream := a.subscribes(`{"toolsListChanged":true,"promptsListChanged":true,"taskIds":["` + id + `"]}`)
	first := stream.next()
	require.Equal(t, "notifications/subscriptions/acknowledged", first["method"])
	said := first["params"].(map[string]any)
	require.Equal(t, map[string]any{"toolsListChanged": true, "taskIds": []any{id}}, said["notifications"])
	require.Equal(t, map[string]any{"io.modelcontextprotocol/subscriptionId": "s-1"}, said["_meta"])

	events <- effect.Published{Subject: "tool.changed.clinic.other", SessionID: "s2"}
	events <- effect.Published{Subject: "tool.trigger.clinic.s1.measure", SessionID: "s1", Data: json.RawMessage(`{"id":"another"}`)}
	events <- effect.Published{Subject: "tool.changed.clinic.desk"}
	require.Equal(t, "notifications/tools/list_changed", stream.next()["method"], "that of another session is not told")
	s.Call("POST", "/v1/apps/clinic/triggers/"+id+"/answer", `{"ok":true,"result":"12 cm"}`).Is(200, "")
	events <- effect.Published{Subject: "tool.result.clinic.s1.measure", SessionID: "s1", Data: json.RawMessage(`{"id":"e1","triggerId":"` + id + `"}`)}
	told := stream.next()
	require.Equal(t, "notifications/tasks", told["method"])
	require.Equal(t, "completed", told["params"].(map[string]any)["status"])
	require.Equal(t, "12 cm", text(told["params"].(map[string]any)["result"].(map[string]any)))
	close(events)
	require.Equal(t, "s-1", stream.next()["id"], "the answer comes last")
	require.Nil(t, stream.next())
}

func TestASubscriptionEndsWithItsKey(t *testing.T) {
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events = make(feed) })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	made, key, err := s.Store.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{store.PermitTriggers}})
	require.NoError(t, err)
	stream := agentAt(s, agentsOfApp, `{}`, "Authorization: Bearer "+key.Reveal()).subscribes(`{"toolsListChanged":true}`)
	require.NotNil(t, stream.next())
	require.NoError(t, s.Store.RevokeKey(t.Context(), "clinic", made.ID))
	require.Equal(t, "s-1", stream.next()["id"])
	_, err = stream.answer.Body.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
}

func TestASubscriptionEndsWithItsSession(t *testing.T) {
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events = make(feed) })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	for range 2 {
		s.Call("PUT", "/v1/apps/clinic/sessions/s1", `{}`).Is(201, "")
		stream := agentAt(s, agentsOfSession, `{}`).subscribes(`{"toolsListChanged":true}`) // by a key, which stays valid
		require.NotNil(t, stream.next())
		s.Call("DELETE", "/v1/apps/clinic/sessions/s1", "").Is(204, "")
		require.Equal(t, "s-1", stream.next()["id"])
		require.Nil(t, stream.next())
	}
}

func TestASubscriptionEndsWithItsToken(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events, o.Now = make(feed), clock.Now })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	token := s.Call("POST", "/v1/apps/clinic/sessions/s1/token", `{"expiresIn":"1h"}`).Made().Token
	stream := agentAt(s, agentsOfSession, `{}`, apitest.Bearer(token)).subscribes(`{"toolsListChanged":true}`)
	require.NotNil(t, stream.next())
	clock.Advance(time.Hour)
	require.Equal(t, "s-1", stream.next()["id"])
}

// TestASubscriptionEndsWhenNobodyKnowsItsKeyForLong lets time pass until what is cached of the key is too old.
func TestASubscriptionEndsWhenNobodyKnowsItsKeyForLong(t *testing.T) {
	clock := testbed.NewClock(time.Now())
	s := apitest.Live(t, apitest.Everything, func(o *api.Options) { o.Events, o.Now = make(feed), clock.Now })
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	_, key, err := s.Store.CreateKey(t.Context(), "clinic", store.NewKey{Scopes: []store.Permission{store.PermitTriggers}})
	require.NoError(t, err)
	stream := agentAt(s, agentsOfApp, `{}`, apitest.Bearer(key.Reveal())).subscribes(`{"toolsListChanged":true}`)
	require.NotNil(t, stream.next())
	s.Redis.Stop()
	last := make(chan map[string]any, 1)
	go func() { last <- stream.next() }()
	require.Eventually(t, func() bool {
		clock.Advance(31 * time.Second)
		return len(last) == 1
	}, time.Minute, 100*time.Millisecond)
	require.Equal(t, "s-1", (<-last)["id"])
}

func TestPagesOfElsewhereAreNotServed(t *testing.T) {
	s := agents(t, greets)
	s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","settings":{"allowedOrigins":["https://chat.example.org"]}}`).Is(200, "")
	for origin, status := range map[string]int{"": 200, "https://chat.example.org": 200, s.URL: 200, "https://evil.example.org": 403, "null": 403} {
		headers := []string{"Mcp-Protocol-Version: 2025-11-25", "Origin: " + origin}
		got := s.Call("POST", agentsOfApp, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, headers...)
		require.Equal(t, status, got.StatusCode, origin)
	}
	preflight := s.Ask("OPTIONS", agentsOfApp, "", "Origin: https://chat.example.org", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region")
	require.Equal(t, "authorization, mcp-protocol-version, mcp-method, mcp-name, mcp-param-region", preflight.Header.Get("Access-Control-Allow-Headers"))
}

// searching searches like the real matcher.
type searching struct {
	apitest.Scripted
	*retrieval.Retriever
}

func TestASearchOfAFrontEndCountsAsAMessage(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), searching{apitest.Everything, retrieval.New()})
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":{"sessionMessagesPerMinute":2}}}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+greets+`]}`).Is(201, "")
	token := "Authorization: Bearer " + s.Call("POST", "/v1/apps/clinic/sessions/s1/token", "").Made().Token
	const search = `"name":"search_tools","arguments":{"query":"say hello"}`
	a := agentAt(s, agentsOfSession+"?tools=search", `{}`, token)
	a.gets("tools/call", search)
	require.True(t, s.Redis.Client().Persist(t.Context(), keyspace.KeysOf("clinic").Rates("s1")).Val()) // on a slow machine the minute would be over
	a.gets("tools/call", search)
	_, refused, status := a.rpc("tools/call", search)
	require.Equal(t, 429, status)
	require.Contains(t, refused["message"], "sessionMessagesPerMinute")
	agentAt(s, agentsOfSession+"?tools=search", `{}`).gets("tools/call", search) // by a key of the app
}

func TestThousandsOfToolsAreSearchedInPlaceOfListed(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), searching{apitest.Everything, retrieval.New()})
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+greets+`,{"name":"refund","description":"Refunds an order","url":"https://example.org/refund","schema":[{"parameter":"order","type":"string","required":true}]}]}`).Is(201, "")
	a := agentAt(s, agentsOfApp+"?tools=search", `{}`)
	names := lists.Map(a.gets("tools/list", "")["tools"].([]any), func(tool any) string { return tool.(map[string]any)["name"].(string) })
	require.Equal(t, []string{"search_tools", "call_tool"}, names)
	hits := a.calls("search_tools", `{"query":"greet somebody","limit":1}`)
	require.Contains(t, text(hits), `"name":"greet"`)
	require.NotContains(t, text(hits), "refund")
	require.Contains(t, text(hits), `"annotations":{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false}`, "as in a list of all tools")
	s.Call("PUT", "/v1/apps/clinic/repositories/bell", `{"tools":[{"name":"ring","description":"Greets by a bell"}]}`).Is(201, "")
	bell := agentAt(s, agentsOfApp+"/bell?tools=search", `{}`)
	require.Contains(t, text(bell.calls("search_tools", `{"query":"greet somebody","limit":1}`)), `"name":"ring"`, "the nearest one of its repository")
	says(s, `"done"`)
	require.Equal(t, "done", text(a.calls("call_tool", `{"name":"refund","arguments":{"order":"A1"}}`)))
	require.Contains(t, text(a.calls("call_tool", `{"name":"refund"}`)), "order: is required")
	for arguments, fault := range map[string]string{`{}`: "query: ", `{"query":5}`: "query: ", `{"query":"x","limit":0}`: "limit: ", `{"query":"x","limit":"many"}`: "limit: "} {
		got := a.calls("search_tools", arguments)
		require.Equal(t, true, got["isError"], arguments)
		require.Contains(t, text(got), fault)
	}
	for _, arguments := range []string{`{}`, `{"name":"no name"}`, `{"name":"refund","arguments":[]}`} {
		require.Equal(t, true, a.calls("call_tool", arguments)["isError"], arguments)
	}
	fires(t, s, 1)
	s.Call("POST", agentsOfApp+"?tools=all", `{}`).Problem(400, "search")
}

func TestASearchInARepositoryFindsAllItsTools(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), searching{apitest.Everything, retrieval.New()})
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	var nearer []string
	for i := range 120 { // more than a search of all repositories finds
		nearer = append(nearer, fmt.Sprintf(`{"name":"greet%d","description":"Greet somebody"}`, i))
	}
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+strings.Join(nearer, ",")+`]}`).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/bell", `{"tools":[{"name":"ring","description":"Ring, then wait until somebody comes"},
		{"name":"greet7","description":"Greet with a bell"}]}`).Is(201, "")
	bell := agentAt(s, agentsOfApp+"/bell?tools=search", `{}`)
	hits := text(bell.calls("search_tools", `{"query":"greet somebody"}`))
	require.Contains(t, hits, `"name":"ring"`)
	require.Contains(t, hits, `"description":"Greet with a bell"`, "although the desk's tool wins the name")
	require.NotContains(t, hits, `"description":"Greet somebody"`)
}

func TestAToolOfAVerifiedUserIsListedAndRefusedWithoutOne(t *testing.T) {
	s := agents(t, greets)
	s.Call("PUT", "/v1/apps/clinic", `{"name":"Clinic","authServices":[{"name":"corp","type":"oidc","issuer":"https://id.example.org","audience":"clinic"}]}`).Is(200, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/mine", `{"tools":[{"name":"mine","description":"Of the user","url":"https://example.org/mine","authRequired":["corp"],
		"parameters":[{"name":"user","type":"string","description":"who","authServices":[{"name":"corp","field":"sub"}]}]}]}`).Is(201, "")
	a := agentAt(s, agentsOfApp+"/mine", `{}`)
	tool := a.gets("tools/list", "")["tools"].([]any)[0].(map[string]any)
	require.Empty(t, tool["inputSchema"].(map[string]any)["properties"])
	require.Equal(t, map[string]any{
		"com.google.cloud/authInvoke": []any{"corp"}, "toolbox/authInvoke": []any{"corp"},
		"com.google.cloud/authParam": map[string]any{"user": []any{"corp"}}, "toolbox/authParam": map[string]any{"user": []any{"corp"}},
	}, tool["_meta"])
	got := a.calls("mine", `{}`)
	require.Equal(t, true, got["isError"])
	require.Contains(t, text(got), "corp_token")
	require.Empty(t, triggered(s))
}

// reports is a clinic whose tool report answers on demand.
func reports(t *testing.T) (apitest.World, chan<- string) {
	s := agents(t, `{"name":"report","url":"https://example.org/report"}`)
	results := make(chan string)
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		select {
		case result := <-results:
			return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(result)}
		case <-t.Context().Done():
			return effect.Outcome{Verdict: effect.Dead}
		}
	})
	return s, results
}

func TestACallReportsItsProgressUntilItHasAResult(t *testing.T) {
	s, results := reports(t)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		progress := make(chan *mcp.ProgressNotificationParams, 100)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) { progress <- request.Params },
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + agentsOfSession, HTTPClient: bearing(apitest.AdminKey), DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err, version)
		params := &mcp.CallToolParams{Name: "report", Meta: mcp.Meta{}}
		params.SetProgressToken("p-" + version)
		answered := make(chan *mcp.CallToolResult, 1)
		go func() {
			result, err := session.CallTool(t.Context(), params)
			t.Log(version, err)
			answered <- result
		}()
		for n := 1; n <= 2; n++ {
			told := <-progress
			require.Equal(t, []any{"p-" + version, float64(n), "attempt 1 is under way"}, []any{told.ProgressToken, told.Progress, told.Message}, version)
		}
		require.Empty(t, answered, "the result is the last message")
		results <- `"done"`
		result := <-answered
		require.NotNil(t, result, version)
		require.Equal(t, "done", result.Content[0].(*mcp.TextContent).Text)
		require.NoError(t, session.Close())
	}
}

// calling calls report over plain HTTP with this _meta.
func calling(t testing.TB, url, meta, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"report","_meta":{`+meta+`}}}`))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + apitest.AdminKey, "Content-Type": "application/json", "Accept": accept} {
		request.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(request)
}

func TestAnAnswerIsAStreamForThoseWhoAskForProgressAlone(t *testing.T) {
	s, results := reports(t)
	answer := make(chan *http.Response)
	for _, ask := range []struct{ meta, accept string }{{"", "application/json, text/event-stream"}, {`"progressToken":7`, "application/json"}, {`"progressToken":{}`, "text/event-stream"}} {
		go func() {
			got, err := calling(s.T, s.URL+agentsOfApp, ask.meta, ask.accept)
			if err != nil {
				t.Error(err)
			}
			answer <- got
		}()
		select {
		case got := <-answer:
			t.Fatal("a stream began", ask, got.Header)
		case results <- `{"rows":7}`:
		}
		got := <-answer
		require.Equal(t, "application/json", got.Header.Get("Content-Type"), ask)
		require.NoError(t, got.Body.Close())
	}

	got, err := calling(s.T, s.URL+agentsOfApp, `"progressToken":7`, "application/json, Text/Event-Stream")
	require.NoError(t, err)
	defer got.Body.Close()
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	results <- `{"rows":7}`
	var messages []string
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			messages = append(messages, data)
		}
	}
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"message":"attempt 1 is under way"}}`, messages[0])
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"c","result":{"content":[{"type":"text","text":"{\"rows\":7}"}],"structuredContent":{"rows":7}}}`, messages[len(messages)-1])
}

// failing is an engine whose calls fail on demand.
type failing struct {
	agentsmcp.Engine
	fail chan error
}

func (f failing) Fire(context.Context, trigger.Direct) (json.RawMessage, error) { return nil, <-f.fail }

func (f failing) Trigger(context.Context, string, string) (query.Record, error) {
	return query.Record{}, query.ErrNotFound
}

func (f failing) Background(run func(context.Context)) { go run(context.Background()) }

func TestAStreamEndsWithTheErrorOfItsCall(t *testing.T) {
	engine := failing{fail: make(chan error)}
	service := echo.New()
	service.POST("/", agentsmcp.New(agentsmcp.Options{
		Engine: engine, NewID: func() string { return "id" }, Admission: func(next echo.HandlerFunc) echo.HandlerFunc { return next },
		Users: func(echo.Context) (agentsmcp.User, error) { return agentsmcp.User{}, nil },
	}).Serve)
	server := httptest.NewServer(service)
	defer server.Close()
	for fault, want := range map[error]string{
		errors.New("secret"):  `{"jsonrpc":"2.0","id":"c","error":{"code":-32603,"message":"internal error; the log says more"}}`,
		trigger.ErrNotInScope: `"code":-32602,"message":"unknown tool`,
	} {
		got, err := calling(t, server.URL, `"progressToken":7`, "text/event-stream")
		require.NoError(t, err)
		engine.fail <- fault
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Contains(t, string(body), want)
		require.NotContains(t, string(body), "secret")
	}
}
