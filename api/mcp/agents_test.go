package mcp_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
	"earshot/trigger/effect"
)

const (
	agentsOfApp     = "/v1/apps/clinic/mcp"
	agentsOfSession = "/v1/apps/clinic/sessions/s1/mcp"
)

// agents is a world in which calls of agents may lack values.
func agents(t *testing.T, tools string) apitest.World {
	t.Helper()
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", apitest.ClinicBody).Is(201, "")
	s.Call("PUT", "/v1/apps/clinic/repositories/desk", `{"tools":[`+tools+`]}`).Is(201, "")
	return s
}

// agent is a client of revision 2026-07-28 with its capabilities.
type agent struct {
	apitest.World
	path, can string
	headers   []string
}

func agentAt(w apitest.World, path, can string, headers ...string) agent {
	return agent{w, path, can, headers}
}

// rpc sends a request, and returns its result or its error with the status.
func (a agent) rpc(method, params string) (result map[string]any, fault map[string]any, status int) {
	a.T.Helper()
	return a.rpcMeta(method, params, `"example.org/of":"test"`)
}

// rpcMeta is rpc with more metadata.
func (a agent) rpcMeta(method, params, meta string) (result map[string]any, fault map[string]any, status int) {
	a.T.Helper()
	said := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + a.can + `,` + meta + `}`
	if params != "" {
		said = params + "," + said
	}
	var names struct{ Name, TaskID string }
	require.NoError(a.T, json.Unmarshal([]byte("{"+said+"}"), &names), said)
	headers := append([]string{"Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: " + method, "Mcp-Name: " + names.Name + names.TaskID, "Accept: application/json, text/event-stream"}, a.headers...)
	got := a.Call("POST", a.path, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+said+`}}`, headers...)
	var answer struct {
		ID            int
		Result, Error map[string]any
	}
	require.NoError(a.T, json.Unmarshal(got.Body, &answer), string(got.Body))
	require.Equal(a.T, 7, answer.ID, string(got.Body))
	return answer.Result, answer.Error, got.StatusCode
}

// gets sends a request that must have a result.
func (a agent) gets(method, params string) map[string]any {
	a.T.Helper()
	result, fault, _ := a.rpc(method, params)
	require.Nil(a.T, fault, "%s %s", method, params)
	return result
}

func (a agent) calls(name, arguments string, more ...string) map[string]any {
	a.T.Helper()
	return a.gets("tools/call", strings.Join(append([]string{`"name":"` + name + `","arguments":` + arguments}, more...), ","))
}

func text(result map[string]any) string {
	list, _ := result["content"].([]any)
	if len(list) == 0 {
		return ""
	}
	return list[0].(map[string]any)["text"].(string)
}

func texts(result map[string]any) (all []string) {
	for _, one := range result["content"].([]any) {
		all = append(all, one.(map[string]any)["text"].(string))
	}
	return all
}

const greets = `{"name":"greet","description":"Greets somebody","url":"https://example.org/greet",
	"schema":[{"parameter":"name","type":"string","required":true},{"parameter":"desk","type":"string","value":"A"},{"parameter":"hidden","type":"string","ignore":true}]}`

// says lets the sink answer calls with a result.
func says(w apitest.World, result string) {
	w.Sink.Answers(func(effect.Effect) effect.Outcome {
		return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(result)}
	})
}

// triggered returns the events of fired tools.
func triggered(w apitest.World) []effect.Event {
	return slices.DeleteFunc(w.Sink.All(), func(e effect.Event) bool { return !strings.HasPrefix(e.Subject, "tool.trigger.") })
}

// fires waits for the events of exactly n tools, since an event may follow the answer of its call.
func fires(t *testing.T, w apitest.World, n int) []effect.Event {
	t.Helper()
	require.Eventually(t, func() bool { return len(triggered(w)) >= n }, time.Minute, time.Millisecond, "%d tools have fired", n)
	fired := triggered(w)
	require.Len(t, fired, n)
	return fired
}

