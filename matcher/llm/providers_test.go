package llm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/secret"
)

// fakeProvider answers by script and records the requests.
type fakeProvider struct {
	t       testing.TB
	server  *httptest.Server
	done    chan struct{}
	mu      sync.Mutex
	replies []answer
	asked   []question
}

type question struct {
	path   string
	header http.Header
	body   string
}

// answer is sent as is; the zero status is 200, and a hanging one never ends.
type answer struct {
	status int
	header http.Header
	body   string
	hang   bool
}

func newProvider(t testing.TB, replies ...answer) *fakeProvider {
	e := &fakeProvider{t: t, done: make(chan struct{}), replies: replies}
	e.server = httptest.NewServer(e)
	t.Cleanup(func() { close(e.done); e.server.Close() })
	return e
}

func (e *fakeProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	e.mu.Lock()
	e.asked = append(e.asked, question{r.URL.RequestURI(), r.Header.Clone(), string(body)})
	var reply answer
	if len(e.replies) == 0 {
		e.t.Errorf("nothing is scripted for request %d: %s", len(e.asked), body)
		reply.status = http.StatusTeapot
	} else {
		reply, e.replies = e.replies[0], e.replies[1:]
	}
	e.mu.Unlock()
	maps.Copy(w.Header(), reply.header)
	if !reply.hang || reply.body != "" {
		w.WriteHeader(max(reply.status, http.StatusOK))
		_, _ = w.Write([]byte(reply.body)) // the test checks for a client that went away
	}
	if reply.hang {
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-e.done:
		}
	}
}

func (e *fakeProvider) questions() []question {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

// spoken is one provider with its wire formats for tests.
type spoken struct {
	name    string
	model   string // the default
	set     func(*llm.Options, llm.Config)
	keyIn   string // header with the key
	path    string // of a request for the model "m"
	call    string // of a number, a name and arguments
	called  string // an answer with calls
	said    string // an answer with a text
	whole   string // an answer with a call, %s for its finish reason
	cut     string // finish reason of a truncated answer
	blocked string // finish reason of a filtered answer
	none    string // an empty answer
	says    string // the error for none
	bad     string // an answer with a call without a name
}

func providers() []spoken {
	return []spoken{openAISpoken(), anthropicSpoken(), geminiSpoken(), cohereSpoken()}
}

// every runs a test for each provider.
func every(t *testing.T, test func(*testing.T, spoken)) {
	for _, one := range providers() {
		t.Run(one.name, func(t *testing.T) { test(t, one) })
	}
}

func called(name string) spoken {
	all := providers()
	return all[slices.IndexFunc(all, func(one spoken) bool { return one.name == name })]
}

func (s spoken) calls(calls ...[2]string) string {
	written := make([]string, len(calls))
	for i, call := range calls {
		written[i] = fmt.Sprintf(s.call, i+1, call[0], call[1])
	}
	return strings.Replace(s.called, "CALLS", strings.Join(written, ","), 1)
}

func (s spoken) text(text string) string { return fmt.Sprintf(s.said, text) }

func (s spoken) tools(body map[string]any) []any {
	tools, _ := body["tools"].([]any)
	if s.name == "gemini" && len(tools) > 0 {
		tools = tools[0].(map[string]any)["functionDeclarations"].([]any)
	}
	return tools
}

// options configure only this provider, at the fake one.
func (s spoken) options(e *fakeProvider) llm.Options {
	var options llm.Options
	s.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: e.server.URL, Model: "m"})
	return options
}

func (s spoken) match(t *testing.T, request matcher.Request, bodies ...string) (matcher.Result, []question) {
	t.Helper()
	e := newProvider(t, bodiesOf(bodies...)...)
	result, err := llm.New(s.options(e)).Match(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, e.questions(), len(bodies), "requests")
	return result, e.questions()
}

func bodiesOf(bodies ...string) []answer {
	replies := make([]answer, len(bodies))
	for i, body := range bodies {
		replies[i].body = body
	}
	return replies
}

// decoded decodes JSON with all digits of numbers.
func decoded(t testing.TB, text string) any {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	require.NoError(t, decoder.Decode(&value), text)
	return value
}

// renamed replaces whole strings within a value.
func renamed(value any, names map[string]string) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			value[name] = renamed(member, names)
		}
	case []any:
		for i, member := range value {
			value[i] = renamed(member, names)
		}
	case string:
		if name, known := names[value]; known {
			return name
		}
	}
	return value
}

