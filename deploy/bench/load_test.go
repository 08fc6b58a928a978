package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestClosedLoopHasAsManyUnderWayAsConnections(t *testing.T) {
	var sent atomic.Int64
	together := make(chan struct{})
	found, err := plan{connections: 8, requests: 8, first: 100}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		if i < 100 || i >= 108 {
			return 0, errors.New("a number that nobody asked for")
		}
		if sent.Add(1) == 8 {
			close(together)
		}
		<-together
		return 0, nil
	})
	require.NoError(t, err)
	require.EqualValues(t, 8, found.done)
	require.EqualValues(t, 8, found.times.TotalCount())
	require.Positive(t, found.took)
}

func TestFailuresAndWhatIsPendingAreCountedApart(t *testing.T) {
	broken := errors.New("broken")
	found, err := plan{connections: 2, requests: 9}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		return time.Second, []error{nil, errPending, broken}[i%3]
	})
	require.NoError(t, err)
	require.Equal(t, []int64{6, 3, 3}, []int64{found.done, found.pending, found.failed})
	require.ErrorIs(t, found.failure, broken)
	require.InEpsilon(t, 1000, found.ms(50), 1e-3, "the time that a request has measured itself")
}

// A request that waits because another is slow has waited, and a closed loop would not say so.
func TestOpenLoopCountsFromWhenARequestWasDue(t *testing.T) {
	found, err := plan{connections: 1, rate: 1e6, requests: 3}.run(t.Context(), func(_ context.Context, i int) (time.Duration, error) {
		if i == 0 {
			time.Sleep(20 * time.Millisecond) // a slow answer
		}
		return 0, nil
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, found.times.Min(), int64(19_000))
}

func TestPlanWithoutAnEndIsRefused(t *testing.T) {
	_, err := plan{connections: 1}.run(t.Context(), nil)
	require.ErrorContains(t, err, "an end")
}

func TestTheFakeLLMCallsWhatTheLastTextAsksFor(t *testing.T) {
	for _, test := range []struct {
		texts, tools []string
		finish       string
	}{
		{[]string{calling("earlier", "old"), calling("now", "ring", "light")}, []string{"ring", "light"}, "tool_calls"},
		{[]string{"good morning"}, nil, "stop"},
	} {
		body, err := json.Marshal(map[string]any{"messages": test.texts, "tools": []string{}})
		require.NoError(t, err)
		out := httptest.NewRecorder()
		answering(0).ServeHTTP(out, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(string(body))))
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
		var tools []string
		for _, call := range answer.Choices[0].Message.Calls {
			require.JSONEq(t, llmArguments, call.Function.Arguments)
			tools = append(tools, call.Function.Name)
		}
		require.Equal(t, test.finish, answer.Choices[0].Finish)
		require.Equal(t, test.tools, tools)
	}
}