// Clients of both kinds, created by the SDK.
func TestClientsOfBothKindsListAndCallTheToolsInScope(t *testing.T) {
	s := agents(t, greets)
	s.Call("PUT", "/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"own","description":"Of the session"}]}`).Is(201, "")
	says(s, `"Hello, Ann!"`)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		for path, want := range map[string][]string{
			agentsOfApp: {"greet"}, agentsOfSession: {"greet", "own"}, agentsOfSession + "/own": {"own"}, agentsOfSession + "/": {"greet", "own"}, agentsOfApp + "/none": nil,
		} {
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + path, HTTPClient: bearing(apitest.AdminKey), DisableStandaloneSSE: true},
				&mcp.ClientSessionOptions{ProtocolVersion: version})
			require.NoError(t, err, "%s %s", version, path)
			listed, err := session.ListTools(t.Context(), nil)
			require.NoError(t, err)
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
			require.Equal(t, want, names, "%s %s", version, path)
			if len(names) > 1 {
				result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{"name": "Ann"}})
				require.NoError(t, err)
				require.Equal(t, "Hello, Ann!", result.Content[0].(*mcp.TextContent).Text)
			}
			require.NoError(t, session.Close())
		}
	}
	for _, method := range []string{"GET", "DELETE"} {
		require.Equal(t, http.MethodPost, s.Ask(method, agentsOfSession, "").Is(405, "").Header.Get("Allow")[len("OPTIONS, "):])
	}
}

// TestAnAgentSetsNoHiddenValue gives them as arguments, in the state of a question, and beside values that are asked for.
func TestAnAgentSetsNoHiddenValue(t *testing.T) {
	s := agents(t, `{"name":"refund","schema":[{"parameter":"order","type":"string","required":true},{"parameter":"why","type":"string","required":true},
		{"parameter":"tier","type":"string","ignore":true,"default":"basic"},{"parameter":"note","type":"string","ignore":true}]}`)
	a := agentAt(s, agentsOfSession, withBoth)
	const hidden = `"tier":"gold","note":"forged"`
	a.calls("refund", `{"order":"7","why":"late",`+hidden+`}`)
	a.calls("refund", `{}`, `"requestState":"`+sealedState(`{"values":{"order":"7","why":"late",`+hidden+`}}`)+`"`)
	a.update(a.calls("refund", `{`+hidden+`}`)["taskId"], `{"order":{"action":"accept","content":{"order":"7"}},"why":{"action":"accept","content":{"why":"late"}}}`)
	for _, fired := range fires(t, s, 3) {
		require.Contains(t, string(fired.Data), `"values":{"order":"7","tier":"basic","why":"late"}`)
	}
}

func bearing(key string) *http.Client { return &http.Client{Transport: keyed(key)} }

type keyed string

func (k keyed) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(request)
}

func TestAnAgentSeesWhatItMayGiveAndNothingElse(t *testing.T) {
	s := agents(t, greets)
	a := agentAt(s, agentsOfApp, `{}`)
	list := a.gets("tools/list", "")
	require.Equal(t, "complete", list["resultType"])
	require.Equal(t, "private", list["cacheScope"])
	tool := list["tools"].([]any)[0].(map[string]any)
	require.Equal(t, map[string]any{"name": map[string]any{"type": "string"}}, tool["inputSchema"].(map[string]any)["properties"])

	says(s, `{"greeted":12345678901234567890}`)
	got := a.calls("greet", `{"name":"Ann"}`)
	require.Equal(t, `{"greeted":12345678901234567890}`, text(got))
	require.NotNil(t, got["structuredContent"])
	require.Equal(t, "tool.trigger.clinic._.greet", fires(t, s, 1)[0].Subject)
	require.Contains(t, string(fires(t, s, 1)[0].Data), `"source":"agent"`)
	require.Contains(t, string(fires(t, s, 1)[0].Data), `"desk":"A"`)

	got = a.calls("greet", `{"nam":"Ann"}`)
	require.Equal(t, true, got["isError"])
	for _, word := range []string{"name: is required", "nam: "} {
		require.Contains(t, text(got), word)
	}
	_, fault, status := a.rpc("tools/call", `"name":"none"`)
	require.Equal(t, 400, status)
	require.EqualValues(t, -32602, fault["code"])
	fires(t, s, 1) // a fault fires nothing
}

