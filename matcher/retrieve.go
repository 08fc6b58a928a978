package matcher

import (
	"cmp"
	"slices"
)

// Weights of a candidate's rank beside the likeness of the text itself.
const (
	// knownWeight is for the share of the text's subjects that the tool's words know,
	// parameters included: "for four people" finds the tool with a party size.
	knownWeight = 0.3
	// historyWeight is for what was said before: "and tomorrow?" is about that.
	historyWeight = 0.4
	// firedWeight keeps a tool at hand that the conversation has set off: people
	// correct and repeat.
	firedWeight = 0.5
	// recent is how many earlier messages count.
	recent = 6
)

// Retriever chooses which tools a model is offered where more are in scope than it
// handles well. It needs no model itself: the words decide. It keeps what it has
// compiled, and is safe for concurrent use.
type Retriever struct{ lexicons *lexicons }

// NewRetriever returns a retriever.
func NewRetriever() *Retriever { return &Retriever{lexicons: newLexicons()} }

// Retrieve parts the candidates into at most limit to offer and those that are cut,
// both sorted as they came. Tools of a session's own repositories and of exclusive
// ones are pinned: all others are cut before any of them. A limit below one cuts
// nothing.
func (r *Retriever) Retrieve(request Request, limit int) (kept, cut []Candidate) {
	if limit < 1 || len(request.Candidates) <= limit {
		return request.Candidates, nil
	}
	keep := make([]bool, len(request.Candidates))
	for _, place := range r.ranked(request)[:limit] {
		keep[place] = true
	}
	for i, candidate := range request.Candidates {
		if keep[i] {
			kept = append(kept, candidate)
		} else {
			cut = append(cut, candidate)
		}
	}
	return kept, cut
}

// Retrieve does what Retriever.Retrieve does, and compiles the words anew each time.
func Retrieve(request Request, limit int) (kept, cut []Candidate) {
	if limit < 1 || len(request.Candidates) <= limit {
		return request.Candidates, nil
	}
	return NewRetriever().Retrieve(request, limit)
}

// pinned reports whether the candidate comes before all that are not: it is there for
// this session, for this moment, or in the middle of being called.
func pinned(request Request, candidate Candidate) bool {
	_, begun := request.unfinished(candidate)
	return begun || candidate.Repository.SessionID != "" || candidate.Repository.Options.Exclusive
}

// ranked lists the places of the candidates, pinned ones first, then the best.
func (r *Retriever) ranked(request Request) []int {
	scores := r.lexicons.of(request.Candidates).relevant(request)
	places := make([]int, len(scores))
	for i := range places {
		places[i] = i
		if pinned(request, request.Candidates[i]) {
			scores[i] += pinnedScore
		}
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	return places
}

// pinnedScore is more than all other parts of a score together.
const pinnedScore = 100

// relevant scores each candidate for the message and what came before.
func (l *lexicon) relevant(request Request) []float32 {
	words := split(request.Text)
	scores := l.similar(words)
	for i := range l.profiles {
		scores[i] += knownWeight * l.profiles[i].covered(words)
	}
	said, fired := past(request.History)
	for i, similarity := range l.similar(said) {
		scores[i] += historyWeight * similarity
		if fired[request.Candidates[i].Tool.Name] {
			scores[i] += firedWeight
		}
	}
	return scores
}

// past collects the words of the last messages, and the tools that they set off.
func past(history []Utterance) (said []word, fired map[string]bool) {
	fired = map[string]bool{}
	for _, utterance := range history[max(0, len(history)-recent):] {
		said = append(said, split(utterance.Text)...)
		for _, tool := range utterance.Fired {
			fired[tool.Name] = true
		}
	}
	return said, fired
}
