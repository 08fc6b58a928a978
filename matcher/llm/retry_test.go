package llm_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
)

func TestFaultyCallGoesBackOnceWithItsFaults(t *testing.T) {
	result, server := matchOne(t, matchertest.Request(t, "book", matchertest.BookTool, matchertest.LightTool),
		llmtest.Calls([2]string{"book", `{"people":"two"}`}, [2]string{"light_on", ""}, [2]string{"nope", "{}"}),
		llmtest.Call("book", `{"day":"mon","people":2}`))
	require.Equal(t, []string{`book {"day":"mon","desk":"A","people":2}`, "light_on {}"}, matchertest.Fired(result), "in the order of the first answer")
	require.Empty(t, result.Rejected)

	first, second := server.Requests()[0], server.Requests()[1]
	require.Equal(t, first.Tools, second.Tools)
	require.Equal(t, first.Messages, second.Messages[:len(first.Messages)])
	added := second.Messages[len(first.Messages):]
	require.Len(t, added, 4)
	require.Equal(t, "assistant", added[0].Role)
	require.Len(t, added[0].ToolCalls, 3)
	require.Equal(t, `{"people":"two"}`, added[0].ToolCalls[0].Function.Arguments, "as it came")
	for i, message := range added[1:] {
		require.Equal(t, "tool", message.Role)
		require.Equal(t, added[0].ToolCalls[i].ID, message.ToolCallID)
	}
	require.Contains(t, added[1].Content, "day:")
	require.Contains(t, added[1].Content, "people:")
	require.Contains(t, added[2].Content, "Accepted")
	require.Contains(t, added[3].Content, "no such tool")
}

func TestWhatIsStillFaultyIsRejected(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "book", matchertest.BookTool),
		llmtest.Call("book", `{"people":"two"}`),
		llmtest.Call("book", `{"people":2}`))
	require.Empty(t, result.Matches)
	require.Len(t, result.Rejected, 1)
	require.Equal(t, []string{"day"}, result.Rejected[0].Missing)
	require.Len(t, result.Rejected[0].Errors, 1)
	require.Equal(t, "day", result.Rejected[0].Errors[0].Parameter)
	require.Contains(t, result.Rejected[0].Values, "people")
	require.Equal(t, "book", result.Rejected[0].Tool.Name)
}

func TestCallThatTheModelGivesUpIsRejectedAndItsQuestionIsTheReply(t *testing.T) {
	request := matchertest.Request(t, "book", matchertest.BookTool)
	request.Chat = true
	result, _ := matchOne(t, request, llmtest.Call("book", `{}`), llmtest.Text("For which day?"))
	require.Equal(t, []string{"day"}, result.Rejected[0].Missing)
	require.Equal(t, "For which day?", result.Text)
}

func TestUnreadableArgumentsGoBack(t *testing.T) {
	for _, arguments := range []string{`{"day":"mo`, `{"day":"mon"}{"day":"tue"}`, `[1,2]`, `{"day":"mon","day":"tue"}`, `day=mon`} {
		t.Run(arguments, func(t *testing.T) {
			result, server := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool),
				llmtest.Call("book", arguments), llmtest.Call("book", `{"day":"mon"}`))
			require.Equal(t, []string{`book {"day":"mon","desk":"A"}`}, matchertest.Fired(result))
			require.Contains(t, server.Requests()[1].Last().Content, "Not accepted")
		})
	}
}

func TestArgumentsThatAreUnreadableTwiceAreRejectedWithWhatIsMissing(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool),
		llmtest.Call("book", `{"day":"mo`), llmtest.Call("book", `{"day":"mo`))
	require.Empty(t, result.Matches)
	require.Len(t, result.Rejected, 1)
	require.Equal(t, []string{"day"}, result.Rejected[0].Missing)
	require.Empty(t, result.Rejected[0].Errors[0].Parameter, "the arguments as a whole")
}

func TestSecondAnswerOnlyReplacesFaultyCalls(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.CancelTool, matchertest.LightTool),
		llmtest.Calls([2]string{"book", `{"day":"mon"}`}, [2]string{"book", `{"people":3}`}),
		llmtest.Calls(
			[2]string{"light_on", `{}`},                     // not asked for
			[2]string{"book", `{"day":"mon"}`},              // accepted already
			[2]string{"book", `{"day":"tue","people":3}`},   // the one that counts
			[2]string{"cancel-booking", `{"day":"friday"}`}, // not asked for
		))
	require.Equal(t, []string{`book {"day":"mon","desk":"A"}`, `book {"day":"tue","desk":"A","people":3}`}, matchertest.Fired(result))
	require.Empty(t, result.Rejected)
}

