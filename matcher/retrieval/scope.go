package retrieval

import (
	"cmp"
	"math"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Scope is what a request has in scope, ready to be compared with texts.
type Scope struct {
	request matcher.Request
	parts   []part
	// identity tells the tools from all others that share what was offered before, which
	// is nil where it is not known.
	identity uint64
	offered  *conversations
}

// part is an index of some of the candidates.
type part struct {
	*index
	kind kind
}

type kind int

const (
	wholeScope kind = iota // all candidates, in their order
	sharedPart             // the app's tools, of which not all need be in scope
	ownPart                // the request's own
)

// place returns the place among the candidates of a tool of the part.
func (s Scope) place(p part, tool int) (int, bool) {
	switch {
	case p.kind == wholeScope, len(s.request.Candidates) == len(p.candidates) && s.request.Candidates[tool] == p.candidates[tool]:
		return tool, true
	case p.kind == sharedPart:
		return s.request.InScope(p.candidates[tool])
	}
	return s.request.Place(p.candidates[tool].Tool.Name)
}

// named returns the tool that a name stands for in the scope.
func (s Scope) named(name string) (ref, bool) {
	for i, p := range slices.Backward(s.parts) {
		tool, found := p.find(name)
		if !found {
			continue
		}
		if _, in := s.place(p, tool); in {
			return ref{int32(i), int32(tool)}, true
		}
	}
	return ref{}, false
}

func (s Scope) tool(r ref) *repositories.Tool { return s.parts[r.part].candidates[r.tool].Tool }

// ref returns the tool that is near.
func (s Scope) ref(n Near) ref {
	for i, p := range s.parts {
		if p.index == n.index {
			return ref{int32(i), int32(n.tool)}
		}
	}
	return ref{part: -1} // it is of none of the parts
}

// Near is a candidate and how near a text is to it.
type Near struct {
	Place int // among the candidates
	Score float32
	index *index
	tool  int
}

// Document returns what the tool's own words are.
func (n Near) Document() *Document { return n.index.document(n.tool) }

// Scores are the candidates that are near, with how near they are.
func (s Scope) Scores(near []Near) []matcher.Score {
	scores := make([]matcher.Score, len(near))
	for i, one := range near {
		scores[i] = matcher.Score{Candidate: s.request.Candidates[one.Place], Score: one.Score}
	}
	return scores
}

// Nearest returns the n candidates that the words are most like, the likest first: 0 for
// nothing in common, 1 for the same. What nobody in scope has a word for, such as the title
// of a song, takes nothing from the likeness of the rest.
func (s Scope) Nearest(words []text.Word, n int) []Near {
	best := top{most: n}
	for i, direction := range s.directions(featuresOf(words)) {
		p := s.parts[i]
		if len(direction) == 0 || len(p.candidates) == 0 {
			continue
		}
		scores := borrow(len(p.candidates))
		p.compare(direction, 1, scores.of)
		s.choose(&best, p, scores.of)
		scores.giveBack()
	}
	return best.list
}

// directions are those of a bag in each part, of length one over all that the parts know.
func (s Scope) directions(bag []feature) [][]posting {
	directions := make([][]posting, len(s.parts))
	var square float64
	for _, f := range bag {
		heaviest := float32(0)
		for i, p := range s.parts {
			if number, ok := p.numbers[f.id]; ok {
				weight := f.weight * p.rarity[number]
				directions[i] = append(directions[i], posting{number, weight})
				heaviest = max(heaviest, weight)
			}
		}
		square += float64(heaviest) * float64(heaviest)
	}
	length := float32(math.Sqrt(square))
	for _, direction := range directions {
		for i := range direction {
			direction[i].weight /= length
		}
	}
	return directions
}

// Rarity is how much a word says of which tool is meant: the more, the fewer know it. Known
// is whether any does.
func (s Scope) Rarity(stem string) (rarity float32, known bool) {
	tools, all := 0, 0
	for _, p := range s.parts {
		tools += len(p.stems[stem])
		all += len(p.candidates)
	}
	return float32(math.Log1p(float64(all) / float64(max(tools, 1)))), tools > 0
}

// choose puts the best of the part into the list.
func (s Scope) choose(best *top, p part, scores []float32) {
	for tool, score := range scores {
		if !best.takes(score) {
			continue
		}
		if place, in := s.place(p, tool); in {
			best.add(Near{Place: place, Score: score, index: p.index, tool: tool})
		}
	}
}

// top is a list of the best, the best first; of equal ones those that stand before others.
type top struct {
	most int
	list []Near
}

func (t *top) takes(score float32) bool {
	return len(t.list) < t.most || t.most > 0 && score >= t.list[len(t.list)-1].Score
}

func (t *top) add(n Near) {
	at, _ := slices.BinarySearchFunc(t.list, n, func(a, b Near) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Place, b.Place))
	})
	if at == t.most {
		return
	}
	t.list = slices.Insert(t.list[:min(len(t.list), t.most-1)], at, n)
}