func TestANameThatIsNearlyThatOfAToolIsCorrected(t *testing.T) {
	a := agentAt(agents(t, greets), agentsOfSession, `{}`)
	for name, want := range map[string]string{
		"great":  `unknown tool "great": it is not in scope here, or was just taken; did you mean "greet"?`,
		"refund": `unknown tool "refund": it is not in scope here, or was just taken; list the tools again`,
	} {
		_, fault, _ := a.rpc("tools/call", `"name":"`+name+`","arguments":{"name":"Ann"}`)
		require.Equal(t, []any{-32602., want}, []any{fault["code"], fault["message"]})
	}
}

func TestAnAppThatDoesNotExistHasNoServer(t *testing.T) {
	s := agents(t, greets)
	for _, path := range []string{"/v1/apps/nobody/mcp", "/v1/apps/nobody/mcp/desk", "/v1/apps/nobody/sessions/s1/mcp", "/v1/apps/nobody/mcp?tools=search"} {
		for _, method := range []string{"server/discover", "tools/list", "subscriptions/listen"} {
			_, fault, status := agentAt(s, path, `{}`).rpc(method, `"notifications":{"toolsListChanged":true}`)
			require.Equal(t, 404, status, "%s %s", path, method)
			require.Equal(t, "unknown_app", fault["data"].(map[string]any)["code"])
		}
		begun := s.Call("POST", path, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`).Is(404, "")
		require.Contains(t, string(begun.Body), `"code":"unknown_app"`)
	}
}

func TestACursorThatNoListGaveIsRefused(t *testing.T) {
	s := agents(t, greets)
	for _, path := range []string{agentsOfApp, agentsOfApp + "?tools=search"} {
		a := agentAt(s, path, `{}`)
		for _, cursor := range []string{`null`, `""`} {
			require.NotEmpty(t, a.gets("tools/list", `"cursor":`+cursor)["tools"])
		}
		for _, cursor := range []string{`"greet"`, `5`} {
			_, fault, _ := a.rpc("tools/list", `"cursor":`+cursor)
			require.Equal(t, -32602., fault["code"], cursor)
			require.Contains(t, fault["message"], "cursor")
		}
	}
}

func TestAHeaderThatRepeatsAnArgumentHasToAgree(t *testing.T) {
	s := agents(t, `{"name":"route","description":"Routes","url":"https://example.org/route","parameters":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Count"},"deep":{"type":"object","properties":{"on":{"type":"boolean","x-mcp-header":"On"}}}}}}`)
	for arguments, headers := range map[string][]string{
		`{}`: {}, `{"region":null}`: {}, `{"region":"north"}`: {"Region: north"}, `{"region":" nörd"}`: {"Region: =?base64?IG7DtnJk?="},
		`{"n":5}`: {"Count: 5"}, `{"n":5,"deep":{"on":true}}`: {"Count: 5.0", "On: true"},
	} {
		require.NotContains(t, agentAt(s, agentsOfApp, `{}`, mirrors(headers)...).calls("route", arguments), "isError", arguments)
	}
	agentAt(s, agentsOfApp+"?tools=search", `{}`).calls("call_tool", `{"name":"route","arguments":{"region":"north"}}`)
	fired := 7 // call_tool names no headers
	fires(t, s, fired)
	for arguments, headers := range map[string][]string{
		`{}`: {"Region: north"}, `{"region":"north"}`: {}, `{"region":"North"}`: {"Region: north"}, `{"region":"a"}`: {"Region: =?base64?%%%?="},
		`{"n":5}`: {"Count: 5.5"}, `{"deep":{"on":true}}`: {"On: 1"}, `{"n":6}`: {"Count: 5"},
	} {
		_, fault, status := agentAt(s, agentsOfApp, `{}`, mirrors(headers)...).rpc("tools/call", `"name":"route","arguments":`+arguments)
		require.Equal(t, 400, status, arguments)
		require.EqualValues(t, -32020, fault["code"], arguments)
	}
	fires(t, s, fired)
}

func mirrors(headers []string) []string {
	for i, header := range headers {
		headers[i] = "Mcp-Param-" + header
	}
	return headers
}

// Agents and programs see a tool as people do; stored text is unchanged.
func TestAnAgentSeesWhatPeopleSee(t *testing.T) {
	const hidden = "\u200b\u202e\U000e0069\U000e0067"
	s := agents(t, `{"name":"greet","description":"Greets`+hidden+`","schema":[{"parameter":"na`+hidden+`me","type":"string","description":"whom`+hidden+`","required":true,"allowedValues":["Ann`+hidden+`"]}]}`)
	seen := `{"type":"object","properties":{"name":{"type":"string","description":"whom","enum":["Ann"]}},"required":["name"]}`
	a := agentAt(s, agentsOfApp, `{}`)
	tool := a.gets("tools/list", "")["tools"].([]any)[0].(map[string]any)
	require.Equal(t, "Greets", tool["description"])
	schema, err := json.Marshal(tool["inputSchema"])
	require.NoError(t, err)
	require.JSONEq(t, seen, string(schema))
	s.Call("GET", "/v1/apps/clinic/tools", "").Is(200, `{"items":[{"repositoryId":"desk","name":"greet","description":"Greets","inputSchema":`+seen+`}]}`)
	require.Contains(t, string(s.Call("GET", "/v1/apps/clinic/repositories/desk", "").Is(200, "").Body), `"description":"Greets`+hidden+`"`)

	require.Nil(t, a.calls("greet", `{"name":"Ann"}`)["isError"], "it may call the tool by what it sees")
	require.Contains(t, string(fires(t, s, 1)[0].Data), "na"+hidden+"me")
}

// A call by MCP should cost little more than a direct trigger, and a list little more than its bytes for any
// number of tools.
func BenchmarkAgentsBesideREST(b *testing.B) {
	for _, count := range []int{10, 10_000} {
		s := benchWorld(b, count)
		const said = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		for _, one := range []struct{ name, path, body, method, tool string }{
			{"trigger", "/v1/apps/clinic/triggers", `{"name":"tool-7","values":{"day":"Monday"},"source":"agent"}`, "", ""},
			{"tools.call", agentsOfApp, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"tool-7","arguments":{"day":"Monday"},` + said + `}}`, "tools/call", "tool-7"},
			{"tools.list", agentsOfApp, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + said + `}}`, "tools/list", ""},
		} {
			b.Run(fmt.Sprintf("tools=%d/%s", count, one.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					request, err := http.NewRequestWithContext(b.Context(), "POST", s.URL+one.path, strings.NewReader(one.body))
					require.NoError(b, err)
					request.Header = http.Header{"Authorization": {"Bearer " + apitest.AdminKey}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {one.method}, "Mcp-Name": {one.tool}}
					got, err := http.DefaultClient.Do(request)
					require.NoError(b, err)
					_, _ = io.Copy(io.Discard, got.Body)
					require.NoError(b, got.Body.Close())
					require.Less(b, got.StatusCode, 300)
				}
			})
		}
	}
}

// benchWorld has an app with that many tools.
func benchWorld(b *testing.B, count int) apitest.World {
	s := apitest.LiveOn(b, redistest.Run(b), apitest.Scripted(apitest.Everything))
	s.Call("PUT", "/v1/apps/clinic", `{"settings":{"limits":null}}`).Is(201, "")
	for begun := 0; begun < count; begun += 1000 {
		var tools []string
		for n := begun; n < min(count, begun+1000); n++ {
			tools = append(tools, fmt.Sprintf(`{"name":"tool-%d","description":"Does the job number %d of the ward","schema":[{"parameter":"day","type":"string","description":"the day","required":true}],"url":"https://example.org/%d"}`, n, n, n))
		}
		s.Call("PUT", fmt.Sprintf("/v1/apps/clinic/repositories/r%d", begun), `{"tools":[`+strings.Join(tools, ",")+`]}`).Is(201, "")
	}
	return s
}

func TestWhatTheProtocolDoesNotKnowIsAnErrorOfJSONRPC(t *testing.T) {
	s := apitest.Live(t, apitest.Everything)
	s.Call("PUT", "/v1/apps/clinic", `{}`).Is(201, "")
	for _, one := range []struct {
		body, version string
		status        int
		want          string
	}{
		{`{"jsonrpc":"2.0","id":7,"method":"tools/nope"}`, "", 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"there is no method \"tools/nope\" here"}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"nope"}`, "2025-11-25", 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"there is no method \"nope\" here"}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"x"}}`, "2025-11-25", 200,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"tasks/get is of revision 2026-07-28: name it in the header and in _meta"}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{}}}`, "", 200,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"subscriptions/listen is of revision 2026-07-28: name it in the header and in _meta"}}`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, "1999-01-01", 400,
			`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"revision \"1999-01-01\" is not spoken here","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],"requested":"1999-01-01"}}}`},
	} {
		headers := []string{"Accept: application/json, text/event-stream"}
		if one.version != "" {
			headers = append(headers, "Mcp-Protocol-Version: "+one.version)
		}
		got := s.Call("POST", agentsOfApp, one.body, headers...).Is(one.status, "")
		require.JSONEq(t, one.want, string(got.Body))
	}
	for body, code := range map[string]string{`{"jsonrpc`: "-32700", `[]`: "-32600", `{"id":1}`: "-32600"} {
		got := s.Call("POST", agentsOfApp, body).Is(400, "")
		require.Contains(t, string(got.Body), `{"jsonrpc":"2.0","id":`, body)
		require.Contains(t, string(got.Body), `"code":`+code, "%s: %s", body, got.Body)
	}
}

