package matcher_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
)

type sgdCase struct {
	ID      string `json:"id"`
	Tools   []any  `json:"tools"`
	History []struct{ Actor, Text string }
	Expect  struct {
		Tool   string         `json:"tool"`
		Values map[string]any `json:"values"`
		Intent string         `json:"intent"`
		// Partial lists the accepted forms of each value that was said.
		Partial map[string][]any `json:"partial"`
	} `json:"expect"`
}

func (c sgdCase) request(t *testing.T) matcher.Request {
	request := matcher.Request{
		App: &repositories.App{}, Now: time.Date(2019, 3, 1, 12, 0, 0, 0, time.UTC), Candidates: evalScope(t, c.Tools),
	}
	for _, message := range c.History {
		request.History = append(request.History, matcher.Utterance{Actor: message.Actor, Text: message.Text})
	}
	last := len(request.History) - 1
	request.Text, request.History = request.History[last].Text, request.History[:last]
	return request
}

// contradicts reports whether the expected call lacks a value that its tool requires.
func (c sgdCase) contradicts() bool {
	for _, tool := range c.Tools {
		tool := tool.(map[string]any)
		for _, parameter := range tool["schema"].([]any) {
			parameter := parameter.(map[string]any)
			_, given := c.Expect.Values[parameter["parameter"].(string)]
			if tool["name"] == c.Expect.Tool && parameter["required"] == true && !given {
				return true
			}
		}
	}
	return false
}

func TestEveryExpectedValueOfSGDArrivesUnharmed(t *testing.T) {
	values := 0
	for _, one := range evalCases[sgdCase](t, "sgd", "cases.jsonl") {
		t.Run(one.ID, func(t *testing.T) {
			if one.contradicts() {
				t.Skip("the expected call lacks a value that the tool requires")
			}
			var calls []evalCall
			if one.Expect.Tool != "" {
				calls = []evalCall{{name: one.Expect.Tool, values: one.Expect.Values}}
			}
			result, server := evalMatch(t, one.request(t), calls)
			requireUnharmed(t, calls, result)
			require.Equal(t, 1, server.Count())
			values += len(one.Expect.Values)
		})
	}
	t.Logf("%d values", values)
}

func TestCallsOfSGDThatLackValuesFireNothing(t *testing.T) {
	for _, one := range evalCases[sgdCase](t, "sgd", "cases.jsonl") {
		if one.Expect.Intent == "" {
			continue
		}
		t.Run(one.ID, func(t *testing.T) {
			result, server := evalMatch(t, one.request(t), []evalCall{{name: one.Expect.Intent, values: firstAccepted(one.Expect.Partial)}})
			require.Empty(t, result.Matches)
			require.Len(t, result.Rejected, 1)
			require.NotEmpty(t, result.Rejected[0].Missing, fmt.Sprint(result.Rejected[0].Errors))
			require.Equal(t, 2, server.Count(), "the second try")
		})
	}
}
