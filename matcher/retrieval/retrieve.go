package retrieval

import (
	"cmp"
	"slices"

	"earshot/matcher"
	"earshot/matcher/text"
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

// Retriever chooses which tools a model is offered when more are in scope than it handles
// well. It needs no model itself, only the words. It caches the indexes that it compiles
// and is safe for concurrent use.
type Retriever struct{ indexes *Cache }

// New returns a retriever.
func New() *Retriever { return &Retriever{indexes: NewCache()} }

// Retrieve splits the candidates into at most limit to offer and those that are cut, both
// in their original order. Tools of a session's own repositories and of exclusive ones are
// pinned: all others are cut before any of them. A limit below one cuts nothing.
func (r *Retriever) Retrieve(request matcher.Request, limit int) (kept, cut []matcher.Candidate) {
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

// Retrieve is Retriever.Retrieve without the cache: it compiles the words anew each time.
func Retrieve(request matcher.Request, limit int) (kept, cut []matcher.Candidate) {
	if limit < 1 || len(request.Candidates) <= limit {
		return request.Candidates, nil
	}
	return New().Retrieve(request, limit)
}

// pinned reports whether the candidate comes before all that are not: it is there for
// this session, for this moment, or in the middle of being called.
func pinned(request matcher.Request, candidate matcher.Candidate) bool {
	_, begun := request.Pending(candidate)
	return begun || candidate.Repository.SessionID != "" || candidate.Repository.Options.Exclusive
}

// ranked lists the indices of the candidates, pinned ones first, then by score.
func (r *Retriever) ranked(request matcher.Request) []int {
	scores := r.indexes.Of(request.Candidates).relevant(request)
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
func (l *Index) relevant(request matcher.Request) []float32 {
	words := text.Split(request.Text)
	scores := l.Similar(words)
	for i := range l.Documents {
		scores[i] += knownWeight * l.Documents[i].Coverage(words)
	}
	said, fired := past(request.History)
	for i, similarity := range l.Similar(said) {
		scores[i] += historyWeight * similarity
		if fired[request.Candidates[i].Tool.Name] {
			scores[i] += firedWeight
		}
	}
	return scores
}

// past collects the words of the last messages, and the tools that they set off.
func past(history []matcher.Utterance) (said []text.Word, fired map[string]bool) {
	fired = map[string]bool{}
	for _, utterance := range history[max(0, len(history)-recent):] {
		said = append(said, text.Split(utterance.Text)...)
		for _, tool := range utterance.Fired {
			fired[tool.Name] = true
		}
	}
	return said, fired
}
