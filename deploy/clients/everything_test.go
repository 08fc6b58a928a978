package clients

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
)

// TestToolsOfServerEverythingAreOurs has the reference server of MCP, which keeps sessions and
// answers in streams, as a source: its tools fire by a button and by a chat.
func TestToolsOfServerEverythingAreOurs(t *testing.T) {
	port := everything(t)
	s := dev(t)
	s.call("PUT", "/v1/apps/lab", `{"sources":[{"name":"everything","type":"mcp","url":"http://127.0.0.1:`+port+`/mcp","allow":["get-*"]}]}`)
	var written struct {
		Tools []struct{ Name string }
		Notes []string
	}
	require.NoError(t, json.Unmarshal(s.call("PUT", "/v1/apps/lab/repositories/all", `{"from":"everything"}`), &written))
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
		require.NoError(t, json.Unmarshal(s.call("POST", "/v1/apps/lab/triggers", body), &fired))
		require.Equal(t, "delivered", fired.Call.State, body)
		require.JSONEq(t, want, string(fired.Call.Result))
	}
}

// everything starts the server with the packages of its lock file, and returns its port.
func everything(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			testbed.Missing(t, program+" is not installed: apt-get install nodejs npm")
		}
	}
	folder := copied(t, "everything")
	out, err := prepared(folder, "npm", "ci", "--no-audit", "--no-fund").CombinedOutput()
	if unreachable.Match(out) {
		t.Skip("npm cannot reach its registry, from which the packages of the lock file come")
	}
	require.NoError(t, err, string(out))
	_, port, err := net.SplitHostPort(testbed.Address(t))
	require.NoError(t, err)
	bin := filepath.Join(folder, "node_modules", ".bin", "mcp-server-everything")
	said := testbed.Start(t, folder, append(os.Environ(), "PORT="+port), bin, "streamableHttp")
	said.Await(t, `listening on (port)`)
	return port
}
