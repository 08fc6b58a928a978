package matcher_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/repositories"
)

type bfclCase struct {
	ID    string `json:"id"`
	Tools []struct {
		Function struct {
			Name        string         `json:"name"`
			Description string         `json:"description"`
			Parameters  map[string]any `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []struct{ Role, Content string } `json:"messages"`
	Answer   []map[string]map[string][]any    `json:"possible_answer"`
}

// calls takes the first accepted value of each parameter; an empty one means that it
// may be left out. Objects list accepted values for each of their members.
func (c bfclCase) calls() []evalCall {
	var calls []evalCall
	for _, answer := range c.Answer {
		for name, accepted := range answer {
			calls = append(calls, evalCall{name: strings.ReplaceAll(name, ".", "_"), values: firstAccepted(accepted)})
		}
	}
	return calls
}

func firstAccepted(accepted map[string][]any) map[string]any {
	values := map[string]any{}
	for parameter, options := range accepted {
		if len(options) == 0 {
			values[parameter] = []any{}
			continue
		}
		switch first := options[0].(type) {
		case map[string]any:
			members := map[string][]any{}
			for member, choices := range first {
				list, is := choices.([]any)
				if !is {
					list = []any{choices}
				}
				members[member] = list
			}
			values[parameter] = firstAccepted(members)
		case string:
			if first != "" {
				values[parameter] = first
			}
		default:
			values[parameter] = first
		}
	}
	return values
}

func TestEveryExpectedValueOfBFCLArrivesUnharmed(t *testing.T) {
	// Its answer sorts words with a tool that takes integers alone.
	contradicts := "parallel_multiple_94"
	values := 0
	for _, one := range evalCases[bfclCase](t, "bfcl", "cases.jsonl") {
		t.Run(one.ID, func(t *testing.T) {
			var tools []any
			for _, tool := range one.Tools {
				tools = append(tools, map[string]any{
					"name":        strings.ReplaceAll(tool.Function.Name, ".", "_"),
					"description": tool.Function.Description, "parameters": tool.Function.Parameters,
				})
			}
			request := matcher.Request{App: &repositories.App{}, Now: time.Now(), Candidates: evalScope(t, tools)}
			for _, message := range one.Messages {
				request.History = append(request.History, matcher.Utterance{Actor: matcher.ActorUser, Text: message.Content})
			}
			last := len(request.History) - 1
			request.Text, request.History = request.History[last].Text, request.History[:last]
			if one.ID == contradicts {
				t.Skip("the expected values are not of the types that the tool declares")
			}
			result, server := evalMatch(t, request, one.calls())
			requireUnharmed(t, one.calls(), result)
			require.Equal(t, 1, server.Count(), "no call is at fault")
			for _, call := range one.calls() {
				values += len(call.values)
			}
		})
	}
	t.Logf("%d values", values)
}
