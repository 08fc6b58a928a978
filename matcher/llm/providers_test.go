package llm_test

import (
	"encoding/json"
	"fmt"
	"sync"
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

// conversation is one with all that a request can hold: tools of the app and of the
// session, a model that spoke first, calls with a result and with a failure.
func conversation(t testing.TB) matcher.Request {
	t.Helper()
	request := matchertest.Request(t, "  and \"tuesday\"\n", `{"name":"light-on"}`)
	book := `{"tools":[{"name":"book","description":"User wants an appointment","parameters":{"type":"object","properties":{
		"day":{"type":"string","description":"wished day","pattern":"^[a-z]+$"},
		"people":{"type":"integer","minimum":1,"maximum":9007199254740993}},"required":["day"]}}]}`
	repository, err := repositories.DecodeRepository(repositories.Scope{AppID: "clinic"}, "r0", []byte(book))
	require.NoError(t, err)
	request.Candidates = append([]matcher.Candidate{{Repository: repository, Tool: &repository.Tools[0]}}, request.Candidates...)
	request.History = []matcher.Utterance{
		{Actor: matcher.ActorAgent, Text: "Hello."},
		{Actor: matcher.ActorUser, Text: "book monday", Fired: []matcher.PastCall{
			{TriggerID: "t1", Name: "book", Values: map[string]any{"day": "mon", "people": json.Number("9007199254740993")}, Result: json.RawMessage(`{"id":9007199254740995}`)},
			{TriggerID: "t2", Name: "light-on", Error: "HTTP 500"},
		}},
		{Actor: matcher.ActorAgent, Text: "Booked."},
	}
	return request
}

// placeholders stand for what is the same for every provider: the rules and the ids
// of earlier calls.
func placeholders(t *testing.T, request matcher.Request) map[string]string {
	names := map[string]string{}
	messages := asked(t, request).Messages
	names[messages[0].Content] = "RULES"
	for _, message := range messages {
		for _, call := range message.ToolCalls {
			names[call.ID] = fmt.Sprintf("EARLIER%d", len(names))
		}
	}
	return names
}

// requireAsked compares what a provider was asked with the JSON that its documentation
// wants, digit for digit.
func requireAsked(t *testing.T, request matcher.Request, want, got string) {
	t.Helper()
	require.Equal(t, decoded(t, want), renamed(decoded(t, got), placeholders(t, request)), got)
}

func TestEveryProvidersCallsAreReadInOrderWithAllDigits(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		result, _ := one.match(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.CancelTool, matchertest.LightTool), one.calls(
			[2]string{"light_on", `{}`},
			[2]string{"book", `{"day":"mon","people":9007199254740993}`},
			[2]string{"cancel-booking", `{"day":"tue <&> \u00e9 \"x\""}`},
			[2]string{"book", `{"people":-9223372036854775808,"day":"wed"}`},
			[2]string{"unknown", `{}`},
		))
		require.Equal(t, []string{
			`light_on {}`, `book {"day":"mon","desk":"A","people":9007199254740993}`,
			`cancel-booking {"day":"tue \u003c\u0026\u003e é \"x\""}`, `book {"day":"wed","desk":"A","people":-9223372036854775808}`,
		}, matchertest.Fired(result))
		require.Empty(t, result.Rejected)
	})
}

func TestEveryProvidersTokensAreCounted(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newEndpoint(t, one.calls([2]string{"light_on", `{}`}))
		options := one.options(e)
		var seen []llm.Exchange
		options.Observe = func(exchange llm.Exchange) { seen = append(seen, exchange) }
		_, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", matchertest.LightTool))
		require.NoError(t, err)
		require.Len(t, seen, 1)
		require.Equal(t, llm.Usage{Prompt: 120, Cached: 100, Completion: 9}, seen[0].Usage)
		require.Equal(t, "m", seen[0].Model)
	})
}

func TestEveryProvidersFaultyCallGoesBackOnce(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		result, asked := one.match(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.LightTool),
			one.calls([2]string{"book", `{"people":9007199254740993}`}, [2]string{"light_on", `{}`}),
			one.calls([2]string{"book", `{"day":"mon","people":9007199254740993}`}))
		require.Equal(t, []string{`book {"day":"mon","desk":"A","people":9007199254740993}`, "light_on {}"}, matchertest.Fired(result))
		require.Contains(t, asked[1].body, "Not accepted: day: is required")
		require.Contains(t, asked[1].body, "Accepted. Do not repeat this call.")
		require.Contains(t, asked[1].body, "9007199254740993")
		require.NotContains(t, asked[0].body, "Accepted")
	})
}

func TestEveryProvidersTextIsTheReply(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		request := matchertest.Request(t, "hi", matchertest.BookTool)
		request.Chat = true
		result, _ := one.match(t, request, one.text("Good morning."))
		require.Equal(t, matcher.Result{Stage: matcher.StageLLM, Text: "Good morning."}, result)
	})
}

