package embeddings_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/llm/embeddings"
	"earshot/matcher/matchertest"
	"earshot/matcher/retrieval"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// meanings are groups of synonyms: a text's vector tells which groups it contains.
var meanings = [][]string{
	{"physician", "doctor", "sick", "ill"}, {"cab", "taxi", "ride", "airport"}, {"umbrella", "weather", "rain"},
	{"lamp", "dark", "light"}, {"coffee", "espresso", "latte"},
}

var tools = []string{
	`{"name":"book","description":"Make an appointment with a physician"}`,
	`{"name":"transport","description":"Order a taxi"}`,
	`{"name":"forecast","description":"Tell the weather"}`,
	`{"name":"brighten","description":"Switch the lamp on"}`,
	`{"name":"barista","description":"Make a coffee","examples":["an [espresso](kind) to go"],"schema":[{"parameter":"kind","type":"string"}]}`,
}

// server is an OpenAI-compatible endpoint for embeddings.
type server struct {
	*httptest.Server
	lock  sync.Mutex
	asked [][]string // texts of each request
	keys  []string
	say   http.HandlerFunc // in place of vectors; nil for vectors
}

func newServer(t testing.TB) *server {
	s := &server{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers like OpenAI, but in reverse order: the index identifies the text of a vector.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Input []string `json:"input"`
		Model string   `json:"model"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || r.URL.Path != "/v1/embeddings" || asked.Model != "small" {
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	s.lock.Lock()
	s.asked, s.keys = append(s.asked, asked.Input), append(s.keys, r.Header.Get("Authorization"))
	say := s.say
	s.lock.Unlock()
	if say != nil {
		say(w, r)
		return
	}
	data := []map[string]any{}
	for i := len(asked.Input) - 1; i >= 0; i-- {
		vector := []float64{0.1} // common to all texts
		for _, words := range meanings {
			n := 0.0
			for _, word := range words {
				n += float64(strings.Count(strings.ToLower(asked.Input[i]), word))
			}
			vector = append(vector, n)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vector})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "small", "data": data})
}

func (s *server) answers(say http.HandlerFunc) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.say = say
}

// requests returns the requested texts since the last call.
func (s *server) requests() [][]string {
	s.lock.Lock()
	defer s.lock.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

// counted is a store that counts its vectors.
type counted struct {
	*store.Store
	lock sync.Mutex
	keys map[string]bool
}

func newStore(t *testing.T, redis *redistest.Server) *counted {
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	db := &keyspace.DB{UniversalClient: redis.Client(), Embedded: redis.Embedded()}
	return &counted{Store: store.New(db, store.Options{Sealer: sealer, SessionTTL: time.Hour}), keys: map[string]bool{}}
}

func (c *counted) KeepVectors(ctx context.Context, appID string, vectors map[string][]byte) error {
	err := c.Store.KeepVectors(ctx, appID, vectors)
	c.lock.Lock()
	defer c.lock.Unlock()
	for digest := range vectors {
		c.keys[digest] = err == nil
	}
	return err
}

func (c *counted) count() int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return len(c.keys)
}

// waiting is a timeout that suffices on a busy machine.
const waiting = time.Minute

func spaceOn(t testing.TB, s *server, kept embeddings.Store, change ...func(*embeddings.Options)) *embeddings.Space {
	options := embeddings.Options{
		Endpoint: llm.Config{BaseURL: s.URL + "/v1/", Key: secret.New(matchertest.Key), Model: "small"}, Store: kept,
		Patience: waiting, Timeout: waiting,
	}
	for _, one := range change {
		one(&options)
	}
	space := embeddings.New(options)
	t.Cleanup(space.Close)
	return space
}

// learned waits until the tools' vectors are stored.
func learned(t *testing.T, kept *counted, space *embeddings.Space, tools ...string) {
	t.Helper()
	space.Learn(matchertest.InScope(t, matchertest.Scope, "r", tools...)[0].Repository)
	require.Eventually(t, func() bool { return kept.count() >= len(tools) }, waiting, time.Millisecond)
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func knowing(t *testing.T, tools ...string) (*server, *counted, *embeddings.Space, *clock) {
	s, kept, at := newServer(t), newStore(t, redistest.Mini(t)), &clock{matchertest.Friday}
	space := spaceOn(t, s, kept, func(o *embeddings.Options) { o.Now = at.Now })
	learned(t, kept, space, tools...)
	s.requests()
	return s, kept, space, at
}

// request returns a message with an app's shared tools in scope.
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
	_, _, space, _ := knowing(t, tools...)
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
	many := tools[:len(tools):len(tools)]
	for i := range 40 {
		many = append(many, fmt.Sprintf(`{"name":"job-%d","description":"Run the nightly job %d"}`, i, i))
	}
	s, _, space, _ := knowing(t, many...)
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

func TestWordsAloneRankWhereTheModelIsAway(t *testing.T) {
	s, _, space, at := knowing(t, tools...)
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"error":{"message":"no quota for `+matchertest.Key+`"}}`, http.StatusTooManyRequests)
	})
	for i := range 3 {
		ctx, trace := matcher.Recorded(t.Context())
		one := request(t, fmt.Sprint("order a taxi ", i), tools...)
		require.Contains(t, matchertest.Found(retrieval.NewFused(space).Search(ctx, one, one.Text, 3)), "transport")
		require.Len(t, trace.Notes, 1)
		require.Contains(t, trace.Notes[0], "Tools were ranked without embeddings: the embedding model small gave no vector: "+
			"HTTP 429 Too Many Requests: no quota for ***")
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
	s, kept, _, _ := knowing(t, tools...)
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
	s, _, space, at := knowing(t, tools...)
	for body, want := range map[string]string{
		`{"data":[]}`: "1 texts were given, and the answer has 0 vectors",
		`{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`:        "the answer has 2 vectors",
		`{"data":[{"index":7,"embedding":[1]}]}`:                                    "an index that is unknown or repeated: 7",
		`{"data":[{"index":0,"embedding":[0,0]}]}`:                                  "a vector of 2 numbers without a direction",
		`{"data":[{"index":0,"embedding":[]}]}`:                                     "a vector of 0 numbers without a direction",
		`{"data":`:                                                                  "unexpected EOF",
		`{"data":[{"index":0,"embedding":[` + strings.Repeat("1,", 5<<20) + `1]}]}`: "too large",
		`{"data":[{"index":0,"embedding":[1,2,3]}]}`:                                "", // vectors of different lengths are not compared
	} {
		at.now = at.now.Add(time.Hour)
		s.answers(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
		one := request(t, "I am ill: "+want, tools...)
		alike, why := space.Alike(t.Context(), one, one.Text, 3)
		require.Empty(t, alike)
		require.Contains(t, why, want)
		require.Equal(t, want == "", why == "")
	}
	blank := request(t, " ", tools...)
	_, why := space.Alike(t.Context(), blank, blank.Text, 3)
	require.Equal(t, "the text has no words to compare", why)
}

// shelves is a store with a vector for every text, as long as those of OpenAI's small model.
type shelves struct{}

const dimensions = 1536

func (shelves) Vectors(_ context.Context, _ string, digests []string) ([][]byte, error) {
	found := make([][]byte, len(digests))
	for i, digest := range digests {
		for n := range dimensions {
			found[i] = binary.LittleEndian.AppendUint32(found[i], math.Float32bits(float32(digest[n%len(digest)])/4096))
		}
	}
	return found, nil
}

func (shelves) KeepVectors(context.Context, string, map[string][]byte) error { return nil }

// BenchmarkAlikeAmongTenThousandTools measures a message without the request for its vector.
func BenchmarkAlikeAmongTenThousandTools(b *testing.B) {
	s := newServer(b)
	s.answers(func(w http.ResponseWriter, _ *http.Request) {
		vector := make([]int, dimensions)
		vector[0] = 1
		_ = json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"index": 0, "embedding": vector}}})
	})
	space := spaceOn(b, s, shelves{})
	candidates, _ := matchertest.Many(b, 10_000)
	one := matcher.Request{Candidates: candidates, Shared: &matcher.Shared{Tools: candidates}}
	compare := func() {
		_, why := space.Alike(b.Context(), one, "the same text, whose vector is known", 64)
		require.Empty(b, why)
	}
	compare()
	b.ReportAllocs()
	for b.Loop() {
		compare()
	}
}
