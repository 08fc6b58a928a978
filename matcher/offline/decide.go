package offline

import (
	"fmt"

	"earshot/matcher"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
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

// bars are the confidences from which a tool fires, by settings.offline.bar.
var bars = map[string]float32{"": 0.7, repositories.BarCertain: 0.7, repositories.BarLikely: -0.6}

// barOf returns the bar of the request's app.
func barOf(request matcher.Request) float32 {
	if request.App == nil {
		return bars[""]
	}
	return bars[request.App.Settings.Offline.Bar]
}

// compared is how many of the nearest candidates a trace shows.
const compared = 8

// judgement is what the words of a text say of the tool nearest to it.
type judgement struct {
	nearest []retrieval.Near // the best first
	// why says why the text does not call for the first of them, as the end of "Nothing
	// fired: …"; empty where it does.
	why string
}

// decide judges whether the text calls for the candidate that is nearest to it, beyond doubt.
func decide(scope retrieval.Scope, request matcher.Request, words []text.Word) judgement {
	nearest := scope.Nearest(words, compared)
	return judgement{nearest, doubt(nearest, request, words)}
}

// doubt says why a text does not call for the nearest of the candidates; empty where it does.
func doubt(nearest []retrieval.Near, request matcher.Request, words []text.Word) string {
	if len(nearest) == 0 {
		return "no tool has anything in common with the words of the message"
	}
	best, margin := nearest[0], lead(nearest)
	p, similarity := best.Document(), best.Score
	covered, m := p.Coverage(words), text.MoodOf(request.Text, words)
	sure, bar := confidence(similarity, margin, covered), barOf(request)
	switch {
	case covered < leastCoverage && similarity < sameWords:
		return fmt.Sprintf("the nearest tool knows %.2f of what the message is about, and it takes %.2f", covered, leastCoverage)
	case margin < leastMargin:
		return fmt.Sprintf("the nearest tool is only %.2f ahead of the next, and it takes %.2f", margin, leastMargin)
	case refuses(p, words):
		return "the message does not want what the nearest tool does, or wants it undone"
	case thanks(p, words, m):
		return "the message thanks or says good-bye"
	case unspoken(p, m, similarity):
		return "the message asks or tells, and does not call for the nearest tool as its examples do"
	case sure < bar:
		return fmt.Sprintf("the words are not sure enough of the nearest tool: %.2f, and it takes %.2f", sure, bar)
	}
	return ""
}

// lead is how far the nearest is ahead of the next.
func lead(nearest []retrieval.Near) float32 {
	second := leastRival
	if len(nearest) > 1 {
		second = max(second, nearest[1].Score)
	}
	return nearest[0].Score - second
}

func confidence(similarity, margin, covered float32) float32 {
	return confidenceBase + similarityWeight*similarity + marginWeight*margin + coverageWeight*covered
}
