package llm_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/llmtest"
	"earshot/matcher/matchertest"
	"earshot/repositories"
)

// hidden is a tool that shares no word with what users say below.
const hidden = `{"name":"unlock_gate","description":"Unlock the gate of the yard","schema":[{"parameter":"gate","type":"string","required":true}]}`

// among is a message of an app with many tools, of which a model sees a few, and the hidden
// one, which it does not see.
func among(t testing.TB, text string, tools ...string) matcher.Request {
	tools = append(tools, hidden)
	for i := range 200 {
		tools = append(tools, fmt.Sprintf(`{"name":"job_%03d","description":"Run bitte the nightly job number %d"}`, i, i))
	}
	request := matcher.Request{
		App: &repositories.App{ID: "clinic"}, Text: text, Now: matchertest.Friday,
		Candidates: matchertest.InScope(t, matchertest.Scope, "r", tools...),
	}
	request.Shared = &matcher.Shared{Tools: request.Candidates}
	return request
}

func TestWhatIsNotOfferedFiresWhenTheModelLooksForIt(t *testing.T) {
	request := among(t, "das Tor auf, bitte: Nord")
	result, server := matchOne(t, request,
		llmtest.Call("find_tools", `{"words":"unlock gate"}`), llmtest.Call("unlock_gate", `{"gate":"Nord"}`))
	require.Equal(t, []string{`unlock_gate {"gate":"Nord"}`}, matchertest.Fired(result))
	require.Equal(t, matcher.StageLLM, result.Stage)

	first, second := server.Requests()[0], server.Requests()[1]
	require.Equal(t, "find_tools", first.ToolNames()[0])
	require.NotContains(t, first.ToolNames(), "unlock_gate")
	require.Contains(t, string(first.Tools[0].Parameters), "translated")
	require.Equal(t, first.ToolNames(), second.ToolNames()[:len(first.Tools)], "what is found stands behind")
	require.Contains(t, second.ToolNames()[len(first.Tools):], "unlock_gate")
	require.LessOrEqual(t, len(second.Tools), llm.DefaultLimit)
	require.Equal(t, first.Messages, second.Messages[:len(first.Messages)])
	require.Contains(t, second.Last().Content, "offered now")
	require.Equal(t, second.Messages[len(second.Messages)-2].ToolCalls[0].ID, second.Last().ToolCallID)
}

func TestMessageThatNeedsNoSearchCostsOneRequest(t *testing.T) {
	request := among(t, "run job number 17, bitte")
	result, server := matchOne(t, request, llmtest.Call("job_017", `{}`))
	require.Equal(t, []string{"job_017 {}"}, matchertest.Fired(result))
	require.Contains(t, server.Requests()[0].ToolNames(), "job_017")
	matchOne(t, request, llmtest.Text("none"))

	few := matchertest.Request(t, "x", matchertest.BookTool)
	require.NotContains(t, asked(t, few).ToolNames(), "find_tools", "nothing is cut")
}

func TestModelThatLooksTwiceIsNotAskedAgain(t *testing.T) {
	request := among(t, "das Tor auf, bitte")
	again := llmtest.Call("find_tools", `{"words":"gate of the yard"}`)
	result, _ := matchOne(t, request, again, again)
	require.Empty(t, result.Matches)
	require.Empty(t, result.Rejected)

	result, _ = matchOne(t, request, llmtest.Calls([2]string{"job_001", "{}"}, [2]string{"find_tools", `{"words":"gate"}`}),
		llmtest.Calls([2]string{"find_tools", `{"words":"door"}`}, [2]string{"job_002", "{}"}, [2]string{"job_001", "{}"}))
	require.Equal(t, []string{"job_001 {}", "job_002 {}"}, matchertest.Fired(result), "what it called besides")
}

func TestSearchThatFindsNothingEndsTheMessage(t *testing.T) {
	request := among(t, "das Tor auf, bitte")
	nothing := llmtest.Call("find_tools", `{"words":"xylophone"}`)
	result, _ := matchOne(t, request, nothing)
	require.Equal(t, matcher.Result{Stage: matcher.StageLLM}, result)

	request.Chat = true
	result, server := matchOne(t, request, nothing, llmtest.Text("Das kann ich nicht."))
	require.Equal(t, "Das kann ich nicht.", result.Text)
	require.Contains(t, server.Requests()[1].Last().Content, "no such tool")
}

