package llm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

func TestMatchTakesTheValuesOfACall(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "Book me in for tomorrow", matchertest.BookTool, matchertest.LightTool),
		llmtest.Call("book", `{"day":"2026-11-21","people":9007199254740993}`))
	require.Equal(t, matcher.StageLLM, result.Stage)
	require.Equal(t, []string{`book {"day":"2026-11-21","desk":"A","people":9007199254740993}`}, matchertest.Fired(result))
	require.Equal(t, "r1", result.Matches[0].Repository.ID)
	require.False(t, result.Matches[0].Repaired)
	require.Empty(t, result.Rejected)
}

func TestMatchRecordsWhatWasRepairedAndCoerced(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Call("book", `{'day':'2026-11-21','people':'2',}`))
	require.Len(t, result.Matches, 1)
	require.True(t, result.Matches[0].Repaired)
	require.Equal(t, []string{"people"}, result.Matches[0].Coerced)
}

func TestMatchReadsSeveralCallsInOrder(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.CancelTool, matchertest.LightTool), llmtest.Calls(
		[2]string{"light_on", `{}`},
		[2]string{"book", `{"day":"mon"}`},
		[2]string{"cancel-booking", `{"day":"tue"}`},
		[2]string{"book", `{"day":"wed"}`},
	))
	require.Equal(t, []string{
		`light_on {}`, `book {"day":"mon","desk":"A"}`, `cancel-booking {"day":"tue"}`, `book {"day":"wed","desk":"A"}`,
	}, matchertest.Fired(result))
}

func TestMatchCollapsesCallsOfOneToolWithTheSameValues(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Calls(
		[2]string{"book", `{"day":"mon","people":2}`},
		[2]string{"book", `{ "people": "2", "day": "mon" }`},
	))
	require.Equal(t, []string{`book {"day":"mon","desk":"A","people":2}`}, matchertest.Fired(result))
}

func TestMatchDropsWhatIsNotInScope(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool), llmtest.Calls(
		[2]string{"someone-elses-tool", `{"day":"mon"}`},
		[2]string{"book", `{"day":"mon","admin":true,"desk":"Z"}`},
	))
	require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result),
		"neither the foreign tool nor the unknown and the hidden argument")
	require.Empty(t, result.Rejected)
}

func TestMatchFindsToolsByOtherSpellings(t *testing.T) {
	for _, named := range []string{
		"cancel-booking", "Cancel-Booking", "CANCEL_BOOKING", "cancel_booking", "cancelBooking", "cancel booking",
		"functions.cancel-booking", "default_api:cancel_booking", "default_api.cancel-booking", "tools/Cancel-Booking", " cancel-booking ",
	} {
		t.Run(named, func(t *testing.T) {
			result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.CancelTool), llmtest.Call(named, `{"day":"mon"}`))
			require.Equal(t, []string{`cancel-booking {"day":"mon"}`}, matchertest.Fired(result))
		})
	}
}

func TestMatchDropsANameThatTwoToolsCouldMean(t *testing.T) {
	tools := []string{`{"name":"turn-on"}`, `{"name":"turn_on"}`, `{"name":"Go"}`, `{"name":"go"}`}
	for named, want := range map[string][]string{
		"turn-on": {"turn-on {}"}, "turn_on": {"turn_on {}"}, "TURN_ON": {"turn_on {}"}, "turnOn": nil,
		"go": {"go {}"}, "functions.Go": {"Go {}"}, "GO": nil, "": nil,
	} {
		t.Run(named, func(t *testing.T) {
			server := llmtest.New(t)
			server.Queue(llmtest.Calls([2]string{named, "{}"}, [2]string{"none-such", "{}"}))
			result, err := newLLM(server).Match(t.Context(), matchertest.Request(t, "x", tools...))
			if named == "" {
				require.ErrorContains(t, err, "tool calls cannot be read")
				return
			}
			require.NoError(t, err)
			require.Equal(t, want, matchertest.Fired(result))
		})
	}
}

func TestMatchFindsParametersByOtherSpellings(t *testing.T) {
	tool := `{"name":"move","schema":[{"parameter":"new_day","type":"string","required":true},{"parameter":"a","type":"string"},{"parameter":"A","type":"string"}]}`
	result, _ := matchOne(t, matchertest.Request(t, "x", tool), llmtest.Call("move", `{"newDay":"mon","A":"upper"}`))
	require.Equal(t, []string{`move {"A":"upper","new_day":"mon"}`}, matchertest.Fired(result))
	require.Equal(t, []string{"new_day"}, result.Matches[0].Coerced)
}

func TestMatchKeepsAValueThatHasItsOwnNameOverOneUnderAnother(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.CancelTool), llmtest.Call("cancel-booking", `{"Day":"wrong","day":"right"}`))
	require.Equal(t, []string{`cancel-booking {"day":"right"}`}, matchertest.Fired(result))
}

