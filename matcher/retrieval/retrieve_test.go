package retrieval_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories"
)

// crowd is n tools about nothing in particular, and those given.
func crowd(t testing.TB, n int, tools ...string) []matcher.Candidate {
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"name":"job-%03d","description":"Run the nightly job number %d of the plant"}`, i, i))
	}
	return matchertest.InScope(t, matchertest.Scope, "crowd", tools...)
}

func TestRetrieveCutsNothingUpToTheLimit(t *testing.T) {
	candidates := crowd(t, 5)
	for _, limit := range []int{5, 6, 0, -1} {
		kept, cut := retrieval.Retrieve(matcher.Request{Text: "anything", Candidates: candidates}, limit)
		require.Equal(t, candidates, kept)
		require.Empty(t, cut)
	}
}

func TestRetrieveKeepsWhatTheWordsAreAbout(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.AppointmentTool,
		`{"name":"plan","description":"Make a plan","schema":[{"parameter":"vegetarian_menu","type":"boolean"}]}`)
	for _, c := range []struct{ rule, text, want string }{
		{"by name, description and examples", "could somebody get a cab for me", "call_taxi"},
		{"by the parameters", "vegetarian menu", "plan"},
	} {
		kept, cut := retrieval.Retrieve(matcher.Request{Text: c.text, Candidates: candidates}, 3)
		require.Len(t, kept, 3)
		require.Len(t, cut, 41)
		require.Contains(t, matchertest.Names(kept), c.want, c.rule)
		require.IsIncreasing(t, matchertest.Names(kept), "sorted by name")
		require.IsIncreasing(t, matchertest.Names(cut), "sorted by name")
	}
}

func TestRetrieveSeesTheConversation(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool)
	said := []matcher.Utterance{{Actor: matcher.ActorUser, Text: "will it rain"}, {Actor: matcher.ActorAgent, Text: "For which day is the forecast?"}}
	kept, _ := retrieval.Retrieve(matcher.Request{Text: "and tomorrow", History: said, Candidates: candidates}, 2)
	require.Contains(t, matchertest.Names(kept), "get_weather")

	fired := []matcher.Utterance{{Actor: matcher.ActorUser, Text: "ok", Fired: []matcher.PastCall{{Name: "call_taxi"}}}}
	kept, _ = retrieval.Retrieve(matcher.Request{Text: "once more", History: fired, Candidates: candidates}, 2)
	require.Contains(t, matchertest.Names(kept), "call_taxi")
}

func TestRetrievePinsToolsOfTheSessionAndExclusiveOnes(t *testing.T) {
	session := matchertest.InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "s", `{"name":"zeta","description":"Zeta"}`)
	exclusive := matchertest.InScope(t, matchertest.Scope, "e", `{"name":"yotta","description":"Yotta"}`)
	exclusive[0].Repository.Options.Exclusive = true
	candidates := append(append(crowd(t, 40, matchertest.TaxiTool), session...), exclusive...)
	matchertest.Sort(candidates)

	kept, _ := retrieval.Retrieve(matcher.Request{Text: "call a taxi", Candidates: candidates}, 3)
	require.Equal(t, []string{"call_taxi", "yotta", "zeta"}, matchertest.Names(kept))
	kept, cut := retrieval.Retrieve(matcher.Request{Text: "call a taxi", Candidates: candidates}, 1)
	require.Len(t, kept, 1, "a limit is a limit, for the pinned as well")
	require.Subset(t, []string{"yotta", "zeta"}, matchertest.Names(kept))
	require.Len(t, cut, 42)
}
