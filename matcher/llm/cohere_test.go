package llm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
)

func cohereSpoken() spoken {
	return spoken{
		name: "cohere", model: "command-a-03-2025", keyIn: "Authorization", path: "/v2/chat",
		set:  func(o *llm.Options, p llm.Config) { o.Cohere = p },
		call: `{"id":"c%d","type":"function","function":{"name":%q,"arguments":%q}}`,
		called: `{"id":"x","message":{"role":"assistant","tool_calls":[CALLS]},"finish_reason":"TOOL_CALL",
			"usage":{"billed_units":{"input_tokens":7,"output_tokens":3},"tokens":{"input_tokens":120.0,"output_tokens":9},"cached_tokens":100}}`,
		said:  `{"message":{"role":"assistant","content":[{"type":"text","text":%q}]},"finish_reason":"COMPLETE"}`,
		whole: `{"message":{"tool_calls":[{"id":"a","type":"function","function":{"name":"book","arguments":"{\"day\":\"mon\"}"}}]},"finish_reason":"%s"}`,
		cut:   "MAX_TOKENS", blocked: "ERROR_TOXIC",
		none: `{"id":"x","finish_reason":"COMPLETE"}`, says: "no message",
		bad: `{"message":{"tool_calls":[{"id":"a","function":{"arguments":"{}"}}]}}`,
	}
}

// The conversation in version 2 of Cohere's chat: results as documents, names without hyphens, no tool_choice.
const cohereAsked = `{
  "model": "m",
  "tools": [
    {"type": "function", "function": {"name": "book", "description": "User wants an appointment",
     "parameters": {"type": "object", "properties": {
       "day": {"type": "string", "description": "wished day (pattern ^[a-z]+$)"},
       "people": {"type": "integer", "description": "(maximum 9007199254740993, minimum 1)"}}, "required": ["day"]}}},
    {"type": "function", "function": {"name": "light_on", "parameters": {"type": "object", "properties": {}}}}
  ],
  "messages": [
    {"role": "system", "content": "RULES"},
    {"role": "user", "content": "(The conversation begins here.)"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "book monday"},
    {"role": "assistant", "tool_calls": [
      {"id": "EARLIER1", "type": "function", "function": {"name": "book", "arguments": "{\"day\":\"mon\",\"people\":9007199254740993}"}},
      {"id": "EARLIER2", "type": "function", "function": {"name": "light_on", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "EARLIER1", "content": [{"type": "document", "document": {"data": {"id": 9007199254740995}}}]},
    {"role": "tool", "tool_call_id": "EARLIER2", "content": [{"type": "document", "document": {"data": {"result": "The call failed: HTTP 500"}}}]},
    {"role": "assistant", "content": "Booked."},
    {"role": "user", "content": [
      {"type": "text", "text": "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00)."},
      {"type": "text", "text": "  and \"tuesday\"\n"}]}
  ]
}`

// An answer of version 2, and the same of version 1.
const (
	cohereAnswered = `{
  "id": "c14c80c3", "finish_reason": "TOOL_CALL",
  "message": {"role": "assistant", "tool_plan": "I will book, and switch the light on.",
    "tool_calls": [
      {"id": "book_a1", "type": "function", "function": {"name": "book", "arguments": "{\"people\":9007199254740993}"}},
      {"id": "light_on_b2", "type": "function", "function": {"name": "light_on", "arguments": "{}"}}]},
  "usage": {"billed_units": {"input_tokens": 37, "output_tokens": 28}, "tokens": {"input_tokens": 913, "output_tokens": 83}}
}`
	cohereAnsweredV1 = `{
  "response_id": "r", "generation_id": "g", "text": "I will book.", "finish_reason": "COMPLETE", "chat_history": [],
  "tool_calls": [
    {"name": "book", "parameters": {"people": 9007199254740993, "day": "tue"}},
    {"name": "light_on", "parameters": {}}],
  "meta": {"api_version": {"version": "1"}, "billed_units": {"input_tokens": 37, "output_tokens": 28}}
}`
)

func TestCohereIsAskedInItsOwnForm(t *testing.T) {
	requireAsked(t, cohereSpoken(), cohereAsked)
}

func TestCoheresSecondTryHasItsPlanAndResults(t *testing.T) {
	result, asked := cohereSpoken().match(t, conversation(t), cohereAnswered, cohereSpoken().calls([2]string{"book", `{"day":"tue"}`}))
	require.Equal(t, []string{`book {"day":"tue"}`, "light-on {}"}, matchertest.Fired(result))
	messages := decoded(t, asked[1].body).(map[string]any)["messages"].([]any)
	require.Equal(t, decoded(t, `[
	  {"role": "assistant", "tool_plan": "I will book, and switch the light on.", "tool_calls": [
	    {"id": "book_a1", "type": "function", "function": {"name": "book", "arguments": "{\"people\":9007199254740993}"}},
	    {"id": "light_on_b2", "type": "function", "function": {"name": "light_on", "arguments": "{}"}}]},
	  {"role": "tool", "tool_call_id": "book_a1", "content": [{"type": "document", "document": {"data": {"result": "Not accepted: day: is required. Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."}}}]},
	  {"role": "tool", "tool_call_id": "light_on_b2", "content": [{"type": "document", "document": {"data": {"result": "Accepted. Do not repeat this call."}}}]}
	]`), any(messages[len(messages)-3:]))
}

