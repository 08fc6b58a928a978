package mcp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	agentsmcp "earshot/api/mcp"
	"earshot/deploy/testbed/apitest"
	"earshot/trigger"
	"earshot/trigger/effect"
	"earshot/trigger/query"
)

// reports is a clinic whose tool report answers on demand.
func reports(t *testing.T) (apitest.World, chan<- string) {
	s := agents(t, `{"name":"report","url":"https://example.org/report"}`)
	results := make(chan string)
	s.Sink.Answers(func(effect.Effect) effect.Outcome {
		select {
		case result := <-results:
			return effect.Outcome{Verdict: effect.Done, Status: 200, Result: json.RawMessage(result)}
		case <-t.Context().Done():
			return effect.Outcome{Verdict: effect.Dead}
		}
	})
	return s, results
}

func TestACallReportsItsProgressUntilItHasAResult(t *testing.T) {
	s, results := reports(t)
	for _, version := range []string{"2026-07-28", "2025-11-25", "2025-06-18"} {
		progress := make(chan *mcp.ProgressNotificationParams, 100)
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) { progress <- request.Params },
		})
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.URL + agentsOfSession, HTTPClient: bearing(apitest.AdminKey), DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		require.NoError(t, err, version)
		params := &mcp.CallToolParams{Name: "report", Meta: mcp.Meta{}}
		params.SetProgressToken("p-" + version)
		answered := make(chan *mcp.CallToolResult, 1)
		go func() {
			result, err := session.CallTool(t.Context(), params)
			t.Log(version, err)
			answered <- result
		}()
		for n := 1; n <= 2; n++ {
			told := <-progress
			require.Equal(t, []any{"p-" + version, float64(n), "attempt 1 is under way"}, []any{told.ProgressToken, told.Progress, told.Message}, version)
		}
		require.Empty(t, answered, "the result is the last message")
		results <- `"done"`
		result := <-answered
		require.NotNil(t, result, version)
		require.Equal(t, "done", result.Content[0].(*mcp.TextContent).Text)
		require.NoError(t, session.Close())
	}
}

// calling calls report over plain HTTP with this _meta.
func calling(t testing.TB, url, meta, accept string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(`{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"report","_meta":{`+meta+`}}}`))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Authorization": "Bearer " + apitest.AdminKey, "Content-Type": "application/json", "Accept": accept} {
		request.Header.Set(name, value)
	}
	return http.DefaultTransport.RoundTrip(request)
}

func TestAnAnswerIsAStreamForThoseWhoAskForProgressAlone(t *testing.T) {
	s, results := reports(t)
	answer := make(chan *http.Response)
	for _, ask := range []struct{ meta, accept string }{{"", "application/json, text/event-stream"}, {`"progressToken":7`, "application/json"}, {`"progressToken":{}`, "text/event-stream"}} {
		go func() {
			got, err := calling(s.T, s.URL+agentsOfApp, ask.meta, ask.accept)
			if err != nil {
				t.Error(err)
			}
			answer <- got
		}()
		select {
		case got := <-answer:
			t.Fatal("a stream began", ask, got.Header)
		case results <- `{"rows":7}`:
		}
		got := <-answer
		require.Equal(t, "application/json", got.Header.Get("Content-Type"), ask)
		require.NoError(t, got.Body.Close())
	}

	got, err := calling(s.T, s.URL+agentsOfApp, `"progressToken":7`, "application/json, Text/Event-Stream")
	require.NoError(t, err)
	defer got.Body.Close()
	require.Equal(t, "text/event-stream", got.Header.Get("Content-Type"))
	results <- `{"rows":7}`
	var messages []string
	for lines := bufio.NewScanner(got.Body); lines.Scan(); {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			messages = append(messages, data)
		}
	}
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"message":"attempt 1 is under way"}}`, messages[0])
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"c","result":{"content":[{"type":"text","text":"{\"rows\":7}"}],"structuredContent":{"rows":7}}}`, messages[len(messages)-1])
}

// failing is an engine whose calls fail on demand.
type failing struct {
	agentsmcp.Engine
	fail chan error
}

func (f failing) Fire(context.Context, trigger.Direct) (json.RawMessage, error) { return nil, <-f.fail }

func (f failing) Trigger(context.Context, string, string) (query.Record, error) {
	return query.Record{}, query.ErrNotFound
}

func (f failing) Background(run func(context.Context)) { go run(context.Background()) }

func TestAStreamEndsWithTheErrorOfItsCall(t *testing.T) {
	engine := failing{fail: make(chan error)}
	service := echo.New()
	service.POST("/", agentsmcp.New(agentsmcp.Options{
		Engine: engine, NewID: func() string { return "id" }, Admission: func(next echo.HandlerFunc) echo.HandlerFunc { return next },
		Users: func(echo.Context) (agentsmcp.User, error) { return agentsmcp.User{}, nil },
	}).Serve)
	server := httptest.NewServer(service)
	defer server.Close()
	for fault, want := range map[error]string{
		errors.New("secret"):  `{"jsonrpc":"2.0","id":"c","error":{"code":-32603,"message":"internal error; the log says more"}}`,
		trigger.ErrNotInScope: `"code":-32602,"message":"unknown tool`,
	} {
		got, err := calling(t, server.URL, `"progressToken":7`, "text/event-stream")
		require.NoError(t, err)
		engine.fail <- fault
		body, err := io.ReadAll(got.Body)
		require.NoError(t, err)
		require.NoError(t, got.Body.Close())
		require.Contains(t, string(body), want)
		require.NotContains(t, string(body), "secret")
	}
}
