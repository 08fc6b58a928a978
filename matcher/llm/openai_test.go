package llm_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

func openAISpoken() spoken {
	return spoken{
		name: "openai", model: "gpt-4o-mini", keyIn: "Authorization", path: "/chat/completions",
		set:  func(o *llm.Options, p llm.Config) { o.Key, o.BaseURL, o.Model = p.Key, p.BaseURL, p.Model },
		call: `{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}`,
		called: `{"choices":[{"message":{"tool_calls":[CALLS]},"finish_reason":"tool_calls"}],
			"usage":{"prompt_tokens":120,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":100}}}`,
		said:  `{"choices":[{"message":{"content":%q}}]}`,
		whole: `{"choices":[{"message":{"tool_calls":[{"function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]},"finish_reason":"%s"}]}`,
		cut:   "length", blocked: "content_filter",
		none: `{"choices":[]}`, says: "no choices",
		bad: `{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}`,
	}
}

// The conversation in chat completions.
const openAIAsked = `{
  "tools": [
    {"type": "function", "function": {"name": "book", "description": "User wants an appointment",
     "parameters": {"type": "object", "properties": {
       "day": {"type": "string", "description": "wished day", "pattern": "^[a-z]+$"},
       "people": {"type": "integer", "minimum": 1, "maximum": 9007199254740993}}, "required": ["day"]}}},
    {"type": "function", "function": {"name": "light-on", "parameters": {"type": "object", "properties": {}}}}
  ],
  "model": "m",
  "messages": [
    {"role": "system", "content": "RULES"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "book monday"},
    {"role": "assistant", "tool_calls": [
      {"id": "EARLIER1", "type": "function", "function": {"name": "book", "arguments": "{\"day\":\"mon\",\"people\":9007199254740993}"}},
      {"id": "EARLIER2", "type": "function", "function": {"name": "light-on", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "EARLIER1", "content": "{\"id\":9007199254740995}"},
    {"role": "tool", "tool_call_id": "EARLIER2", "content": "The call failed: HTTP 500"},
    {"role": "assistant", "content": "Booked."},
    {"role": "system", "content": "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00)."},
    {"role": "user", "content": "  and \"tuesday\"\n"}
  ],
  "stream": false
}`

func TestOpenAIIsAskedInItsOwnForm(t *testing.T) { requireAsked(t, openAISpoken(), openAIAsked) }

