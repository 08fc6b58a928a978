package retrieval

import (
	"cmp"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
)

// Weights of a candidate's rank beside the likeness of the text itself.
const (
	// coverageWeight is for the share of the text's subjects that the tool's words know,
	// parameters included: "for four people" finds the tool with a party size.
	coverageWeight = 0.3
	// historyWeight is for what was said before: "and tomorrow?" is about that.
	historyWeight = 0.4
	// firedScore keeps a tool on offer that the conversation has set off, before all that
	// are not pinned: people correct and repeat.
	firedScore = 10
	// recent is how many earlier messages count, and of them recentWords.
	recent      = 6
	recentWords = 128
	// pinnedScore is more than all other parts of a score together.
	pinnedScore = 100
)

// Retriever chooses which tools a model is offered where more are in scope than it
// handles well. It needs no model itself: the words decide. It keeps what it has
// compiled, and is safe for concurrent use.
type Retriever struct{ indexes *Cache }

// New returns a retriever.
func New() *Retriever { return &Retriever{indexes: NewCache()} }

// Retrieve returns at most limit of the candidates to offer, sorted as they came. Tools
// of a session's own repositories and of exclusive ones are pinned: all others are cut
// before any of them, and last of these the ones that the history has set off. A limit
// below one cuts nothing.
func (r *Retriever) Retrieve(request matcher.Request, limit int) []matcher.Candidate {
	if limit < 1 || len(request.Candidates) <= limit {
		return request.Candidates
	}
	best := r.indexes.Of(request).ranked(limit)
	slices.SortFunc(best, func(a, b Near) int { return cmp.Compare(a.Place, b.Place) })
	kept := make([]matcher.Candidate, len(best))
	for i, one := range best {
		kept[i] = request.Candidates[one.Place]
	}
	return kept
}

// ranked lists the candidates to offer, pinned ones first, then the best for the message
// and what came before.
func (s Scope) ranked(limit int) []Near {
	best := top{most: limit}
	words := text.Split(s.request.Text)
	said, fired := past(s.request.History)
	for _, p := range s.parts {
		scores := borrow(len(p.candidates))
		p.similar(words, 1, scores.of)
		p.covers(words, coverageWeight, scores.of)
		p.similar(said, historyWeight, scores.of)
		s.lift(p, fired, scores.of)
		s.choose(&best, p, scores.of)
		scores.giveBack()
	}
	return best.list
}

// lift raises the scores of tools that the conversation is about: those that it has set
// off, and above all others those that are there for this session or this moment, or in
// the middle of being called.
func (s Scope) lift(p part, fired []string, scores []float32) {
	for _, name := range fired {
		if tool, ok := p.find(name); ok {
			scores[tool] += firedScore
		}
	}
	for _, tool := range p.pinned {
		scores[tool] += pinnedScore
	}
	for _, begun := range s.request.Unfinished {
		if tool, ok := p.find(begun.Tool.Name); ok && scores[tool] < pinnedScore {
			scores[tool] += pinnedScore
		}
	}
}

// past collects the words of the last messages, and the tools that the history has set off.
func past(history []matcher.Utterance) (said []text.Word, fired []string) {
	for i, utterance := range slices.Backward(history) {
		if i >= len(history)-recent && len(said) < recentWords {
			said = append(text.Split(utterance.Text), said...)
		}
		for _, tool := range utterance.Fired {
			if !slices.Contains(fired, tool.Name) {
				fired = append(fired, tool.Name)
			}
		}
	}
	return said[max(0, len(said)-recentWords):], fired
}
