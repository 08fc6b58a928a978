package embeddings

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"earshot/matcher/llm/provider"
)

// model asks for vectors.
type model struct {
	client *openai.Client
	name   string
	key    string
}

func newModel(options Options) *model {
	key := options.Endpoint.Key.Reveal()
	config := openai.DefaultConfig(key)
	if options.Endpoint.BaseURL != "" {
		config.BaseURL = strings.TrimRight(options.Endpoint.BaseURL, "/")
	}
	if options.HTTPClient != nil {
		config.HTTPClient = options.HTTPClient
	}
	config.HTTPClient = bounded{config.HTTPClient}
	return &model{client: openai.NewClientWithConfig(config), name: options.Endpoint.Model, key: key}
}

// maxAnswer is how long an answer may be: 32 vectors of 8,192 numbers in 20 digits each.
const maxAnswer = 8 << 20

// bounded reads no more of an answer than it may have.
type bounded struct{ next openai.HTTPDoer }

// Do implements openai.HTTPDoer.
func (b bounded) Do(request *http.Request) (*http.Response, error) {
	response, err := b.next.Do(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}

// embed returns the vectors of texts, in their order. Errors hold no credential.
func (m *model) embed(ctx context.Context, texts []string) ([]vector, error) {
	answer, err := m.client.CreateEmbeddings(ctx, openai.EmbeddingRequestStrings{Input: texts, Model: openai.EmbeddingModel(m.name)})
	if err != nil {
		return nil, errors.New(provider.Scrub(err.Error(), m.key))
	}
	if len(answer.Data) != len(texts) {
		return nil, fmt.Errorf("%d texts were given, and the answer has %d vectors", len(texts), len(answer.Data))
	}
	found := make([]vector, len(texts))
	for _, one := range answer.Data {
		if one.Index < 0 || one.Index >= len(found) || found[one.Index] != nil {
			return nil, fmt.Errorf("the answer has an index that is not asked for or is there twice: %d", one.Index)
		}
		if found[one.Index], err = direction(one.Embedding); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// direction returns the numbers as a vector of length one.
func direction(numbers []float32) (vector, error) {
	var square float64
	for _, one := range numbers {
		square += float64(one) * float64(one)
	}
	length := math.Sqrt(square)
	if length == 0 || math.IsInf(length, 0) || math.IsNaN(length) {
		return nil, fmt.Errorf("the answer has a vector of %d numbers without a direction", len(numbers))
	}
	found := make(vector, len(numbers))
	for i, one := range numbers {
		found[i] = float32(float64(one) / length)
	}
	return found, nil
}

// tolerated is how many failures in a row make a pause, which begins with leastPause and
// doubles up to mostPause: a model that is away must not slow every message down.
const (
	tolerated  = 3
	leastPause = time.Second
	mostPause  = 30 * time.Second
)

// health is whether the model has answered lately.
type health struct {
	now   func() time.Time
	lock  sync.Mutex
	fails int
	until time.Time
	why   error
}

// resting returns why the model is not asked now; nil where it is.
func (h *health) resting() error {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.fails < tolerated || !h.now().Before(h.until) {
		return nil
	}
	return fmt.Errorf("%w; it is asked again %s after its %d failures in a row", h.why, h.until.Format(time.TimeOnly), h.fails)
}

// note takes in how a request for a message has ended. It reports whether that changed what
// is known of the model.
func (h *health) note(err error) (changed bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if err == nil {
		changed = h.fails > 0
		h.fails, h.why = 0, nil
		return changed
	}
	h.fails, h.why = h.fails+1, err
	if past := h.fails - tolerated; past >= 0 {
		h.until = h.now().Add(min(mostPause, leastPause<<min(past, 10)))
	}
	return h.fails == 1
}
