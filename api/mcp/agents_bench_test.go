package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/apitest"
	"earshot/deploy/testbed/redistest"
)

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
