package double_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/bench/double"
)

func completionOf(t *testing.T, texts ...string) (finish string, tools []string) {
	body, err := json.Marshal(map[string]any{"messages": texts, "tools": []string{}})
	require.NoError(t, err)
	out := httptest.NewRecorder()
	double.Handler(0).ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body))))
	var answer struct {
		Choices []struct {
			Finish  string `json:"finish_reason"`
			Message struct {
				Calls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	require.NoError(t, json.Unmarshal(out.Body.Bytes(), &answer))
	for _, call := range answer.Choices[0].Message.Calls {
		require.JSONEq(t, double.Arguments, call.Function.Arguments)
		tools = append(tools, call.Function.Name)
	}
	return answer.Choices[0].Finish, tools
}

func TestDoubleCallsWhatTheLastTextAsksFor(t *testing.T) {
	finish, tools := completionOf(t, double.Ask("earlier", "old"), double.Ask("now", "ring", "light"))
	require.Equal(t, "tool_calls", finish)
	require.Equal(t, []string{"ring", "light"}, tools)
}

func TestDoubleCallsNothingUnasked(t *testing.T) {
	finish, tools := completionOf(t, "good morning")
	require.Equal(t, "stop", finish)
	require.Empty(t, tools)
}
