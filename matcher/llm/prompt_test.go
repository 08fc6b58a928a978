package llm_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories/lists"
)

func asked(t *testing.T, request matcher.Request) llmtest.Request {
	t.Helper()
	_, server := matchOne(t, request, llmtest.Text("none"))
	return server.Requests()[0]
}

func roles(messages []llmtest.Message) []string {
	return lists.Map(messages, func(message llmtest.Message) string { return message.Role })
}

func TestRequestEndsWithTheClockAndThenTheMessageAlone(t *testing.T) {
	text := "  Book \"tomorrow\" <b>\n\tplease </b> "
	request := matchertest.Request(t, text, book)
	request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "hi"}, {Actor: matcher.ActorAgent, Text: "hello"}}
	messages := asked(t, request).Messages
	require.Equal(t, []string{"system", "user", "assistant", "system", "user"}, roles(messages))
	require.Equal(t, "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00).", messages[3].Content)
	require.Equal(t, text, messages[4].Content)
	require.NotContains(t, messages[0].Content, "2026")

	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	request.Now, request.Language = request.Now.In(berlin), "de-AT"
	messages = asked(t, request).Messages
	require.Equal(t, "Current date and time: Friday, 2026-11-20, 09:30 CET (UTC+01:00). The user's time zone: Europe/Berlin. The user's language: de-AT.", messages[3].Content)
	require.NotContains(t, messages[0].Content, "Berlin", "what changes from message to message stands after what does not")
}

func TestRequestOffersToolsByNameWithTheirSchemas(t *testing.T) {
	request := matchertest.Request(t, "x", light, cancel, book)
	slices.Reverse(request.Candidates)
	body := asked(t, request)
	require.Equal(t, []string{"book", "cancel-booking", "light_on"}, body.ToolNames())
	require.JSONEq(t, string(request.Candidates[2].Tool.Params().ModelSchema()), string(body.Tools[0].Parameters))
	require.NotContains(t, string(body.Body), "desk", "an ignored parameter is hidden")
	require.Empty(t, body.ToolChoice, "the model chooses by default")
	require.Nil(t, body.Parallel, "o1, o3, o3-mini and o4-mini refuse to be told the default")
	require.Equal(t, "test-model", body.Model)
	require.NotContains(t, string(body.Body), "temperature", "reasoning models refuse it")
}

func TestRequestDescribesToolsAsPeopleSeeThem(t *testing.T) {
	const hidden = "\u200b\u202e\U000e0069\U000e0067\U000e006e"
	for tool, want := range map[string]string{
		`{"name":"book","description":"Books","examples":["a table for [two](people)"],"schema":[{"parameter":"people","type":"integer"}]}`: "Books\nA user may say: \"a table for two\"",
		`{"name":"book","description":"Books","examples":["see me","` + strings.Repeat("long ", 100) + `","third","fourth"]}`: "Books\nA user may say: \"see me\", \"" +
			strings.Repeat("long ", 24) + "… (cut, 500 bytes in all)\", \"third\"",
		`{"name":"book","description":"Books` + hidden + ` a table","examples":["a table` + hidden + `"],"parameters":{"type":"object","properties":{
			"day":{"type":"string","description":"which` + hidden + ` day","enum":["mon` + hidden + `","tue"]}}}}`: "Books a table\nA user may say: \"a table\"",
	} {
		offered := asked(t, matchertest.Request(t, "x", tool)).Tools[0]
		require.Equal(t, want, offered.Description)
		if strings.Contains(tool, hidden) {
			require.JSONEq(t, `{"type":"object","properties":{"day":{"type":"string","description":"which day","enum":["mon","tue"]}}}`, string(offered.Parameters))
		}
	}
}

func TestFixedPartOfARequestIsShortAndEndsWithTheAppsOwn(t *testing.T) {
	request := among(t, "x")
	for _, chat := range []bool{false, true} {
		request.Chat, request.App.Settings.Prompt.Text = chat, ""
		body := asked(t, request)
		rules := body.Messages[0].Content
		fixed := rules + body.Messages[1].Content + body.Tools[0].Name + body.Tools[0].Description + string(body.Tools[0].Parameters)
		require.Less(t, len(fixed), 300*4, "300 tokens, of which one has about 4 characters")
		request.App.Settings.Prompt.Text = "We are a dental clinic."
		require.Equal(t, rules+"\n\nAbout this application:\nWe are a dental clinic.", asked(t, request).Messages[0].Content)
	}
}