func TestEveryProvidersReplyIsWrittenWithTheResultsAndNoToolToCall(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newEndpoint(t, one.text("You are booked."))
		text, err := llm.New(one.options(e)).Reply(t.Context(), matchertest.Request(t, "book monday", matchertest.BookTool), []matcher.PastCall{
			{TriggerID: "t1", Name: "book", Values: map[string]any{"day": "mon"}, Result: json.RawMessage(`{"room":9007199254740993}`)},
		})
		require.NoError(t, err)
		require.Equal(t, "You are booked.", text)
		require.Contains(t, e.questions()[0].body, "9007199254740993")
		require.NotContains(t, e.questions()[0].body, "User wants an appointment")
	})
}

func TestNoProviderIsOfferedMoreToolsThanItTakes(t *testing.T) {
	var tools []string
	for i := range 200 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%03d","description":"Does thing %d"}`, i, i))
	}
	every(t, func(t *testing.T, one spoken) {
		for limit, want := range map[int]int{0: llm.DefaultLimit, 5000: llm.MaxTools} {
			e := newEndpoint(t, one.calls([2]string{"tool_199", `{}`}))
			request := matchertest.Request(t, "do a thing", tools...)
			request.App.Settings.LLM.MostTools = limit
			result, err := llm.New(one.options(e)).Match(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, []string{"tool_199 {}"}, matchertest.Fired(result))
			offered := len(one.tools(decoded(t, e.questions()[0].body).(map[string]any)))
			require.LessOrEqual(t, offered, want)
			require.Greater(t, offered, want/2)
		}
	})
}

func TestEveryProviderIsAskedTheSameWayTwice(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		_, first := one.match(t, conversation(t), one.text("none"))
		_, second := one.match(t, conversation(t), one.text("none"))
		require.Equal(t, first[0].body, second[0].body, "byte for byte, for the provider's cache")
	})
}

func TestEveryProviderAnswersManyAtOnce(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		const many = 8
		e := newEndpoint(t)
		for range many {
			e.replies = append(e.replies, answer{body: one.calls([2]string{"book", `{"day":"mon"}`})})
		}
		llm := llm.New(one.options(e))
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				result, err := llm.Match(t.Context(), matchertest.Request(t, "x", matchertest.BookTool))
				if err != nil || len(result.Matches) != 1 {
					t.Errorf("%v %v", result, err)
				}
			})
		}
		all.Wait()
	})
}

