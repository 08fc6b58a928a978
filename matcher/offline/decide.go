package offline

import (
	"strings"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// The confidence that a text calls for the tool nearest to it is a logistic model of three
// figures: how similar it is to the tool's words, how far ahead of the next tool that is,
// and how much of the text the tool's words cover. The weights were fitted on scopes of 1
// to 150 tools and the bar was set on other texts: with it about one firing in twenty is
// wrong where 150 tools compete, and one in a hundred with a handful.
const (
	confidenceBase   = -3.9
	similarityWeight = 5
	marginWeight     = 16
	coverageWeight   = 2
	confidenceBar    = 0.7
	// leastRival is the assumed similarity of everything else that people talk about: it
	// keeps the only tool in scope from winning for lack of competition.
	leastRival float32 = 0.1
	// leastMargin is for tools that share all the words of the text.
	leastMargin float32 = 0.03
	// leastCoverage is the share of a text's subjects that the tool has to know,
	// unless the text has, but for some of it, the same words as the tool.
	leastCoverage float32 = 0.2
	sameWords     float32 = 0.75
)

// decide returns the candidate that the text calls for, if there is one beyond doubt.
func decide(scope retrieval.Scope, said string, words []text.Word) (int, bool) {
	best, margin, found := lead(scope, words)
	if !found {
		return 0, false
	}
	p, similarity := best.Document(), best.Score
	covered := p.Coverage(words)
	if covered < leastCoverage && similarity < sameWords {
		return 0, false
	}
	m := text.MoodOf(said, words)
	if margin < leastMargin || refuses(p, words) || thanks(p, words, m) || unspoken(p, m, similarity) {
		return 0, false
	}
	return best.Place, confidence(similarity, margin, covered) >= confidenceBar
}

// lead returns the tool nearest to the words, and how far ahead of the next it is.
func lead(scope retrieval.Scope, words []text.Word) (best retrieval.Near, margin float32, found bool) {
	nearest := scope.Nearest(words, 2)
	if len(nearest) == 0 {
		return retrieval.Near{}, 0, false
	}
	second := leastRival
	if len(nearest) > 1 {
		second = max(second, nearest[1].Score)
	}
	return nearest[0], nearest[0].Score - second, true
}

func confidence(similarity, margin, covered float32) float32 {
	return confidenceBase + similarityWeight*similarity + marginWeight*margin + coverageWeight*covered
}

// unspoken reports whether the text is in a mood that, as far as is known, does not call
// for the tool. "When is my appointment?" and "my appointment was fine" have all the words
// of a tool that books one, and are no bookings.
func unspoken(p *retrieval.Document, m text.Mood, similarity float32) bool {
	return !p.Moods[m] && similarity < sameWords
}

// refuses reports whether the text says that the thing is not wanted, or wants it
// undone. A tool whose own words speak of that ("cancel booking", "card not working")
// is meant by such a text, and so not refused by it.
func refuses(p *retrieval.Document, words []text.Word) bool {
	if undoes(p, words) {
		return false
	}
	begun := false // a word with a subject stands before
	for i, w := range words {
		if contradicts(p, w) {
			return true
		}
		if text.UndoingWords.Has(w.Norm) && !p.Known[w.Stem] {
			return true
		}
		if text.DroppingWords.Has(w.Norm) && !begun && !p.Known[w.Stem] {
			return true
		}
		if text.Negations.Has(w.Norm) && !p.Known[w.Stem] && negates(p, words, i) {
			return true
		}
		begun = begun || text.IsSubject(w)
	}
	return false
}

// contradicts reports whether the word is the opposite of one that the tool is named
// for or described with: "off" for a tool that turns on.
func contradicts(p *retrieval.Document, w text.Word) bool {
	if p.Known[w.Stem] {
		return false
	}
	for _, opposite := range opposites[w.Norm] {
		if p.Title[text.Stem(opposite)] {
			return true
		}
	}
	return false
}

// undoes reports whether the text wants something undone and the tool does that.
func undoes(p *retrieval.Document, words []text.Word) bool {
	for _, w := range words {
		if text.UndoingWords.Has(w.Norm) && p.Known[w.Stem] {
			return true
		}
	}
	return false
}

// negates reports whether the negation at i is of a wish or of what the tool does:
// "do not want", "no appointment", but not "I can not find" or "I do not know".
func negates(p *retrieval.Document, words []text.Word, i int) bool {
	if i == 0 || words[i].Norm == "never" || text.Negations.Foreign(words[i].Norm) {
		return true
	}
	if text.UnableWords.Has(words[i-1].Norm) || words[i-1].Norm == "or" {
		return false
	}
	for _, w := range words[i+1 : min(i+4, len(words))] {
		if text.WantingWords.Has(w.Norm) || p.Name[w.Stem] {
			return true
		}
	}
	return false
}

// thanks reports whether the text is a thank-you or a good-bye and no request.
func thanks(p *retrieval.Document, words []text.Word, m text.Mood) bool {
	if m == text.Wish || m == text.Question {
		return false
	}
	for _, w := range words {
		if text.PartingWords.Has(w.Norm) && !p.Known[w.Stem] {
			return true
		}
	}
	return false
}

// opposites are pairs of words of opposite meaning: a tool does one or the other.
var opposites = mutual(text.Opposites.Entries())

func mutual(pairs []string) map[string][]string {
	found := map[string][]string{}
	for _, pair := range pairs {
		both := strings.Fields(pair)
		found[both[0]] = append(found[both[0]], both[1])
		found[both[1]] = append(found[both[1]], both[0])
	}
	return found
}
