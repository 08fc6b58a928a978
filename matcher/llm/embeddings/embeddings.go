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
	"earshot/repositories/plaintext"
)

// defaultPatience is how long a message waits for its vector and those of the tools.
const defaultPatience = 100 * time.Millisecond

const (
	// keptVectors bounds what a replica keeps in memory beside the tools that apps share: of
	// 1,536 numbers each they take 100 MB.
	keptVectors = 16 << 10
	// keptTexts is of how many messages and searches the vector is kept.
	keptTexts = 1024
	// queued is how many repositories may wait for their vectors; those of further ones are
	// made when a message needs them.
	queued = 256
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
	Endpoint llm.Config
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
	model   model
	health  health
	vectors *lru.Cache[string, vector] // of tools, by digest
	texts   *lru.Cache[string, vector] // of what was said
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
	vectors, _ := lru.New[string, vector](keptVectors) // fails for a size of 0 only
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

const (
	// shownExamples of a tool are part of its text, as a model is shown them.
	shownExamples = 3
	// maxText bounds a text, in bytes: models refuse or cut what has more than some hundred
	// words, and what a tool is for stands at the beginning.
	maxText = 2000
)

// ofText returns the vector of what was said. The error says why there is none, for people.
func (s *Space) ofText(ctx context.Context, said string) (vector, error) {
	said = text.Clip(said, maxText)
	if strings.TrimSpace(said) == "" {
		return nil, errors.New("there are no words to compare")
	}
	if known, is := s.texts.Get(said); is {
		return known, nil
	}
	if err := s.health.pausing(); err != nil {
		return nil, err
	}
	found, err := s.model.embed(ctx, []string{said})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = fmt.Errorf("the embedding model %s did not answer within %s", s.model.name, s.options.Patience)
	case ctx.Err() != nil:
		return nil, ctx.Err() // the caller has gone; nothing is known of the model
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

// shelf has the vectors of the tools that an app shares, as long as none of them changes.
type shelf struct {
	tools   []matcher.Candidate
	known   atomic.Pointer[looked]
	lookups singleflight.Group
}

// looked is what was found for a shelf, by tool.
type looked struct {
	vectors []vector // nil for those that are not there yet
	whole   bool
	next    time.Time // when missing ones are looked up again
}

// lookAgain is how long it takes until what is missing on a shelf is looked up again.
const lookAgain = 2 * time.Second

// ofCandidates returns the vectors of a request's candidates, nil for those that are not there.
// These are made for the next messages.
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

// onShelf returns the vectors of shared tools. Missing ones are looked up once for all messages,
// which wait as long as their context allows, and take what there is then.
func (s *Space) onShelf(ctx context.Context, on *shelf) []vector {
	known := on.known.Load()
	if known == nil {
		known = &looked{vectors: make([]vector, len(on.tools))}
	}
	if known.whole || s.options.Now().Before(known.next) {
		return known.vectors
	}
	done := on.lookups.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
		defer cancel()
		found := s.ofTools(ctx, on.tools)
		on.known.Store(&looked{found, !slices.ContainsFunc(found, isMissing), s.options.Now().Add(lookAgain)})
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

// ofTools returns the vectors of tools of one app: from memory, else from the store. Those that
// are in neither are made in the background.
func (s *Space) ofTools(ctx context.Context, tools []matcher.Candidate) []vector {
	found, missing, places := make([]vector, len(tools)), task{}, []int(nil)
	for i, candidate := range tools {
		said := textOf(candidate.Tool)
		if known, is := s.vectors.Get(s.digest(said)); is {
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

// stored looks vectors up in the store, by text, and keeps what it finds in memory.
func (s *Space) stored(ctx context.Context, of task) ([]vector, error) {
	digests := make([]string, len(of.texts))
	for i, said := range of.texts {
		digests[i] = s.digest(said)
	}
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

// unpack reads the numbers of a vector, four bytes each, the least significant first; nil if there
// are none.
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

// task is texts of an app whose vectors are missing.
type task struct {
	appID string
	texts []string
}

// Learn makes the vectors of a repository's tools, in the background. Those that are not made
// are made when a message needs them.
func (s *Space) Learn(repository *repositories.Repository) {
	texts := make([]string, len(repository.Tools))
	for i := range repository.Tools {
		texts[i] = textOf(&repository.Tools[i])
	}
	s.learn(task{repository.AppID, texts})
}

// textOf is what a tool's vector is made of.
func textOf(tool *repositories.Tool) string {
	parts := []string{text.Identifier(tool.Name)}
	if tool.Description != "" {
		parts = append(parts, tool.Description)
	}
	spoken := tool.Spoken()
	parts = append(parts, spoken[:min(len(spoken), shownExamples)]...)
	return text.Clip(plaintext.Text(strings.Join(parts, "\n")), maxText)
}

// digest names what the model makes of a text.
func (s *Space) digest(of string) string {
	sum := sha256.Sum256([]byte(s.model.name + "\n" + of))
	return hex.EncodeToString(sum[:16])
}

// learn queues a task, unless too many wait.
func (s *Space) learn(next task) {
	select {
	case s.tasks <- next:
	default:
	}
}

// work makes vectors, one task after the other, so that no text is asked for twice here.
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
	// batch is how many texts a request has: the least that servers allow by default.
	batch = 32
	// tries of a request about tools, with growing pauses in between.
	tries = 5
)

// make asks for the vectors that are neither in memory nor in the store, each text once, and keeps
// them.
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
