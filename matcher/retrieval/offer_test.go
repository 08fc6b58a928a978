package retrieval_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
)

// conversation is a user's messages among many tools; every third message fires a tool.
func conversation(t testing.TB, n int, messages []string) []matcher.Request {
	candidates, _ := matchertest.Many(t, n)
	shared := &matcher.Shared{Tools: candidates}
	var turns []matcher.Request
	var history []matcher.Utterance
	for i, text := range messages {
		turns = append(turns, matcher.Request{Text: text, History: slices.Clone(history), Candidates: candidates, Shared: shared})
		said := matcher.Utterance{ID: fmt.Sprint("m", i), Actor: matcher.ActorUser, Text: text}
		if i%3 == 2 {
			said.Fired = []matcher.PastCall{{Name: candidates[(i*37)%len(candidates)].Tool.Name}}
		}
		history = append(history, said, matcher.Utterance{Actor: matcher.ActorAgent, Text: "Fine."})
	}
	return turns
}

func messages(t testing.TB, n int) []string {
	_, said := matchertest.Many(t, 1)
	for len(said) < n {
		said = append(said, said...)
	}
	return said[:n]
}

func TestOfferGrowsBehindWhatTheConversationWasOfferedBefore(t *testing.T) {
	r := retrieval.New()
	var before []string
	same, grown, cut := 0, 0, 0
	for i, turn := range conversation(t, 500, messages(t, 20)) {
		names := matchertest.Names(r.Offer(t.Context(), turn, 40))
		require.LessOrEqual(t, len(names), 40)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(names))), len(names), "none twice")
		switch {
		case slices.Equal(before, names):
			same++
		case len(names) > len(before) && slices.Equal(before, names[:len(before)]):
			grown++
		default:
			require.Equal(t, before[:25], names[:25], "what makes room is at the end")
			cut++
		}
		for _, said := range turn.History {
			for _, call := range said.Fired {
				require.Contains(t, names, call.Name, "message %d", i)
			}
		}
		before = names
	}
	require.Greater(t, grown, cut)
	require.Positive(t, same)
}

func TestOfferIsNotChangedByATextThatSaysNothing(t *testing.T) {
	texts := append(messages(t, 1), "ok", "yes, please", "", "👍")
	r := retrieval.New()
	turns := conversation(t, 500, texts)
	first := matchertest.Names(r.Offer(t.Context(), turns[0], 40))
	for _, turn := range turns[1:] {
		for i := range turn.History {
			turn.History[i].Fired = nil
		}
		require.Equal(t, first, matchertest.Names(r.Offer(t.Context(), turn, 40)), turn.Text)
	}
}

func TestOfferFollowsFromTheHistoryOnEveryReplica(t *testing.T) {
	one := retrieval.New()
	for i, turn := range conversation(t, 300, messages(t, 15)) {
		followed := matchertest.Names(one.Offer(t.Context(), turn, 40))
		turn.Shared = &matcher.Shared{Tools: turn.Candidates} // a replica that has not seen the conversation
		require.Equal(t, followed, matchertest.Names(retrieval.New().Offer(t.Context(), turn, 40)), "message %d", i)
	}
}

func TestOfferOutlivesTheBeginningOfTheHistory(t *testing.T) {
	r := retrieval.New()
	turns := conversation(t, 300, messages(t, 40))
	var before []string
	for i, turn := range turns {
		turn.History = turn.History[matcher.HistoryStart(len(turn.History), 40):]
		names := matchertest.Names(r.Offer(t.Context(), turn, 64))
		if i > 0 {
			require.Equal(t, before[:40], names[:40], "message %d", i)
		}
		before = names
	}
}

func TestOfferHasCallsInTheMiddleOfBeingMade(t *testing.T) {
	turn := conversation(t, 200, messages(t, 1))[0]
	begun := turn.Candidates[:12]
	for _, one := range begun {
		turn.Unfinished = append(turn.Unfinished, matcher.Unfinished{Candidate: one})
	}
	kept := retrieval.New().Offer(t.Context(), turn, 10)
	require.Len(t, kept, 10)
	require.Subset(t, matchertest.Names(begun), matchertest.Names(kept))
}

func TestSearchFindsWhatHasTheWordsAndNothingElse(t *testing.T) {
	candidates := crowd(t, 40, matchertest.TaxiTool, matchertest.WeatherTool)
	request := matcher.Request{Text: "xyz", Candidates: candidates}
	found := matchertest.Found(retrieval.New().Search(t.Context(), request, "weather forecast", 5))
	require.Equal(t, "get_weather", found[0], "the best first")
	require.NotContains(t, found, "call_taxi")
	require.Empty(t, retrieval.New().Search(t.Context(), request, "", 5))
	require.Len(t, retrieval.New().Search(t.Context(), request, "nightly job", 5), 5)
}

func TestOfferOfMoreToolsOfASessionThanFitIsTheNearestOfThem(t *testing.T) {
	app := crowd(t, 40)
	var own []string
	for i := range 30 {
		own = append(own, fmt.Sprintf(`{"name":"own-%02d","description":"Own thing %d"}`, i, i))
	}
	request := ofSession(t, app, "", append(own, matchertest.TaxiTool)...)
	request.Text = "call a taxi"
	kept := matchertest.Names(retrieval.New().Offer(t.Context(), request, 10))
	require.Len(t, kept, 10)
	require.Equal(t, "call_taxi", kept[0])
	for _, name := range kept[1:] {
		require.Regexp(t, "^own-", name)
	}
}

func TestConversationsAtOnceAreOfferedWhatEachWouldBeAlone(t *testing.T) {
	turns := conversation(t, 200, messages(t, 12))
	want := make([][]string, len(turns))
	for i, turn := range turns {
		want[i] = matchertest.Names(retrieval.New().Offer(t.Context(), turn, 30))
	}
	r := retrieval.New()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i, turn := range turns {
				assert.Equal(t, want[i], matchertest.Names(r.Offer(t.Context(), turn, 30)))
			}
		})
	}
	all.Wait()
}
