package llm_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/secret"
)

func llmOptions(server *llmtest.Server) llm.Options {
	return llm.Options{BaseURL: server.URL(), Key: secret.New(matchertest.Key), Model: "test-model"}
}

func newLLM(server *llmtest.Server) *llm.LLM { return llm.New(llmOptions(server)) }

// matchOne matches one message against scripted replies.
func matchOne(t *testing.T, request matcher.Request, replies ...llmtest.Reply) (matcher.Result, *llmtest.Server) {
	t.Helper()
	server := llmtest.New(t)
	server.Queue(replies...)
	result, err := newLLM(server).Match(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, len(replies), server.Count(), "requests")
	return result, server
}

// talk returns a message in a chat.
func talk(t *testing.T, tools ...string) matcher.Request {
	request := matchertest.Request(t, "x", tools...)
	request.Chat = true
	return request
}

var (
	book, cancel, light = matchertest.BookTool, matchertest.CancelTool, matchertest.LightTool
	call, calls         = llmtest.Call, llmtest.Calls
)

const (
	onMonday  = `book {"day":"mon","desk":"A"}`
	onTuesday = `book {"day":"tue","desk":"A"}`
)

func TestMatchFiresWhatTheModelCalls(t *testing.T) {
	for rule, test := range map[string]struct {
		tools   []string
		replies []llmtest.Reply
		fired   []string
		missing []string // of rejected calls
	}{
		"a call with its values": {[]string{book, light}, []llmtest.Reply{call("book", `{"day":"2026-11-21","people":9007199254740993}`)},
			[]string{`book {"day":"2026-11-21","desk":"A","people":9007199254740993}`}, nil},
		"several calls in their order": {[]string{book, cancel, light}, []llmtest.Reply{calls(
			[2]string{"light_on", `{}`}, [2]string{"book", `{"day":"mon"}`}, [2]string{"cancel-booking", `{"day":"tue"}`}, [2]string{"book", `{"day":"tue"}`})},
			[]string{`light_on {}`, onMonday, `cancel-booking {"day":"tue"}`, onTuesday}, nil},
		"calls with the same values once": {[]string{book}, []llmtest.Reply{calls([2]string{"book", `{"day":"mon"}`}, [2]string{"book", `{ "day": "mon" }`})},
			[]string{onMonday}, nil},
		"a number written twice once": {[]string{`{"name":"pay","schema":[{"parameter":"euros","type":"number"},{"parameter":"to","type":"map","valueType":"float"}]}`},
			[]llmtest.Reply{calls([2]string{"pay", `{"euros":50,"to":{"a":1}}`}, [2]string{"pay", `{"euros":"50.0","to":{"a":1.0}}`}, [2]string{"pay", `{"euros":5e1,"to":{"a":2}}`})},
			[]string{`pay {"euros":50,"to":{"a":1}}`, `pay {"euros":5e1,"to":{"a":2}}`}, nil},
		"neither a tool out of scope nor an unknown or hidden argument": {[]string{book}, []llmtest.Reply{calls(
			[2]string{"someone-elses-tool", `{"day":"mon"}`}, [2]string{"book", `{"day":"mon","admin":true,"desk":"Z"}`})},
			[]string{onMonday}, nil},
		"parameters by other spellings, but not of two that differ so": {[]string{
			`{"name":"move","schema":[{"parameter":"new_day","type":"string","required":true},{"parameter":"a","type":"string"},{"parameter":"A","type":"string"}]}`,
		}, []llmtest.Reply{call("move", `{"newDay":"mon","A":"upper"}`)}, []string{`move {"A":"upper","new_day":"mon"}`}, nil},
		"a value under its own name before one under another": {[]string{cancel}, []llmtest.Reply{call("cancel-booking", `{"Day":"wrong","day":"right"}`)},
			[]string{`cancel-booking {"day":"right"}`}, nil},
		"calls, and no text that looks like one": {[]string{book, light}, []llmtest.Reply{llmtest.Answer(map[string]any{
			"content":    `{"name":"book","arguments":{"day":"mon"}}`,
			"tool_calls": []any{map[string]any{"id": "a", "function": map[string]any{"name": "light_on", "arguments": "{}"}}},
		}, "tool_calls")}, []string{"light_on {}"}, nil},
		"no call that is only considered": {[]string{light},
			[]llmtest.Reply{llmtest.Text(`<think>maybe <tool_call>{"name":"light_on","arguments":{}}</tool_call></think>none`)}, nil, nil},

		"what is still faulty in the second answer is rejected": {[]string{book},
			[]llmtest.Reply{call("book", `{"people":"two"}`), call("book", `{"people":2}`)}, nil, []string{"day"}},
		"unreadable twice": {[]string{book}, []llmtest.Reply{call("book", `{"day":"mo`), call("book", `{"day":"mo`)}, nil, []string{"day"}},
		"the second answer only replaces faulty calls": {[]string{book, cancel, light}, []llmtest.Reply{
			calls([2]string{"book", `{"day":"mon"}`}, [2]string{"book", `{"people":3}`}),
			calls(
				[2]string{"light_on", `{}`},                     // not requested
				[2]string{"book", `{"day":"mon"}`},              // already accepted
				[2]string{"book", `{"day":"tue"}`},              // the one that counts
				[2]string{"cancel-booking", `{"day":"friday"}`}, // not requested
			),
		}, []string{onMonday, onTuesday}, nil},
		"faulty calls of one tool are replaced in order": {[]string{book}, []llmtest.Reply{
			calls([2]string{"book", `{"people":1}`}, [2]string{"book", `{"people":2}`}),
			calls([2]string{"book", `{"day":"mon"}`}, [2]string{"book", `{"people":2}`}),
		}, []string{onMonday}, []string{"day"}},
		"a call that is made twice replaces one": {[]string{book}, []llmtest.Reply{
			calls([2]string{"book", `{"people":1}`}, [2]string{"book", `{"people":2}`}),
			calls([2]string{"book", `{"day":"mon"}`}, [2]string{"book", `{"day":"mon"}`}),
		}, []string{onMonday}, []string{"day"}},
		"a second request that fails loses no sound call": {[]string{book, light}, []llmtest.Reply{
			calls([2]string{"light_on", `{}`}, [2]string{"book", `{}`}), llmtest.Status(http.StatusInternalServerError, nil, "boom"),
		}, []string{"light_on {}"}, []string{"day"}},
		"what the model cannot cure is rejected at once": {[]string{accountTool},
			[]llmtest.Reply{call("account", `{"day":"mon","owner":"eve"}`)}, nil, []string{"owner"}},
	} {
		t.Run(rule, func(t *testing.T) {
			result, _ := matchOne(t, matchertest.Request(t, "x", test.tools...), test.replies...)
			require.Equal(t, matcher.StageLLM, result.Stage)
			require.Equal(t, test.fired, matchertest.Fired(result))
			require.Equal(t, test.missing != nil, len(result.Rejected) > 0)
			for _, rejected := range result.Rejected {
				require.Len(t, result.Rejected, 1)
				require.Equal(t, test.missing, rejected.Missing)
			}
		})
	}
}

