package offline

import (
	"fmt"
	"slices"

	"earshot/matcher"
	"earshot/matcher/offline/confidence"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Between two tools that share all the words of the text there is no choice, whatever else
// speaks for them: leastLead is for tools with few examples, equalLead for others.
const leastLead, equalLead float32 = 0.03, 0.005

// bars are the confidences from which a tool fires, by settings.offline.bar.
var bars = map[string]float64{"": confidence.Certain, repositories.BarCertain: confidence.Certain, repositories.BarLikely: confidence.Likely}

// barOf returns the bar of the request's app.
func barOf(request matcher.Request) float64 {
	if request.App == nil {
		return bars[""]
	}
	return bars[request.App.Settings.Offline.Bar]
}

// judgement is what the words of a text say of the tool nearest to it.
type judgement struct {
	nearest []retrieval.Near // the best first
	// why says why the text does not call for the first of them, as the end of "Nothing
	// fired: …"; empty where it does.
	why string
}

// decide judges whether the text calls for the candidate that is nearest to it, beyond doubt.
func decide(scope retrieval.Scope, request matcher.Request, words []text.Word) judgement {
	return decideAt(barOf(request), scope, request, words)
}

// decideAt does so where the words have to be as sure as the bar says.
func decideAt(bar float64, scope retrieval.Scope, request matcher.Request, words []text.Word) judgement {
	words = scope.Spelled(words)
	nearest := called(unopposed(scope.Nearest(words, confidence.Compared), words), request.Text, words)
	return judgement{nearest, doubt(bar, scope, nearest, request, words)}
}

// called leaves out the tools for which something is missing in the text, as long as others
// are left: "I need an appointment" does not cancel one, and "how much money have I?" does not
// transfer any.
func called(nearest []retrieval.Near, said string, words []text.Word) []retrieval.Near {
	m := text.MoodOf(said, words)
	kept := slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		p := near.Document()
		return unspoken(p, m, words) || undoesUnasked(p, words)
	})
	if len(kept) == 0 {
		return nearest
	}
	return kept
}

// undoesUnasked reports whether the tool undoes or drops what it is about, and the text says
// nothing of that. To get something is the plain meaning of naming it, to lose it is not.
func undoesUnasked(p *retrieval.Document, words []text.Word) bool {
	if p.Undoes == "" || p.Examples >= manyExamples {
		return false
	}
	return !slices.ContainsFunc(words, func(w text.Word) bool {
		return w.Stem == p.Undoes || text.UndoingWords.Has(w.Norm) || text.DroppingWords.Has(w.Norm) || text.Negations.Has(w.Norm)
	})
}

// doubt says why a text does not call for the nearest of the candidates; empty where it does.
func doubt(bar float64, scope retrieval.Scope, nearest []retrieval.Near, request matcher.Request, words []text.Word) string {
	if len(nearest) == 0 {
		return "no tool has anything in common with the words of the message"
	}
	if why := unwanted(nearest[0], request, words); why != "" {
		return why
	}
	few := nearest[0].Document().Examples < manyExamples
	lead, least := confidence.Lead(nearest), equalLead
	if few {
		least = leastLead
	}
	if lead < 0 {
		return "the nearest tool has next to nothing in common with the message"
	} else if lead < least {
		return fmt.Sprintf("the nearest tool is only %.2f ahead of the next, and it takes %.2f", lead, least)
	}
	signs := confidence.Of(scope, nearest, request.Text, words)
	if few && signs.Strange() {
		return "the nearest tool knows nothing of what the message is about"
	}
	if sure := signs.Probability(); sure < bar {
		return fmt.Sprintf("the words are not sure enough of the nearest tool: %.2f, and it takes %.2f", sure, bar)
	}
	return ""
}

// unwanted says why a text does not want what the tool does, however like its words are.
func unwanted(nearest retrieval.Near, request matcher.Request, words []text.Word) string {
	p := nearest.Document()
	m := text.MoodOf(request.Text, words)
	switch {
	case refuses(p, words):
		return "the message does not want what the nearest tool does, or wants it undone"
	case thanks(p, words, m):
		return "the message thanks or says good-bye"
	case undoesUnasked(p, words):
		return "the nearest tool undoes what it is about, and the message does not ask for that"
	case unspoken(p, m, words):
		return "the message asks or tells, and does not call for the nearest tool as its examples do"
	}
	return ""
}