// TestAMessageThatIsNoneOfJSONRPCDoesNothing: each message would ring, were it read less strictly.
func TestAMessageThatIsNoneOfJSONRPCDoesNothing(t *testing.T) {
	s := agents(t, `{"name":"ring","description":"Rings"}`)
	const ring = `"method":"tools/call","params":{"name":"ring","arguments":{}}`
	for _, one := range []struct {
		body   string
		status int
		id     string
		code   int
		says   string
	}{
		{`[{"jsonrpc":"2.0","id":1,` + ring + `},{"jsonrpc":"2.0","id":2,"method":"nope"}]`, 400, `null`, -32600, "batches are not taken, in no revision: send each message in a request of its own"},
		{` [{"jsonrpc":"2.0","id":1,` + ring + `}]`, 400, `null`, -32600, "batches are not taken"},
		{`{"jsonrpc":"2.0","id":1,` + ring + `} x`, 400, `null`, -32700, "the body is not one JSON value: invalid character 'x' after top-level value"},
		{`{"jsonrpc":"2.0","id":1,` + ring + `}{}`, 400, `null`, -32700, "after top-level value"},
		{``, 400, `null`, -32700, "the body is empty"},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xe9\"," + ring + `}`, 400, `null`, -32700, "the body is not UTF-8: byte 24 is 0xe9"},
		{`{"jsonrpc":"2.0","id":"\ud800",` + ring + `}`, 400, `null`, -32700, `the body has \ud800, half of a surrogate pair`},
		{`null`, 400, `null`, -32600, "the body is not an object"},
		{`"ring"`, 400, `null`, -32600, "the body is not an object"},
		{`{"jsonrpc":"2.0","id":12345678901234567890123,` + ring + `}`, 400, `null`, -32600, "id is to be a text, or a whole number to 2^53"},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, 400, `null`, -32600, "id is to be"},
		{`{"jsonrpc":"2.0","id":1.5,` + ring + `}`, 400, `null`, -32600, "id is to be"},
		{`{"jsonrpc":"2.0","id":null,` + ring + `}`, 400, `null`, -32600, "a notification has none"},
		{`{"jsonrpc":"2.0","id":[1],` + ring + `}`, 400, `null`, -32600, "id is to be"},
		{`{"jsonrpc":"2.0",` + ring + `}`, 400, `null`, -32600, "id is missing: tools/call has an answer"},
		{`{"id":1,` + ring + `}`, 400, `1`, -32600, `jsonrpc is to be "2.0"`},
		{`{"jsonrpc":2.0,"id":1,` + ring + `}`, 400, `1`, -32600, `jsonrpc is to be "2.0"`},
		{`{"jsonrpc":"2.0","id":1}`, 400, `1`, -32600, "method is missing"},
		{`{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, 400, `1`, -32600, "method is missing"},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, 400, `1`, -32600, "method is to be a text"},
		{`{"jsonrpc":"2.0"}`, 400, `null`, -32600, "method is missing"},
		{`{"jsonrpc":"2.0","id":"a","method":"prompts/list","params":5}`, 200, `"a"`, -32601, `there is no method "prompts/list" here`},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","arguments":[1]}}`, 200, `1`, -32602, "params.arguments is a list, and is to be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","_meta":5}}`, 200, `1`, -32602, "params._meta is a number, and is to be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","_meta":{"traceparent":5}}}`, 200, `1`, -32602, "params._meta.traceparent is a number, and is to be a text"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}`, 200, `1`, -32602, "params is a list, and is to be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":5}}`, 200, `1`, -32602, "params.taskId is a number, and is to be a text"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":"x"}}`, 200, `1`, -32602, "params._meta is a text, and is to be an object"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`, 200, `1`, -32602, "params.protocolVersion is a number, and is to be a text"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":5}}}}`, 200, `1`, -32602, "params.capabilities.roots.listChanged is a number, and is to be true or false"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/list",` + ring + `}`, 400, `1`, -32600, "/method: is given more than once"},
		{`{"jsonrpc":"2.0","id":1,"Method":"tools/list",` + ring + `}`, 400, `1`, -32600, "Method is not known; method is"},
		{`{"jsonrpc":"2.0","id":1,` + ring + `,"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, `1`, -32600, "nested more than 64 deep"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","arguments":{"a":1,"a":2}}}`, 200, `1`, -32602, "/params/arguments/a: is given more than once"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"ring"}}`, 200, `1`, -32602, "params.Name is not known; params.name is"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","_meta":{"TraceParent":""}}}`, 200, `1`, -32602, "params._meta.TraceParent is not known; params._meta.traceparent is"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ring","_meta":{"io.modelcontextprotocol/clientCapabilities":{"Extensions":{}}}}}`, 200, `1`, -32602, "Extensions is not known"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","ClientInfo":{}}}`, 200, `1`, -32602, "params.ClientInfo is not known"},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 200, `1`, -32602, "params is missing"},
	} {
		got := s.Call("POST", agentsOfApp, one.body).Is(one.status, "")
		var answer struct {
			ID    json.RawMessage
			Error struct {
				Code    int
				Message string
			}
		}
		require.NoError(t, json.Unmarshal(got.Body, &answer), "%s: %s", one.body, got.Body)
		require.Equal(t, one.id, string(answer.ID), one.body)
		require.Equal(t, one.code, answer.Error.Code, one.body)
		require.Contains(t, answer.Error.Message, one.says, one.body)
	}
	fires(t, s, 0)
	for _, id := range []string{`9007199254740992`, `-1`, `"12345678901234567890123"`, `0`} {
		got := s.Call("POST", agentsOfApp, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping"}`).Is(200, "")
		require.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`, string(got.Body))
	}
}

func TestWhatNeedsNoAnswerGetsNone(t *testing.T) {
	s := agents(t, greets)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/nope"}`, `{"jsonrpc":"2.0","method":"nope","params":5}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`,
	} {
		for _, version := range []string{"2025-06-18", "2026-07-28"} {
			got := s.Call("POST", agentsOfApp, body, "Mcp-Protocol-Version: "+version).Is(202, "")
			require.Empty(t, got.Body, body)
		}
	}
	_, fault, status := agentAt(s, agentsOfApp, `{}`).rpc("nope", "")
	require.Equal(t, 404, status)
	require.EqualValues(t, -32601, fault["code"])
}
