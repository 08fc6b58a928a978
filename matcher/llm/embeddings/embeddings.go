// Package embeddings compares what a message means with what tools do, by the vectors that an
// embedding model makes of texts. It finds tools of which no word was said.
//
// It only ranks: package retrieval fuses its ranks with those by words where tools are searched,
// and where a model is offered some of many. No tool fires by it, since what a similarity is
// worth differs from model to model.
//
// A tool is one text: its name, its description and its first examples. The vector is made when
// the tool's repository is written, and kept for all replicas under the model and the text. A
// message costs one request, with a limit of its own; where the model is away or slow, or vectors
// are not there yet, the words rank alone.
package embeddings

import (
	"cmp"
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"earshot/matcher"
	"earshot/matcher/llm/provider"
	"earshot/repositories"
)

// defaultPatience is how long a message waits for its vector and those of the tools.
const defaultPatience = 100 * time.Millisecond

const (
	// keptVectors bounds what a replica keeps in memory beside the tools that apps share: of
	// 1,536 numbers each they take 100 MB.
	keptVectors = 16 << 10
	// keptTexts is of how many messages and searches the vector is kept.
	keptTexts = 1024
)

// Store keeps vectors for all replicas. Its methods are safe for concurrent use.
type Store interface {
	// Vectors returns what was kept under the digests, empty where nothing was.
	Vectors(ctx context.Context, appID string, digests []string) ([][]byte, error)
	KeepVectors(ctx context.Context, appID string, vectors map[string][]byte) error
}

// Options configure a Space.
type Options struct {
	// Endpoint is an OpenAI-compatible one, with the model that embeds.
	Endpoint provider.Config
	Store    Store
	// Patience is how long a message waits; defaultPatience where it is zero.
	Patience time.Duration
	// Timeout is the time for one request about tools, for which nobody waits.
	Timeout    time.Duration
	HTTPClient *http.Client
	Logger     *slog.Logger
	Now        func() time.Time
}

// Space is where tools and messages are compared. It is safe for concurrent use.
type Space struct {
	options Options
	model   *model
	health  health
	vectors *lru.Cache[string, vector] // of tools, by digest
	texts   *lru.Cache[string, vector] // of what was said
	tasks   chan task
	done    chan struct{}
	stop    context.CancelFunc
}

// vector is a direction: its length is one.
type vector []float32

// New returns a Space, which works until it is closed.
func New(options Options) *Space {
	options.Patience = cmp.Or(options.Patience, defaultPatience)
	options.Timeout = cmp.Or(options.Timeout, 20*time.Second)
	options.Logger = cmp.Or(options.Logger, slog.New(slog.DiscardHandler))
	if options.Now == nil {
		options.Now = time.Now
	}
	vectors, _ := lru.New[string, vector](keptVectors) // fails for a size of 0 only
	texts, _ := lru.New[string, vector](keptTexts)
	ctx, stop := context.WithCancel(context.Background())
	s := &Space{
		options: options, model: newModel(options), health: health{now: options.Now}, vectors: vectors, texts: texts,
		tasks: make(chan task, queued), done: make(chan struct{}), stop: stop,
	}
	go s.work(ctx)
	return s
}

// Close ends the work on vectors. What was not made is made when it is needed.
func (s *Space) Close() {
	s.stop()
	<-s.done
}

// Alike returns at most n of the request's candidates, those first whose meaning is nearest to
// the text, and of all only those that stand out. It says why where nothing can be compared; the
// text is empty where something can, or nothing need be.
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

// A tool has to be nearer than the average of all by clearance standard deviations, or by
// ofMost of what one among so few can be: models differ in how alike they find texts that have
// nothing to do with each other.
const (
	clearance = 1.5
	ofMost    = 0.8
)

// standOut returns the candidates that are markedly nearer to what was said than others are.
func standOut(candidates []matcher.Candidate, tools []vector, said vector, n int) []matcher.Score {
	scores := make([]matcher.Score, 0, len(candidates))
	var sum, squares float64
	for i, of := range tools {
		if len(of) != len(said) { // not there yet
			continue
		}
		near := dot(of, said)
		scores = append(scores, matcher.Score{Candidate: candidates[i], Score: near})
		sum, squares = sum+float64(near), squares+float64(near)*float64(near)
	}
	all := max(1, float64(len(scores)))
	mean := sum / all
	most := (all - 1) / math.Sqrt(all) // deviations, of one tool that is apart from all others
	least := float32(mean + min(clearance, ofMost*most)*math.Sqrt(max(0, squares/all-mean*mean)))
	scores = slices.DeleteFunc(scores, func(one matcher.Score) bool { return one.Score <= 0 || one.Score < least })
	slices.SortStableFunc(scores, func(a, b matcher.Score) int { return cmp.Compare(b.Score, a.Score) })
	return scores[:min(n, len(scores))]
}

// dot adds up in four places at once: one sum would wait for itself at each step, and
// comparing ten thousand tools is nothing else.
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

// Learn makes the vectors of a repository's tools, in the background. Those that are not made
// are made when a message needs them.
func (s *Space) Learn(repository *repositories.Repository) {
	texts := make([]string, len(repository.Tools))
	for i := range repository.Tools {
		texts[i] = textOf(&repository.Tools[i])
	}
	s.learn(task{appID: repository.AppID, texts: texts})
}
