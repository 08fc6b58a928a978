package offline

import (
	"fmt"

	"earshot/matcher"
	"earshot/matcher/offline/confidence"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/repositories"
)

// leastLead is for tools that share all the words of the text: between two that are as
// likely there is no choice.
const leastLead float32 = 0.03

// bars are the confidences from which a tool fires, by settings.offline.bar.
var bars = map[string]float64{"": confidence.Certain, repositories.BarCertain: confidence.Certain, repositories.BarLikely: confidence.Likely}

// barOf returns the bar of the request's app.
func barOf(request matcher.Request) float64 {
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
	nearest := unopposed(scope.Nearest(words, compared), words)
	return judgement{nearest, doubt(scope, nearest, request, words)}
}

// doubt says why a text does not call for the nearest of the candidates; empty where it does.
func doubt(scope retrieval.Scope, nearest []retrieval.Near, request matcher.Request, words []text.Word) string {
	if len(nearest) == 0 {
		return "no tool has anything in common with the words of the message"
	}
	if why := unwanted(nearest[0], request, words); why != "" {
		return why
	}
	if lead := confidence.Lead(nearest); lead < leastLead {
		return fmt.Sprintf("the nearest tool is only %.2f ahead of the next, and it takes %.2f", lead, leastLead)
	}
	signs := confidence.Of(scope, nearest, request.Text, words)
	if signs.Strange() {
		return "the nearest tool knows nothing of what the message is about"
	}
	if sure, bar := signs.Probability(), barOf(request); sure < bar {
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
	case unspoken(p, m):
		return "the message asks or tells, and does not call for the nearest tool as its examples do"
	}
	return ""
}
