package retrieval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Meaning compares texts with tools by what they mean, for tools of which no word was said.
type Meaning interface {
	// Alike returns at most n of the request's candidates, those first whose meaning is nearest
	// to the text, or why nothing was compared.
	Alike(ctx context.Context, request matcher.Request, text string, n int) (alike []matcher.Score, why string)
}

// Retriever chooses which tools a model is offered where more are in scope than it
// handles well. The words decide, and beside them, where it is given, what texts mean. It keeps
// what it has compiled, and is safe for concurrent use.
type Retriever struct {
	indexes *Cache
	meaning Meaning // nil for none
}

// New returns a retriever that needs no model.
func New() *Retriever { return NewFused(nil) }

// NewFused returns a retriever that fuses the ranks by words with those by meaning; nil for
// words alone.
func NewFused(meaning Meaning) *Retriever { return &Retriever{indexes: NewCache(), meaning: meaning} }

// Search returns at most limit of the request's candidates, those first that the text is
// likest, whatever the conversation is about. What has nothing in common with the text is
// not among them.
func (r *Retriever) Search(ctx context.Context, request matcher.Request, said string, limit int) []matcher.Score {
	scope := r.indexes.Of(request)
	return scope.Scores(scope.fused(scope.doing(text.Split(said), limit), r.alike(ctx, request, said, limit), limit))
}

// Nearest returns the n candidates whose words those of the message are likest, the likest first. It asks
// no model.
func (r *Retriever) Nearest(request matcher.Request, n int) []matcher.Score {
	scope := r.indexes.Of(request)
	return scope.Scores(scope.Nearest(text.Split(request.Text), n))
}

// alike asks what a text means. Where that is not known the words rank alone.
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

// Weights of what makes a tool one that is looked for, which make at most 1.3 together. The words
// beside a verb outweigh it by themselves, as fewer tools know them.
const (
	likenessWeight = 0.3
	askedWeight    = 0.6    // for the share of what is asked for that the tool has
	namedWeight    = 2. / 3 // how much more that is for a tool whose name asks for nothing else
	// undoingShare is what is left to a tool that undoes what is asked for, which is marked by undoes.
	undoingShare = 0.5
	undoes       = -1e6
)

// doing lists at most n of the candidates, those first that do what the words ask for, to what
// they name.
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
		for _, one := range acts { // mark the tools that undo what is asked for, and do none of it
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

// weigh gives each thing its weight, and returns their sum. It says the more, the fewer tools have it, and
// nothing where no tool has it.
func (s Scope) weigh(common bool, everything ...[]sought) (total float32) {
	all := 0
	for _, p := range s.parts {
		all += len(p.candidates)
	}
	for _, list := range everything {
		for i := range list {
			most, one := 0, &list[i]
			for _, meant := range one.senses {
				tools := 0
				for _, p := range s.parts {
					tools += len(p.acting().of(meant.term, common))
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

// seek adds to the scores what each tool has of one thing that is asked for, and to named how
// much of its name that is.
func (p part) seek(one sought, total float32, scores, named []float32) {
	if one.weight == 0 {
		return
	}
	a := p.acting()
	seen := borrow(len(scores))
	defer seen.giveBack()
	for _, meant := range one.senses {
		for _, in := range a.of(meant.term, one.common) {
			share := one.weight * in.share * meant.share
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

// withCommon leaves out what has nothing in common with the words.
func withCommon(best []Near) []Near {
	if common := slices.IndexFunc(best, func(one Near) bool { return one.Score <= 0 }); common >= 0 {
		return best[:common]
	}
	return best
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
	reciprocal := func(rank int) float64 { return 1 / float64(flattening+1+rank) }
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
