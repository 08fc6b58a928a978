// Package embeddings compares the meanings of messages and tools by vectors from an embedding model. It finds tools
// without a common word.
//
// It only ranks: package retrieval fuses its ranks with those by words, for searches and for the choice of tools
// that a model is offered. No tool fires by it, because similarities differ between models.
//
// A tool is one text: its name, its description and its first examples. Its vector is made when its repository is
// written, and stored for all replicas under the model and the text. A message costs one request with its own time
// limit; if the model is unavailable or slow, or vectors are missing, the words rank alone.
package embeddings

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"earshot/matcher"
	"earshot/matcher/llm"
	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/lists"
	"earshot/repositories/plaintext"
)

// defaultPatience is how long a message waits for its vector and those of the tools.
const defaultPatience = 100 * time.Millisecond

const (
	// keptVectors bounds a replica's cache beside the shared tools of apps: with 1,536 numbers each, vectors take
	// 100 MB.
	keptVectors = 16 << 10
	// keptTexts bounds the cached vectors of messages and searches.
	keptTexts = 1024
	// queued bounds the repositories that wait for their vectors; others' are made when a message needs them.
	queued = 256
)

// Store keeps vectors for all replicas. Its methods are safe for concurrent use.
type Store interface {
	// Vectors returns the stored vectors by digest, empty if unknown.
	Vectors(ctx context.Context, appID string, digests []string) ([][]byte, error)
	KeepVectors(ctx context.Context, appID string, vectors map[string][]byte) error
}

// Options configure a Space.
type Options struct {
	Endpoint   llm.Config // an OpenAI-compatible one, with the embedding model
	Store      Store
	Patience   time.Duration // how long a message waits; zero for defaultPatience
	Timeout    time.Duration // the time for one background request about tools
	HTTPClient *http.Client
	Logger     *slog.Logger
	Now        func() time.Time
}

// Space compares tools and messages. It is safe for concurrent use.
type Space struct {
	options Options
	model   model
	health  health
	vectors *lru.Cache[string, vector] // of tools, by digest
	texts   *lru.Cache[string, vector] // of messages and searches
	tasks   chan task
	done    chan struct{}
	stop    context.CancelFunc
}

// New returns a Space, which works until it is closed.
func New(options Options) *Space {
	options.Patience = cmp.Or(options.Patience, defaultPatience)
	options.Timeout = cmp.Or(options.Timeout, 20*time.Second)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	if options.Now == nil {
		options.Now = time.Now
	}
	vectors, _ := lru.New[string, vector](keptVectors) // fails only for size 0
	texts, _ := lru.New[string, vector](keptTexts)
	ctx, stop := context.WithCancel(context.Background())
	s := &Space{
		options: options, health: health{now: options.Now}, vectors: vectors, texts: texts, model: model{
			http: cmp.Or(options.HTTPClient, http.DefaultClient), name: options.Endpoint.Model, key: options.Endpoint.Key.Reveal(),
			url: strings.TrimRight(cmp.Or(options.Endpoint.BaseURL, llm.OpenAI), "/") + "/embeddings",
		},
		tasks: make(chan task, queued), done: make(chan struct{}), stop: stop,
	}
	go s.work(ctx)
	return s
}

// Close stops making vectors. Missing ones are made when they are needed again.
func (s *Space) Close() {
	s.stop()
	<-s.done
}

// Alike returns at most n of the request's candidates whose meaning is nearest to the text, in order, and only
// those that stand out. why tells why nothing could be compared; it is empty if comparison was possible or
// unnecessary.
func (s *Space) Alike(ctx context.Context, request matcher.Request, text string, n int) (alike []matcher.Score, why string) {
	if len(request.Candidates) == 0 || n < 1 {
		return nil, ""
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.Patience)
	defer cancel()
	var there sync.WaitGroup
	var tools []vector // by candidate
	there.Go(func() { tools = s.ofCandidates(ctx, request) })
	said, err := s.ofText(ctx, text)
	there.Wait()
	if err != nil {
		return nil, err.Error()
	}
	return standOut(request.Candidates, tools, said, n), ""
}

// A tool must be nearer than the average of all by clearance standard deviations, or by ofMost of the maximum among
// few tools: models differ in the similarity of unrelated texts.
const (
	clearance = 1.5
	ofMost    = 0.8
)