func TestHistoryShowsEarlierCallsWithTheirResults(t *testing.T) {
	request := matchertest.Request(t, "and the light", book, light)
	request.History = []matcher.Utterance{
		{Actor: matcher.ActorUser, Text: "book monday", Fired: []matcher.PastCall{
			{TriggerID: "t1", Name: "book", Values: map[string]any{"day": "mon", "people": json.Number("9007199254740993"), "desk": "A"},
				Arguments: `{"day":"mon","desk":"A","people":9007199254740993}`, Result: json.RawMessage(`{"ok":true}`)},
			{TriggerID: "t2", Name: "light_on", Error: "HTTP 500"},
			{TriggerID: "t3", Name: "3-retired", Values: map[string]any{"pin": "1234"}, Arguments: `{"pin":"1234"}`},
			{TriggerID: "t4", Name: "book", Values: map[string]any{"day": "tue"}, Arguments: `{ "day": "tue" }`},
		}},
		{Actor: matcher.ActorAgent, Text: "Booked."},
	}
	body := asked(t, request)
	messages := body.Messages
	require.Equal(t, []string{"system", "user", "assistant", "tool", "tool", "tool", "tool", "assistant", "system", "user"}, roles(messages))
	made := messages[2].ToolCalls
	require.Equal(t, `{"day":"mon","people":9007199254740993}`, made[0].Function.Arguments, "without what is hidden")
	require.Equal(t, "_3-retired", made[2].Function.Name)
	require.Equal(t, "{}", made[2].Function.Arguments, "what a retired tool hid is not known any more")
	require.NotContains(t, string(body.Body), "1234")
	require.Equal(t, `{ "day": "tue" }`, made[3].Function.Arguments, "as it was written once")
	require.Equal(t, `{"ok":true}`, messages[3].Content)
	require.Equal(t, "The call failed: HTTP 500", messages[4].Content)
	require.Contains(t, messages[5].Content, "accepted")
	seen := map[string]bool{}
	for i, one := range made {
		require.Regexp(t, `^[A-Za-z0-9]{9}$`, one.ID, "Mistral takes no other")
		require.Equal(t, one.ID, messages[3+i].ToolCallID)
		seen[one.ID] = true
	}
	require.Len(t, seen, 4)
}

func TestHistoryKeepsLongTextsAndResultsShort(t *testing.T) {
	request := matchertest.Request(t, strings.Repeat("é", 20_000), book)
	request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: strings.Repeat("é", 100_000), Fired: []matcher.PastCall{
		{TriggerID: "t", Name: "book", Result: json.RawMessage(`"` + strings.Repeat("x", 60_000) + `"`)},
	}}}
	messages := asked(t, request).Messages
	require.Less(t, len(messages[1].Content), 9000)
	require.Contains(t, messages[1].Content, "é… (cut, 200000 bytes in all)")
	require.Less(t, len(messages[3].Content), 2200)
	require.Equal(t, request.Text, messages[len(messages)-1].Content, "the message itself is never cut")
}

// TestConsecutiveTurnsShareTheirPrefix follows a conversation over 120 messages and measures the cacheable prefix:
// all up to the clock.
func TestConsecutiveTurnsShareTheirPrefix(t *testing.T) {
	server := llmtest.New(t)
	server.Handle(func(llmtest.Request) llmtest.Reply { return llmtest.Text("none") })
	model := newLLM(server)
	var history []matcher.Utterance
	for i := range 60 {
		request := matchertest.Request(t, fmt.Sprintf("message %d", i), book, light)
		request.History = slices.Clone(history)
		request.Now = request.Now.Add(time.Duration(i) * time.Minute)
		_, err := model.Match(t.Context(), request)
		require.NoError(t, err)
		message := matcher.Utterance{Actor: matcher.ActorUser, Text: request.Text}
		if i%3 == 0 {
			message.Fired = []matcher.PastCall{{TriggerID: fmt.Sprint("t", i), Name: "book", Values: map[string]any{"day": "mon"}}}
		}
		history = append(history, message, matcher.Utterance{Actor: matcher.ActorAgent, Text: "Ok."})
	}
	requests, broken := server.Requests(), 0
	for i := 1; i < len(requests); i++ {
		cached, _, _ := strings.Cut(string(requests[i-1].Body), `,{"role":"system","content":"Current date`)
		if !strings.HasPrefix(string(requests[i].Body), cached) {
			broken++
		}
		require.Equal(t, requests[i-1].Tools, requests[i].Tools)
		texts := slices.DeleteFunc(roles(requests[i].Messages), func(role string) bool { return role == "tool" || role == "system" })
		require.LessOrEqual(t, len(texts), 1+40+14, "history, calls and message")
	}
	require.Equal(t, 8, broken, "80 messages over the limit of 40, cut in blocks of 10")
}

