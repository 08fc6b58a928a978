package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"earshot/matcher/llm/llmtest"

	"github.com/stretchr/testify/require"
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
		Triggers                      []matched
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
		"status-429":  {llmtest.Status(429, http.Header{"Retry-After": {"7"}}, "slow down"), 503, "429", "7"},
		"html":        {llmtest.Raw("<html><body>Welcome to the proxy</body></html>"), 502, "HTML", ""},
		"half-a-json": {llmtest.Raw(`{"choices":[{"message":{"tool_calls":[{"function":{"name":"bo`), 502, "only a part", ""},
		"nothing":     {llmtest.Hang(), 502, "no answer within 300ms", ""},
	} {
		t.Run(session, func(t *testing.T) {
			w.llm.Queue(test.reply)
			got := w.call(test.status, "POST", messagesPath(session), messageBody("m1", text))
			require.Equal(t, "application/problem+json", got.Header.Get("Content-Type"))
			require.Equal(t, test.retryAfter, got.Header.Get("Retry-After"))
			told := read[problem](t, got)
			require.Equal(t, test.status, told.Status)
			require.Contains(t, told.Detail, test.says)
			require.Equal(t, "m1", told.MessageID)

			kept := read[history](t, w.call(200, "GET", messagesPath(session), "")).Items
			require.Len(t, kept, 1)
			require.Equal(t, []string{"m1", text, "failed"}, []string{kept[0].MessageID, kept[0].Text, kept[0].State})
			require.Contains(t, kept[0].Error, test.says)
			require.Empty(t, w.events("tool.*.clinic."+session+".>"), "nothing fires")
			require.Empty(t, w.events("tool.notmatching.clinic."+session), "nothing is decided")

			asked := w.llm.Count()
			require.Len(t, w.say(session, "m1", text).Matches, 1, "the model is well again")
			require.Equal(t, asked+1, w.llm.Count())
			kept = read[history](t, w.call(200, "GET", messagesPath(session), "")).Items
			require.Len(t, kept, 1, "it is one message however often it was sent")
			require.Equal(t, "decided", kept[0].State)
			require.Equal(t, "book", kept[0].Triggers[0].Name)
			require.Len(t, w.events("tool.trigger.clinic."+session+".book"), 1)
		})
	}
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

	w.call(200, "POST", messagesPath("s1"), `{"messageId":"a1","actor":"agent","text":"It is booked."}`)
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

// scripts counts the scripts that Redis has run, by hash or text. Polling for due work runs none if there is
// none.
func (w *world) scripts() int {
	w.t.Helper()
	info, err := w.client().Info(w.t.Context(), "commandstats").Result()
	require.NoError(w.t, err)
	total := 0
	for _, found := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		calls, err := strconv.Atoi(found[1])
		require.NoError(w.t, err)
		total += calls
	}
	return total
}

func TestMessageCostsThreeScriptsOneRequestAndOnePublishAnEvent(t *testing.T) {
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[
		{"name":"book","url":"`+sink.URL+`","emitter":"calendar.request"},{"name":"note"}]}`)
	w.put("/v1/apps/clinic/sessions/s1/repositories/own", `{"tools":[{"name":"mine"}]}`)
	for what, test := range map[string]struct {
		text   string
		events int
	}{
		"event-and-call": {"call book {}", 3}, "event": {"call mine {}", 1}, "several": {"call book {}; note {}; mine {}", 5}, "none": {"hello", 1},
	} {
		t.Run(what, func(t *testing.T) {
			w.say("s1", "", test.text) // now the scripts and the app are cached
			w.rest()
			const posts = 21
			asked, published := w.llm.Count(), len(w.events(">"))
			each := make([]int, 0, posts)
			for i := range posts {
				before := w.scripts()
				w.say("s1", fmt.Sprint(what, "-", i), test.text)
				w.rest()
				each = append(each, w.scripts()-before)
			}
			require.Equal(t, posts, w.llm.Count()-asked)
			require.Equal(t, posts*test.events, len(w.events(">"))-published)
			// On a busy machine a first attempt may be late for some messages, or periodic work may run in
			// between.
			slices.Sort(each)
			require.LessOrEqual(t, each[posts/2], 3, "%v", each)
		})
	}
}

// together runs count calls concurrently and returns their results.
func together(count int, ask func(i int) httpAnswer) []httpAnswer {
	answers := make([]httpAnswer, count)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			<-begin
			answers[i] = ask(i)
		})
	}
	close(begin)
	group.Wait()
	return answers
}

// onceRepository has two tools, of which one may fire once.
func onceRepository(url string) string {
	return `{"options":{"triggerOnce":true},"tools":[
		{"name":"first","description":"does it","url":"` + url + `"},
		{"name":"second","description":"does it as well","url":"` + url + `"}]}`
}

func TestOneMessagePostedManyTimesFiresOnceAndHasOneAnswer(t *testing.T) {
	t.Parallel()
	w, sink := serving(t, 2), newSink(t)
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book","schema":[{"parameter":"day","type":"string"}],"url":"`+sink.URL+`"}]}`)
	for round := range 5 {
		session := fmt.Sprint("s", round)
		answers := together(16, func(i int) httpAnswer {
			return w.ask(w.replicas[i%2], "POST", messagesPath(session), messageBody("m1", `call book {"day":"monday"}`))
		})
		for _, got := range append(answers, w.ask(w.replicas[1], "POST", messagesPath(session), messageBody("m1", `call book {"day":"monday"}`))) {
			require.NoError(t, got.Err)
			require.Equal(t, http.StatusOK, got.Status, got.Body)
			require.Equal(t, answers[0].Body, got.Body)
		}
		for _, prefer := range []string{"wait=1", "respond-async"} {
			got := w.ask(w.replicas[1], "POST", messagesPath(session), messageBody("m1", "something else"), "Prefer", prefer)
			require.Equal(t, http.StatusConflict, got.Status, got.Body)
			require.Contains(t, got.Body, "send this one under an id of its own")
		}
		require.Equal(t, "delivered", read[posted](t, answers[0]).Matches[0].Call.State)
		require.Len(t, sink.requests(), round+1)
		require.Equal(t, round+1, w.llm.Count())
		require.Len(t, w.events("tool.trigger.clinic."+session+".book"), 1)
	}
}

func TestMetricsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	refusing := newEndpoint(t, func(out http.ResponseWriter, _ received) { out.WriteHeader(http.StatusNotFound) })
	w.tool(`"url":"` + refusing.URL + `"`)
	require.Equal(t, "failed", w.say("s1", "m1", "call book {}").Matches[0].Call.State)
	var shown string
	w.until("the failed trigger is counted", func() bool {
		shown = w.call(200, "GET", "/metrics", "").Body
		return strings.Contains(shown, "\nearshot_dead 1\n") && strings.Contains(shown, "\nearshot_effects_due 0\n")
	})
	for _, line := range []string{
		`earshot_messages_total{outcome="matched"} 1`, `earshot_match_seconds_count 1`, `earshot_llm_seconds_count 1`,
		`earshot_llm_tokens_total{kind="prompt"} 100`, `earshot_llm_tokens_total{kind="cached"} 64`, `earshot_effects_total{kind="call",outcome="dead"} 1`, `earshot_effects_oldest_seconds 0`,
	} {
		require.Contains(t, shown, "\n"+line+"\n")
	}
}

func TestToolThatIsNotOfferedIsFoundFiresAndStaysOnOfferOnAllReplicas(t *testing.T) {
	t.Parallel()
	w := serving(t, 2)
	w.put("/v1/apps/clinic", `{"settings":{"llm":{"mostTools":8}}}`)
	tools := []string{`{"name":"unlock","description":"Open the gate of the yard","schema":[{"parameter":"gate","type":"string","required":true}]}`}
	for i := range 30 {
		tools = append(tools, fmt.Sprintf(`{"name":"job_%02d","description":"Run bitte job %d"}`, i, i))
	}
	w.put("/v1/apps/clinic/repositories/many", `{"tools":[`+strings.Join(tools, ",")+`]}`)
	w.llm.Queue(llmtest.Call("find_tools", `{"words":"open the gate"}`), llmtest.Call("unlock", `{"gate":"Nord"}`), llmtest.Text("none"))
	said := read[posted](t, w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("m1", "bitte das Tor, Nord")))
	require.Equal(t, "unlock", said.Matches[0].Name)
	w.ask(w.replicas[1], "POST", messagesPath("s1"), messageBody("m2", "danke"))

	asked := w.llm.Requests()
	require.Len(t, asked, 3)
	first := asked[0].ToolNames()
	require.NotContains(t, first, "unlock")
	require.Equal(t, "find_tools", first[0])
	for _, request := range asked {
		require.LessOrEqual(t, len(request.Tools), 8)
	}
	require.Contains(t, asked[1].ToolNames(), "unlock")
	require.Contains(t, asked[2].ToolNames(), "unlock")
	require.Equal(t, first[:4], asked[2].ToolNames()[:4], "what was offered before stands before what is new")
	require.Contains(t, w.call(200, "GET", "/metrics", "").Body, "earshot_llm_tokens_total{kind=\"cached\"} 128\n")
}
