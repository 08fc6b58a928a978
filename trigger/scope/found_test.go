package scope_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories"
	"earshot/trigger/scope"
)

const hallTools = `{"tools":[
	{"name":"book-table","description":"Reserve a table in the restaurant","parameters":{"type":"object","properties":{"guests":{"type":"integer","description":"number of guests"}}}},
	{"name":"call-taxi","description":"Order a taxi to the door","examples":["I need a ride to the airport"]},
	{"name":"own-invoice","description":"Show the own invoice","authRequired":["corp"]},
	{"name":"collect-user-message","description":"Write the message down for the reception"},
	{"name":"light","description":"Switch the light of the room on or off"}]}`

// find searches in the session, and returns the names of what was found with what it shows.
func (w *world) find(session, text string, limit int) ([]string, []scope.FoundTool) {
	w.T.Helper()
	found, err := w.Engine.SearchTools(w.T.Context(), "clinic", session, text, limit)
	require.NoError(w.T, err)
	names := []string{}
	for i, one := range found {
		names = append(names, one.Name)
		require.Greater(w.T, one.Score, 0.0, one.Name)
		require.True(w.T, i == 0 || found[i-1].Score >= one.Score, "the nearest first")
	}
	return names, found
}

func TestSearchFindsOfTheToolsInScopeThoseThatATextIsAbout(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Matcher.Searcher = retrieval.New()
		names, _ := w.find("", "anything", 0)
		require.Empty(t, names, "there are no tools")

		w.App("clinic", `{"authServices":[{"name":"corp","type":"google","clientId":"c"}]}`)
		w.Put("", "hall", hallTools)
		w.Put("", "kit", `{"options":{"template":true},"tools":[{"name":"taxi-template","description":"Order a taxi"}]}`)
		w.Put("s1", "own", `{"tools":[{"name":"light","description":"Light a candle on the table"},{"name":"taxi-receipt","description":"Print the receipt of a taxi"}]}`)
		w.Put("s2", "theirs", `{"tools":[{"name":"taxi-of-others","description":"Order a taxi"}]}`)

		names, found := w.find("", "please order a taxi", 0)
		require.Equal(t, "call-taxi", names[0])
		require.NotContains(t, names, "taxi-template")
		require.NotContains(t, names, "taxi-of-others")
		listed, _, err := w.Engine.Tools(t.Context(), "clinic", "", "call-taxi", "", 1)
		require.NoError(t, err)
		require.Equal(t, listed[0], found[0].Tool, "as it is listed")

		names, _ = w.find("s1", "order a taxi", 0)
		require.Subset(t, names, []string{"call-taxi", "taxi-receipt"})
		names, _ = w.find("s1", "order a taxi", 1)
		require.Equal(t, []string{"call-taxi"}, names)
		names, found = w.find("s1", "light", 1)
		require.Equal(t, []string{"light"}, names)
		require.Equal(t, "own", found[0].RepositoryID, "the session's shadows the app's")
		names, found = w.find("", "switch the light", 1)
		require.Equal(t, []string{"light"}, names)
		require.Equal(t, "hall", found[0].RepositoryID)

		for text, want := range map[string]string{
			"number of guests": "book-table", "a ride to the airport": "call-taxi",
			"my invoice": "own-invoice", "write a message to the reception": "collect-user-message", "reserv a tabel in the restaurnt": "book-table",
		} {
			names, _ = w.find("s1", text, 1)
			require.Equal(t, []string{want}, names, text)
		}
		names, _ = w.find("s1", "xyzzy", 0)
		require.Empty(t, names, "what has nothing in common is not found")

		_, err = w.Engine.SearchTools(t.Context(), "nobody", "", "taxi", 0)
		require.ErrorIs(t, err, repositories.ErrNotFound)
	})
}

func TestSearchHasItsBounds(t *testing.T) {
	t.Parallel()
	w := crowded(t, 600)
	names, _ := w.find("s1", manyText, 0)
	require.Len(t, names, 10)
	names, _ = w.find("s1", manyText, 10_000)
	require.Len(t, names, 100)
}

// manyText is about each of many tools.
const manyText = "get the number of a tool"

// crowded is a world whose app has n tools in repositories of 500.
func crowded(t testing.TB, n int) *world {
	w := idleWorld(t, redistest.Mini(t), 0)
	w.Matcher.Searcher = retrieval.New()
	candidates, _ := matchertest.Many(t, n)
	var last *repositories.Repository
	for _, one := range candidates {
		if one.Repository == last {
			continue
		}
		last = one.Repository
		made := *last
		made.AppID, made.SessionID, made.Revision = "clinic", "", ""
		_, err := w.Store.PutRepository(t.Context(), &made)
		require.NoError(t, err)
	}
	w.Register(session("s1"), "own", `{"tools":[{"name":"zeta","description":"Zeta of the session"}]}`)
	return w
}

// TestSearchCompilesTheToolsOfAnAppOnce compares the memory use of searches: an index built for each search
// would take some kilobytes more per tool.
func TestSearchCompilesTheToolsOfAnAppOnce(t *testing.T) {
	cost := func(n int) float64 {
		w := crowded(t, n)
		return testing.AllocsPerRun(5, func() {
			_, err := w.Engine.SearchTools(t.Context(), "clinic", "s1", manyText, 5)
			require.NoError(t, err)
		})
	}
	few, much := cost(100), cost(2000)
	require.Less(t, much, 2*few)
}

func BenchmarkSearchTools(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		w := crowded(b, n)
		_, messages := matchertest.Many(b, 1)
		for _, session := range []string{"", "s1"} {
			b.Run(fmt.Sprintf("tools=%d/session=%s", n, session), func(b *testing.B) {
				b.ReportAllocs()
				w.find(session, manyText, 0)
				for i := 0; b.Loop(); i++ {
					_, err := w.Engine.SearchTools(b.Context(), "clinic", session, messages[i%len(messages)], 0)
					require.NoError(b, err)
				}
			})
		}
	}
}

// TestAModelIsOfferedTheToolsNearestToTheConversation has more tools in scope than a model is offered.
func TestAModelIsOfferedTheToolsNearestToTheConversation(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.Matcher.Searcher = retrieval.New()
		w.App("clinic", `{"settings":{"llm":{"mostTools":2}}}`)
		w.Put("", "hall", `{"tools":[{"name":"any","description":"Polish shoes"},{"name":"book-table","description":"Reserve a table"},
			{"name":"call-taxi","description":"Order a taxi"},{"name":"light","description":"Switch the lamp on"}]}`)
		for _, test := range []struct {
			texts, want []string
			most        int
		}{
			{[]string{"taxi", "switch the lamp on"}, []string{"call-taxi", "light"}, 128},
			{[]string{"taxi", "taxi"}, []string{"call-taxi", "any"}, 2},
			{[]string{"yes please", "switch the lamp"}, []string{"light", "any"}, 128},
			{[]string{"ok", ""}, []string{"any", "book-table"}, 128},
			{nil, []string{"any", "book-table"}, 128}, {[]string{"taxi"}, []string{"call-taxi"}, 1}, {[]string{"taxi"}, []string{}, 0}, {nil, []string{}, -2},
		} {
			offered, _, err := w.Engine.Offered(t.Context(), "clinic", "s1", test.texts, test.most, nil)
			require.NoError(t, err)
			names := []string{}
			for _, one := range offered {
				names = append(names, one.Tool.Name)
			}
			require.Equal(t, test.want, names, test.texts)
		}
	})
}