// conversation has all features of a request: tools of the app and of the session, a model that spoke first, calls
// with a result and with a failure.
func conversation(t testing.TB) matcher.Request {
	t.Helper()
	request := matchertest.Request(t, "  and \"tuesday\"\n", `{"name":"light-on"}`)
	request.Candidates = append(matchertest.InScope(t, matchertest.Scope, "r0", `{"name":"book","description":"User wants an appointment","parameters":{"type":"object","properties":{
		"day":{"type":"string","description":"wished day","pattern":"^[a-z]+$"},
		"people":{"type":"integer","minimum":1,"maximum":9007199254740993}},"required":["day"]}}`), request.Candidates...)
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

// requireAsked compares a provider's request for that conversation with the expected JSON, digit for digit. The
// rules and the ids of earlier calls are the same for every provider. A repeated request is identical, for the
// provider's cache.
func requireAsked(t *testing.T, one spoken, want string) {
	t.Helper()
	messages, names := asked(t, conversation(t)).Messages, map[string]string{}
	names[messages[0].Content] = "RULES"
	for _, message := range messages {
		for _, call := range message.ToolCalls {
			names[call.ID] = fmt.Sprintf("EARLIER%d", len(names))
		}
	}
	_, questions := one.match(t, conversation(t), one.text("none"))
	require.Equal(t, decoded(t, want), renamed(decoded(t, questions[0].body), names), questions[0].body)
	_, again := one.match(t, conversation(t), one.text("none"))
	require.Equal(t, questions[0].body, again[0].body)
}

// requireEnds checks the finish reasons of a provider: empty for regular ends, else the error.
func requireEnds(t *testing.T, one spoken, reasons map[string]string) {
	t.Helper()
	for reason, says := range reasons {
		body := fmt.Sprintf(one.whole, reason)
		if says == "" {
			requireFires(t, one, onMonday, body)
		} else {
			require.Contains(t, unavailable(t, one.options(newProvider(t, answer{body: body}))).Reason, says, reason)
		}
	}
}

func requireFires(t *testing.T, one spoken, fired string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		result, _ := one.match(t, matchertest.Request(t, "x", book, light), body)
		require.Equal(t, []string{fired}, matchertest.Fired(result), body)
	}
}

func TestEveryProvidersCallsAreReadInOrderWithAllDigits(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newProvider(t, bodiesOf(one.calls(
			[2]string{"light_on", `{}`},
			[2]string{"book", `{"day":"mon","people":9007199254740993}`},
			[2]string{"cancel-booking", `{"day":"tue <&> \u00e9 \"x\""}`},
			[2]string{"book", `{"people":-9223372036854775808,"day":"wed"}`},
			[2]string{"unknown", `{}`},
		))...)
		options, seen := one.options(e), []llm.Exchange{}
		options.Observe = func(exchange llm.Exchange) { seen = append(seen, exchange) }
		result, err := llm.New(options).Match(t.Context(), matchertest.Request(t, "x", book, cancel, light))
		require.NoError(t, err)
		require.Equal(t, []string{
			`light_on {}`, `book {"day":"mon","desk":"A","people":9007199254740993}`,
			`cancel-booking {"day":"tue \u003c\u0026\u003e é \"x\""}`, `book {"day":"wed","desk":"A","people":-9223372036854775808}`,
		}, matchertest.Fired(result))
		require.Empty(t, result.Rejected)
		require.Len(t, seen, 1)
		require.Equal(t, llm.Usage{Prompt: 120, Cached: 100, Completion: 9}, seen[0].Usage)
		require.Equal(t, "m", seen[0].Model)
	})
}

func TestTraceHasEveryRequestInPiecesAndItsAnswerWithoutTheKey(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newProvider(t, bodiesOf(one.text("not "+matchertest.Key))...)
		ctx, trace := matcher.Recorded(t.Context())
		_, err := llm.New(one.options(e)).Match(ctx, matchertest.Request(t, "x", book, light))
		require.NoError(t, err)
		require.Len(t, trace.Exchanges, 1)
		whole, shared := "", []string{}
		for _, piece := range trace.Exchanges[0].Request {
			if whole += string(piece.Text); piece.Shared {
				shared = append(shared, string(piece.Text))
			}
		}
		require.Equal(t, e.questions()[0].body, whole)
		require.Len(t, shared, 3, "two tools and the rules")
		require.Contains(t, shared[0], `"book"`)
		require.Contains(t, shared[1], `"light_on"`)
		require.True(t, strings.HasPrefix(shared[2], `"You listen`))
		require.Equal(t, one.text("not ***"), string(trace.Exchanges[0].Answer))
		require.Equal(t, "m", trace.Exchanges[0].Model)
		require.Equal(t, "the model called no tool, and answered with text", trace.Silence)
	})
}

