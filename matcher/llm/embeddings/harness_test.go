package embeddings_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"earshot/deploy/testbed/redistest"
	"earshot/matcher/llm"
	"earshot/matcher/llm/embeddings"
	"earshot/matcher/matchertest"
	"earshot/repositories"
	"earshot/repositories/keyspace"
	"earshot/repositories/secret"
	"earshot/repositories/store"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// meanings are words of one meaning: a text's vector says which of them it has.
var meanings = [][]string{
	{"physician", "doctor", "sick", "ill"}, {"cab", "taxi", "ride", "airport"}, {"umbrella", "weather", "rain"},
	{"lamp", "dark", "light"}, {"coffee", "espresso", "latte"},
}

// server is an OpenAI-compatible endpoint that embeds.
type server struct {
	*httptest.Server
	lock  sync.Mutex
	asked [][]string // the texts of each request
	keys  []string
	say   http.HandlerFunc // instead of vectors; nil: vectors
}

func newServer(t testing.TB) *server {
	s := &server{}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP answers as OpenAI does, the last text first: the index says whose a vector is.
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
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": embed(asked.Input[i])})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "model": "small", "data": data})
}

// embed has a number for each meaning, and one that all texts share.
func embed(text string) []float64 {
	found := []float64{0.1}
	for _, words := range meanings {
		n := 0.0
		for _, word := range words {
			n += float64(strings.Count(strings.ToLower(text), word))
		}
		found = append(found, n)
	}
	return found
}

func (s *server) answers(say http.HandlerFunc) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.say = say
}

// requests returns the texts that were asked for since the last time.
func (s *server) requests() [][]string {
	s.lock.Lock()
	defer s.lock.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func storeOn(t *testing.T, redis *redistest.Server) *store.Store {
	sealer, err := store.NewSealer([]byte(strings.Repeat("k", store.KeySize)))
	require.NoError(t, err)
	return store.New(&keyspace.DB{UniversalClient: redis.Client(), Embedded: redis.Embedded()}, store.Options{Sealer: sealer, SessionTTL: time.Hour})
}

// waiting is for those who wait for an answer that comes, on however busy a machine.
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

var tools = []string{
	`{"name":"book","description":"Make an appointment with a physician"}`,
	`{"name":"transport","description":"Order a taxi"}`,
	`{"name":"forecast","description":"Tell the weather"}`,
	`{"name":"brighten","description":"Switch the lamp on"}`,
	`{"name":"barista","description":"Make a coffee","examples":["an [espresso](kind) to go"],"schema":[{"parameter":"kind","type":"string"}]}`,
}

func repository(t *testing.T, tools ...string) *repositories.Repository {
	return matchertest.InScope(t, matchertest.Scope, "r", tools...)[0].Repository
}

// learned waits until the tools' vectors are kept.
func learned(t *testing.T, kept *counted, space *embeddings.Space, tools ...string) {
	t.Helper()
	space.Learn(repository(t, tools...))
	require.Eventually(t, func() bool { return kept.count() >= len(tools) }, waiting, time.Millisecond)
}

// counted is a store that knows how many vectors it keeps.
type counted struct {
	*store.Store
	lock sync.Mutex
	keys map[string]bool
}

func newStore(t *testing.T, redis *redistest.Server) *counted {
	return &counted{Store: storeOn(t, redis), keys: map[string]bool{}}
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
