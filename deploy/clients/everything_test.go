//go:build nightly

package clients

import (
	"encoding/json"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestToolsOfServerEverythingAreOurs has the reference server of MCP, which keeps sessions and
// answers in streams, as a source: its tools fire by a button and by a chat.
func TestToolsOfServerEverythingAreOurs(t *testing.T) {
	_, port, err := net.SplitHostPort(testbed.Address(t))
	require.NoError(t, err)
	folder := withPackages(t, "everything")
	server := testbed.Start(t, folder, []string{"PORT=" + port}, filepath.Join(folder, "node_modules", ".bin", "mcp-server-everything"), "streamableHttp")
	server.Await(t, `listening on (port)`)
	s := dev(t)
	s.Call("PUT", "/v1/apps/lab", `{"sources":[{"name":"everything","type":"mcp","url":"http://127.0.0.1:`+port+`/mcp","allow":["get-*"]}]}`)
	var written struct {
		Tools []struct{ Name string }
		Notes []string
	}
	require.NoError(t, json.Unmarshal(s.Call("PUT", "/v1/apps/lab/repositories/all", `{"from":"everything"}`), &written))
	require.Empty(t, written.Notes)
	require.Len(t, written.Tools, 7)
	for body, want := range map[string]string{
		`{"name":"get-sum","source":"ui","values":{"a":2,"b":40}}`:                              `"The sum of 2 and 40 is 42."`,
		`{"name":"get-structured-content","source":"task","values":{"location":"Los Angeles"}}`: `{"temperature":73,"conditions":"Sunny / Clear","humidity":48}`,
	} {
		var fired struct {
			Call struct {
				State  string
				Result json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(s.Call("POST", "/v1/apps/lab/triggers", body), &fired))
		require.Equal(t, "delivered", fired.Call.State, body)
		require.JSONEq(t, want, string(fired.Call.Result))
	}
}
