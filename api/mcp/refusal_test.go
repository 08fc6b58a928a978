package mcp_test

import (
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
