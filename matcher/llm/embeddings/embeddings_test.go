package embeddings_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/llm/embeddings"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
)

// request is a message with the tools in scope, as an app shares them.
func request(t *testing.T, text string, tools ...string) matcher.Request {
	candidates := matchertest.InScope(t, matchertest.Scope, "r", tools...)
	return matcher.Request{Text: text, Candidates: candidates, Shared: &matcher.Shared{Tools: candidates}}
}

func search(t *testing.T, space *embeddings.Space, one matcher.Request, n int) []string {
	return matchertest.Found(retrieval.NewFused(space).Search(t.Context(), one, one.Text, n))
}

func TestAToolIsFoundOfWhichNoWordIsSaid(t *testing.T) {
	redistest.Each(t, func(t *testing.T, redis *redistest.Server) {
		s, kept := newServer(t), newStore(t, redis)
		space := spaceOn(t, s, kept)
		learned(t, kept, space, tools...)
		asked := s.requests()
		require.Len(t, asked, 1, "the tools of one repository are one request")
		require.Contains(t, asked[0], "barista\nMake a coffee\nan espresso to go", "a tool is one text, without marks")

		one := request(t, "I am ill", tools...)
		require.Empty(t, matchertest.Found(retrieval.New().Search(t.Context(), one, one.Text, 3)), "by words")
		require.Equal(t, []string{"book"}, search(t, space, one, 3))
		require.Equal(t, [][]string{{"I am ill"}}, s.requests(), "a message is one request")
		require.Equal(t, []string{"Bearer " + matchertest.Key}, s.keys[:1])

		require.Equal(t, []string{"book"}, search(t, space, one, 3))
		require.Empty(t, s.requests(), "what was said before is known")

		other := spaceOn(t, s, newStore(t, redis))
		require.Equal(t, []string{"transport"}, search(t, other, request(t, "cab please", tools...), 3))
		require.Equal(t, [][]string{{"cab please"}}, s.requests(), "another replica has the vectors of the store")
	})
}

func TestRanksByWordsAndByMeaningAreFused(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	space := spaceOn(t, s, kept)
	learned(t, kept, space, tools...)
	one := request(t, "make it so, I am ill", tools...)
	byWords := matchertest.Found(retrieval.New().Search(t.Context(), one, one.Text, 5))
	require.Contains(t, byWords[:2], "barista", "which makes a coffee")
	scores := retrieval.NewFused(space).Search(t.Context(), one, one.Text, 5)
	require.Equal(t, "book", scores[0].Tool.Name, "what both rank comes first: it makes, too")
	require.ElementsMatch(t, byWords, matchertest.Found(scores))
	for i := range scores[1:] {
		require.GreaterOrEqual(t, scores[i].Score, scores[i+1].Score)
	}
}

func TestAModelIsOfferedWhatTheMessageMeans(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	space := spaceOn(t, s, kept)
	many := tools[:len(tools):len(tools)]
	for i := range 40 {
		many = append(many, fmt.Sprintf(`{"name":"job-%d","description":"Run the nightly job %d"}`, i, i))
	}
	learned(t, kept, space, many...)
	one := request(t, "I am ill", many...)
	one.History = []matcher.Utterance{{Actor: matcher.ActorUser, Text: "run the nightly job 7"}}
	require.NotContains(t, matchertest.Names(retrieval.New().Offer(t.Context(), one, 8)), "book")
	require.Contains(t, matchertest.Names(retrieval.NewFused(space).Offer(t.Context(), one, 8)), "book")
	s.requests()
	retrieval.NewFused(space).Offer(t.Context(), one, len(many))
	require.Empty(t, s.requests(), "where all are offered nothing is compared")
}

func TestASessionsToolsAreCompared(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	space := spaceOn(t, s, kept)
	one := request(t, "an espresso", tools[:4]...)
	own := matchertest.InScope(t, matchertest.Scope, "own", tools[4])
	one.Own, one.Candidates = own, append(one.Candidates[:4:4], own...)
	matchertest.Sort(one.Candidates)
	require.Eventually(t, func() bool {
		alike, why := space.Alike(t.Context(), one, one.Text, 3)
		require.Empty(t, why)
		return len(alike) == 1 && alike[0].Tool.Name == "barista"
	}, waiting, time.Millisecond, "what no write has made is made when it is needed")
	require.Eventually(t, func() bool { return kept.count() == 5 }, waiting, time.Millisecond, "and kept, as are the app's own")
}

