package llm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm"
	"earshot/matcher/matchertest"
)

func anthropicSpoken() spoken {
	return spoken{
		name: "anthropic", model: "claude-haiku-5-5", keyIn: "X-Api-Key", path: "/v1/messages",
		set:  func(o *llm.Options, p llm.Config) { o.Anthropic = p },
		call: `{"type":"tool_use","id":"c%d","name":%q,"input":%s}`,
		called: `{"type":"message","role":"assistant","content":[CALLS],"stop_reason":"tool_use",
			"usage":{"input_tokens":12,"cache_creation_input_tokens":8,"cache_read_input_tokens":100,"output_tokens":9}}`,
		said:  `{"type":"message","content":[{"type":"text","text":%q}],"stop_reason":"end_turn"}`,
		whole: `{"content":[{"type":"tool_use","id":"a","name":"book","input":{"day":"mon"}}],"stop_reason":"%s"}`,
		cut:   "max_tokens", blocked: "refusal",
		none: `{"type":"message","content":null}`, says: "no content",
		bad: `{"content":[{"type":"tool_use","id":"a","input":{}}]}`,
	}
}

// The conversation in the Messages API: rules and tools outside of it, alternating roles, results of calls in the
// user's next message before its text, the app's tools before the session's, and the clock after all cacheable
// parts.
const anthropicAsked = `{
  "model": "m", "max_tokens": 8192,
  "system": [{"type": "text", "text": "RULES", "cache_control": {"type": "ephemeral"}}],
  "tools": [
    {"name": "book", "description": "User wants an appointment", "cache_control": {"type": "ephemeral"},
     "input_schema": {"type": "object", "properties": {
       "day": {"type": "string", "description": "wished day", "pattern": "^[a-z]+$"},
       "people": {"type": "integer", "minimum": 1, "maximum": 9007199254740993}}, "required": ["day"]}},
    {"name": "light-on", "input_schema": {"type": "object", "properties": {}}}
  ],
  "messages": [
    {"role": "user", "content": [{"type": "text", "text": "(The conversation begins here.)"}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello."}]},
    {"role": "user", "content": [{"type": "text", "text": "book monday"}]},
    {"role": "assistant", "content": [
      {"type": "tool_use", "id": "EARLIER1", "name": "book", "input": {"day": "mon", "people": 9007199254740993}},
      {"type": "tool_use", "id": "EARLIER2", "name": "light-on", "input": {}}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "EARLIER1", "content": [{"type": "text", "text": "{\"id\":9007199254740995}"}]},
      {"type": "tool_result", "tool_use_id": "EARLIER2", "is_error": true, "content": [{"type": "text", "text": "The call failed: HTTP 500"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Booked.", "cache_control": {"type": "ephemeral"}}]},
    {"role": "user", "content": [
      {"type": "text", "text": "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00)."},
      {"type": "text", "text": "  and \"tuesday\"\n"}]}
  ]
}`

// An answer of the API with parallel calls after thoughts and a text.
const anthropicAnswered = `{
  "id": "msg_01", "type": "message", "role": "assistant", "model": "m",
  "content": [
    {"type": "thinking", "thinking": "Two things.", "signature": "c2ln"},
    {"type": "text", "text": "Let me see.", "citations": null},
    {"type": "tool_use", "id": "toolu_01", "name": "book", "input": {"people": 9007199254740993}, "caller": {"type": "direct"}},
    {"type": "tool_use", "id": "toolu_02", "name": "light-on", "input": {}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null,
  "usage": {"input_tokens": 40, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1000, "output_tokens": 12,
            "cache_creation": {"ephemeral_5m_input_tokens": 0}, "service_tier": "standard"}
}`

func TestAnthropicIsAskedInItsOwnForm(t *testing.T) {
	requireAsked(t, anthropicSpoken(), anthropicAsked)
	_, asked := anthropicSpoken().match(t, conversation(t), anthropicSpoken().text("none"))
	require.Equal(t, "2023-06-01", asked[0].header.Get("Anthropic-Version"))
}

func TestAnthropicsSecondTryHasItsThoughtsAndResults(t *testing.T) {
	request := conversation(t)
	result, asked := anthropicSpoken().match(t, request, anthropicAnswered, anthropicSpoken().calls([2]string{"book", `{"day":"tue"}`}))
	require.Equal(t, []string{`book {"day":"tue"}`, "light-on {}"}, matchertest.Fired(result))
	messages := decoded(t, asked[1].body).(map[string]any)["messages"].([]any)
	require.Equal(t, decoded(t, `[
	  {"role": "assistant", "content": [
	    {"type": "thinking", "thinking": "Two things.", "signature": "c2ln"},
	    {"type": "text", "text": "Let me see."},
	    {"type": "tool_use", "id": "toolu_01", "name": "book", "input": {"people": 9007199254740993}},
	    {"type": "tool_use", "id": "toolu_02", "name": "light-on", "input": {}}]},
	  {"role": "user", "content": [
	    {"type": "tool_result", "tool_use_id": "toolu_01", "is_error": true, "content": [{"type": "text", "text": "Not accepted: day: is required. Call the tool again with this put right from what the conversation says. Leave out what nobody said; do not invent it."}]},
	    {"type": "tool_result", "tool_use_id": "toolu_02", "content": [{"type": "text", "text": "Accepted. Do not repeat this call."}]}]}
	]`), messages[len(messages)-2:])
	before := messages[:len(messages)-2]
	require.Equal(t, decoded(t, asked[0].body).(map[string]any)["messages"], any(before))
}

