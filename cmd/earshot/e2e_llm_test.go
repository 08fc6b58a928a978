package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher/llm/llmtest"
)

// problem is an error as clients see it (RFC 9457).
type problem struct {
	Type, Title, Detail, MessageID string
	Status                         int
}

// history is a session's conversation as the program shows it.
type history struct {
	Items []struct {
		MessageID, Text, State, Error string
		Triggers                      []match
	}
}

func TestMessageThatTheLLMDoesNotDecideIsKeptAndTriedAgain(t *testing.T) {
	t.Parallel()
	w := serving(t, 1, "--llm-timeout", "300ms")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}]}]}`)
	const text = `call book {"day":"monday"}`
	for session, test := range map[string]struct {
		reply      llmtest.Reply
		status     int
		says       string
		retryAfter string
	}{
		"status-500":  {llmtest.Status(500, nil, `{"error":{"message":"out of order"}}`), 502, "out of order", ""},
		"status-401":  {llmtest.Status(401, nil, `{"error":{"message":"no such key"}}`), 502, "check the API key", ""},
		"status-429":  {llmtest.Status(429, http.Header{"Retry-After": {"7"}}, "slow down"), 503, "429", "7"},
		"busy":        {llmtest.Status(503, http.Header{"Retry-After": {"30"}}, ""), 503, "503", "30"},
		"html":        {llmtest.Raw("<html><body>Welcome to the proxy</body></html>"), 502, "HTML", ""},
		"html-404":    {llmtest.Status(404, nil, "<h1>not here</h1>"), 502, "404", ""},
		"no-choices":  {llmtest.Raw(`{"choices":[]}`), 502, "no choices", ""},
		"half-a-json": {llmtest.Raw(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"bo`), 502, "only a part", ""},
		"cut-short": {llmtest.Answer(map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
			"function": map[string]string{"name": "book", "arguments": `{"day":"monday"}`}}}}, "length"), 502, "cut short", ""},
		"nothing": {llmtest.Hang(), 502, "no answer within 300ms", ""},
	} {
		t.Run(session, func(t *testing.T) {
			w.llm.Queue(test.reply)
			got := w.call(test.status, "POST", messages(session), message("m1", text))
			require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
			require.Equal(t, test.retryAfter, got.Header.Get("Retry-After"))
			told := read[problem](t, got)
			require.Equal(t, test.status, told.Status)
			require.Contains(t, told.Detail, test.says)
			require.Equal(t, "m1", told.MessageID)

			kept := read[history](t, w.call(200, "GET", messages(session), "")).Items
			require.Len(t, kept, 1)
			require.Equal(t, []string{"m1", text, "failed"}, []string{kept[0].MessageID, kept[0].Text, kept[0].State})
			require.Contains(t, kept[0].Error, test.says)
			require.Empty(t, w.events("tool.*.clinic."+session+".>"), "nothing fires")
			require.Empty(t, w.events("tool.notmatching.clinic."+session), "nothing is decided")

			asked := w.llm.Count()
			require.Len(t, w.say(session, "m1", text).Matches, 1, "the model is well again")
			require.Equal(t, asked+1, w.llm.Count())
			kept = read[history](t, w.call(200, "GET", messages(session), "")).Items
			require.Len(t, kept, 1, "it is one message however often it was sent")
			require.Equal(t, "decided", kept[0].State)
			require.Equal(t, "book", kept[0].Triggers[0].Name)
			require.Len(t, w.events("tool.trigger.clinic."+session+".book"), 1)
		})
	}
}

func TestModelIsAskedOnceMoreAboutFaultsAndThenTheMatchIsRejected(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[
		{"parameter":"people","type":"integer","required":true,"minValue":1},{"parameter":"desk","type":"string","value":"A","ignore":true}]}]}`)
	w.llm.Queue(llmtest.Call("book", `{"people":"many"}`), llmtest.Call("book", `{"people":"2","desk":"B"}`))
	got := w.say("s1", "m1", "a table please")
	require.Equal(t, map[string]any{"people": 2.0, "desk": "A"}, got.Matches[0].Values)
	require.NotContains(t, string(w.llm.Requests()[0].Tools[0].Parameters), "desk", "what is ignored is hidden from the model")
	require.Equal(t, 2, w.llm.Count())

	w.llm.Queue(llmtest.Call("book", `{}`), llmtest.Call("book", `{"people":0}`))
	got = w.say("s1", "m2", "a table please")
	require.Empty(t, got.Matches)
	require.Len(t, got.Rejected, 1)
	require.Equal(t, 4, w.llm.Count())
	rejected := w.events("tool.rejected.clinic.s1.book")
	require.Len(t, rejected, 1)
	require.Equal(t, "people", rejected[0].Payload["errors"].([]any)[0].(map[string]any)["parameter"])
	require.Len(t, w.events("tool.trigger.>"), 1)
}

func TestMessageThatCallsForNothingTellsWhatWasInScope(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.say("s1", "m0", "hello")
	require.Zero(t, w.llm.Count(), "with nothing in scope nobody is asked")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.say("s1", "m1", "hello")
	unmatched := w.events("tool.notmatching.clinic.s1")
	require.Len(t, unmatched, 1)
	require.Equal(t, []any{"desk"}, unmatched[0].Payload["repositories"])
	require.Equal(t, []any{"book"}, unmatched[0].Payload["tools"])

	w.put("/v1/apps/clinic/repositories/rest", `{"tools":[{"name":"collect-user-message"}]}`)
	got := w.say("s1", "m2", "hello again")
	require.Equal(t, "collect-user-message", got.Matches[0].Name)
	require.Equal(t, map[string]any{"value": "hello again"}, got.Matches[0].Values)
}

func TestModelSeesEarlierTriggersAndTheirResults(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 1), newSink(t)
	w.put("/v1/apps/clinic", `{"settings":{"chatModeEnabled":true,"prompt":{"text":"You speak for a clinic."}}}`)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","url":"`+sink.URL+`","schema":[{"parameter":"day","type":"string"}]}]}`)
	w.llm.Queue(llmtest.Call("book", `{"day":"monday"}`), llmtest.Text("It is booked."))
	require.Equal(t, "It is booked.", w.say("s1", "m1", "monday please").Reply)
	reply := w.llm.Requests()[1]
	require.Empty(t, reply.Tools, "the reply sets nothing off")
	require.Equal(t, "tool", reply.Last().Role)
	require.JSONEq(t, `{"ok":true}`, reply.Last().Content)

	w.call(200, "POST", messages("s1"), `{"messageId":"a1","actor":"agent","text":"It is booked."}`)
	require.Equal(t, 2, w.llm.Count(), "what the agent says is matched against nothing")
	w.llm.Queue(llmtest.Text("You are welcome."))
	require.Equal(t, "You are welcome.", w.say("s1", "m2", "thanks").Reply)
	seen := w.llm.Requests()[2].Messages
	require.Contains(t, seen[0].Content, "You speak for a clinic.")
	require.Equal(t, "monday please", seen[1].Content)
	require.JSONEq(t, `{"day":"monday"}`, seen[2].ToolCalls[0].Function.Arguments)
	require.Equal(t, "tool", seen[3].Role)
	require.Equal(t, "It is booked.", seen[4].Content)
}
