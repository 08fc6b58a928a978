package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"earshot/matcher/llm"
)

type model struct {
	http *http.Client
	url  string
	name string
	key  string
}

// vector is a direction: its length is one.
type vector []float32

// maxAnswer bounds an answer: 32 vectors of 8,192 numbers in 20 digits each.
const maxAnswer = 8 << 20

// embed returns the vectors of texts, in order. Errors contain no credential.
func (m *model) embed(ctx context.Context, texts []string) ([]vector, error) {
	body, _ := json.Marshal(map[string]any{"input": texts, "model": m.name})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New(llm.Scrub(err.Error(), m.key))
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if m.key != "" {
		request.Header.Set("Authorization", "Bearer "+m.key)
	}
	response, err := m.http.Do(request)
	if err != nil {
		return nil, errors.New(llm.Scrub(err.Error(), m.key))
	}
	defer func() { _ = response.Body.Close() }() // read to its end or abandoned: the error is irrelevant
	var answer struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	err = json.NewDecoder(http.MaxBytesReader(nil, response.Body, maxAnswer)).Decode(&answer)
	if response.StatusCode < 200 || response.StatusCode > 299 {
		err = fmt.Errorf("HTTP %s: %s", response.Status, answer.Error.Message)
	}
	if err != nil {
		return nil, errors.New(llm.Scrub(err.Error(), m.key))
	}

	if len(answer.Data) != len(texts) {
		return nil, fmt.Errorf("%d texts were given, and the answer has %d vectors", len(texts), len(answer.Data))
	}
	found := make([]vector, len(texts))
	for _, one := range answer.Data {
		if one.Index < 0 || one.Index >= len(found) || found[one.Index] != nil {
			return nil, fmt.Errorf("the answer has an index that is unknown or repeated: %d", one.Index)
		}
		if found[one.Index], err = direction(one.Embedding); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// direction normalizes numbers to a vector of length one.
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

// An unavailable model must not delay every message: after failuresToPause consecutive failures it is not asked for
// leastPause, which doubles up to mostPause.
const (
	failuresToPause = 3
	leastPause      = time.Second
	mostPause       = 30 * time.Second
)

// health tracks the model's recent failures.
type health struct {
	now   func() time.Time
	lock  sync.Mutex
	fails int
	until time.Time
	why   error
}

// pausedBy returns why the model is not asked now; nil if it is.
func (h *health) pausedBy() error {
	h.lock.Lock()
	defer h.lock.Unlock()
	if h.fails < failuresToPause || !h.now().Before(h.until) {
		return nil
	}
	return fmt.Errorf("%w; it is asked again %s after its %d failures in a row", h.why, h.until.Format(time.TimeOnly), h.fails)
}

// note records the outcome of a request for a message, and reports whether it changed the model's state.
func (h *health) note(err error) (changed bool) {
	h.lock.Lock()
	defer h.lock.Unlock()
	if err == nil {
		changed = h.fails > 0
		h.fails, h.why = 0, nil
		return changed
	}
	h.fails, h.why = h.fails+1, err
	if past := h.fails - failuresToPause; past >= 0 {
		h.until = h.now().Add(min(mostPause, leastPause<<min(past, 10)))
	}
	return h.fails == 1
}