func TestEveryProvidersOddArgumentsAreRepaired(t *testing.T) {
	want := []string{`book {"day":"mon","desk":"A"}`}
	for name, bodies := range map[string][]string{
		"anthropic": {
			`{"content":[{"type":"tool_use","name":"functions.Book","input":"{\"day\":\"mon\"}"}],"stop_reason":null,"usage":null}`,
			`{"content":[{"type":"text","text":"<tool_call>{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}</tool_call>"}]}`,
		},
		"gemini": {
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"default_api:book","args":"{'day':'mon'}"}}]}}],"usageMetadata":{"promptTokenCount":"4"}}`,
			`{"candidates":[{"content":{"parts":[{"text":"book?","thought":true},{"text":"{\"name\":\"book\",\"parameters\":{\"day\":\"mon\"}}"}]}}]}`,
		},
		"cohere": {
			`{"message":{"tool_calls":[{"function":{"name":"book","arguments":{"day":"mon"}}}]}}`,
			`{"message":{"role":"assistant","content":"{\"name\":\"book\",\"parameters\":{\"day\":\"mon\"}}"},"usage":"none"}`,
		},
	} {
		for _, body := range bodies {
			result, _ := called(name).match(t, matchertest.Request(t, "x", matchertest.BookTool), body)
			require.Equal(t, want, matchertest.Fired(result), body)
		}
	}
}

func TestEveryProvidersCallWithoutArgumentsIsOneOfAToolThatWantsNone(t *testing.T) {
	for name, body := range map[string]string{
		"anthropic": `{"content":[{"type":"tool_use","id":"a","name":"light_on"}]}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"light_on"}}]}}]}`,
		"cohere":    `{"message":{"tool_calls":[{"function":{"name":"light_on"}}]}}`,
	} {
		result, _ := called(name).match(t, matchertest.Request(t, "x", matchertest.LightTool), body)
		require.Equal(t, []string{"light_on {}"}, matchertest.Fired(result))
	}
}

// TestConversationThatIsAllToolsIsTakenToo holds turns that begin with a call, and texts
// without a word, which providers refuse.
func TestConversationThatIsAllToolsIsTakenToo(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		request := matchertest.Request(t, " ", matchertest.LightTool)
		request.History = []matcher.Utterance{
			{Actor: matcher.ActorAgent, Fired: []matcher.PastCall{{TriggerID: "t", Name: "light_on", Result: json.RawMessage(`[1]`)}}},
			{Actor: matcher.ActorUser, Text: " \n"},
		}
		_, asked := one.match(t, request, one.text("none"))
		require.Contains(t, asked[0].body, "light_on")
	})
}

func TestProviderIsChosenByTheAppElseTheFirstThatIsConfigured(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newEndpoint(t, one.text("none"), one.text("none"), one.text("none"))
		var options llm.Options
		one.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: e.server.URL})
		var models []string
		options.Observe = func(exchange llm.Exchange) { models = append(models, exchange.Model) }
		for _, named := range []string{"", "a-model", one.name + "/other"} {
			request := matchertest.Request(t, "x", matchertest.BookTool)
			request.App.Settings.LLM.Tools = named
			_, err := llm.New(options).Match(t.Context(), request)
			require.NoError(t, err)
		}
		require.Equal(t, []string{one.model, "a-model", "other"}, models)
		require.Contains(t, chain.New(options).Describe(), "the LLM "+one.model+" at 127.0.0.1:")
	})
}

func TestAppsProviderIsAskedBesideTheDefault(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		if one.name == "openai" {
			return // it is the default
		}
		e, server := newEndpoint(t, one.calls([2]string{"book", `{"day":"mon"}`})), llmtest.New(t)
		options := one.options(e)
		options.BaseURL = server.URL()
		request := matchertest.Request(t, "x", matchertest.BookTool)
		request.App.Settings.LLM.Tools = one.name + "/m"
		result, err := llm.New(options).Match(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, result.Matches, 1)
		require.Zero(t, server.Count())
		require.Contains(t, chain.New(options).Describe(), "the LLM gpt-4o-mini at 127.0.0.1")
		require.Contains(t, chain.New(options).Describe(), "settings.llm.tools can also name "+one.name)
	})
}

func TestProviderThatIsNotConfiguredNamesTheVariableToSet(t *testing.T) {
	every(t, func(t *testing.T, configured spoken) {
		for _, wanted := range providers() {
			if wanted.name == configured.name {
				continue
			}
			e := newEndpoint(t)
			request := matchertest.Request(t, "x", matchertest.BookTool)
			request.App.Settings.LLM.Tools = wanted.name + "/m"
			llm := llm.New(configured.options(e))
			_, err := llm.Match(t.Context(), request)
			var failed *matcher.Unavailable
			require.ErrorAs(t, err, &failed)
			require.Contains(t, failed.Reason, wanted.name+" is not configured: set "+variables[wanted.name]+"_API_KEY")
			_, err = llm.Reply(t.Context(), request, nil)
			require.ErrorAs(t, err, &failed)
			require.Empty(t, e.questions())
		}
	})
}

var variables = map[string]string{"openai": "OPENAI", "anthropic": "ANTHROPIC", "gemini": "GEMINI", "cohere": "COHERE"}

func TestEveryProvidersUnreadableArgumentsGoBackAsAnObject(t *testing.T) {
	for name, body := range map[string]string{
		"openai":    `{"choices":[{"message":{"tool_calls":[{"id":"c","function":{"name":"book","arguments":"day=mon"}}]}}]}`,
		"anthropic": `{"content":[{"type":"tool_use","id":"c","name":"book","input":"day=mon"}]}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"book","args":"day=mon"}}]}}]}`,
		"cohere":    `{"message":{"tool_calls":[{"id":"c","function":{"name":"book","arguments":"day=mon"}}]}}`,
	} {
		one := called(name)
		result, asked := one.match(t, matchertest.Request(t, "x", matchertest.BookTool), body, one.calls([2]string{"book", `{"day":"mon"}`}))
		require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result), name)
		require.Contains(t, asked[1].body, "unreadable", name)
		require.Contains(t, asked[1].body, "Not accepted", name)
	}
}

func TestParametersThatAreCalledLikeKeywordsAreNoKeywords(t *testing.T) {
	tool := `{"name":"odd","parameters":{"type":"object","properties":{
		"pattern":{"type":"string"},"$ref":{"type":"string"},"properties":{"type":"object","additionalProperties":true},"description":{"type":"string","minLength":2}},
		"required":["pattern","properties"]}}`
	for name, at := range map[string]string{"gemini": "parametersJsonSchema", "cohere": "function"} {
		one := called(name)
		_, asked := one.match(t, matchertest.Request(t, "x", tool), one.text("none"))
		definition := one.tools(decoded(t, asked[0].body).(map[string]any))[0].(map[string]any)
		schema := definition[at].(map[string]any)
		if inner, nested := schema["parameters"].(map[string]any); nested {
			schema = inner
		}
		// What is no plain name goes by an alias.
		require.Equal(t, decoded(t, `{"type":"object","properties":{
			"pattern":{"type":"string"},"_ref":{"type":"string"},"properties":{"type":"object","additionalProperties":true},
			"description":{"type":"string","description":"(minLength 2)"}},"required":["pattern","properties"]}`), any(schema))
	}
}