func TestFaultyCallsOfOneToolAreReplacedInOrder(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool),
		llmtest.Calls([2]string{"book", `{"people":1}`}, [2]string{"book", `{"people":2}`}),
		llmtest.Calls([2]string{"book", `{"day":"mon","people":1}`}, [2]string{"book", `{"people":2}`}))
	require.Equal(t, []string{`book {"day":"mon","desk":"A","people":1}`}, matchertest.Fired(result))
	require.Len(t, result.Rejected, 1)
}

func TestFailureOfTheSecondRequestLosesNoSoundCall(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool, matchertest.LightTool),
		llmtest.Calls([2]string{"light_on", `{}`}, [2]string{"book", `{}`}),
		llmtest.Status(http.StatusInternalServerError, nil, "boom"))
	require.Equal(t, []string{"light_on {}"}, matchertest.Fired(result))
	require.Len(t, result.Rejected, 1)
}

func TestCallerWhoLeavesDuringTheSecondRequestGetsNoDecision(t *testing.T) {
	server := llmtest.New(t)
	ctx, leave := context.WithCancel(t.Context())
	server.Handle(func(request llmtest.Request) llmtest.Reply {
		if request.Last().Role == "user" {
			return llmtest.Calls([2]string{"light_on", `{}`}, [2]string{"book", `{}`})
		}
		leave()
		return llmtest.Hang()
	})
	_, err := newLLM(server).Match(ctx, matchertest.Request(t, "x", matchertest.BookTool, matchertest.LightTool))
	require.ErrorIs(t, err, context.Canceled)
	var unavailable *matcher.Unavailable
	require.NotErrorAs(t, err, &unavailable)
}

func TestMissingAndDoubledIDsAreMade(t *testing.T) {
	call := func(id any, day string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "book", "arguments": day}}
	}
	_, server := matchOne(t, matchertest.Request(t, "x", matchertest.BookTool),
		llmtest.Answer(map[string]any{"tool_calls": []any{
			call("same", `{"people":1}`), call("same", `{"people":2}`), call(nil, `{"people":3}`), call(7, `{"people":4}`),
		}}, "tool_calls"),
		llmtest.Text("none"))
	ids := map[string]bool{}
	for _, message := range server.Requests()[1].Messages {
		for _, call := range message.ToolCalls {
			require.Regexp(t, `^[A-Za-z0-9]{1,9}$`, call.ID)
			ids[call.ID] = true
		}
	}
	require.Len(t, ids, 4)
	require.Contains(t, ids, "same")
	require.Contains(t, ids, "7")
}

func TestFaultThatTheModelCannotCureIsRejectedAtOnce(t *testing.T) {
	tool := `{"name":"account","schema":[
		{"parameter":"owner","type":"string","required":true,"authServices":[{"name":"google","field":"sub"}]},
		{"parameter":"day","type":"string","required":true}]}`
	result, _ := matchOne(t, matchertest.Request(t, "x", tool), llmtest.Call("account", `{"day":"mon","owner":"eve"}`))
	require.Empty(t, result.Matches)
	require.Equal(t, []string{"owner"}, result.Rejected[0].Missing)

	_, server := matchOne(t, matchertest.Request(t, "x", tool), llmtest.Call("account", `{}`), llmtest.Call("account", `{"day":"mon"}`))
	require.NotContains(t, string(server.Requests()[1].Body), "owner")
	require.Contains(t, server.Requests()[1].Last().Content, "day: is required")
}

const groundedTool = `{"name":"fly","description":"User wants to fly","schema":[
	{"parameter":"city","type":"string","required":true,"grounded":true},{"parameter":"class","type":"string"}]}`

func TestUngroundedValueGoesBackAndIsRejected(t *testing.T) {
	result, server := matchOne(t, matchertest.Request(t, "book me a flight", groundedTool),
		llmtest.Call("fly", `{"city":"Paris","class":"economy"}`),
		llmtest.Call("fly", `{"city":"Paris"}`))
	require.Empty(t, result.Matches)
	require.Equal(t, "city", result.Rejected[0].Errors[0].Parameter)
	messages := server.Requests()[1].Messages
	require.Contains(t, messages[len(messages)-1].Content, "Paris")
}

