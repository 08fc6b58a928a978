package matcher_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llmtest"
	"earshot/repositories"
)

// goingOn is a message that follows a booking for three which lacks its day.
func goingOn(t *testing.T, text string) matcher.Request {
	request := llmRequest(t, text, bookTool, lightTool)
	request.Unfinished = []matcher.Unfinished{{
		Candidate: request.Candidates[0], Missing: []string{"day"},
		Values: map[string]any{"people": json.Number("3"), "desk": "A"},
	}}
	return request
}

func TestModelsValuesAreLaidOverWhatIsKnown(t *testing.T) {
	for _, test := range []struct{ rule, arguments, fired string }{
		{"what was missing completes the call", `{"day":"monday"}`, `book {"day":"monday","desk":"A","people":3}`},
		{"a correction replaces", `{"day":"monday","people":4}`, `book {"day":"monday","desk":"A","people":4}`},
		{"null takes nothing away", `{"day":"monday","people":null}`, `book {"day":"monday","desk":"A","people":3}`},
	} {
		result, _ := matchOne(t, goingOn(t, "on monday"), llmtest.Call("book", test.arguments))
		require.Equal(t, []string{test.fired}, fired(result), test.rule)
	}
}

func TestModelIsToldWhatIsUnfinished(t *testing.T) {
	_, server := matchOne(t, goingOn(t, "on monday"), llmtest.Text("none"))
	messages := server.Requests()[0].Messages
	late := messages[len(messages)-2]
	require.Equal(t, "system", late.Role)
	require.Contains(t, late.Content, `book with {"desk":"A","people":3}; still missing: day`)
	require.Equal(t, "on monday", messages[len(messages)-1].Content)
}

func TestDroppedCallIsNotCompleted(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("book", `{"people":2}`), llmtest.Text("none"))
	result, err := matcher.New(llmOptions(server)).Match(t.Context(), goingOn(t, "never mind"))
	require.NoError(t, err)
	require.Empty(t, result.Matches)
	require.NotContains(t, server.Requests()[0].Messages[1].Content, "still missing")
}

func TestOfflineMatcherGoesOnWithAnUnfinishedCall(t *testing.T) {
	const tool = `{"name":"request-for-appointment","description":"User needs an appointment","schema":[
		{"parameter":"desk","type":"string","description":"desk of the appointment","allowedValues":["A","B","C"],"required":true}]}`
	const lunch = `{"name":"order-lunch","description":"Order a lunch","schema":[{"parameter":"dish","type":"string","description":"what to eat","required":true}]}`
	for _, test := range []struct {
		tool, text, fired string
	}{
		{tool, "at desk B please", `request-for-appointment {"desk":"B"}`},
		{tool, "desk C", `request-for-appointment {"desk":"C"}`},
		{tool, "what a nice day it is", ""},
		{tool, "thanks", ""},
		{tool, "no, desk B is too loud", ""},
		{lunch, "spaghetti carbonara", `order-lunch {"dish":"spaghetti carbonara"}`},
		{lunch, "thanks", ""},
		{lunch, "ok", ""},
		{lunch, "how long does it take?", ""},
		{lunch, "I will have to think about that for a while", ""},
	} {
		candidates := inScope(t, repositories.Scope{AppID: "clinic"}, "r", test.tool)
		names := candidates[0].Tool.Params().Names()
		result, err := matcher.NewOffline().Match(t.Context(), matcher.Request{
			Text: test.text, Candidates: candidates, Now: offlineNow,
			Unfinished: []matcher.Unfinished{{Candidate: candidates[0], Missing: names}},
		})
		require.NoError(t, err)
		if test.fired == "" {
			require.Empty(t, result.Matches, test.text)
			continue
		}
		require.Equal(t, []string{test.fired}, fired(result), test.text)
	}
}

func TestAbandons(t *testing.T) {
	for text, abandons := range map[string]bool{
		"never mind": true, "Never mind!": true, "ok, forget it": true, "cancel": true, "Cancel that, please": true,
		"vergiss es": true, "laisse tomber": true, "olvídalo": true, "no thanks": true,
		"": false, "on monday": false, "I never mind the rain": false, "the cancel button does not work on my phone today": false,
		"no": false,
	} {
		require.Equal(t, abandons, matcher.Abandons(text), text)
	}
}