// TestModelThatLooksForWhatItWasOfferedIsToldSo has the model overlook the one tool that it
// needs, and look for it.
func TestModelThatLooksForWhatItWasOfferedIsToldSo(t *testing.T) {
	request := among(t, "unlock the gate Nord")
	looks := llmtest.Call("find_tools", `{"words":"unlock gate"}`)
	result, server := matchOne(t, request, looks, llmtest.Call("unlock_gate", `{"gate":"Nord"}`))
	require.Contains(t, server.Requests()[0].ToolNames(), "unlock_gate")
	require.Equal(t, []string{`unlock_gate {"gate":"Nord"}`}, matchertest.Fired(result))
	require.Contains(t, server.Requests()[1].Last().Content, "offered already")

	result, server = matchOne(t, request, llmtest.Calls([2]string{"unlock_gate", `{"gate":"Nord"}`}, [2]string{"find_tools", `{"words":"unlock gate"}`}))
	require.Equal(t, []string{`unlock_gate {"gate":"Nord"}`}, matchertest.Fired(result))
	require.Len(t, server.Requests(), 1, "it has called what it looks for")
}

func TestWhatASearchDidNotFindIsNoTool(t *testing.T) {
	result, _ := matchOne(t, among(t, "das Tor auf, bitte"),
		llmtest.Call("find_tools", `{"words":"gate"}`), llmtest.Call("unlock_all_gates", `{"gate":"Nord"}`))
	require.Empty(t, result.Matches)
	require.Empty(t, result.Rejected)
}

func TestASearchSeesTheToolsInScopeAlone(t *testing.T) {
	request := among(t, "das Tor auf, bitte")
	request.Candidates = slices.DeleteFunc(slices.Clone(request.Candidates), func(c matcher.Candidate) bool { return c.Tool.Name == "unlock_gate" })
	looks := llmtest.Call("find_tools", `{"words":"unlock gate job number"}`)
	result, server := matchOne(t, request, looks, llmtest.Call("unlock_gate", `{"gate":"Nord"}`))
	require.Empty(t, result.Matches, "it is another user's")
	require.NotContains(t, string(server.Requests()[1].Body), "Unlock the gate")
}

func TestFaultyCallOfAFoundToolIsRejectedWithoutAThirdRequest(t *testing.T) {
	result, _ := matchOne(t, among(t, "das Tor auf, bitte"),
		llmtest.Call("find_tools", `{"words":"gate"}`), llmtest.Call("unlock_gate", `{}`))
	require.Empty(t, result.Matches)
	require.Equal(t, []string{"gate"}, result.Rejected[0].Missing)
}

func TestSearchAndFaultsGoBackTogether(t *testing.T) {
	request := among(t, "book bitte, und das Tor auf", matchertest.BookTool)
	result, server := matchOne(t, request,
		llmtest.Calls([2]string{"book", `{"people":2}`}, [2]string{"find_tools", `{"words":"gate"}`}),
		llmtest.Calls([2]string{"unlock_gate", `{"gate":"Nord"}`}, [2]string{"book", `{"day":"mon","people":2}`}))
	require.Equal(t, []string{`book {"day":"mon","desk":"A","people":2}`, `unlock_gate {"gate":"Nord"}`}, matchertest.Fired(result))
	answers := server.Requests()[1].Messages
	require.Contains(t, answers[len(answers)-2].Content, "day:")
	require.Contains(t, answers[len(answers)-1].Content, "offered now")
}

func TestToolThatHasTheNameOfTheSearchKeepsIt(t *testing.T) {
	request := among(t, "find bitte tools", `{"name":"find_tools","description":"Find bitte the tools in the shed"}`)
	result, server := matchOne(t, request, llmtest.Call("find_tools", `{}`))
	require.Equal(t, []string{"find_tools {}"}, matchertest.Fired(result))
	names := server.Requests()[0].ToolNames()
	require.Equal(t, "find_tools_2", names[0])
	require.Contains(t, names, "find_tools")
	matchOne(t, request, llmtest.Call("functions.find_tools_2", `{"query":["gate"]}`), llmtest.Text("none"))
}

