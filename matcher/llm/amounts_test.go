package llm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

// TestNumberIsOfTheUnitThatWasSaid has a model that repeats the figure and drops its unit.
func TestNumberIsOfTheUnitThatWasSaid(t *testing.T) {
	const tool = `{"name":"timer","schema":[{"parameter":"minutes","type":"TYPE","unit":"minutes","required":true}]}`
	for _, test := range []struct{ kind, said, arguments, fired string }{
		{"number", "a timer for 30 seconds", `{"minutes":30}`, `timer {"minutes":0.5}`},
		{"integer", "a timer for 30 seconds", `{"minutes":30}`, ""},
		{"integer", "a timer for two hours", `{"minutes":2}`, `timer {"minutes":120}`},
		{"integer", "a timer for two hours", `{"minutes":120}`, `timer {"minutes":120}`},
		{"integer", "a timer for two hours", `{"minutes":"2 hours"}`, `timer {"minutes":120}`},
		{"integer", "a timer for 30", `{"minutes":30}`, `timer {"minutes":30}`},
		{"integer", "a timer for my eggs", `{"minutes":6}`, `timer {"minutes":6}`},
		{"integer", "a timer for 2 kg of rice", `{"minutes":2}`, ""},
		{"integer", "a timer for 20 to 30 minutes", `{"minutes":30}`, ""},
		{"integer", "not 30 minutes", `{"minutes":30}`, ""},
		{"integer", "not 30 minutes, 40", `{"minutes":40}`, `timer {"minutes":40}`},
	} {
		request := matchertest.Request(t, test.said, strings.ReplaceAll(tool, "TYPE", test.kind))
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "hello"}}
		answers := []llmtest.Reply{llmtest.Call("timer", test.arguments)}
		if test.fired == "" { // it goes back once
			answers = append(answers, answers[0])
		}
		result, _ := matchOne(t, request, answers...)
		if test.fired == "" {
			require.Empty(t, result.Matches, test.said)
			require.NotEmpty(t, result.Rejected, test.said)
			continue
		}
		require.Equal(t, []string{test.fired}, matchertest.Fired(result), test.said)
	}
}