func TestMatchOffersNoMoreToolsThanTheLimitAndTakesCallsOfTheOthers(t *testing.T) {
	var tools []string
	for i := range 200 {
		tools = append(tools, fmt.Sprintf(`{"name":"tool_%03d","description":"Does thing %d"}`, i, i))
	}
	server := llmtest.New(t)
	server.Queue(llmtest.Call("tool_199", `{}`), llmtest.Call("tool_000", `{}`))
	for i, limit := range []int{0, 5000} {
		request := matchertest.Request(t, "do a thing", tools...)
		request.App.Settings.LLM.MostTools = limit
		result, err := newLLM(server).Match(t.Context(), request)
		require.NoError(t, err)
		require.Len(t, result.Matches, 1)
		offered := server.Requests()[i].ToolNames()
		require.Equal(t, "find_tools", offered[0])
		require.LessOrEqual(t, len(offered), []int{llm.DefaultLimit, llm.MaxTools}[i])
		require.Greater(t, len(offered), []int{llm.DefaultLimit, llm.MaxTools}[i]/2)
	}
}

func TestMatchAsksNothingWhereThereIsNothingToAsk(t *testing.T) {
	server := llmtest.New(t)
	result, err := newLLM(server).Match(t.Context(), matchertest.Request(t, "hello"))
	require.NoError(t, err)
	require.Equal(t, matcher.Result{Stage: matcher.StageNone}, result)
	require.Zero(t, server.Count())
}

func TestMatchTalksWithoutToolsInChatMode(t *testing.T) {
	request := matchertest.Request(t, "hello")
	request.Chat = true
	result, server := matchOne(t, request, llmtest.Text("Hi there."))
	require.Equal(t, matcher.Result{Stage: matcher.StageNone, Text: "Hi there."}, result)
	asked := server.Requests()[0]
	require.Empty(t, asked.Tools)
	require.Empty(t, asked.ToolChoice)
	require.Nil(t, asked.Parallel)
}

func TestMatchTakesTheReplyFromTheSameRequest(t *testing.T) {
	request := matchertest.Request(t, "how are you?", matchertest.BookTool)
	request.Chat = true
	for given, want := range map[string]string{
		"Fine.":                                   "Fine.",
		"<think>The user greets.</think>\nFine.":  "Fine.",
		"Hm, a greeting.</think>Fine.":            "Fine.",
		"<thinking>book?</thinking>Fine.":         "Fine.",
		"<think>I should call book but the token": "",
	} {
		result, _ := matchOne(t, request, llmtest.Text(given))
		require.Equal(t, want, result.Text, given)
		require.Empty(t, result.Matches)
	}
}

func TestMatchKeepsTheModelsTextToItselfOutsideChatMode(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "thanks", matchertest.BookTool), llmtest.Text("none"))
	require.Equal(t, matcher.Result{Stage: matcher.StageLLM}, result)
}

func TestMatchDoesNotMakeACallThatIsOnlyConsidered(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.LightTool),
		llmtest.Text(`<think>maybe <tool_call>{"name":"light_on","arguments":{}}</tool_call></think>none`))
	require.Empty(t, result.Matches)
}

func TestMatchReadsCallsThatAreWrittenIntoTheText(t *testing.T) {
	request := matchertest.Request(t, "x", matchertest.BookTool)
	request.Chat = true
	result, _ := matchOne(t, request, llmtest.Text("Sure.\n<tool_call>\n{\"name\": \"book\", \"arguments\": {\"day\": \"mon\"}}\n</tool_call>"))
	require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result))
	require.Equal(t, "Sure.", result.Text)
}

func TestMatchReadsBareJSONAsACallOnlyWhereItNamesAToolInScope(t *testing.T) {
	request := matchertest.Request(t, "x", matchertest.BookTool)
	request.Chat = true
	result, _ := matchOne(t, request, llmtest.Text(`{"name":"functions.Book","parameters":{"day":"mon"}}`))
	require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result))
	require.Empty(t, result.Text)

	example := `Like this: {"name":"pay","parameters":{"day":"mon"}}`
	result, _ = matchOne(t, request, llmtest.Text(example))
	require.Empty(t, result.Matches)
	require.Equal(t, example, result.Text)
}

func TestMatchIgnoresTextThatLooksLikeACallBesideRealCalls(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.LightTool), llmtest.Answer(map[string]any{
		"content":    `{"name":"book","arguments":{"day":"mon"}}`,
		"tool_calls": []any{map[string]any{"id": "a", "function": map[string]any{"name": "light_on", "arguments": "{}"}}},
	}, "tool_calls"))
	require.Equal(t, []string{"light_on {}"}, matchertest.Fired(result))
}

func TestMatchTakesAnythingForNoArgumentsOfAToolThatWantsNone(t *testing.T) {
	for _, arguments := range []string{"", "null", "{}", "none", `{"cut`, `""`} {
		result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.LightTool), llmtest.Call("light_on", arguments))
		require.Equal(t, []string{"light_on {}"}, matchertest.Fired(result), arguments)
	}
}
