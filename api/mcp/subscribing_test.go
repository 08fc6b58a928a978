package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/api"
	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/matcher/retrieval"
	"earshot/repositories/store"
	"earshot/trigger/effect"
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
	for _, header := range a.headers {
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
	}
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

func TestThousandsOfToolsAreSearchedInPlaceOfListed(t *testing.T) {
	s := apitest.LiveOn(t, redistest.Mini(t), searching{apitest.Everything, retrieval.New()})
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+greets+`,{"name":"refund","description":"Refunds an order","url":"https://example.org/refund","schema":[{"parameter":"order","type":"string","required":true}]}]}`).Is(201, "")
	a := agentAt(s, agentsOfApp+"?tools=search", `{}`)
	var names []string
	for _, tool := range a.gets("tools/list", "")["tools"].([]any) {
		names = append(names, tool.(map[string]any)["name"].(string))
	}
	require.Equal(t, []string{"search_tools", "call_tool"}, names)
	hits := a.calls("search_tools", `{"query":"greet somebody","limit":1}`)
	require.Contains(t, text(hits), `"name":"greet"`)
	require.NotContains(t, text(hits), "refund")
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
