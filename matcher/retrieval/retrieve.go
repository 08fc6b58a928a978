package retrieval

import (
	"context"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Weights of a tool's rank beside the likeness of the text itself.
const (
	// coverageWeight is for the share of the text's subjects that the tool's words know,
	// parameters included: "for four people" finds the tool with a party size.
	coverageWeight = 0.3
	// historyWeight is for what was said before: "and tomorrow?" is about that.
	historyWeight = 0.4
	// recent is how many earlier messages count, and of them recentWords.
	recent      = 6
	recentWords = 128
)

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
	return scope.Scores(scope.fused(scope.sought(text.Split(said), limit), r.alike(ctx, request, said, limit), limit))
}

// ranked lists at most n of the candidates, the best first for the words and those said
// before them, and none that has nothing in common with them. Where some are given by part,
// it ranks these alone, whether they have something in common or not.
func (s Scope) ranked(words, before []text.Word, n int, alone [][]int32) []Near {
	best := top{most: n}
	for i, p := range s.parts {
		scores := borrow(len(p.candidates))
		p.similar(words, 1, scores.of)
		p.covers(words, coverageWeight, scores.of)
		p.similar(before, historyWeight, scores.of)
		if alone != nil {
			only(alone[i], scores.of)
		}
		s.choose(&best, p, scores.of)
		scores.giveBack()
	}
	return withCommon(best.list)
}

// only leaves scores to the given tools, which are sorted, and gives each of them one.
func only(tools []int32, scores []float32) {
	for tool := range scores {
		if len(tools) == 0 || tools[0] != int32(tool) {
			scores[tool] = 0
			continue
		}
		tools = tools[1:]
		scores[tool] += 1e-6
	}
}

// lately collects the words of the last messages.
func lately(history []matcher.Utterance) []text.Word {
	var said []text.Word
	for _, utterance := range slices.Backward(history[max(0, len(history)-recent):]) {
		if len(said) >= recentWords {
			break
		}
		said = append(text.Split(utterance.Text), said...)
	}
	return said[max(0, len(said)-recentWords):]
}