func TestCoheresPlanIsNotForTheUser(t *testing.T) {
	request := conversation(t)
	request.Chat = true
	result, _ := cohereSpoken().match(t, request, cohereAnswered, cohereSpoken().text("For which day?"))
	require.Equal(t, "For which day?", result.Text)

	e := newProvider(t, bodiesOf(cohereAnsweredV1)...)
	options := cohereSpoken().options(e)
	var usage llm.Usage
	options.Observe = func(exchange llm.Exchange) { usage = exchange.Usage }
	result, err := llm.New(options).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, []string{`book {"day":"tue","people":9007199254740993}`, "light-on {}"}, matchertest.Fired(result))
	require.Equal(t, "I will book.", result.Text, "which is the text of the first version")
	require.Equal(t, llm.Usage{Prompt: 37, Completion: 28}, usage)
}

func TestNamesThatCohereDoesNotTakeAreMappedBothWays(t *testing.T) {
	request := matchertest.Request(t, "x", `{"name":"a-b"}`, `{"name":"a_b"}`, `{"name":"a-b_2"}`, `{"name":"4-c"}`)
	result, asked := cohereSpoken().match(t, request, cohereSpoken().calls([2]string{"a_b", "{}"}, [2]string{"a_b_2", "{}"}, [2]string{"_4_c", "{}"}, [2]string{"a_b_2_2", "{}"}))
	for _, tool := range cohereSpoken().tools(decoded(t, asked[0].body).(map[string]any)) {
		require.Regexp(t, `^[A-Za-z_][A-Za-z0-9_]*$`, tool.(map[string]any)["function"].(map[string]any)["name"])
	}
	require.ElementsMatch(t, []string{"a_b {}", "a-b {}", "a-b_2 {}", "4-c {}"}, matchertest.Fired(result))
	require.Equal(t, "a_b {}", matchertest.Fired(result)[0], "a name that can stay stays")
}

func TestResultsThatAreNoObjectsAreMembersOfOneForCohere(t *testing.T) {
	request := matchertest.Request(t, "x", matchertest.LightTool)
	for result, want := range map[string]string{
		`{"a":9007199254740993}`: `{"a":9007199254740993}`, `{}`: `{"result":{}}`, `[1,9007199254740993]`: `{"result":[1,9007199254740993]}`,
		`"on"`: `{"result":"on"}`, `null`: `{"result":null}`, `7`: `{"result":7}`,
	} {
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "light", Fired: []matcher.PastCall{{TriggerID: "t", Name: "light_on", Result: []byte(result)}}}}
		_, asked := cohereSpoken().match(t, request, cohereSpoken().text("none"))
		messages := decoded(t, asked[0].body).(map[string]any)["messages"].([]any)
		require.Equal(t, decoded(t, `[{"type":"document","document":{"data":`+want+`}}]`), messages[3].(map[string]any)["content"])
	}
}

func TestErrorThatCohereSendsAsAMessageIsUnavailable(t *testing.T) {
	for body, says := range map[string]string{
		`{"message":"no credit left"}`: "it answered with an error: no credit left",
		`{"message":[1]}`:              "no message",
		`{"message":null,"text":null}`: "no message",
	} {
		require.Contains(t, unavailable(t, cohereSpoken().options(newProvider(t, answer{body: body}))).Reason, says)
	}
}

func TestCoheresAnswersAreRead(t *testing.T) {
	requireEnds(t, cohereSpoken(), map[string]string{
		"COMPLETE": "", "STOP_SEQUENCE": "", "TOOL_CALL": "", "": "",
		"ERROR": `"ERROR"`, "ERROR_LIMIT": "cut short", "TIMEOUT": "TIMEOUT", "USER_CANCEL": "USER_CANCEL",
	})
	requireFires(t, cohereSpoken(), onMonday,
		`{"message":{"tool_calls":[{"function":{"name":"book","arguments":{"day":"mon"}}}]}}`,
		`{"message":{"role":"assistant","content":"{\"name\":\"book\",\"parameters\":{\"day\":\"mon\"}}"},"usage":"none"}`)
	requireFires(t, cohereSpoken(), "light_on {}", `{"message":{"tool_calls":[{"function":{"name":"light_on"}}]}}`)
}