func TestMatchSaysWhatWasRepairedAndCoerced(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "x", book), call("book", `{'day':'2026-11-21','people':'2',}`))
	require.True(t, result.Matches[0].Repaired)
	require.Equal(t, []string{"people"}, result.Matches[0].Coerced)
	require.Equal(t, "r1", result.Matches[0].Repository.ID)
	result, _ = matchOne(t, matchertest.Request(t, "x", cancel), call("cancel-booking", `{"Day":"mon"}`))
	require.False(t, result.Matches[0].Repaired)
	require.Equal(t, []string{"day"}, result.Matches[0].Coerced)
}

// TestUnreadableArgumentsAreNamed: the model is told the flaw alone, people also the tool, the arguments and what helps.
func TestUnreadableArgumentsAreNamed(t *testing.T) {
	result, server := matchOne(t, matchertest.Request(t, "x", book), call("book", `{"day":"mon",`), call("book", `{"day":"mon",`))
	const flaw = "the arguments are not a JSON object: the text ends before the value does"
	require.Equal(t, `the model called book with {"day":"mon",, and `+flaw+`; send the words again, or name another model in settings.llm.tools`,
		result.Rejected[0].Errors[0].Detail)
	require.Contains(t, server.Requests()[1].Last().Content, "Not accepted: "+flaw+"; day: is required.")
}