func TestObserverIsCalledForEveryRequest(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(call("book", `{}`), llmtest.Status(500, nil, ""))
	options, seen := llmOptions(server), []llm.Exchange{}
	options.Observe = func(exchange llm.Exchange) { seen = append(seen, exchange) }
	request := matchertest.Request(t, "x", book)
	request.App.ID = "clinic"
	_, err := llm.New(options).Match(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, seen, 2)
	require.Equal(t, "clinic clinic", seen[0].App+" "+seen[1].App)
	require.Equal(t, llm.Usage{Prompt: 100, Cached: 64, Completion: 10}, seen[0].Usage)
	require.Positive(t, seen[0].Took)
	require.NoError(t, seen[0].Err)
	require.Error(t, seen[1].Err)
}

func TestTokensOfAnAnswerWithoutUseAreCounted(t *testing.T) {
	const counted = `"usage":{"prompt_tokens":120,"completion_tokens":9}`
	for _, choice := range []string{`{"message":{"refusal":"I cannot help"}}`, `{"message":{"content":"Hel"},"finish_reason":"length"}`} {
		options := openAISpoken().options(newProvider(t, answer{body: `{"choices":[` + choice + `],` + counted + `}`}))
		var seen llm.Exchange
		options.Observe = func(exchange llm.Exchange) { seen = exchange }
		unavailable(t, options)
		require.Equal(t, llm.Usage{Prompt: 120, Completion: 9}, seen.Usage, choice)
	}
}

func TestAnswerOfEndlessCallsIsUnavailable(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		calls := make([][2]string, 129)
		for i := range calls {
			calls[i] = [2]string{"book", fmt.Sprintf(`{"day":"d%d"}`, i)}
		}
		e := newProvider(t, bodiesOf(one.calls(calls...))...)
		require.Contains(t, unavailable(t, one.options(e)).Reason, "129 tool calls, more than 128")
	})
}

func TestEveryProvidersTextIsTheReply(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		result, _ := one.match(t, talk(t, book), one.text("Good morning."))
		require.Equal(t, matcher.Result{Stage: matcher.StageLLM, Text: "Good morning."}, result)

		e := newProvider(t, bodiesOf(one.text("You are booked."))...)
		text, err := llm.New(one.options(e)).Reply(t.Context(), matchertest.Request(t, "book monday", book), []matcher.PastCall{
			{TriggerID: "t1", Name: "book", Values: map[string]any{"day": "mon"}, Result: json.RawMessage(`{"room":9007199254740993}`)},
		})
		require.NoError(t, err)
		require.Equal(t, "You are booked.", text)
		require.Contains(t, e.questions()[0].body, "9007199254740993")
		require.NotContains(t, e.questions()[0].body, "User wants an appointment", "no tool is to be called")
	})
}

func TestEveryProvidersRequestBeginsWithWhatACacheCanHold(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		request := among(t, "later words")
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "earlier words"}}
		_, questions := one.match(t, request, one.text("none"))
		at := -1
		for _, part := range []string{"find_tools", "You listen to a conversation", "earlier words", "Current date", "later words"} {
			next := strings.Index(questions[0].body, part)
			require.Greater(t, next, at, part)
			at = next
		}
	})
}

// TestConversationThatIsAllToolsIsTakenToo has turns that begin with a call, and blank texts, which providers
// refuse.
func TestConversationThatIsAllToolsIsTakenToo(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		request := matchertest.Request(t, " ", light)
		request.History = []matcher.Utterance{
			{Actor: matcher.ActorAgent, Fired: []matcher.PastCall{{TriggerID: "t", Name: "light_on", Result: json.RawMessage(`[1]`)}}},
			{Actor: matcher.ActorUser, Text: " \n"},
		}
		_, questions := one.match(t, request, one.text("none"))
		require.Contains(t, questions[0].body, "light_on")
	})
}

func TestEveryProviderAnswersManyAtOnce(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		const many = 8
		e := newProvider(t, slices.Repeat(bodiesOf(one.calls([2]string{"book", `{"day":"mon"}`})), many)...)
		model := llm.New(one.options(e))
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				result, err := model.Match(t.Context(), matchertest.Request(t, "x", book))
				if err != nil || len(result.Matches) != 1 {
					t.Errorf("%v %v", result, err)
				}
			})
		}
		all.Wait()
	})
}

