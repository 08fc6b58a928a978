package llm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/evaldata"
	"earshot/matcher/llm/llmtest"
	"earshot/repositories"
	"earshot/repositories/unraced"
)

// The evaluations answer with the expected calls in the place of an LLM: every value
// has to arrive as it was sent.

// evalToday is the day on which the dialogues of SGD take place.
var evalToday = time.Date(2019, 3, 1, 12, 0, 0, 0, time.UTC)

// evalRequest is the last message of a case, with its tools in scope.
func evalRequest(t *testing.T, c evaldata.Case) matcher.Request {
	t.Helper()
	request := matcher.Request{App: &repositories.App{}, Now: evalToday, Candidates: evalScope(t, c)}
	for _, message := range c.Messages {
		request.History = append(request.History, matcher.Utterance{Actor: message.Actor, Text: message.Text})
	}
	last := len(request.History) - 1
	request.Text, request.History = request.History[last].Text, request.History[:last]
	return request
}

// evalScope registers the tools of a case.
func evalScope(t *testing.T, c evaldata.Case) []matcher.Candidate {
	t.Helper()
	scope := repositories.Scope{AppID: "eval"}
	repository, err := repositories.DecodeRepository(scope, "eval", c.Body(t))
	require.NoError(t, err)
	candidates := make([]matcher.Candidate, len(repository.Tools))
	for i := range repository.Tools {
		candidates[i] = matcher.Candidate{Repository: repository, Tool: &repository.Tools[i]}
	}
	slices.SortFunc(candidates, func(a, b matcher.Candidate) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	return candidates
}

// evalMatch plays a case: the double answers every request with the given calls.
func evalMatch(t *testing.T, c evaldata.Case, calls ...evaldata.Call) (matcher.Result, *llmtest.Server) {
	t.Helper()
	reply := evaldata.Reply(t, calls...)
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return reply })
	result, err := newLLM(server).Match(t.Context(), evalRequest(t, c))
	require.NoError(t, err)
	return result, server
}

func TestEveryExpectedValueOfBFCLArrivesUnharmed(t *testing.T) {
	unraced.Only(t)
	arriveUnharmed(t, evaldata.BFCL(t))
}

func TestEveryExpectedValueOfSGDArrivesUnharmed(t *testing.T) {
	unraced.Only(t)
	arriveUnharmed(t, evaldata.SGD(t))
}

func arriveUnharmed(t *testing.T, cases []evaldata.Case) {
	values := 0
	for _, one := range cases {
		t.Run(one.ID, func(t *testing.T) {
			if one.Contradiction != "" {
				t.Skip(one.Contradiction)
			}
			result, server := evalMatch(t, one, one.Calls...)
			require.Empty(t, result.Rejected)
			require.Len(t, result.Matches, len(one.Calls))
			for i, call := range one.Calls {
				require.Equal(t, call.Name, result.Matches[i].Tool.Name)
				require.Equal(t, one.Complete(call), result.Matches[i].Values)
				values += len(call.Values)
			}
			require.Equal(t, 1, server.Count(), "no call is at fault")
		})
	}
	t.Logf("%d values", values)
}

func TestCallsOfSGDThatLackValuesFireNothing(t *testing.T) {
	unraced.Only(t)
	for _, one := range evaldata.SGD(t) {
		if one.Unfinished == nil {
			continue
		}
		t.Run(one.ID, func(t *testing.T) {
			result, server := evalMatch(t, one, *one.Unfinished)
			require.Empty(t, result.Matches)
			require.Len(t, result.Rejected, 1)
			require.Equal(t, one.Missing(*one.Unfinished), result.Rejected[0].Missing, fmt.Sprint(result.Rejected[0].Errors))
			require.Equal(t, 2, server.Count(), "the second try")
		})
	}
}
