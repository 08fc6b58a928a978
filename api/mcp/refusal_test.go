package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
)

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
		{`{"jsonrpc":"2.0","id":"\ud800",` + ring + `}`, 400, `null`, -32700, `the body has \ud800, half of a pair`},
		{`null`, 400, `null`, -32600, "the body is no object"},
		{`"ring"`, 400, `null`, -32600, "the body is no object"},
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
