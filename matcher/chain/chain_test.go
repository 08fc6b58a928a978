package chain_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/chain"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/secret"
)

func options(server *llmtest.Server) llm.Options {
	return llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "test-model"}
}

const helpButton = `{"name":"call-nurse","description":"Call a nurse","examples":["I need a nurse"]}`

func TestChainAsksNoModelForATextThatEqualsATool(t *testing.T) {
	server := llmtest.New(t)
	result, err := chain.New(options(server)).Match(t.Context(), matchertest.Request(t, "I need a nurse", helpButton, matchertest.BookTool))
	require.NoError(t, err)
	require.Equal(t, matcher.StageExact, result.Stage)
	require.Equal(t, []string{"call-nurse {}"}, matchertest.Fired(result))
	require.Zero(t, server.Count())
}

func TestChainAsksTheModelForEverythingElse(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{"day":"mon"}`), llmtest.Text("Booked."), llmtest.Status(http.StatusBadGateway, nil, ""))
	chain := chain.New(options(server))
	request := matchertest.Request(t, "get me in on monday", helpButton, matchertest.BookTool)
	result, err := chain.Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageLLM, result.Stage)
	reply, err := chain.Reply(t.Context(), request, []matcher.PastCall{{TriggerID: "t", Name: "book"}})
	require.NoError(t, err)
	require.Equal(t, "Booked.", reply)

	_, err = chain.Match(t.Context(), request)
	var failed *matcher.Unavailable
	require.ErrorAs(t, err, &failed, "words alone do not stand in for a model that is away")
}

func TestChainDecidesFromWordsWhereNoModelIsConfigured(t *testing.T) {
	chain := chain.New(llm.Options{Model: "gpt-4o"})
	require.Contains(t, chain.Describe(), "no LLM is configured")
	require.Contains(t, chain.Describe(), "OPENAI_API_KEY")
	request := matchertest.Request(t, "what a lovely morning", matchertest.BookTool)
	result, err := chain.Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, matcher.StageOffline, result.Stage)
	reply, err := chain.Reply(t.Context(), request, nil)
	require.NoError(t, err)
	require.Empty(t, reply)
}

func TestDescriptionNamesTheModelAndNoCredential(t *testing.T) {
	for _, c := range []struct {
		options llm.Options
		says    string
	}{
		{llm.Options{Key: secret.New(matchertest.Key)}, "gpt-4o-mini at api.openai.com matches, within 20s"},
		{llm.Options{BaseURL: "http://u:" + matchertest.Key + "@localhost:11434/v1?key=" + matchertest.Key, Model: "qwen3"}, "qwen3 at localhost:11434"},
		{llm.Options{BaseURL: "://" + matchertest.Key}, "the configured base URL"},
	} {
		says := chain.New(c.options).Describe()
		require.Contains(t, says, c.says)
		require.NotContains(t, says, matchertest.Key)
	}
}

const groundedTool = `{"name":"fly","description":"User wants to fly","schema":[
	{"parameter":"city","type":"string","required":true,"grounded":true},{"parameter":"class","type":"string"}]}`

func TestMatchesSayWhereTheirValuesWereSaid(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("fly", `{"city":"Paris","class":"economy"}`))
	request := matchertest.Request(t, "yes, do that", groundedTool)
	request.History = []matcher.Utterance{{ID: "m7", Actor: matcher.ActorUser, Text: "I want to go to París"}}
	result, err := chain.New(options(server)).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, map[string]*matcher.Evidence{"city": {MessageID: "m7", Words: "París"}, "class": nil}, result.Matches[0].Evidence)
}
func TestDroppedCallIsNotCompleted(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{"people":2}`), llmtest.Text("none"))
	result, err := chain.New(options(server)).Match(t.Context(), matchertest.GoingOn(t, "never mind"))
	require.NoError(t, err)
	require.Empty(t, result.Matches)
	require.NotContains(t, server.Requests()[0].Messages[1].Content, "still missing")
}

func TestAModelThatIsNotConfiguredIsSaid(t *testing.T) {
	named := &repositories.App{Settings: repositories.Settings{LLM: repositories.LLM{Tools: "anthropic/claude-haiku-4-5"}}}
	words := chain.New(llm.Options{})
	require.NoError(t, words.CheckModel("anthropic/claude-haiku-4-5"), "the words decide")
	ctx, trace := matcher.Recorded(t.Context())
	_, err := words.Match(ctx, matcher.Request{App: named, Text: "hello"})
	require.NoError(t, err)
	require.Equal(t, []string{`settings.llm.tools is "anthropic/claude-haiku-4-5" and no model is configured: the rule-based matcher decides.`}, trace.Notes)

	models := chain.New(llm.Options{Key: secret.New("k")})
	require.NoError(t, models.CheckModel("openai/gpt-4o-mini"))
	require.ErrorContains(t, models.CheckModel("anthropic/claude-haiku-4-5"), "set ANTHROPIC_API_KEY")
	require.ErrorContains(t, models.CheckModel("nobody/x"), "providers are openai")
	ctx, trace = matcher.Recorded(t.Context())
	_, err = models.Match(ctx, matcher.Request{App: named, Text: "hello", Chat: true})
	require.ErrorContains(t, err, "set ANTHROPIC_API_KEY")
	require.Empty(t, trace.Notes)
}

func TestAMessageThatCallsForNothingIsNearestToTheToolsThatItIsAbout(t *testing.T) {
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	for name, options := range map[string]llm.Options{"offered some": options(server), "offered all": options(server), "without a model": {}} {
		t.Run(name, func(t *testing.T) {
			tools := []string{`{"name":"water-orchids","description":"Water the orchids"}`}
			for i := range map[string]int{"offered some": 200, "offered all": 64, "without a model": 200}[name] {
				tools = append(tools, fmt.Sprintf(`{"name":"open-window-%03d","description":"Open window %d of the hotel"}`, i, i))
			}
			request := matcher.Request{Text: "the orchids were lovely", Candidates: matchertest.InScope(t, matchertest.Scope, "r1", tools...)}
			request.App = &repositories.App{Settings: repositories.Settings{LLM: repositories.LLM{MostTools: 65}}}
			match := func() *matcher.Trace {
				ctx, trace := matcher.Recorded(t.Context())
				result, err := chain.New(options).Match(ctx, request)
				require.NoError(t, err)
				require.Empty(t, result.Matches)
				return trace
			}
			nearest := match().Nearest
			require.NotEmpty(t, nearest)
			require.LessOrEqual(t, len(nearest), matcher.MostNearest)
			require.Equal(t, "water-orchids", nearest[0].Tool.Name)
			request.Candidates = request.Candidates[len(request.Candidates)-matcher.MostNearest:]
			require.Nil(t, match().Nearest, "no more are in scope than are named")
		})
	}
}