func TestMatchFindsToolsByOtherSpellings(t *testing.T) {
	for _, named := range []string{
		"cancel-booking", "Cancel-Booking", "CANCEL_BOOKING", "cancel_booking", "cancelBooking", "cancel booking",
		"functions.cancel-booking", "default_api:cancel_booking", "default_api.cancel-booking", "tools/Cancel-Booking", " cancel-booking ",
	} {
		result, _ := matchOne(t, matchertest.Request(t, "x", book, cancel), call(named, `{"day":"mon"}`))
		require.Equal(t, []string{`cancel-booking {"day":"mon"}`}, matchertest.Fired(result), named)
	}
	alike := []string{`{"name":"turn-on"}`, `{"name":"turn_on"}`, `{"name":"Go"}`, `{"name":"go"}`}
	for named, want := range map[string][]string{
		"turn-on": {"turn-on {}"}, "turn_on": {"turn_on {}"}, "TURN_ON": {"turn_on {}"}, "turnOn": nil, "go": {"go {}"}, "functions.Go": {"Go {}"}, "GO": nil,
	} {
		result, _ := matchOne(t, matchertest.Request(t, "x", alike...), calls([2]string{named, "{}"}, [2]string{"none-such", "{}"}))
		require.Equal(t, want, matchertest.Fired(result), "%s: what two tools could mean is neither", named)
	}
}

func TestMatchAsksNothingIfThereIsNothingToAsk(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "hello"))
	require.Equal(t, matcher.Result{Stage: matcher.StageNone}, result)
}

func TestMatchTakesTheReplyFromTheSameRequest(t *testing.T) {
	request := talk(t)
	result, server := matchOne(t, request, llmtest.Text("Hi there."))
	require.Equal(t, matcher.Result{Stage: matcher.StageNone, Text: "Hi there."}, result)
	require.Empty(t, server.Requests()[0].Tools)
	for given, want := range map[string]string{
		"Fine.":                                                "Fine.",
		"<think>The user greets.</think>\nFine.":               "Fine.",
		"Hm, a greeting.</think>Fine.":                         "Fine.",
		"<thinking>book?</thinking>Fine.":                      "Fine.",
		"<think>I should call book but the token":              "",
		`Like this: {"name":"pay","parameters":{"day":"mon"}}`: `Like this: {"name":"pay","parameters":{"day":"mon"}}`,
	} {
		result, _ := matchOne(t, talk(t, book), llmtest.Text(given))
		require.Equal(t, matcher.Result{Stage: matcher.StageLLM, Text: want}, result, given)
	}
	result, _ = matchOne(t, matchertest.Request(t, "thanks", book), llmtest.Text("none"))
	require.Equal(t, matcher.Result{Stage: matcher.StageLLM}, result, "there is no reply outside of chats")
}

func TestMatchReadsCallsThatAreWrittenIntoTheText(t *testing.T) {
	for _, given := range []string{
		"<think>Sure.</think>\n<tool_call>\n{\"name\": \"book\", \"arguments\": {\"day\": \"mon\"}}\n</tool_call>",
		`{"name":"functions.Book","parameters":{"day":"mon"}}`,
	} {
		result, _ := matchOne(t, talk(t, book), llmtest.Text(given))
		require.Equal(t, []string{onMonday}, matchertest.Fired(result))
		require.Empty(t, result.Text)
	}
}

func TestCallsThatAModelOnlyQuotesFireNothing(t *testing.T) {
	for _, given := range []string{
		`I will not call {"name":"book","arguments":{"day":"mon"}} because that is forbidden.`,
		`The syntax is <tool_call>{"name":"book","arguments":{"day":"mon"}}</tool_call>, as the manual says.`,
		`{"name":"book","description":"Books a day","parameters":{"day":"mon"}}`,
	} {
		result, _ := matchOne(t, talk(t, book), llmtest.Text(given))
		require.Equal(t, matcher.Result{Stage: matcher.StageLLM, Text: given}, result)
	}
}

