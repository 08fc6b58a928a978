package llm_test

import (
	"fmt"
	"net/http"
	"slices"
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

// hidden is a tool without a common word with the messages below.
const hidden = `{"name":"unlock_gate","description":"Unlock the gate of the yard","schema":[{"parameter":"gate","type":"string","required":true}]}`

// among returns a message with many tools in scope, of which a model sees some but not the hidden one.
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

const (
	openTheGate = "das Tor auf, bitte: Nord"
	unlocked    = `unlock_gate {"gate":"Nord"}`
)

var unlock = [2]string{"unlock_gate", `{"gate":"Nord"}`}

func looks(words string) [2]string { return [2]string{"find_tools", `{"words":"` + words + `"}`} }

func TestWhatIsNotOfferedFiresWhenTheModelLooksForIt(t *testing.T) {
	result, server := matchOne(t, among(t, openTheGate), calls(looks("unlock gate")), calls(unlock))
	require.Equal(t, []string{unlocked}, matchertest.Fired(result))
	require.Equal(t, matcher.StageLLM, result.Stage)

	first, second := server.Requests()[0], server.Requests()[1]
	require.Equal(t, "find_tools", first.ToolNames()[0])
	require.NotContains(t, first.ToolNames(), "unlock_gate")
	require.Contains(t, string(first.Tools[0].Parameters), "translated")
	require.Equal(t, first.ToolNames(), second.ToolNames()[:len(first.Tools)], "what is found stands behind")
	require.Contains(t, second.ToolNames()[len(first.Tools):], "unlock_gate")
	require.LessOrEqual(t, len(second.Tools), llm.DefaultLimit)
	require.Equal(t, first.Messages, second.Messages[:len(first.Messages)])
	require.Equal(t, second.Messages[len(second.Messages)-2].ToolCalls[0].ID, second.Last().ToolCallID)
}

func TestSearches(t *testing.T) {
	away := llmtest.Status(http.StatusServiceUnavailable, nil, "")
	for rule, test := range map[string]struct {
		text    string
		tools   []string
		replies []llmtest.Reply
		fired   []string
		missing []string
		answers []string // verdicts on the model's calls
	}{
		"a message that needs none costs one request": {"run job number 17, bitte", nil, []llmtest.Reply{call("job_017", `{}`)}, []string{"job_017 {}"}, nil, nil},
		"a model that looks twice is not asked again": {openTheGate, nil,
			[]llmtest.Reply{calls(looks("gate of the yard")), calls(looks("gate of the yard"))}, nil, nil, []string{"offered now"}},
		"what it calls besides fires": {openTheGate, nil, []llmtest.Reply{
			calls([2]string{"job_001", "{}"}, looks("gate")), calls(looks("door"), [2]string{"job_002", "{}"}, [2]string{"job_001", "{}"}),
		}, []string{"job_001 {}", "job_002 {}"}, nil, []string{"Accepted", "offered now"}},
		"one that finds nothing ends the message": {openTheGate, nil, []llmtest.Reply{calls(looks("xylophone"))}, nil, nil, nil},
		"a model that looks for what it was offered is told so": {"unlock the gate Nord", nil,
			[]llmtest.Reply{calls(looks("unlock gate")), calls(unlock)}, []string{unlocked}, nil, []string{"offered already"}},
		"unless it has called it": {"unlock the gate Nord", nil, []llmtest.Reply{calls(unlock, looks("unlock gate"))}, []string{unlocked}, nil, nil},
		"what was not found is no tool": {openTheGate, nil,
			[]llmtest.Reply{calls(looks("gate")), call("unlock_all_gates", `{"gate":"Nord"}`)}, nil, nil, []string{"offered now"}},
		"a faulty call of a found tool is rejected without a third request": {openTheGate, nil,
			[]llmtest.Reply{calls(looks("gate")), call("unlock_gate", `{}`)}, nil, []string{"gate"}, []string{"offered now"}},
		"faults go back with what was found": {"book bitte, und das Tor auf", []string{book}, []llmtest.Reply{
			calls([2]string{"book", `{"people":2}`}, looks("gate")), calls(unlock, [2]string{"book", `{"day":"mon"}`}),
		}, []string{onMonday, unlocked}, nil, []string{"day:", "offered now"}},
		"a second request that fails loses no sound call": {"x", nil,
			[]llmtest.Reply{calls([2]string{"job_001", "{}"}, looks("gate")), away}, []string{"job_001 {}"}, nil, []string{"Accepted", "offered now"}},
	} {
		t.Run(rule, func(t *testing.T) {
			result, server := matchOne(t, among(t, test.text, test.tools...), test.replies...)
			require.Equal(t, test.fired, matchertest.Fired(result))
			require.Equal(t, test.missing != nil, len(result.Rejected) > 0)
			if test.missing != nil {
				require.Equal(t, test.missing, result.Rejected[0].Missing)
			}
			for i, says := range test.answers {
				messages := server.Requests()[1].Messages
				require.Contains(t, messages[len(messages)-len(test.answers)+i].Content, says)
			}
		})
	}
	server := llmtest.New(t)
	server.Queue(calls(looks("gate")), away)
	_, err := newLLM(server).Match(t.Context(), among(t, openTheGate))
	var unavailable *matcher.Unavailable
	require.ErrorAs(t, err, &unavailable, "without a sound call nothing is decided")
}

func TestSearchThatFindsNothingIsAnsweredInAChat(t *testing.T) {
	request := among(t, openTheGate)
	request.Chat = true
	result, server := matchOne(t, request, calls(looks("xylophone")), llmtest.Text("Das kann ich nicht."))
	require.Equal(t, "Das kann ich nicht.", result.Text)
	require.Contains(t, server.Requests()[1].Last().Content, "no such tool")
}

func TestASearchSeesTheToolsInScopeAlone(t *testing.T) {
	request := among(t, openTheGate)
	request.Candidates = slices.DeleteFunc(slices.Clone(request.Candidates), func(c matcher.Candidate) bool { return c.Tool.Name == "unlock_gate" })
	result, server := matchOne(t, request, calls(looks("unlock gate job number")), calls(unlock))
	require.Empty(t, result.Matches, "it is another user's")
	require.NotContains(t, string(server.Requests()[1].Body), "Unlock the gate")
}

func TestToolThatHasTheNameOfTheSearchKeepsIt(t *testing.T) {
	request := among(t, "find bitte tools", `{"name":"find_tools","description":"Find bitte the tools in the shed"}`)
	result, server := matchOne(t, request, call("find_tools", `{}`))
	require.Equal(t, []string{"find_tools {}"}, matchertest.Fired(result))
	names := server.Requests()[0].ToolNames()
	require.Equal(t, "find_tools_2", names[0])
	require.Contains(t, names, "find_tools")
	matchOne(t, request, call("functions.find_tools_2", `{"query":["gate"]}`), llmtest.Text("none"))
}

func TestEveryProviderLooksForTools(t *testing.T) {
	every(t, func(t *testing.T, one spoken) {
		result, questions := one.match(t, among(t, openTheGate), one.calls(looks("unlock gate")), one.calls(unlock))
		require.Equal(t, []string{unlocked}, matchertest.Fired(result))
		require.NotContains(t, questions[0].body, "Unlock the gate")
		require.Contains(t, questions[1].body, "Unlock the gate")
	})
}

func TestRequestHasAsManyToolsAsTheAppSays(t *testing.T) {
	request := among(t, "bitte run the nightly job")
	every(t, func(t *testing.T, one spoken) {
		for most, want := range map[int]int{0: llm.DefaultLimit, 1: 2, 2: 2, 10: 10, 128: llm.MaxTools, 5000: llm.MaxTools} {
			request.App.Settings.LLM.MostTools = most
			result, questions := one.match(t, request, one.calls([2]string{"job_199", `{}`}))
			require.Equal(t, []string{"job_199 {}"}, matchertest.Fired(result), "a call of a tool that is not offered counts as well")
			offered := one.tools(decoded(t, questions[0].body).(map[string]any))
			require.LessOrEqual(t, len(offered), want, "with the function, and at least one tool")
			require.Greater(t, len(offered), want/2)
			require.Contains(t, questions[0].body, `"find_tools"`)
		}
	})
	request.App.Settings.LLM.MostTools = 128
	request.Candidates = request.Candidates[:100]
	names := asked(t, request).ToolNames()
	require.Len(t, names, 100)
	require.NotContains(t, names, "find_tools", "nothing is cut")
}

func TestSearchIsWithinTheTimeOfTheFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		thinking := &slow{6 * time.Second, answering(openAISpoken().calls(looks("gate"))), 0}
		options := llm.Options{Timeout: 10 * time.Second, HTTPClient: &http.Client{Transport: thinking}, BaseURL: "http://model.test/v1"}
		began := time.Now()
		_, err := llm.New(options).Match(t.Context(), among(t, openTheGate))
		require.ErrorContains(t, err, "no answer within 10s")
		require.Equal(t, 10*time.Second, time.Since(began))
		require.Equal(t, 2, thinking.asked)
	})
}

// slow answers after a delay.
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