// TestWhatWasMadeUpIsNotRequiredAnyMore: a server that binds the model to the schema could not
// leave it out.
func TestWhatWasMadeUpIsNotRequiredAnyMore(t *testing.T) {
	odd := `{"name":"sail","description":"User wants to sail","schema":[
		{"parameter":"to city","type":"string","required":true,"grounded":true},{"parameter":"day","type":"string","required":true,"grounded":true},
		{"parameter":"crew","type":"integer","required":true}]}`
	result, server := matchOne(t, matchertest.Request(t, "fly me and sail me out on monday", groundedTool, odd),
		llmtest.Calls([2]string{"fly", `{"city":"Paris"}`}, [2]string{"sail", `{"to_city":"Rome","day":"monday","crew":2}`}),
		llmtest.Calls([2]string{"fly", `{}`}, [2]string{"sail", `{"to_city":null,"day":"monday","crew":2}`}))
	require.Empty(t, result.Matches)
	require.Equal(t, []string{"city"}, result.Rejected[0].Missing)
	require.Equal(t, []string{"to city"}, result.Rejected[1].Missing, "null is no value")

	first, second := server.Requests()[0], server.Requests()[1]
	require.Contains(t, string(first.Tools[0].Parameters), `"required":["city"]`)
	require.NotContains(t, string(second.Tools[0].Parameters), "required")
	require.Contains(t, string(first.Tools[1].Parameters), `"required":["to_city","day","crew"]`)
	require.Contains(t, string(second.Tools[1].Parameters), `"required":["day","crew"]`)
	for i := range first.Tools {
		require.Equal(t, first.Tools[i].Name+first.Tools[i].Description, second.Tools[i].Name+second.Tools[i].Description)
	}
}

// TestNullIsNoValueOfWhatIsRequired: however the parameters were given.
func TestNullIsNoValueOfWhatIsRequired(t *testing.T) {
	for _, parameters := range []string{
		`"schema":[{"parameter":"day","type":"string","required":true}]`,
		`"parameters":[{"name":"day","type":"string","description":"d"}]`,
		`"parameters":{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`,
		`"parameters":{"type":"object","properties":{"day":{"type":"string","enum":["monday"]}},"required":["day"]}`,
	} {
		for _, arguments := range []string{`{"day":null}`, `{"day":"null"}`, `{}`} {
			result, _ := matchOne(t, matchertest.Request(t, "x", `{"name":"go","description":"d",`+parameters+`}`),
				llmtest.Call("go", arguments), llmtest.Call("go", arguments))
			require.Empty(t, result.Matches, parameters)
			require.Equal(t, []string{"day"}, result.Rejected[0].Missing, parameters+arguments)
		}
	}
}

func TestGroundedValueFires(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "book me a flight to PARIS", groundedTool), llmtest.Call("fly", `{"city":"Paris","class":"economy"}`))
	require.Equal(t, []string{`fly {"city":"Paris","class":"economy"}`}, matchertest.Fired(result), "a value that need not be grounded may come from anywhere")
}

func TestAChatWithAModelThatMakesUpToolsIsAskedOnceMore(t *testing.T) {
	taxi := llmtest.Calls([2]string{"order_taxi", `{}`}, [2]string{"call_cab", `{}`})
	for name, test := range map[string]struct {
		says, language string
		first, second  llmtest.Reply
		want           string
		fired          []string
	}{
		"it answers":        {"a taxi please", "", taxi, llmtest.Text("I cannot order one."), "I cannot order one.", nil},
		"it finds the tool": {"a taxi please", "", taxi, llmtest.Call("light_on", `{}`), "", []string{"light_on {}"}},
		"it goes on so":     {"a taxi please", "", taxi, llmtest.Call("taxi", `{}`), "Sorry, I could not do that: nothing was done.", nil},
		"it says nothing":   {"a taxi please", "de-AT", taxi, llmtest.Text(""), "Das konnte ich leider nicht tun: Es ist nichts geschehen.", nil},
		"it is away":        {"je voudrais un taxi, s'il vous plaît", "", taxi, llmtest.Status(503, nil, ""), "Désolé, je n'ai pas pu le faire : rien n'a été fait.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := llmtest.New(t)
			server.Queue(test.first, test.second)
			request := matchertest.Request(t, test.says, matchertest.LightTool)
			request.Chat, request.Language = true, test.language
			result, err := newLLM(server).Match(t.Context(), request)
			require.NoError(t, err)
			require.Equal(t, test.want, result.Text)
			require.Equal(t, test.fired, matchertest.Fired(result))
			require.Equal(t, 2, server.Count())
			require.Contains(t, server.Requests()[1].Last().Content, "There is no such tool. Do not call it.")
		})
	}
}