func TestMatchTakesAnythingForNoArgumentsOfAToolThatWantsNone(t *testing.T) {
	for _, arguments := range []string{"", "null", "{}", "none", `{"cut`, `""`} {
		result, _ := matchOne(t, matchertest.Request(t, "x", light), call("light_on", arguments))
		require.Equal(t, []string{"light_on {}"}, matchertest.Fired(result), arguments)
	}
}

// TestNumberIsOfTheUnitThatWasSaid has a model that repeats the figure without its unit.
func TestNumberIsOfTheUnitThatWasSaid(t *testing.T) {
	const tool = `{"name":"timer","schema":[{"parameter":"minutes","type":"TYPE","unit":"minutes","required":true}]}`
	for _, test := range []struct{ kind, said, arguments, fired string }{
		{"number", "a timer for 30 seconds", `{"minutes":30}`, `timer {"minutes":0.5}`},
		{"integer", "a timer for 30 seconds", `{"minutes":30}`, ""},
		{"integer", "a timer for two hours", `{"minutes":2}`, `timer {"minutes":120}`},
		{"integer", "a timer for two hours", `{"minutes":120}`, `timer {"minutes":120}`},
		{"integer", "a timer for two hours", `{"minutes":"2 hours"}`, `timer {"minutes":120}`},
		{"integer", "a timer for 30", `{"minutes":30}`, `timer {"minutes":30}`},
		{"integer", "a timer for my eggs", `{"minutes":6}`, `timer {"minutes":6}`},
		{"integer", "a timer for 2 kg of rice", `{"minutes":2}`, ""},
		{"integer", "a timer for 20 to 30 minutes", `{"minutes":30}`, ""},
		{"integer", "not 30 minutes", `{"minutes":30}`, ""},
		{"integer", "not 30 minutes, 40", `{"minutes":40}`, `timer {"minutes":40}`},
	} {
		request := matchertest.Request(t, test.said, strings.ReplaceAll(tool, "TYPE", test.kind))
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "hello"}}
		answers := []llmtest.Reply{call("timer", test.arguments)}
		if test.fired == "" { // it is sent back once
			answers = append(answers, answers[0])
		}
		result, _ := matchOne(t, request, answers...)
		require.Equal(t, test.fired, strings.Join(matchertest.Fired(result), ""), test.said)
		require.Equal(t, test.fired == "", len(result.Rejected) == 1, test.said)
	}
}

func TestModelsValuesAreLaidOverWhatIsKnown(t *testing.T) {
	for _, test := range []struct{ rule, said, arguments, fired string }{
		{"what was missing completes the call", "on monday", `{"day":"monday"}`, `book {"day":"monday","desk":"A","people":3}`},
		{"a correction replaces", "on monday", `{"day":"monday","people":4}`, `book {"day":"monday","desk":"A","people":4}`},
		{"null for what was not said again is nothing", "on monday", `{"day":"monday","people":null}`, `book {"day":"monday","desk":"A","people":3}`},
		{"null takes back what is denied", "on monday, but not for all of us", `{"day":"monday","people":null}`, `book {"day":"monday","desk":"A"}`},
	} {
		result, server := matchOne(t, matchertest.GoingOn(t, test.said), call("book", test.arguments))
		require.Equal(t, []string{test.fired}, matchertest.Fired(result), test.rule)
		messages := server.Requests()[0].Messages
		require.Contains(t, messages[len(messages)-2].Content, `book with {"desk":"A","people":3}; still missing: day`)
		require.Equal(t, test.said, messages[len(messages)-1].Content)
	}
}

func TestFaultyCallGoesBackOnceWithItsFaults(t *testing.T) {
	result, server := matchOne(t, matchertest.Request(t, "book", book, light),
		calls([2]string{"book", `{"people":"two"}`}, [2]string{"light_on", ""}, [2]string{"nope", "{}"}), call("book", `{"day":"mon","people":2}`))
	require.Equal(t, []string{`book {"day":"mon","desk":"A","people":2}`, "light_on {}"}, matchertest.Fired(result), "in the order of the first answer")
	require.Empty(t, result.Rejected)

	first, second := server.Requests()[0], server.Requests()[1]
	require.Equal(t, first.Tools, second.Tools)
	require.Equal(t, first.Messages, second.Messages[:len(first.Messages)])
	added := second.Messages[len(first.Messages):]
	require.Equal(t, []string{"assistant", "tool", "tool", "tool"}, roles(added))
	require.Len(t, added[0].ToolCalls, 3)
	require.Equal(t, `{"people":"two"}`, added[0].ToolCalls[0].Function.Arguments, "as it came")
	for i, message := range added[1:] {
		require.Equal(t, added[0].ToolCalls[i].ID, message.ToolCallID)
	}
	require.Contains(t, added[1].Content, "day:")
	require.Contains(t, added[1].Content, "people:")
	require.Contains(t, added[2].Content, "Accepted")
	require.Contains(t, added[3].Content, "no such tool")
}

