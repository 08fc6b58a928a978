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

// text returns the text of a result for a model.
func text(result map[string]any) string {
	list, _ := result["content"].([]any)
	if len(list) == 0 {
		return ""
	}
	return list[0].(map[string]any)["text"].(string)
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

// bearing is a client with a key.
func bearing(key string) *http.Client {
	return &http.Client{Transport: keyed(key)}
}

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