// standOut returns the candidates that are markedly nearer to the text than others.
func standOut(candidates []matcher.Candidate, tools []vector, said vector, n int) []matcher.Score {
	scores := make([]matcher.Score, 0, len(candidates))
	var sum, squares float64
	for i, of := range tools {
		if len(of) != len(said) { // missing yet
			continue
		}
		near := dot(of, said)
		scores = append(scores, matcher.Score{Candidate: candidates[i], Score: near})
		sum, squares = sum+float64(near), squares+float64(near)*float64(near)
	}
	all := max(1, float64(len(scores)))
	mean := sum / all
	most := (all - 1) / math.Sqrt(all) // in standard deviations, for one tool apart from all others
	least := float32(mean + min(clearance, ofMost*most)*math.Sqrt(max(0, squares/all-mean*mean)))
	scores = slices.DeleteFunc(scores, func(one matcher.Score) bool { return one.Score <= 0 || one.Score < least })
	slices.SortStableFunc(scores, func(a, b matcher.Score) int { return cmp.Compare(b.Score, a.Score) })
	return scores[:min(n, len(scores))]
}

// dot uses four sums, because one sum would be a chain of dependent additions. Comparing ten thousand tools is
// nothing but this.
func dot(a, b vector) (sum float32) {
	var sums [4]float32
	i := 0
	for ; i+4 <= len(a) && i+4 <= len(b); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		sums[0] += x[0] * y[0]
		sums[1] += x[1] * y[1]
		sums[2] += x[2] * y[2]
		sums[3] += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		sum += a[i] * b[i]
	}
	return sum + sums[0] + sums[1] + sums[2] + sums[3]
}

const (
	// shownExamples is how many examples are part of a tool's text, as in its description for models.
	shownExamples = 3
	// maxText bounds a text, in bytes: models refuse or cut texts above some hundred words, and a tool's purpose is
	// at the beginning.
	maxText = 2000
)

// ofText returns the vector of a user's text. The error is for users.
func (s *Space) ofText(ctx context.Context, said string) (vector, error) {
	said = text.Clip(said, maxText)
	if strings.TrimSpace(said) == "" {
		return nil, errors.New("the text has no words to compare")
	}
	if known, ok := s.texts.Get(said); ok {
		return known, nil
	}
	if err := s.health.pausedBy(); err != nil {
		return nil, err
	}
	found, err := s.model.embed(ctx, []string{said})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the embedding model %s did not answer within %s", s.model.name, s.options.Patience)
	case ctx.Err() != nil:
		return nil, ctx.Err() // the caller cancelled; this tells nothing about the model
	case err != nil:
		err = fmt.Errorf("the embedding model %s gave no vector: %w", s.model.name, err)
	}
	changed := s.health.note(err)
	if err != nil {
		if changed {
			s.options.Logger.WarnContext(ctx, "embeddings.away", "model", s.model.name, "error", err.Error())
		}
		return nil, err
	}
	if changed {
		s.options.Logger.InfoContext(ctx, "embeddings.back", "model", s.model.name)
	}
	s.texts.Add(said, found[0])
	return found[0], nil
}

// shelf holds the vectors of an app's shared tools, until one of them changes.
type shelf struct {
	tools   []matcher.Candidate
	known   atomic.Pointer[shelfState]
	lookups singleflight.Group
}

// shelfState is the state of a shelf, by tool.
type shelfState struct {
	vectors []vector // nil if missing yet
	whole   bool
	next    time.Time // time to look up missing ones again
}

// lookupInterval is the interval of lookups of missing vectors.
const lookupInterval = 2 * time.Second

// ofCandidates returns the vectors of a request's candidates, nil for missing ones, which are made for later
// messages.
func (s *Space) ofCandidates(ctx context.Context, request matcher.Request) []vector {
	if request.Shared == nil {
		return s.ofTools(ctx, request.Candidates)
	}
	found := make([]vector, len(request.Candidates))
	on := matcher.Kept(request.Shared, func(tools []matcher.Candidate) *shelf { return &shelf{tools: tools} })
	for i, of := range s.onShelf(ctx, on) {
		if place, in := request.InScope(on.tools[i]); in {
			found[place] = of
		}
	}
	for i, of := range s.ofTools(ctx, request.Own) {
		if place, in := request.Place(request.Own[i].Tool.Name); in {
			found[place] = of
		}
	}
	return found
}

// onShelf returns the vectors of shared tools. Missing ones are looked up once for all messages, which wait as long
// as their context allows, and use the vectors known then.
func (s *Space) onShelf(ctx context.Context, on *shelf) []vector {
	known := on.known.Load()
	if known == nil {
		known = &shelfState{vectors: make([]vector, len(on.tools))}
	}
	if known.whole || s.options.Now().Before(known.next) {
		return known.vectors
	}
	done := on.lookups.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
		defer cancel()
		found := s.ofTools(ctx, on.tools)
		on.known.Store(&shelfState{found, !slices.ContainsFunc(found, isMissing), s.options.Now().Add(lookupInterval)})
		return found, nil
	})
	select {
	case found := <-done:
		return found.Val.([]vector)
	case <-ctx.Done():
		return known.vectors
	}
}

