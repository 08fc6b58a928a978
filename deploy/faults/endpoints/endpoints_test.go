package endpoints_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/faults/endpoints"
)

func served(t *testing.T, handler http.Handler) string {
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ask posts a conversation to the model.
func ask(t *testing.T, url, body string) (status int, answer string) {
	response, err := http.Post(url, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func nobody(string, string) {}

func TestModelDoesAsItIsTold(t *testing.T) {
	url := served(t, endpoints.NewModel(nobody))
	said := func(text string) string {
		return `{"messages":[{"role":"user","content":"` + text + `"}]}`
	}
	_, answer := ask(t, url, said(`call note {\"day\":\"fickle\"}; lamp {}`))
	require.Contains(t, answer, `"arguments":"{\"day\":\"fickle\"}","name":"note"`)
	require.Contains(t, answer, `"name":"lamp"`)
	_, answer = ask(t, url, said(`call note {\"day\":\"fickle\"}; lamp {}`))
	require.Contains(t, answer, `{\"day\":\"fickle`+endpoints.Again+`\"}`, "it has changed its mind")
	status, _ := ask(t, url, said(`call note {\"day\":\"flaky\"}`))
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, _ = ask(t, url, said(`call note {\"day\":\"flaky\"}`))
	require.Equal(t, http.StatusOK, status)

	_, answer = ask(t, url, `{"messages":[{"role":"user","content":"call note {}"},{"role":"assistant","content":null},{"role":"tool","content":"one"},{"role":"tool","content":"two"}]}`)
	require.Contains(t, answer, endpoints.Said+"one; two")
	_, answer = ask(t, url, `{"stream":true,"messages":[{"role":"user","content":"call note {}"}]}`)
	require.Contains(t, answer, `"name":"note"`)
	require.True(t, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
}

// TestRemoteDoesAsItsToolsSay calls each tool twice, without sessions and in one, and then has the
// server be out of order.
func TestRemoteDoesAsItsToolsSay(t *testing.T) {
	for _, path := range []string{endpoints.PathStateless, endpoints.PathSessions} {
		sink := endpoints.NewSink("token", nobody)
		sink.Remote.Key = "key"
		url := served(t, sink) + path
		call := func(tool, id string) string {
			transport := &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{Transport: keyed(id)}}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), transport, nil)
			if err != nil {
				return "no session"
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"day": "monday"}, Meta: mcp.Meta{"earshot/idempotencyKey": id}})
			switch {
			case err != nil:
				return "no answer"
			case result.IsError:
				return "failed"
			}
			return result.StructuredContent.(map[string]any)["page"].(string)
		}
		for tool, first := range map[string]string{"lookup": "t-lookup on monday", "stuck": "no answer", "lose": "no answer", "refuse": "failed", "wire": "no answer"} {
			require.Equal(t, first, call(tool, "t-"+tool), "%s at %s", tool, path)
			require.Equal(t, endpoints.Page("t-"+tool, "monday"), call(tool, "t-"+tool), "%s at %s", tool, path)
		}
		calls := sink.All()
		require.Len(t, calls, 10)
		for _, one := range calls {
			require.Equal(t, one.ID, one.IdempotencyKey)
			require.JSONEq(t, `{"day":"monday"}`, one.Body)
			require.True(t, one.Done, "in the end each was carried out")
		}
		for _, trouble := range []endpoints.Trouble{endpoints.Busy, endpoints.Away} {
			sink.Remote.Set(trouble)
			require.Equal(t, "no session", call("lookup", "t9"))
		}
		sink.Remote.Set(endpoints.Moody)
		for _, broken := range []int{2, 0} { // of eight, the first time and the second
			for i := range 8 {
				if id := fmt.Sprint("m", i); call("lookup", id) != endpoints.Page(id, "monday") {
					broken--
				}
			}
			require.Zero(t, broken)
		}
		sink.Remote.Set(endpoints.Well)
		require.Equal(t, endpoints.Page("t9", "monday"), call("lookup", "t9"))
		sink.Remote.Key = "another"
		require.Equal(t, "no session", call("lookup", "t9"))
	}
}

// once sends each request over a connection of its own: over one that was used before, a request
// with a key is sent again where the connection breaks.
var once = &http.Transport{DisableKeepAlives: true}

// keyed sends every request with the key of the server, as a call of that id.
type keyed string

// RoundTrip implements http.RoundTripper.
func (k keyed) RoundTrip(request *http.Request) (*http.Response, error) {
	for name, value := range map[string]string{"X-Api-Key": "key", "webhook-id": string(k), "Idempotency-Key": string(k)} {
		request.Header.Set(name, value)
	}
	return once.RoundTrip(request)
}