func TestRejectedCallHasItsFaultsAndSoundValues(t *testing.T) {
	result, _ := matchOne(t, matchertest.Request(t, "book", book), call("book", `{"people":"two"}`), call("book", `{"people":2}`))
	rejected := result.Rejected[0]
	require.Equal(t, "book", rejected.Tool.Name)
	require.Len(t, rejected.Errors, 1)
	require.Equal(t, "day", rejected.Errors[0].Parameter)
	require.Contains(t, rejected.Values, "people")

	result, _ = matchOne(t, matchertest.Request(t, "x", book), call("book", `{"day":"mo`), call("book", `{"day":"mo`))
	require.Empty(t, result.Rejected[0].Errors[0].Parameter, "the arguments as a whole")

	result, _ = matchOne(t, talk(t, book), call("book", `{}`), llmtest.Text("For which day?"))
	require.Equal(t, []string{"day"}, result.Rejected[0].Missing)
	require.Equal(t, "For which day?", result.Text, "what the model asks in its place")
}

func TestUnreadableArgumentsGoBackInAFormThatServersCanParse(t *testing.T) {
	for _, arguments := range []string{`{"day":"mo`, `{"day":"mon"}{"day":"tue"}`, `[1,2]`, `{"day":"mon","day":"tue"}`, `day=mon`} {
		result, server := matchOne(t, matchertest.Request(t, "x", book), call("book", arguments), call("book", `{"day":"mon"}`))
		require.Equal(t, []string{onMonday}, matchertest.Fired(result), arguments)
		require.Contains(t, server.Requests()[1].Last().Content, "Not accepted")
		messages := server.Requests()[1].Messages
		sent := messages[len(messages)-2].ToolCalls[0].Function.Arguments
		require.Equal(t, arguments != `[1,2]`, strings.HasPrefix(sent, `{"unreadable":"`), sent)
	}
}

func TestCallerWhoLeavesDuringTheSecondRequestGetsNoDecision(t *testing.T) {
	server := llmtest.New(t)
	ctx, leave := context.WithCancel(t.Context())
	server.Handle(func(request llmtest.Request) llmtest.Reply {
		if request.Last().Role == "user" {
			return calls([2]string{"light_on", `{}`}, [2]string{"book", `{}`})
		}
		leave()
		return llmtest.Hang()
	})
	_, err := newLLM(server).Match(ctx, matchertest.Request(t, "x", book, light))
	require.ErrorIs(t, err, context.Canceled)
	var unavailable *matcher.Unavailable
	require.NotErrorAs(t, err, &unavailable)
}

func TestMissingAndDoubledIDsAreMade(t *testing.T) {
	made := func(id any, day string) any {
		return map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "book", "arguments": day}}
	}
	_, server := matchOne(t, matchertest.Request(t, "x", book), llmtest.Answer(map[string]any{"tool_calls": []any{
		made("same", `{"people":1}`), made("same", `{"people":2}`), made(nil, `{"people":3}`), made(7, `{"people":4}`),
	}}, "tool_calls"), llmtest.Text("none"))
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

const (
	accountTool = `{"name":"account","schema":[
		{"parameter":"owner","type":"string","required":true,"authServices":[{"name":"google","field":"sub"}]},
		{"parameter":"day","type":"string","required":true}]}`
	groundedTool = `{"name":"fly","description":"User wants to fly","schema":[
		{"parameter":"city","type":"string","required":true,"grounded":true},{"parameter":"class","type":"string"}]}`
)

