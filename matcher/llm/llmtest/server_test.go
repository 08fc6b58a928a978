package llmtest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

func post(ctx context.Context, url, body string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

const hello = `{"model":"m","messages":[{"role":"user","content":"hello"}],"tools":[{"type":"function","function":{"name":"book","parameters":{"type":"object"}}}],"tool_choice":"auto","parallel_tool_calls":true}`

func TestServerAnswersFromTheQueueThenByItsHandlerAndKeepsRequests(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{"day":1}`), llmtest.Status(429, http.Header{"Retry-After": {"3"}}, "slow down"))
	server.Handle(func(request llmtest.Request) llmtest.Reply { return llmtest.Text("you said " + request.Last().Content) })
	for _, want := range []struct {
		status int
		text   string
	}{{200, `"arguments":"{\"day\":1}"`}, {429, "slow down"}, {200, "you said hello"}, {200, "you said hello"}} {
		status, text, err := post(t.Context(), server.URL(), hello)
		require.NoError(t, err)
		require.Equal(t, want.status, status)
		require.Contains(t, text, want.text)
	}
	require.Equal(t, 4, server.Count())
	request := server.Requests()[0]
	require.Equal(t, []string{"book"}, request.ToolNames())
	require.Equal(t, "auto", request.ToolChoice)
	require.True(t, *request.Parallel)
	require.Equal(t, "m", request.Model)
	require.JSONEq(t, hello, string(request.Body))
}

func TestHangEndsWhenTheClientLeaves(t *testing.T) {
	server := llmtest.New(t)
	ctx, leave := context.WithCancel(t.Context())
	server.Handle(func(llmtest.Request) llmtest.Reply { leave(); return llmtest.Hang() })
	_, _, err := post(ctx, server.URL(), hello)
	require.ErrorIs(t, err, context.Canceled)
}

// failing is a test whose failure does not fail this one.
type failing struct {
	testing.TB
	failures []string
}

func (f *failing) Errorf(format string, args ...any) {
	f.failures = append(f.failures, fmt.Sprintf(format, args...))
}

func TestWhatIsNotScriptedFailsTheTest(t *testing.T) {
	for body, says := range map[string]string{hello: "nothing is scripted for request 1", "no JSON": "is no chat completion", "{}": "it has no messages"} {
		watched := &failing{TB: t}
		server := llmtest.New(watched)
		status, _, err := post(t.Context(), server.URL(), body)
		require.NoError(t, err)
		require.GreaterOrEqual(t, status, 400)
		require.Len(t, watched.failures, 1)
		require.Contains(t, watched.failures[0], says)
	}
}
