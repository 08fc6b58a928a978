package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed"
	"earshot/repositories/failpoint"
)

func TestMain(m *testing.M) { testbed.Main(m) }

func TestSinkDoesAsItsPathsSay(t *testing.T) {
	s := &testbed.Sink{Answer: behave}
	client := testbed.Client{URL: testbed.Serve(t, "", s), HTTP: &http.Client{Timeout: 300 * time.Millisecond}}
	ask := func(path string) int {
		response, err := client.Open(t.Context(), http.MethodPost, path, "{}", "webhook-id", "t1")
		if err != nil {
			return 0
		}
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	for _, test := range []struct {
		path          string
		first, second int
	}{{"/ok", 200, 200}, {"/busy", 503, 200}, {"/dead", 404, 200}, {"/hang", 0, 200}, {"/drip", 200, 200}, {"/giga", 200, 200}} {
		require.Equal(t, test.first, ask(test.path), test.path)
		require.Equal(t, test.second, ask(test.path), test.path)
	}
	require.Len(t, s.Calls(), 12)
}

func TestModelDoesAsItIsTold(t *testing.T) {
	secrets := plant()
	url := testbed.Serve(t, "", &model{secrets: secrets, asked: map[string]bool{}})
	ask := func(body string) (status int, answer string) {
		got := testbed.Got(testbed.Client{URL: url}.Ask(t.Context(), http.MethodPost, "", body))(t)
		return got.Status, string(got.Body)
	}
	said := func(text string) string {
		return `{"messages":[{"role":"user","content":"` + text + `"}]}`
	}
	_, answer := ask(said(`call note {\"day\":\"fickle\"}; lamp {}`))
	require.Contains(t, answer, `"arguments":"{\"day\":\"fickle\"}","name":"note"`)
	require.Contains(t, answer, `"name":"lamp"`)
	_, answer = ask(said(`call note {\"day\":\"fickle\"}; lamp {}`))
	require.Contains(t, answer, `{\"day\":\"fickle`+changed+`\"}`, "it has changed its mind")
	status, _ := ask(said(`call note {\"day\":\"flaky\"}`))
	require.Equal(t, http.StatusServiceUnavailable, status)
	status, answer = ask(said(`call note {\"day\":\"flaky\"}`))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"name":"note"`)

	_, answer = ask(`{"messages":[{"role":"user","content":"call note {}"},{"role":"assistant","content":null},{"role":"tool","content":"one"},{"role":"tool","content":"two"}]}`)
	require.Contains(t, answer, reported+"one; two")
	_, answer = ask(`{"stream":true,"messages":[{"role":"user","content":"call note {}"}]}`)
	require.Contains(t, answer, `"name":"note"`)
	require.True(t, strings.HasSuffix(answer, "data: [DONE]\n\n"), answer)
	require.Empty(t, secrets.all())
	ask(said(secrets.admin))
	require.Len(t, secrets.all(), 1)
}

// TestRemoteDoesAsItsToolsSay calls each tool twice, without sessions and in one, and then in each mood of the server.
func TestRemoteDoesAsItsToolsSay(t *testing.T) {
	for _, path := range []string{pathStateless, pathSessions} {
		sink := &testbed.Sink{}
		server := newRemote(sink, plant())
		server.key = "key"
		url := testbed.Serve(t, "", server) + path
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
			require.Equal(t, pageFor("t-"+tool, "monday"), call(tool, "t-"+tool), "%s at %s", tool, path)
		}
		require.Len(t, sink.Calls(), 10)
		for _, one := range sink.Calls() {
			require.Equal(t, one.ID, one.IdempotencyKey)
			require.JSONEq(t, `{"day":"monday"}`, one.Body)
			_, done := server.done.Load(one.ID)
			require.True(t, done, "in the end each was carried out")
		}
		for _, one := range []mood{busy, away} {
			server.set(one)
			require.Equal(t, "no session", call("lookup", "t9"))
		}
		server.set(moody)
		for _, broken := range []int{2, 0} { // of eight, the first time and the second
			for i := range 8 {
				if id := fmt.Sprint("m", i); call("lookup", id) != pageFor(id, "monday") {
					broken--
				}
			}
			require.Zero(t, broken)
		}
		server.set(well)
		require.Equal(t, pageFor("t9", "monday"), call("lookup", "t9"))
		server.key = "another"
		require.Equal(t, "no session", call("lookup", "t9"))
	}
}

// unkept uses a connection once: over a kept one, a request with a key is sent again when the connection breaks.
var unkept = &http.Transport{DisableKeepAlives: true}

type keyed string

func (k keyed) RoundTrip(request *http.Request) (*http.Response, error) {
	for name, value := range map[string]string{"X-Api-Key": "key", "webhook-id": string(k), "Idempotency-Key": string(k)} {
		request.Header.Set(name, value)
	}
	return unkept.RoundTrip(request)
}

// TestEveryFlawIsPlanted starts the program with each flaw. It panics if a script lacks the line that the flaw takes out.
func TestEveryFlawIsPlanted(t *testing.T) {
	program := testbed.Program(t, "crashtest")
	for _, flaw := range failpoint.Flaws() {
		command := exec.CommandContext(t.Context(), program, "version")
		command.Env = append(os.Environ(), "EARSHOT_FLAW="+string(flaw))
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", flaw, out)
	}
}