func TestModelIsToldOfFaultsThatItCanCure(t *testing.T) {
	_, server := matchOne(t, matchertest.Request(t, "x", accountTool), call("account", `{}`), call("account", `{"day":"mon"}`))
	require.NotContains(t, string(server.Requests()[1].Body), "owner")
	require.Contains(t, server.Requests()[1].Last().Content, "day: is required")

	result, server := matchOne(t, matchertest.Request(t, "book me a flight", groundedTool), call("fly", `{"city":"Paris"}`), call("fly", `{"city":"Paris"}`))
	require.Equal(t, "city", result.Rejected[0].Errors[0].Parameter)
	require.Contains(t, server.Requests()[1].Last().Content, "Paris")
	result, _ = matchOne(t, matchertest.Request(t, "book me a flight to PARIS", groundedTool), call("fly", `{"city":"Paris","class":"economy"}`))
	require.Equal(t, []string{`fly {"city":"Paris","class":"economy"}`}, matchertest.Fired(result), "a value that need not be grounded may come from anywhere")
}

// A server that binds the model to the schema could not leave a required value out.
func TestWhatWasMadeUpIsNotRequiredAnyMore(t *testing.T) {
	odd := `{"name":"sail","description":"User wants to sail","schema":[
		{"parameter":"to city","type":"string","required":true,"grounded":true},{"parameter":"day","type":"string","required":true,"grounded":true},
		{"parameter":"crew","type":"integer","required":true}]}`
	result, server := matchOne(t, matchertest.Request(t, "fly me and sail me out on monday", groundedTool, odd),
		calls([2]string{"fly", `{"city":"Paris"}`}, [2]string{"sail", `{"to_city":"Rome","day":"monday","crew":2}`}),
		calls([2]string{"fly", `{}`}, [2]string{"sail", `{"to_city":null,"day":"monday","crew":2}`}))
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

// TestNullIsNoValueOfWhatIsRequired covers all forms of parameters.
func TestNullIsNoValueOfWhatIsRequired(t *testing.T) {
	for _, parameters := range []string{
		`"schema":[{"parameter":"day","type":"string","required":true}]`,
		`"parameters":[{"name":"day","type":"string","description":"d"}]`,
		`"parameters":{"type":"object","properties":{"day":{"type":"string"}},"required":["day"]}`,
		`"parameters":{"type":"object","properties":{"day":{"type":"string","enum":["monday"]}},"required":["day"]}`,
	} {
		for _, arguments := range []string{`{"day":null}`, `{"day":"null"}`, `{}`} {
			result, _ := matchOne(t, matchertest.Request(t, "x", `{"name":"go","description":"d",`+parameters+`}`), call("go", arguments), call("go", arguments))
			require.Empty(t, result.Matches, parameters)
			require.Equal(t, []string{"day"}, result.Rejected[0].Missing, parameters+arguments)
		}
	}
}

func TestAChatWithAModelThatMakesUpToolsIsAskedOnceMore(t *testing.T) {
	taxi := calls([2]string{"order_taxi", `{}`}, [2]string{"call_cab", `{}`})
	for name, test := range map[string]struct {
		text, language string
		second         llmtest.Reply
		want           string
		fired          []string
	}{
		"it answers":        {"a taxi please", "", llmtest.Text("I cannot order one."), "I cannot order one.", nil},
		"it finds the tool": {"a taxi please", "", call("light_on", `{}`), "", []string{"light_on {}"}},
		"it goes on so":     {"a taxi please", "", call("taxi", `{}`), "Sorry, I could not do that: nothing was done.", nil},
		"it says nothing":   {"a taxi please", "de-AT", llmtest.Text(""), "Das konnte ich leider nicht tun: Es ist nichts geschehen.", nil},
		"it is away": {"je voudrais un taxi, s'il vous plaît", "", llmtest.Status(503, nil, ""),
			"Désolé, je n'ai pas pu le faire : rien n'a été fait.", nil},
	} {
		t.Run(name, func(t *testing.T) {
			request := talk(t, light)
			request.Text, request.Language = test.text, test.language
			result, server := matchOne(t, request, taxi, test.second)
			require.Equal(t, test.want, result.Text)
			require.Equal(t, test.fired, matchertest.Fired(result))
			require.Contains(t, server.Requests()[1].Last().Content, "There is no such tool. Do not call it.")
		})
	}
}
