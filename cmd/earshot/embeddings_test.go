package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newEmbedder starts a model that embeds: what speaks of taxis points one way, all else another.
func newEmbedder(t *testing.T) *endpoint {
	return newEndpoint(t, func(w http.ResponseWriter, r received) {
		var asked struct{ Input []string }
		require.NoError(t, json.Unmarshal([]byte(r.Body), &asked))
		data := []map[string]any{}
		for i, text := range asked.Input {
			vector := []float64{0, 1}
			if strings.Contains(text, "taxi") || strings.Contains(text, "cab") {
				vector = []float64{1, 0}
			}
			data = append(data, map[string]any{"index": i, "embedding": vector})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": data})
	})
}

func TestToolsAreFoundByWhatTheTextMeans(t *testing.T) {
	t.Parallel()
	e := newEmbedder(t)
	w := serving(t, 2, "--openai-embedding-model", "small", "--openai-embedding-base-url", e.URL+"/v1")
	w.put("/v1/apps/clinic/repositories/desk", `{"tools":[{"name":"transport","description":"Order a taxi"},
		{"name":"book","description":"Book an appointment"},{"name":"hours","description":"Tell when we are open"}]}`)
	w.until("the vectors of the tools are made by the write", func() bool {
		return slices.ContainsFunc(e.requests(), func(r received) bool { return strings.Contains(r.Body, `transport\nOrder a taxi`) })
	})
	for _, r := range w.replicas {
		w.until("the tool is found of which no word was said", func() bool { // what takes longer than 100 ms does not count
			found := w.ask(r, "POST", "/v1/apps/clinic/tools/search", `{"text":"cab!"}`)
			return found.Status == http.StatusOK && strings.Contains(found.Body, `"name":"transport"`)
		})
	}
	for _, one := range e.requests() {
		require.Equal(t, "/v1/embeddings", one.URI)
		require.NotContains(t, one.Header.Get("Authorization"), "llm-key-of-the-tests", "it is another's")
	}
}

func TestAModelThatEmbedsNeedsAnEndpoint(t *testing.T) {
	refused := command(t, nil, "dev", "--openai-embedding-model", "small")
	require.Equal(t, 1, refused.code)
	require.Contains(t, refused.err, `OPENAI_EMBEDDING_MODEL (--openai-embedding-model) is "small", and there is no endpoint to ask: set OPENAI_API_KEY, OPENAI_BASE_URL or OPENAI_EMBEDDING_BASE_URL`)
	refused = command(t, nil, "dev", "--openai-embedding-base-url", "http://127.0.0.1:1/v1")
	require.Contains(t, refused.err, "no model is named: set OPENAI_EMBEDDING_MODEL")
}
