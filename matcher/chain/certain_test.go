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

// booking decides that a message with a day books it.
func booking(request matcher.Request) (matcher.Result, bool) {
	book, ok := request.Named("book")
	if !ok || request.Text != "get me in on monday" {
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
		asking.certain[repositories.LLMUnsure] = append(asking.certain[repositories.LLMUnsure], booking)

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

func TestWordsThatAreSureNeedNoModel(t *testing.T) {
	const lamp = `{"name":"lamp_on","description":"Turn on the lamp","examples":["turn on the lamp","switch the lamp on","lamp on please","turn the lamp on","put on the lamp"]}`
	const taxi = `{"name":"taxi","description":"Call a taxi","examples":["I need a taxi","call me a cab","get a taxi","order a taxi","can I have a cab"],"schema":[{"parameter":"to","type":"string"}]}`
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	asking := New(llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "m"})
	for _, c := range []struct{ text, when, stage string }{
		{"please turn on the lamp", repositories.LLMUnsure, matcher.StageOffline},
		{"please turn on the lamp", repositories.LLMAlways, matcher.StageLLM},
		{"please order a taxi", repositories.LLMUnsure, matcher.StageLLM}, // it takes a value
		{"please turn on the lamp and order a taxi", repositories.LLMUnsure, matcher.StageLLM},
		{"please do not turn on the lamp", repositories.LLMUnsure, matcher.StageLLM},
		{"my grandmother says the lamp was on in the hall", repositories.LLMUnsure, matcher.StageLLM},
		{"hello", repositories.LLMUnsure, matcher.StageLLM},
	} {
		request := matchertest.Request(t, c.text, lamp, taxi)
		request.App.Settings.LLM.When = c.when
		result, err := asking.Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, c.stage, result.Stage, c.text)
	}
	chat := matchertest.Request(t, "please turn on the lamp", lamp, taxi)
	chat.App.Settings.LLM.When, chat.Chat = repositories.LLMUnsure, true
	result, err := asking.Match(t.Context(), chat)
	require.NoError(t, err)
	require.Equal(t, matcher.StageLLM, result.Stage, "a model writes the reply as well")
}
