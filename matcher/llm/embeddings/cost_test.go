package embeddings_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"earshot/matcher"
	"earshot/matcher/matchertest"
)

const dimensions = 1536 // of OpenAI's small model

// shelves is a store that has a vector for every text.
type shelves struct{}

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

// BenchmarkAlikeAmongTenThousandTools is what a message costs beside the request for its vector.
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