func isMissing(v vector) bool { return v == nil }

// ofTools returns the vectors of an app's tools from the cache or the store. Missing ones are made in the
// background.
func (s *Space) ofTools(ctx context.Context, tools []matcher.Candidate) []vector {
	found, missing, places := make([]vector, len(tools)), task{}, []int(nil)
	for i, candidate := range tools {
		said := textOf(candidate.Tool)
		if known, ok := s.vectors.Get(s.digest(said)); ok {
			found[i] = known
			continue
		}
		missing.appID = candidate.Repository.AppID
		missing.texts, places = append(missing.texts, said), append(places, i)
	}
	if len(places) == 0 {
		return found
	}
	stored, err := s.stored(ctx, missing)
	if err != nil {
		s.options.Logger.DebugContext(ctx, "embeddings.unread", "app", missing.appID, "error", err.Error())
	}
	for i, of := range stored {
		found[places[i]] = of
	}
	if err != nil || slices.ContainsFunc(stored, isMissing) {
		s.learn(missing)
	}
	return found
}

// stored looks up vectors in the store, by text, and caches them.
func (s *Space) stored(ctx context.Context, of task) ([]vector, error) {
	digests := lists.Map(of.texts, s.digest)
	kept, err := s.options.Store.Vectors(ctx, of.appID, digests)
	if err != nil {
		return nil, err
	}
	found := make([]vector, len(kept))
	for i, packed := range kept {
		if found[i] = unpack(packed); found[i] != nil {
			s.vectors.Add(digests[i], found[i])
		}
	}
	return found, nil
}

// unpack decodes a vector of little-endian 32-bit floats; nil for invalid data.
func unpack(packed []byte) vector {
	if len(packed) == 0 || len(packed)%4 != 0 {
		return nil
	}
	v := make(vector, len(packed)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(packed[4*i:]))
	}
	return v
}

// task is texts of an app without vectors.
type task struct {
	appID string
	texts []string
}

// Learn makes the vectors of a repository's tools in the background.
func (s *Space) Learn(repository *repositories.Repository) {
	texts := make([]string, len(repository.Tools))
	for i := range repository.Tools {
		texts[i] = textOf(&repository.Tools[i])
	}
	s.learn(task{repository.AppID, texts})
}

func textOf(tool *repositories.Tool) string {
	return text.Clip(plaintext.Text(strings.Join(matcher.Samples(tool, shownExamples), "\n")), maxText)
}

// digest identifies the model's vector of a text.
func (s *Space) digest(of string) string {
	sum := sha256.Sum256([]byte(s.model.name + "\n" + of))
	return hex.EncodeToString(sum[:16])
}

// learn queues a task, unless the queue is full.
func (s *Space) learn(next task) {
	select {
	case s.tasks <- next:
	default:
	}
}

// work makes vectors, one task after the other, so that this replica requests no text twice.
func (s *Space) work(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case next := <-s.tasks:
			if err := s.make(ctx, next); err != nil && ctx.Err() == nil {
				s.options.Logger.WarnContext(ctx, "embeddings.unmade", "app", next.appID, "texts", len(next.texts), "error", err.Error())
			}
		}
	}
}

const (
	batch = 32 // the number of texts in a request: the lowest default limit of servers
	// tries of a request about tools, with growing pauses between.
	tries = 5
)

// make requests the vectors that are neither cached nor stored, each text once, and stores them.
func (s *Space) make(ctx context.Context, of task) error {
	missing, seen := task{appID: of.appID}, map[string]bool{}
	for _, said := range of.texts {
		if !seen[said] && !s.vectors.Contains(s.digest(said)) {
			missing.texts = append(missing.texts, said)
		}
		seen[said] = true
	}
	found, err := s.stored(ctx, missing)
	if err != nil {
		return err
	}
	var texts []string
	for i, said := range missing.texts {
		if found[i] == nil {
			texts = append(texts, said)
		}
	}
	for some := range slices.Chunk(texts, batch) {
		made, err := backoff.Retry(ctx, func() ([]vector, error) {
			limited, cancel := context.WithTimeout(ctx, s.options.Timeout)
			defer cancel()
			return s.model.embed(limited, some)
		}, backoff.WithMaxTries(tries), backoff.WithBackOff(backoff.NewExponentialBackOff()))
		if err != nil {
			return err
		}
		packed := map[string][]byte{}
		for i, said := range some {
			digest := s.digest(said)
			for _, number := range made[i] {
				packed[digest] = binary.LittleEndian.AppendUint32(packed[digest], math.Float32bits(number))
			}
			s.vectors.Add(digest, made[i])
		}
		if err := s.options.Store.KeepVectors(ctx, of.appID, packed); err != nil {
			return err
		}
	}
	return nil
}
