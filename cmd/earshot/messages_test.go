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

func TestAModelIsWaitedForAsLongAsTheFlagSays(t *testing.T) {
	t.Parallel()
	w := serving(t, 1, "--llm-timeout", "300ms")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"book"}]}`)
	w.llm.Queue(llmtest.Hang())
	require.Contains(t, w.call(502, "POST", messagesPath("s1"), messageBody("m1", "call book {}")).Body, "no answer within 300ms")
	require.Len(t, w.say("s1", "m1", "call book {}").Matches, 1, "the model is well again")
}

// scripts counts the scripts that Redis has run, by hash or text. Polling for due work runs none if there is
// none.
func (w *world) scripts() int {
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

func TestMetricsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	w := serving(t, 1)
	w.tool(`"url":"` + refusing(t, http.StatusNotFound).URL + `"`)
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
	said := read[posted](t, w.ask(w.replicas[0], "POST", messagesPath("s1"), messageBody("m1", "bitte das Tor, Nord")).Body)
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
