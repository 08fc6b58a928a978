package llm_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

// TestAnswersOfCompatibleServersAreRead holds the shapes in which servers that call
// themselves compatible answer.
func TestAnswersOfCompatibleServersAreRead(t *testing.T) {
	request := matchertest.Request(t, "x", matchertest.BookTool)
	request.Chat = true
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
			result, _ := matchOne(t, request, llmtest.Raw(body))
			require.Equal(t, []string{`book {"day":"mon","desk":"A","people":9007199254740993}`}, matchertest.Fired(result))
			require.Empty(t, result.Text)
		})
	}
}

func TestTextInPartsIsJoinedWithoutTheReasoning(t *testing.T) {
	request := matchertest.Request(t, "x", matchertest.BookTool)
	request.Chat = true
	result, _ := matchOne(t, request, llmtest.Answer(map[string]any{"content": []any{
		map[string]any{"type": "reasoning", "text": "secret thoughts"},
		map[string]any{"type": "text", "text": "Good "}, map[string]any{"text": "morning."},
	}}, "stop"))
	require.Equal(t, "Good morning.", result.Text)
}

func TestAnswerWithoutTextOrCallMatchesNothing(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Raw(`{"choices":[{"message":{"role":"assistant","content":null},"finish_reason":"stop"}]}`))
	require.Equal(t, matcher.Result{Stage: matcher.StageLLM}, result)
}

func TestSecondTrySendsOnlyArgumentsThatServersCanParse(t *testing.T) {
	_, server := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Call("book", `{"day":"mo`), llmtest.Text("none"))
	messages := server.Requests()[1].Messages
	require.JSONEq(t, `{"unreadable":"{\"day\":\"mo"}`, messages[len(messages)-2].ToolCalls[0].Function.Arguments)
}

// TestEndpointThatWantsItsMessagesInOrderGetsThemSo plays the refusals of Mistral and
// of the chat templates of open models.
func TestEndpointThatWantsItsMessagesInOrderGetsThemSo(t *testing.T) {
	for _, refusal := range []string{
		`{"object":"error","message":"Unexpected role 'system' after role 'assistant'","type":"invalid_request_error"}`,
		`{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_message_order","code":"3230"}`,
		`{"error":{"message":"System message must be at the beginning."}}`,
		`{"error":{"message":"After the optional system message, conversation roles must alternate user/assistant/user/assistant/..."}}`,
	} {
		server := llmtest.New(t)
		server.Queue(llmtest.Status(http.StatusBadRequest, nil, refusal), llmtest.Call("book", `{"day":"mon"}`), llmtest.Text("none"))
		llm := newLLM(server)
		request := matchertest.Request(t, "book monday", matchertest.BookTool)
		request.History = []matcher.Utterance{
			{Actor: matcher.ActorUser, Text: "one"}, {Actor: matcher.ActorUser, Text: "two", Fired: []matcher.PastCall{{TriggerID: "t", Name: "book"}}},
			{Actor: matcher.ActorUser, Text: "three"}, {Actor: matcher.ActorAgent, Text: "ok"},
		}
		result, err := llm.Match(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, result.Matches, 1)
		_, err = llm.Match(t.Context(), request)
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
}

func TestEndpointThatRefusesTheOrderTwiceIsUnavailable(t *testing.T) {
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply {
		return llmtest.Status(http.StatusBadRequest, nil, `{"message":"Unexpected role 'system'"}`)
	})
	require.Contains(t, unavailable(t, llmOptions(server)).Reason, "Unexpected role")
	require.Equal(t, 2, server.Count())
}