// TestAnthropicsReplyMentionsTheToolsThatWereCalled: the API answers 400 with "Requests which include tool_use or
// tool_result blocks must define tools".
func TestAnthropicsReplyMentionsTheToolsThatWereCalled(t *testing.T) {
	e := newProvider(t, bodiesOf(anthropicSpoken().text("ok"), anthropicSpoken().text("ok"))...)
	model := llm.New(anthropicSpoken().options(e))
	_, err := model.Reply(t.Context(), conversation(t), nil)
	require.NoError(t, err)
	body := decoded(t, e.questions()[0].body).(map[string]any)
	require.Equal(t, decoded(t, `[{"name":"book","input_schema":{"type":"object"}},{"name":"light-on","input_schema":{"type":"object"}}]`), body["tools"])
	require.Equal(t, decoded(t, `{"type":"none"}`), body["tool_choice"])

	_, err = model.Reply(t.Context(), matchertest.Request(t, "hi", book), nil)
	require.NoError(t, err)
	plain := decoded(t, e.questions()[1].body)
	require.NotContains(t, plain, "tools")
	require.NotContains(t, plain, "tool_choice")
}

func TestAnthropicIsNotShownWhatItRefusesAtTheTopOfASchema(t *testing.T) {
	tool := `{"name":"pay","parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"integer"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}}`
	_, asked := anthropicSpoken().match(t, matchertest.Request(t, "x", tool), anthropicSpoken().text("none"))
	schema := anthropicSpoken().tools(decoded(t, asked[0].body).(map[string]any))[0].(map[string]any)["input_schema"].(map[string]any)
	require.NotContains(t, schema, "anyOf")
	require.Contains(t, schema["properties"].(map[string]any)["a"], "anyOf")
}

func TestAnthropicsCacheMarksAreAtMostFour(t *testing.T) {
	request := matchertest.Request(t, "x", book, light) // only the session's tools
	_, asked := anthropicSpoken().match(t, request, anthropicSpoken().text("none"))
	body := decoded(t, asked[0].body).(map[string]any)
	for _, tool := range anthropicSpoken().tools(body) {
		require.NotContains(t, tool, "cache_control", "other sessions do not have it")
	}
	_, asked = anthropicSpoken().match(t, conversation(t), anthropicAnswered, anthropicSpoken().text("none"))
	for _, one := range asked {
		require.LessOrEqual(t, countMember(decoded(t, one.body), "cache_control"), 4, "the API takes no more")
	}
}

// TestEndpointThatTakesNoMarksOfTheCacheGetsNone simulates an endpoint with Anthropic's form but no cache.
func TestEndpointThatTakesNoMarksOfTheCacheGetsNone(t *testing.T) {
	claude := anthropicSpoken()
	e := newProvider(t, answer{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.cache_control: Extra inputs are not permitted"}}`},
		answer{body: claude.text("none")}, answer{body: claude.text("none")})
	model := llm.New(claude.options(e))
	for range 2 {
		_, err := model.Match(t.Context(), matchertest.Request(t, "book monday", book))
		require.NoError(t, err)
	}
	asked := e.questions()
	require.Len(t, asked, 3)
	require.Contains(t, asked[0].body, `,"cache_control":{"type":"ephemeral"}`)
	bare := strings.ReplaceAll(asked[0].body, `,"cache_control":{"type":"ephemeral"}`, "")
	require.Equal(t, bare, asked[1].body)
	require.Equal(t, bare, asked[2].body)
}

func countMember(value any, name string) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			n += countMember(member, name)
			if key == name {
				n++
			}
		}
	case []any:
		for _, member := range value {
			n += countMember(member, name)
		}
	}
	return n
}

func TestAnthropicsAnswersAreRead(t *testing.T) {
	requireEnds(t, anthropicSpoken(), map[string]string{
		"end_turn": "", "tool_use": "", "stop_sequence": "", "": "",
		"model_context_window_exceeded": "cut short", "pause_turn": `finish_reason "pause_turn"`, "something_new": `finish_reason "something_new"`,
	})
	requireFires(t, anthropicSpoken(), onMonday,
		`{"content":[{"type":"tool_use","name":"functions.Book","input":"{\"day\":\"mon\"}"}],"stop_reason":null,"usage":null}`,
		`{"content":[{"type":"text","text":"<tool_call>{\"name\":\"book\",\"arguments\":{\"day\":\"mon\"}}</tool_call>"}]}`)
	requireFires(t, anthropicSpoken(), "light_on {}", `{"content":[{"type":"tool_use","id":"a","name":"light_on"}]}`)
}
