package matcher_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llmtest"
	"earshot/repositories"
)

const helpButton = `{"name":"call-nurse","description":"Call a nurse","examples":["I need a nurse"]}`

func TestChainAsksNoModelForATextThatEqualsATool(t *testing.T) {
	server := llmtest.New(t)
	result, err := matcher.New(llmOptions(server)).Match(t.Context(), llmRequest(t, "I need a nurse", helpButton, bookTool))
	require.NoError(t, err)
	require.Equal(t, matcher.StageExact, result.Stage)
	require.Equal(t, []string{"call-nurse {}"}, fired(result))
	require.Zero(t, server.Count())
}

func TestChainAsksTheModelForEverythingElse(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{"day":"mon"}`), llmtest.Text("Booked."), llmtest.Status(http.StatusBadGateway, nil, ""))
	chain := matcher.New(llmOptions(server))
	request := llmRequest(t, "get me in on monday", helpButton, bookTool)
	result, err := chain.Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageLLM, result.Stage)
	reply, err := chain.Reply(t.Context(), request, []matcher.Fired{{TriggerID: "t", Name: "book"}})
	require.NoError(t, err)
	require.Equal(t, "Booked.", reply)

	_, err = chain.Match(t.Context(), request)
	var failed *matcher.Unavailable
	require.ErrorAs(t, err, &failed, "words alone do not stand in for a model that is away")
}

func TestChainDecidesFromWordsWhereNoModelIsConfigured(t *testing.T) {
	chain := matcher.New(matcher.Options{Model: "gpt-4o"})
	require.Contains(t, chain.Describe(), "no LLM is configured")
	require.Contains(t, chain.Describe(), "OPENAI_API_KEY")
	request := llmRequest(t, "what a lovely morning", bookTool)
	result, err := chain.Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageOffline, result.Stage)
	reply, err := chain.Reply(t.Context(), request, nil)
	require.NoError(t, err)
	require.Empty(t, reply)
}

func TestDescriptionNamesTheModelAndNoCredential(t *testing.T) {
	for _, c := range []struct {
		options matcher.Options
		says    string
	}{
		{matcher.Options{Key: repositories.NewSecret(llmKey)}, "gpt-4o-mini at api.openai.com matches, within 20s"},
		{matcher.Options{BaseURL: "http://u:" + llmKey + "@localhost:11434/v1?key=" + llmKey, Model: "qwen3"}, "qwen3 at localhost:11434"},
		{matcher.Options{BaseURL: "://" + llmKey}, "the configured base URL"},
	} {
		says := matcher.New(c.options).Describe()
		require.Contains(t, says, c.says)
		require.NotContains(t, says, llmKey)
	}
}
