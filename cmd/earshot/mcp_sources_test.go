package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// toolServer is a real MCP server, with sessions or without, that may be away.
type toolServer struct {
	*httptest.Server
	tools *mcp.Server
	mu    sync.Mutex
	down  bool
	keys  []string // Idempotency-Key of the calls, those that it did not take among them
}

func newToolServer(t *testing.T, stateless bool) *toolServer {
	s := &toolServer{tools: mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)}
	serving := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.tools }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		if key := r.Header.Get("Idempotency-Key"); key != "" {
			s.keys = append(s.keys, key)
		}
		down := s.down
		s.mu.Unlock()
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		serving.ServeHTTP(w, r)
	}))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	s.add("find_customer")
	s.add("drop_customer")
	return s
}

func (s *toolServer) add(name string) {
	s.tools.AddTool(&mcp.Tool{
		Name: name, Description: "Customers: " + name,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`),
	}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: json.RawMessage(`{"asked":` + string(r.Params.Arguments) + `}`)}, nil
	})
}

func (s *toolServer) away(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

func (s *toolServer) called() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.keys...)
}

// source is the app with the server as its source.
func (s *toolServer) source(more string) string {
	return `{"settings":{"limits":null},"sources":[{"name":"crm","type":"mcp","url":"` + s.URL + `","allow":["find_*"],"refresh":"5s"` + more + `}]}`
}

// names lists the tools of a repository.
func (w *world) names(path string) (names []string) {
	w.t.Helper()
	for _, tool := range read[struct{ Tools []struct{ Name string } }](w.t, w.call(200, "GET", path, "")).Tools {
		names = append(names, tool.Name)
	}
	return names
}

func TestToolsOfAnMCPServerAreToolsLikeOthers(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{true, false} {
		w, s := serving(t, 2), newToolServer(t, stateless)
		w.put("/v1/apps/clinic", s.source(`,"headers":{"X-Api-Key":"planted-key"}`))
		const path = "/v1/apps/clinic/sessions/s1/repositories/customers"
		made := w.call(201, "PUT", path, `{"from":"crm","options":{"exclusive":true}}`)
		require.Contains(t, made.Body, `"find_customer"`)
		require.NotContains(t, made.Body, "drop_customer")
		require.Contains(t, w.call(200, "GET", "/v1/apps/clinic/sessions/s1/tools", "").Body, `"minLength":2`)

		match := w.say("s1", "m1", `call find_customer {"name":"Ann"}`).Matches[0]
		require.Equal(t, "delivered", match.Call.State, match.Call)
		require.Equal(t, map[string]any{"asked": map[string]any{"name": "Ann"}}, match.Call.Result)
		require.Equal(t, []string{match.TriggerID}, s.called())
		require.Empty(t, w.say("s1", "m2", `call find_customer {"name":"A"}`).Matches, "values are held against the server's schema")

		s.away(true)
		match = w.say("s1", "m3", `call find_customer {"name":"Bob"}`).Matches[0]
		require.Equal(t, "pending", match.Call.State)
		require.Contains(t, w.call(201, "PUT", "/v1/apps/clinic/repositories/later", `{"from":"crm"}`).Body, "could not be read: POST http://127.0.0.1:")
		require.Empty(t, w.names("/v1/apps/clinic/repositories/later"))
		sent := w.call(200, "GET", path, "").Body
		w.call(200, "PUT", path, sent)
		require.Equal(t, []string{"find_customer"}, w.names(path), "what is read can be sent back")
		s.away(false)
		w.rest()
		var record struct{ State string }
		require.NoError(t, json.Unmarshal([]byte(w.call(200, "GET", "/v1/apps/clinic/triggers/"+match.TriggerID, "").Body), &record))
		require.Equal(t, "delivered", record.State)
		require.Equal(t, match.TriggerID, s.called()[len(s.called())-1])

		w.until("its server is asked again", func() bool { return len(w.names("/v1/apps/clinic/repositories/later")) == 1 })
		before := len(w.events("tool.changed.clinic.customers"))
		s.add("find_order")
		w.until("the new tool is there", func() bool { return len(w.names(path)) == 2 })
		w.until("both follow", func() bool { return len(w.names("/v1/apps/clinic/repositories/later")) == 2 })
		w.rest()
		require.Len(t, w.events("tool.changed.clinic.customers"), before+1)
		for _, replica := range w.replicas {
			require.NotContains(t, replica.log.String(), "planted-key")
		}
	}
}

func TestFilesNameAnMCPServer(t *testing.T) {
	w, s := devInFolder(t), newToolServer(t, true)
	files := func(more string) {
		write(t, "tools.yaml", "kind: app\nname: clinic\n---\nkind: source\nname: crm\ntype: mcp\nurl: "+s.URL+"\nallow: [find_*]\nheaders: {X-Api-Key: k3y-of-ours}\n"+
			"---\nkind: repository\nname: customers\nfrom: crm\n"+more)
	}
	files("")
	require.Contains(t, w.ok("validate", "-f", "tools.yaml"), "")
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "created 2")
	require.Equal(t, []string{"find_customer"}, w.names("/v1/apps/clinic/repositories/customers"))
	require.Contains(t, w.ok("apply", "-f", "tools.yaml"), "created 0, updated 0, left 2, removed 0", "what the server has is no change")
	files("options: {exclusive: true}\n")
	plan := w.ok("apply", "-f", "tools.yaml", "--dry-run")
	require.Contains(t, plan, "options/exclusive: false → true")
	require.NotContains(t, plan, "find_customer")

	write(t, "wrong.yaml", "kind: app\nname: clinic\n---\nkind: repository\nname: customers\nfrom: crn\n")
	refused := w.run("apply", "-f", "wrong.yaml")
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.err, `wrong.yaml:`)
	require.Contains(t, refused.err, `the app has no source "crn"`)
	require.True(t, strings.Contains(refused.err, `did you mean "crm"?`), refused.err)
}
