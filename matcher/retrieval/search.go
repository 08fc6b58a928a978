package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Meaning compares texts with tools by meaning, to find tools without a common word.
type Meaning interface {
	// Alike returns at most n of the request's candidates in order of their meaning's similarity, or why it could
	// not compare.
	Alike(ctx context.Context, request matcher.Request, text string, n int) (alike []matcher.Score, why string)
}

// Retriever chooses the tools that a model is offered if more are in scope than it handles well, by words and
// optionally by meaning. It caches compiled data, and is safe for concurrent use.
type Retriever struct {
	indexes *Cache
	meaning Meaning // nil for none
}

// New returns a retriever that needs no model.
func New() *Retriever { return NewFused(nil) }

// NewFused returns a retriever that fuses the ranks by words with those by meaning; nil for words alone.
func NewFused(meaning Meaning) *Retriever { return &Retriever{indexes: NewCache(), meaning: meaning} }

// Search returns at most limit of the request's candidates by similarity to the text, independent of the
// conversation. Candidates without any similarity are left out.
func (r *Retriever) Search(ctx context.Context, request matcher.Request, said string, limit int) []matcher.Score {
	scope := r.indexes.Of(request)
	return scope.Scores(scope.fused(scope.doing(text.Split(said), limit), r.alike(ctx, request, said, limit), limit))
}

// Nearest returns the n candidates with the words most similar to the message, in order. It asks no model.
func (r *Retriever) Nearest(request matcher.Request, n int) []matcher.Score {
	scope := r.indexes.Of(request)
	return scope.Scores(scope.Nearest(text.Split(request.Text), n))
}

// alike ranks by meaning; without it, words rank alone.
func (r *Retriever) alike(ctx context.Context, request matcher.Request, said string, n int) []matcher.Score {
	if r.meaning == nil {
		return nil
	}
	found, why := r.meaning.Alike(ctx, request, said, n)
	if why != "" {
		matcher.TraceOf(ctx).Note(fmt.Sprintf("Tools were ranked without embeddings: %s.", why))
	}
	return found
}

// Weights of a search, which sum to at most 1.3. The words beside a verb outweigh it anyway, since fewer tools know
// them.
const (
	likenessWeight = 0.3
	askedWeight    = 0.6    // for the tool's share of the requested things
	namedWeight    = 2. / 3 // how much more that is for a tool whose name has nothing else
	undoingShare   = 0.5    // the share left to a tool that undoes the requested act, which undoes marks
	undoes         = -1e6
)

// doing lists at most n of the candidates that do the words' acts to the things that they name, the best first.
func (s Scope) doing(words []text.Word, n int) []Near {
	acts, things := soughtBy(words)
	total := s.weigh(false, acts, things)
	if total == 0 {
		total = s.weigh(true, acts, things)
	}
	best := top{most: n}
	for _, p := range s.parts {
		scores, named := borrow(len(p.candidates)), borrow(len(p.candidates))
		for _, one := range acts {
			p.seek(one, total, scores.of, named.of)
		}
		for _, one := range acts { // mark the tools that undo the requested acts and do none of them
			for _, term := range one.against {
				for _, in := range p.acting().of(term, one.common) {
					if scores.of[in.tool] == 0 {
						named.of[in.tool] = undoes
					}
				}
			}
		}
		for _, one := range things {
			p.seek(one, total, scores.of, named.of)
		}
		for tool, share := range named.of {
			switch {
			case share > 0:
				scores.of[tool] *= 1 + namedWeight*min(share, 1)
			case share < 0:
				scores.of[tool] *= undoingShare
			}
		}
		p.similar(words, likenessWeight, scores.of)
		s.choose(&best, p, scores.of)
		named.giveBack()
		scores.giveBack()
	}
	return withCommon(best.list)
}

// weigh gives each thing its weight by rarity, and returns their sum. A thing that no tool has weighs nothing.
func (s Scope) weigh(common bool, everything ...[]sought) (total float32) {
	all := 0
	for _, p := range s.parts {
		all += len(p.candidates)
	}
	for _, list := range everything {
		for i := range list {
			most, one := 0, &list[i]
			for _, alternative := range one.senses {
				tools := 0
				for _, p := range s.parts {
					tools += len(p.acting().of(alternative.term, common))
				}
				most = max(most, tools)
			}
			one.common, one.weight = common, 0
			if most > 0 {
				one.weight = one.share * rarityOf(all, most)
			}
			total += one.weight
		}
	}
	return total
}

// seek adds to the scores each tool's share of one requested thing, and to named its share of the tool's name.
func (p part) seek(one sought, total float32, scores, named []float32) {
	if one.weight == 0 {
		return
	}
	a := p.acting()
	seen := borrow(len(scores))
	defer seen.giveBack()
	for _, alternative := range one.senses {
		for _, in := range a.of(alternative.term, one.common) {
			share := one.weight * in.share * alternative.share
			if seen.of[in.tool] >= share {
				continue
			}
			gain := share - seen.of[in.tool]
			seen.of[in.tool] = share
			scores[in.tool] += askedWeight * gain / total
			if in.inName {
				named[in.tool] += gain / a.names[in.tool]
			}
		}
	}
}

// withCommon removes candidates without similarity to the words.
func withCommon(best []Near) []Near {
	if common := slices.IndexFunc(best, func(one Near) bool { return one.Score <= 0 }); common >= 0 {
		return best[:common]
	}
	return best
}

// fusionConstant is the k of reciprocal rank fusion, with its authors' value (Cormack, Clarke and Büttcher, SIGIR
// 2009): it keeps the first of one list from outweighing candidates in both.
const fusionConstant = 60

// fused merges the ranks by words and by meaning into one list of at most n, by the sum of 1/(60+rank) in each.
// Scores are those of the words, or the similarity if no word is shared, made to fall from the first to the last.
func (s Scope) fused(words []Near, alike []matcher.Score, n int) []Near {
	if len(alike) == 0 {
		return words
	}
	reciprocal := func(rank int) float64 { return 1 / float64(fusionConstant+1+rank) }
	ranks, list := map[int]float64{}, slices.Clone(words)
	for rank, one := range words {
		ranks[one.Place] = reciprocal(rank)
	}
	for rank, one := range alike {
		at, place, in := s.named(one.Tool.Name)
		if !in {
			continue
		}
		if _, both := ranks[place]; !both {
			list = append(list, Near{Place: place, Score: one.Score, index: s.parts[at.part].index, tool: int(at.tool)})
		}
		ranks[place] += reciprocal(rank)
	}
	slices.SortStableFunc(list, func(a, b Near) int { return cmp.Compare(ranks[b.Place], ranks[a.Place]) })
	list = list[:min(n, len(list))]
	for i := len(list) - 2; i >= 0; i-- {
		list[i].Score = max(list[i].Score, list[i+1].Score)
	}
	return list
}
