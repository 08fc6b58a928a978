package retrieval_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories"
)

// crowd returns n unrelated tools, and the given ones.
func crowd(t testing.TB, n int, tools ...string) []matcher.Candidate {
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"name":"job-%03d","description":"Run the nightly job number %d of the plant"}`, i, i))
	}
	return matchertest.InScope(t, matchertest.Scope, "crowd", tools...)
}

func TestOfferCutsNothingUpToTheLimit(t *testing.T) {
	candidates := crowd(t, 5)
	for _, limit := range []int{5, 6, 0, -1} {
		kept := retrieval.New().Offer(t.Context(), matcher.Request{Text: "anything", Candidates: candidates}, limit)
		require.Equal(t, candidates, kept)
	}
}

func TestOfferIsWhatTheWordsAreAbout(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.AppointmentTool,
		`{"name":"plan","description":"Make a plan","schema":[{"parameter":"vegetarian_menu","type":"boolean"}]}`)
	for _, c := range []struct{ rule, text, want string }{
		{"by name, description and examples", "could somebody get a cab for me", "call_taxi"},
		{"by the parameters", "vegetarian menu", "plan"},
	} {
		kept := retrieval.New().Offer(t.Context(), matcher.Request{Text: c.text, Candidates: candidates}, 3)
		require.LessOrEqual(t, len(kept), 3)
		require.Contains(t, matchertest.Names(kept), c.want, c.rule)
	}
}

func TestOfferSeesTheConversation(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool)
	said := []matcher.Utterance{{Actor: matcher.ActorUser, Text: "will it rain"}, {Actor: matcher.ActorAgent, Text: "For which day is the forecast?"}}
	kept := retrieval.New().Offer(t.Context(), matcher.Request{Text: "and tomorrow", History: said, Candidates: candidates}, 2)
	require.Contains(t, matchertest.Names(kept), "get_weather")

	fired := []matcher.Utterance{{Actor: matcher.ActorUser, Text: "ok", Fired: []matcher.PastCall{{Name: "call_taxi"}}}}
	kept = retrieval.New().Offer(t.Context(), matcher.Request{Text: "once more", History: fired, Candidates: candidates}, 2)
	require.Contains(t, matchertest.Names(kept), "call_taxi")
	for range 30 {
		fired = append(fired, matcher.Utterance{Actor: matcher.ActorUser, Text: "what is the weather forecast, will it rain?"})
	}
	kept = retrieval.New().Offer(t.Context(), matcher.Request{Text: "job 17 and job 18", History: fired, Candidates: candidates}, 2)
	require.Contains(t, matchertest.Names(kept), "call_taxi", "what fired stays, however long ago")
}

func TestOfferPinsToolsOfTheSessionAndExclusiveOnes(t *testing.T) {
	session := matchertest.InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "s", `{"name":"zeta","description":"Zeta"}`)
	exclusive := matchertest.InScope(t, matchertest.Scope, "e", `{"name":"yotta","description":"Yotta"}`)
	exclusive[0].Repository.Options.Exclusive = true
	candidates := append(append(crowd(t, 40, matchertest.TaxiTool), session...), exclusive...)
	matchertest.Sort(candidates)

	kept := retrieval.New().Offer(t.Context(), matcher.Request{Text: "call a taxi", Candidates: candidates}, 3)
	require.Equal(t, []string{"yotta", "zeta", "call_taxi"}, matchertest.Names(kept), "pinned ones first")
	kept = retrieval.New().Offer(t.Context(), matcher.Request{Text: "call a taxi", Candidates: candidates}, 1)
	require.Len(t, kept, 1, "a limit is a limit, for the pinned as well")
	require.Subset(t, []string{"yotta", "zeta"}, matchertest.Names(kept))
}

// ofSession returns the candidates of a session with its own tools beside an app's.
func ofSession(t testing.TB, app []matcher.Candidate, hidden string, tools ...string) matcher.Request {
	own := matchertest.InScope(t, repositories.Scope{AppID: "clinic", SessionID: "s1"}, "own", tools...)
	all := slices.Clone(own)
	for _, one := range app {
		if one.Tool.Name != hidden && !slices.Contains(matchertest.Names(own), one.Tool.Name) {
			all = append(all, one)
		}
	}
	matchertest.Sort(all)
	return matcher.Request{Shared: &matcher.Shared{Tools: app}, Own: own, Candidates: all}
}

func TestOfferHasASessionsToolsBesideSharedOnes(t *testing.T) {
	app := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.AppointmentTool)
	matchertest.Sort(app)
	request := ofSession(t, app, "get_weather", `{"name":"call_taxi","description":"Call a taxi to the back door"}`, `{"name":"zeta","description":"Zeta"}`)
	for text, want := range map[string]string{
		"a taxi, please":                  "call_taxi",
		"can I have an appointment":       "request-for-appointment",
		"the nightly job number 17 today": "job-017",
	} {
		request.Text = text
		kept := retrieval.New().Offer(t.Context(), request, 3)
		require.LessOrEqual(t, len(kept), 3)
		require.Equal(t, []string{"call_taxi", "zeta"}, matchertest.Names(kept)[:2], "of each name one, its own first")
		require.Subset(t, matchertest.Names(kept), []string{"call_taxi", "zeta", want})
		for _, one := range kept {
			require.Contains(t, request.Candidates, one)
		}
	}
	request.Text = "the weather forecast"
	require.NotContains(t, matchertest.Names(retrieval.New().Offer(t.Context(), request, len(request.Candidates)-1)), "get_weather", "it is not in scope")
}

func TestSharedToolsRankAsTheyDoAlone(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool, matchertest.AppointmentTool)
	matchertest.Sort(candidates)
	for _, text := range []string{"call a cab", "rain", "job 7", "", "an appointment for the nightly job"} {
		alone := matcher.Request{Text: text, Candidates: candidates}
		shared := alone
		shared.Shared = &matcher.Shared{Tools: candidates}
		require.Equal(t, retrieval.New().Offer(t.Context(), alone, 5), retrieval.New().Offer(t.Context(), shared, 5), text)
	}
}