func TestSearchThatFailsDecidesNothingUnlessThereAreSoundCalls(t *testing.T) {
	server := llmtest.New(t)
	away := llmtest.Status(http.StatusServiceUnavailable, nil, "")
	server.Queue(llmtest.Call("find_tools", `{"words":"gate"}`), away)
	_, err := newLLM(server).Match(t.Context(), among(t, "das Tor auf"))
	var unavailable *matcher.Unavailable
	require.ErrorAs(t, err, &unavailable)

	result, _ := matchOne(t, among(t, "x"), llmtest.Calls([2]string{"job_001", "{}"}, [2]string{"find_tools", `{"words":"gate"}`}), away)
	require.Equal(t, []string{"job_001 {}"}, matchertest.Fired(result))
}

func TestEveryProviderLooksForTools(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		result, questions := one.match(t, among(t, "das Tor auf, bitte"),
			one.calls([2]string{"find_tools", `{"words":"unlock gate"}`}), one.calls([2]string{"unlock_gate", `{"gate":"Nord"}`}))
		require.Equal(t, []string{`unlock_gate {"gate":"Nord"}`}, matchertest.Fired(result))
		require.NotContains(t, questions[0].body, "Unlock the gate")
		require.Contains(t, questions[1].body, "Unlock the gate")
	})
}

func TestAppSaysHowManyToolsARequestHas(t *testing.T) {
	request := among(t, "bitte run the nightly job")
	for _, most := range []int{1, 2, 10, 128} {
		request.App.Settings.LLM.MostTools = most
		names := asked(t, request).ToolNames()
		require.LessOrEqual(t, len(names), max(2, most), "with the function, and at least one tool")
		require.Greater(t, len(names), most/2)
		require.Contains(t, names, "find_tools")
	}
	request.App.Settings.LLM.MostTools = 128
	request.Candidates = request.Candidates[:100]
	require.Len(t, asked(t, request).Tools, 100)
}

func TestSearchIsWithinTheTimeOfTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thinking := &slow{6 * time.Second, answering(openAISpoken().calls([2]string{"find_tools", `{"words":"gate"}`})), 0}
		options := llm.Options{Timeout: 10 * time.Second, HTTPClient: &http.Client{Transport: thinking}, BaseURL: "http://model.test/v1"}
		began := time.Now()
		_, err := llm.New(options).Match(t.Context(), among(t, "das Tor auf"))
		require.ErrorContains(t, err, "no answer within 10s")
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, 2, thinking.asked)
	})
}

func TestEachRequestOfASearchIsMeasured(t *testing.T) {
	server := llmtest.New(t)
	server.Queue(llmtest.Call("find_tools", `{"words":"gate"}`), llmtest.Text("none"))
	options, seen := llmOptions(server), []llm.Exchange{}
	options.Observe = func(e llm.Exchange) { seen = append(seen, e) }
	_, err := llm.New(options).Match(t.Context(), among(t, "das Tor auf"))
	require.NoError(t, err)
	require.Len(t, seen, 2)
	for _, exchange := range seen {
		require.Equal(t, 100, exchange.Usage.Prompt)
		require.Equal(t, 64, exchange.Usage.Cached)
	}
}

// TestRequestBeginsWithItsTools holds for every provider: what a request begins with is found
// in a cache.
func TestRequestBeginsWithItsTools(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		request := among(t, "later words")
		request.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "earlier words"}}
		_, questions := one.match(t, request, one.text("none"))
		at := -1
		for _, part := range []string{"find_tools", "You listen to a conversation", "earlier words", "Current date", "later words"} {
			next := strings.Index(questions[0].body, part)
			require.Greater(t, next, at, part)
			at = next
		}
	})
}

// slow answers after its time.
type slow struct {
	after time.Duration
	answering
	asked int
}

// RoundTrip implements http.RoundTripper.
func (s *slow) RoundTrip(request *http.Request) (*http.Response, error) {
	s.asked++
	select {
	case <-request.Context().Done():
		return nil, request.Context().Err()
	case <-time.After(s.after):
		return s.answering.RoundTrip(request)
	}
}

func TestFixedPartOfARequestIsShort(t *testing.T) {
	request := among(t, "x")
	for _, chat := range []bool{false, true} {
		request.Chat = chat
		body := asked(t, request)
		fixed := body.Messages[0].Content + body.Messages[1].Content + body.Tools[0].Name + body.Tools[0].Description + string(body.Tools[0].Parameters)
		require.Less(t, len(fixed), 300*4, "300 tokens, of which one has about 4 characters")
	}
}