// clock is one that a test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestWordsAloneRankWhereTheModelIsAway(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	at := &clock{matchertest.Friday}
	space := spaceOn(t, s, kept, func(o *embeddings.Options) { o.Now = at.Now })
	learned(t, kept, space, tools...)
	s.requests()
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no quota for `+matchertest.Key+`"}}`, http.StatusTooManyRequests)
	})
	for i := range 3 {
		ctx, trace := matcher.Recorded(t.Context())
		one := request(t, fmt.Sprint("order a taxi ", i), tools...)
		require.Contains(t, matchertest.Found(retrieval.NewFused(space).Search(ctx, one, one.Text, 3)), "transport")
		require.Len(t, trace.Notes, 1)
		require.Contains(t, trace.Notes[0], "Tools were ranked by words alone: the embedding model small gave no vector")
		require.NotContains(t, trace.Notes[0], matchertest.Key)
	}
	require.Len(t, s.requests(), 3)
	s.answers(nil)

	unwell := request(t, "I am ill", tools...)
	_, why := space.Alike(t.Context(), unwell, unwell.Text, 3)
	require.Contains(t, why, "it is asked again 09:30:01 after its 3 failures in a row")
	require.Empty(t, s.requests(), "it is not asked for every message")
	at.now = at.now.Add(time.Second)
	require.Equal(t, []string{"book"}, search(t, space, unwell, 3))
}

func TestAMessageDoesNotWaitForASlowModel(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	learned(t, kept, spaceOn(t, s, kept), tools...)
	release := make(chan struct{})
	defer close(release)
	s.answers(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	impatient := spaceOn(t, s, kept, func(o *embeddings.Options) { o.Patience = time.Millisecond })
	one := request(t, "I am ill", tools...)
	alike, why := impatient.Alike(t.Context(), one, one.Text, 3)
	require.Empty(t, alike)
	require.Equal(t, "the embedding model small did not answer within 1ms", why)
}

func TestAnswersThatAreNoVectorsAreRefused(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	at := &clock{matchertest.Friday}
	space := spaceOn(t, s, kept, func(o *embeddings.Options) { o.Now = at.Now })
	learned(t, kept, space, tools...)
	for body, want := range map[string]string{
		`{"data":[]}`: "1 texts were given, and the answer has 0 vectors",
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`:        "the answer has 2 vectors",
		`{"data":[{"index":7,"embedding":[1]}]}`:                                    "an index that is not asked for or is there twice: 7",
		`{"data":[{"index":0,"embedding":[0,0]}]}`:                                  "a vector of 2 numbers without a direction",
		`{"data":[{"index":0,"embedding":[]}]}`:                                     "a vector of 0 numbers without a direction",
		`{"data":`:                                                                  "unexpected EOF",
		`{"data":[{"index":0,"embedding":[` + strings.Repeat("1,", 5<<20) + `1]}]}`: "too large",
	} {
		at.now = at.now.Add(time.Hour)
		s.answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		one := request(t, "I am ill", tools...)
		alike, why := space.Alike(t.Context(), one, one.Text, 3)
		require.Empty(t, alike)
		require.Contains(t, why, want)
	}
}

func TestVectorsOfAnotherLengthAreNotCompared(t *testing.T) {
	s, kept := newServer(t), newStore(t, redistest.Mini(t))
	space := spaceOn(t, s, kept)
	learned(t, kept, space, tools...)
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,2,3]}]}`)
	})
	one := request(t, "I am ill", tools...)
	alike, why := space.Alike(t.Context(), one, one.Text, 3)
	require.Empty(t, alike)
	require.Empty(t, why)
}

func TestNothingIsComparedWithoutWords(t *testing.T) {
	s := newServer(t)
	space := spaceOn(t, s, newStore(t, redistest.Mini(t)))
	one := request(t, " ", tools...)
	_, why := space.Alike(t.Context(), one, one.Text, 3)
	require.Equal(t, errors.New("there are no words to compare").Error(), why)
}