func TestEveryProvidersUnreadableArgumentsGoBackAsAnObject(t *testing.T) {
	for name, body := range map[string]string{
		"openai":    `{"choices":[{"message":{"tool_calls":[{"id":"call_1","function":{"name":"book","arguments":"day=mon"}}]}}]}`,
		"anthropic": `{"content":[{"type":"tool_use","id":"c","name":"book","input":"day=mon"}]}`,
		"gemini":    `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"book","args":"day=mon"}}]}}]}`,
		"cohere":    `{"message":{"tool_calls":[{"id":"c","function":{"name":"book","arguments":"day=mon"}}]}}`,
	} {
		one := called(name)
		result, questions := one.match(t, matchertest.Request(t, "x", book), body, one.calls([2]string{"book", `{"day":"mon"}`}))
		require.Equal(t, []string{onMonday}, matchertest.Fired(result), name)
		require.Contains(t, questions[1].body, "unreadable", name)
		require.Contains(t, questions[1].body, "Not accepted", name)
	}
}

func TestParametersThatAreCalledLikeKeywordsAreNoKeywords(t *testing.T) {
	tool := `{"name":"odd","parameters":{"type":"object","properties":{
		"pattern":{"type":"string"},"$ref":{"type":"string"},"properties":{"type":"object","additionalProperties":true},"description":{"type":"string","minLength":2}},
		"required":["pattern","properties"]}}`
	for name, at := range map[string]string{"gemini": "parametersJsonSchema", "cohere": "function"} {
		one := called(name)
		_, questions := one.match(t, matchertest.Request(t, "x", tool), one.text("none"))
		schema := one.tools(decoded(t, questions[0].body).(map[string]any))[0].(map[string]any)[at].(map[string]any)
		if inner, nested := schema["parameters"].(map[string]any); nested {
			schema = inner
		}
		// Other names have an alias.
		require.Equal(t, decoded(t, `{"type":"object","properties":{
			"pattern":{"type":"string"},"_ref":{"type":"string"},"properties":{"type":"object","additionalProperties":true},
			"description":{"type":"string","description":"(minLength 2)"}},"required":["pattern","properties"]}`), any(schema))
	}
}

func TestProviderIsChosenByTheAppElseTheFirstThatIsConfigured(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		e := newProvider(t, slices.Repeat(bodiesOf(one.text("none")), 4)...)
		var options llm.Options
		one.set(&options, llm.Config{Key: secret.New(matchertest.Key), BaseURL: e.server.URL})
		var models []string
		options.Observe = func(exchange llm.Exchange) { models = append(models, exchange.Model) }
		request := matchertest.Request(t, "x", book)
		for _, named := range []string{"", "a-model", one.name + "/other", one.name + "/meta/llama"} {
			request.App.Settings.LLM.Tools = named
			_, err := llm.New(options).Match(t.Context(), request)
			require.NoError(t, err)
		}
		require.Equal(t, []string{one.model, "a-model", "other", "meta/llama"}, models)
		require.Contains(t, options.Describe(), "the LLM "+one.model+" at 127.0.0.1:")
		if one.name == "openai" {
			return
		}

		// The default is another provider, and is not asked.
		server := llmtest.New(t)
		options.BaseURL, e.replies = server.URL(), bodiesOf(one.text("none"))
		request.App.Settings.LLM.Tools = one.name + "/m"
		_, err := llm.New(options).Match(t.Context(), request)
		require.NoError(t, err)
		require.Zero(t, server.Count())
		require.Contains(t, options.Describe(), "the LLM gpt-4o-mini at 127.0.0.1")
		require.Contains(t, options.Describe(), "settings.llm.tools can also name "+one.name)
	})
}

func TestProviderThatIsNotConfiguredNamesTheVariableToSet(t *testing.T) {
	every(t, func(t *testing.T, configured spoken) {
		reasons := map[string]string{"acme/model-1": `settings.llm.tools is "acme/model-1": give it as PROVIDER/MODEL, as in openai/MODEL`, configured.name + "/": "openai/MODEL"}
		for _, wanted := range providers() {
			if wanted.name != configured.name {
				reasons[wanted.name+"/m"] = wanted.name + " is not configured: set " + strings.ToUpper(wanted.name) + "_API_KEY"
			}
		}
		model := llm.New(configured.options(newProvider(t)))
		for named, reason := range reasons {
			request := matchertest.Request(t, "x", book)
			request.App = &repositories.App{Settings: repositories.Settings{LLM: repositories.LLM{Tools: named}}}
			_, err := model.Match(t.Context(), request)
			var failed *matcher.Unavailable
			require.ErrorAs(t, err, &failed)
			require.Contains(t, failed.Reason, reason)
			_, err = model.Reply(t.Context(), request, nil)
			require.ErrorAs(t, err, &failed)
		}
	})
}
