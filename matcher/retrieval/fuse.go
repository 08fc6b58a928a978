package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"earshot/matcher"
)

// Meaning compares texts with tools by what they mean, for tools of which no word was said.
type Meaning interface {
	// Alike returns at most n of the request's candidates, those first whose meaning is nearest
	// to the text, or why nothing was compared.
	Alike(ctx context.Context, request matcher.Request, text string, n int) (alike []matcher.Score, why string)
}

// alike asks what a text means. Where that is not known the words rank alone.
func (r *Retriever) alike(ctx context.Context, request matcher.Request, said string, n int) []matcher.Score {
	if r.meaning == nil {
		return nil
	}
	found, why := r.meaning.Alike(ctx, request, said, n)
	if why != "" {
		matcher.TraceOf(ctx).Note(fmt.Sprintf("Tools were ranked by words alone: %s.", why))
	}
	return found
}

// flattening is the k of reciprocal rank fusion, as its authors set it (Cormack, Clarke and
// Büttcher, SIGIR 2009): it keeps the first of one list from outweighing what both have.
const flattening = 60

// fused ranks what is near by words and what is near by meaning in one list of at most n, by
// the sum of 1/(60+rank) in each. Scores stay those of the words, or the similarity where no
// word is shared, and fall from the first to the last.
func (s Scope) fused(words []Near, alike []matcher.Score, n int) []Near {
	if len(alike) == 0 {
		return words
	}
	ranks, list := map[int]float64{}, slices.Clone(words)
	for rank, one := range words {
		ranks[one.Place] = reciprocal(rank)
	}
	for rank, one := range alike {
		near, in := s.near(one)
		if !in {
			continue
		}
		if _, both := ranks[near.Place]; !both {
			list = append(list, near)
		}
		ranks[near.Place] += reciprocal(rank)
	}
	slices.SortStableFunc(list, func(a, b Near) int { return cmp.Compare(ranks[b.Place], ranks[a.Place]) })
	list = list[:min(n, len(list))]
	for i := len(list) - 2; i >= 0; i-- {
		list[i].Score = max(list[i].Score, list[i+1].Score)
	}
	return list
}

func reciprocal(rank int) float64 { return 1 / float64(flattening+1+rank) }

// near finds a scored candidate among the parts of the scope.
func (s Scope) near(one matcher.Score) (Near, bool) {
	at, in := s.named(one.Tool.Name)
	if !in {
		return Near{}, false
	}
	p := s.parts[at.part]
	place, in := s.place(p, int(at.tool))
	return Near{Place: place, Score: one.Score, index: p.index, tool: int(at.tool)}, in
}