func TestHistoryStartMovesInBlocks(t *testing.T) {
	for _, c := range []struct{ total, limit, want int }{
		{0, 40, 0}, {40, 40, 0}, {41, 40, 10}, {50, 40, 10}, {51, 40, 20}, {1000, 40, 960},
		{1, 1, 0}, {5, 1, 4}, {3, 2, 1}, {7, 0, 7},
	} {
		require.Equal(t, c.want, matcher.HistoryStart(c.total, c.limit), "%+v", c)
	}
}

func TestNamesThatAProviderDoesNotTakeAreMappedBothWays(t *testing.T) {
	tool := `{"name":"4-lights","schema":[{"parameter":"Größe (cm)","type":"integer","required":true},{"parameter":"Größe [cm]","type":"integer"},{"parameter":"ok","type":"string"}]}`
	request := matchertest.Request(t, "x", tool, `{"name":"-dash"}`, `{"name":"_4-lights"}`)
	request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "before", Fired: []matcher.PastCall{
		{TriggerID: "t", Name: "4-lights", Values: map[string]any{"Größe (cm)": json.Number("7")}, Arguments: `{"Größe (cm)":7}`},
	}}}
	body := asked(t, request)
	wire, schema := "", ""
	for _, offered := range body.Tools {
		require.Regexp(t, `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, offered.Name)
		if strings.Contains(string(offered.Parameters), `"ok"`) {
			wire, schema = offered.Name, string(offered.Parameters)
		}
	}
	earlier := body.Messages[2].ToolCalls[0].Function
	require.Equal(t, wire, earlier.Name)
	require.NotEqual(t, "4-lights", wire)
	require.Regexp(t, `^\{"[A-Za-z0-9_.-]+":7\}$`, earlier.Arguments)

	alias := strings.Split(earlier.Arguments, `"`)[1]
	require.Contains(t, schema, `"required":["`+alias+`"]`)
	for _, call := range []struct{ name, arguments, fired string }{
		{wire, fmt.Sprintf(`{%q:8,"ok":"yes"}`, alias), `4-lights {"Größe (cm)":8,"ok":"yes"}`},
		{"4-lights", `{"Größe (cm)":9}`, `4-lights {"Größe (cm)":9}`}, // a model may use the true names anyway
	} {
		result, _ := matchOne(t, request, llmtest.Call(call.name, call.arguments))
		require.Equal(t, []string{call.fired}, matchertest.Fired(result))
	}
}

func TestReplyIsWrittenWithTheResultsAndWithoutTools(t *testing.T) {
	server := llmtest.New(t)
	request := talk(t, book)
	for given, want := range map[string]string{
		"<think>fine</think>You are booked.":                               "You are booked.",
		`<tool_call>{"name":"book","arguments":{"day":"tue"}}</tool_call>`: "",
	} {
		server.Queue(llmtest.Text(given))
		text, err := newLLM(server).Reply(t.Context(), request, []matcher.PastCall{
			{TriggerID: "t1", Name: "book", Values: map[string]any{"day": "mon"}, Result: json.RawMessage(`{"room":5}`)},
		})
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
	body := server.Requests()[0]
	require.Equal(t, []string{"system", "system", "user", "assistant", "tool"}, roles(body.Messages))
	require.Equal(t, `{"room":5}`, body.Last().Content)
	require.Equal(t, body.Messages[3].ToolCalls[0].ID, body.Last().ToolCallID)
	require.Empty(t, body.Tools)

	server.Queue(llmtest.Status(503, nil, ""))
	_, err := newLLM(server).Reply(t.Context(), request, nil)
	var unavailable *matcher.Unavailable
	require.ErrorAs(t, err, &unavailable)
}
