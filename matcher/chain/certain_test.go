package chain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/secret"
)

// booking is certain that a message which names a day books it.
type booking struct{}

func (booking) Certain(request matcher.Request) (matcher.Result, bool) {
	book, is := request.Named("book")
	if !is || request.Text != "get me in on monday" {
		return matcher.Result{}, false
	}
	values := map[string]any{"day": "monday", "desk": "A"}
	return matcher.Result{Stage: matcher.StageOffline, Matches: []matcher.Match{{Candidate: book, Values: values}}}, true
}

func TestModelIsAskedWhenTheSettingsSaySo(t *testing.T) {
	const help = `{"name":"call-nurse","description":"Call a nurse"}`
	for _, c := range []struct {
		when, text, stage string
		requests          int
	}{
		{"", "get me in on monday", matcher.StageLLM, 1},
		{repositories.LLMAlways, "get me in on monday", matcher.StageLLM, 1},
		{repositories.LLMUnsure, "get me in on monday", matcher.StageOffline, 0},
		{repositories.LLMUnsure, "perhaps on monday, or not", matcher.StageLLM, 1},
		{repositories.LLMAlways, "Call a nurse!", matcher.StageExact, 0},
		{repositories.LLMUnsure, "Call a nurse!", matcher.StageExact, 0},
	} {
		server := llmtest.New(t)
		server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
		asking := New(llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "m"})
		asking.certain[repositories.LLMUnsure] = append(asking.certain[repositories.LLMUnsure], booking{})

		request := matchertest.Request(t, c.text, help, matchertest.BookTool)
		request.App.Settings.LLM.When = c.when
		result, err := asking.Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, c.stage, result.Stage, "%+v", c)
		require.Equal(t, c.requests, server.Count(), "%+v", c)
		if c.stage == matcher.StageOffline {
			require.Equal(t, &matcher.Evidence{Words: "monday"}, result.Matches[0].Evidence["day"])
		}
	}
}

func TestOnlyWhatIsExactIsCertain(t *testing.T) {
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	asking := New(llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "m"})
	for _, text := range []string{"get me in on monday", "book", "User wants an appointment"} {
		request := matchertest.Request(t, text, matchertest.BookTool)
		request.App.Settings.LLM.When = repositories.LLMUnsure
		result, err := asking.Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, matcher.StageLLM, result.Stage, text)
	}
	require.Equal(t, 3, server.Count())
}
