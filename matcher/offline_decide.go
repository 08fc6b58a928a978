package matcher

// The confidence that a text calls for the tool nearest to it is a logistic model of
// three figures: how like the tool's words it is, how far ahead of the next tool, and
// how much of it the tool knows. The weights were fitted on scopes of 1 to 150 tools
// and the bar was set on other texts: at it about one fire in twenty is wrong where
// 150 tools compete, and one in a hundred with a handful.
const (
	confidenceBase   = -3.9
	similarityWeight = 5
	marginWeight     = 16
	coverageWeight   = 2
	confidenceBar    = 0.7
	// leastRival is the likeness of all that people talk about beside tools: it keeps
	// one tool alone in scope from winning for want of others.
	leastRival float32 = 0.1
	// leastMargin is for tools that share all the words of the text.
	leastMargin float32 = 0.03
	// leastCoverage is the share of a text's subjects that the tool has to know,
	// unless the text has, but for some of it, the same words as the tool.
	leastCoverage float32 = 0.2
	sameWords     float32 = 0.75
)

// decide returns the candidate that the text calls for, if there is one beyond doubt.
func decide(l *lexicon, text string, words []word) (int, bool) {
	best, similarity, margin := lead(l, words)
	p := &l.profiles[best]
	covered := p.covered(words)
	if covered < leastCoverage && similarity < sameWords {
		return 0, false
	}
	m := moodOf(text, words)
	if margin < leastMargin || refuses(p, words) || thanks(p, words, m) || unspoken(p, m, similarity) {
		return 0, false
	}
	return best, confidence(similarity, margin, covered) >= confidenceBar
}

// lead returns the tool nearest to the words, how near it is, and how far ahead of
// the next.
func lead(l *lexicon, words []word) (best int, similarity, margin float32) {
	second := leastRival
	for i, s := range l.similar(words) {
		switch {
		case s > similarity:
			best, similarity, second = i, s, max(second, similarity)
		case s > second:
			second = s
		}
	}
	return best, similarity, similarity - second
}

func confidence(similarity, margin, covered float32) float32 {
	return confidenceBase + similarityWeight*similarity + marginWeight*margin + coverageWeight*covered
}

// unspoken reports whether the text is in a mood in which the tool is not spoken of, as
// far as is known. "When is my appointment?" and "my appointment was fine" have all the
// words of a tool that books one, and are no bookings.
func unspoken(p *profile, m mood, similarity float32) bool {
	return !p.moods[m] && similarity < sameWords
}