// TestAnswersOfCompatibleServersAreRead has the variations of servers that claim compatibility.
func TestAnswersOfCompatibleServersAreRead(t *testing.T) {
	for name, body := range map[string]string{
		"OpenAI": `{"id":"chatcmpl-9","object":"chat.completion","created":1763631000,"model":"gpt-4o-mini","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}}],"refusal":null,"annotations":[]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":82,"completion_tokens":17,"total_tokens":99,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0}},"service_tier":"default","system_fingerprint":"fp_1"}`,
		"arguments as an object, without id and type":  `{"choices":[{"message":{"tool_calls":[{"function":{"name":"book","arguments":{"day":"mon","people":9007199254740993}}}]},"finish_reason":"stop"}]}`,
		"parameters for arguments, flat":               `{"choices":[{"message":{"content":"","tool_calls":[{"name":"book","parameters":{"day":"mon","people":9007199254740993}}]},"finish_reason":"COMPLETE"}]}`,
		"a lone call for the list":                     `{"choices":[{"message":{"tool_calls":{"id":3,"function":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}}}}]}`,
		"function_call of before there were tools":     `{"choices":[{"message":{"content":null,"function_call":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}},"finish_reason":"function_call"}]}`,
		"content in parts, members of other types":     `{"created":1.7e9,"model":null,"usage":"none","choices":[{"index":"0","message":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":""}],"tool_calls":[{"id":"a","type":null,"index":0,"function":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}}]},"finish_reason":null}]}`,
		"the parts of the answer over several choices": `{"choices":[{"message":{"content":""},"finish_reason":"tool_calls"},{"message":{"tool_calls":[{"id":"a","function":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}}]},"finish_reason":"tool_calls"}]}`,
		"a byte order mark and a null error":           "\ufeff" + `{"error":null,"choices":[{"message":{"tool_calls":[{"function":{"name":"book","arguments":"{\"day\":\"mon\",\"people\":9007199254740993}"}}]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			result, _ := matchOne(t, talk(t, book), llmtest.Raw(body))
			require.Equal(t, []string{`book {"day":"mon","desk":"A","people":9007199254740993}`}, matchertest.Fired(result))
			require.Empty(t, result.Text)
		})
	}
	for _, reason := range []string{"stop", "tool_calls", ""} {
		result, _ := matchOne(t, talk(t, book), llmtest.Raw(fmt.Sprintf(openAISpoken().whole, reason)))
		require.Equal(t, []string{onMonday}, matchertest.Fired(result), reason)
	}
}

func TestTextOfCompatibleServersIsRead(t *testing.T) {
	result, _ := matchOne(t, talk(t, book), llmtest.Answer(map[string]any{"content": []any{
		map[string]any{"type": "reasoning", "text": "secret thoughts"},
		map[string]any{"type": "text", "text": "Good "}, map[string]any{"text": []any{map[string]any{"text": "deeper"}}}, map[string]any{"text": "morning."},
	}}, "stop"))
	require.Equal(t, "Good morning.", result.Text)
	result, _ = matchOne(t, talk(t, book), llmtest.Raw(`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`))
	require.Equal(t, matcher.Result{Stage: matcher.StageLLM}, result)
}

func TestAnswersThatAreNoneAreUnavailable(t *testing.T) {
	whole := openAISpoken().whole
	for body, says := range map[string]string{
		`{"id":"x","choices":null}`:                                                  "no choices",
		`{"choices":[{"finish_reason":"stop"}]}`:                                     "no choices",
		`{"choices":[{"message":{"tool_calls":"book"}}]}`:                            "tool calls cannot be read",
		`{"choices":[{"message":{"tool_calls":[{"id":"1"}],"function_call":null}}]}`: "tool calls cannot be read",
		`{"choices":[{"message":{"content":null,"refusal":"I cannot help"}}]}`:       "the model refused to answer",
		fmt.Sprintf(whole, "model_length"):                                           "cut short", // Mistral's
		fmt.Sprintf(whole, "MAX_TOKENS"):                                             "cut short", // Gemini's
		fmt.Sprintf(whole, "error"):                                                  `finish_reason "error"`,
	} {
		require.Contains(t, unavailable(t, openAISpoken().options(newProvider(t, answer{body: body}))).Reason, says, body)
	}
}

// recorder keeps its request, and fails it.
type recorder struct {
	header http.Header
	path   string
}

func (r *recorder) client() *http.Client { return &http.Client{Transport: r} }

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.header, r.path = request.Header, request.URL.Path
	return nil, fmt.Errorf("refused by the test of %s", request.Header.Get("Api-Key"))
}

func TestAzureGetsTheKeyUnderItsOwnName(t *testing.T) {
	recorded := &recorder{}
	reason := unavailable(t, llm.Options{
		BaseURL: "https://clinic.openai.azure.com/openai/v1", Key: secret.New(matchertest.Key),
		HTTPClient: recorded.client(),
	}).Reason
	require.Equal(t, matchertest.Key, recorded.header.Get("Api-Key"))
	require.Equal(t, "refused by the test of ***", reason)
}

// TestEndpointThatWantsItsMessagesInOrderGetsThemSo simulates the refusals of Mistral and of open models' chat
// templates.
func TestEndpointThatWantsItsMessagesInOrderGetsThemSo(t *testing.T) {
	for _, refusal := range []string{
		`{"object":"error","message":"Unexpected role 'system' after role 'assistant'","type":"invalid_request_error"}`,
		`{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}`,
		`{"error":{"message":"System message must be at the beginning."}}`,
		`{"error":{"message":"After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."}}`,
	} {
		server := llmtest.New(t)
		server.Queue(llmtest.Status(http.StatusBadRequest, nil, refusal), call("book", `{"day":"mon"}`), llmtest.Text("none"))
		model := newLLM(server)
		request := matchertest.Request(t, "book monday", book)
		request.History = []matcher.Utterance{
			{Actor: matcher.ActorUser, Text: "one"}, {Actor: matcher.ActorUser, Text: "two", Fired: []matcher.PastCall{{TriggerID: "t", Name: "book"}}},
			{Actor: matcher.ActorUser, Text: "three"}, {Actor: matcher.ActorAgent, Text: "ok"},
		}
		result, err := model.Match(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, result.Matches, 1)
		_, err = model.Match(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, 3, server.Count(), "the refusal is remembered")
		for _, ordered := range server.Requests()[1:] {
			messages := ordered.Messages
			require.Equal(t, []string{"system", "user", "assistant", "tool", "assistant", "user", "assistant", "user"}, roles(messages))
			require.Contains(t, messages[0].Content, "Current date and time: Friday, 2026-11-20")
			require.Equal(t, "one\n\ntwo", messages[1].Content)
			require.Equal(t, "book monday", ordered.Last().Content)
		}
	}
	server, refusal := llmtest.New(t), llmtest.Status(http.StatusBadRequest, nil, `{"message":"Unexpected role 'system'"}`)
	server.Queue(refusal, call("book", `{"day":"mon"}`))
	greeted := matchertest.Request(t, "book monday", book)
	greeted.History = []matcher.Utterance{{Actor: matcher.ActorAgent, Text: "Hello"}}
	_, err := newLLM(server).Match(t.Context(), greeted)
	require.NoError(t, err)
	require.Equal(t, []string{"system", "user", "assistant", "user"}, roles(server.Requests()[1].Messages), "the user's side is first")

	server = llmtest.New(t)
	server.Queue(refusal, refusal)
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "Unexpected role")
	require.Equal(t, 2, server.Count(), "one that refuses this order as well is unavailable")
}
