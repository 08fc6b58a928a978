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
// speaks for them.
const leastLead float32 = 0.005

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
	// sure is how probable it is that the text calls for the first of them; 0 where that was not
	// looked at.
	sure float64
}

// decide judges whether the text calls for the candidate that is nearest to it, beyond doubt.
func decide(scope retrieval.Scope, request matcher.Request, words []text.Word) judgement {
	return decideAt(barOf(request), scope, request, words)
}

// decideAt does so where the words have to be as sure as the bar says.
func decideAt(bar float64, scope retrieval.Scope, request matcher.Request, words []text.Word) judgement {
	words = scope.Spelled(words)
	o := oppositionOf(request.Text, words)
	near := o.unopposedBy(scope.Nearest(words, confidence.Compared), words)
	if said, other := o.inWordsOf(near, words); other {
		words, near = said, o.unopposedBy(scope.Nearest(said, confidence.Compared), said)
	}
	nearest := called(unopposed(near, request.Text, words), o, request.Text, words)
	if len(nearest) > 0 {
		if asked := o.against(nearest[0].Document(), words); asked != "" {
			return judgement{nearest: nearest, why: fmt.Sprintf("the nearest tool gives something, and the message asks for something else by %q", asked)}
		}
	}
	return judge(bar, scope, nearest, o, request, words)
}

// called leaves out the tools for which something is missing in the text, as long as others
// are left: "I need an appointment" does not cancel one. The nearest stays, if it is only the mood
// that does not call for it: what is said of its thing calls for no other tool (contract 19).
func called(nearest []retrieval.Near, o opposition, said string, words []text.Word) []retrieval.Near {
	m := (text.Text{Said: said, Words: words}).Mood()
	if m != text.Question && m != text.Statement {
		nearest = giving(nearest, words)
	}
	kept := slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		p := near.Document()
		return near.Score < nearest[0].Score && o.unspoken(p, said, m, words) || o.unasked(p, words)
	})
	if len(kept) == 0 {
		return nearest
	}
	return kept
}

// judge says whether a text calls for the nearest of the candidates.
func judge(bar float64, scope retrieval.Scope, nearest []retrieval.Near, o opposition, request matcher.Request, words []text.Word) judgement {
	if why := unlike(nearest, o, request, words); why != "" {
		return judgement{nearest: nearest, why: why}
	}
	signs := confidence.Of(scope, nearest, request.Text, words)
	j := judgement{nearest: nearest, sure: signs.Probability()}
	switch {
	case nearest[0].Document().FreeText && signs.Strange():
		j.why = "the nearest tool knows nothing of what the message is about"
	case j.sure < bar:
		j.why = fmt.Sprintf("the words are not sure enough of the nearest tool: %.2f, and it takes %.2f", j.sure, bar)
	}
	return j
}

// unlike says why a text cannot call for the nearest of the candidates, however sure its words are.
func unlike(nearest []retrieval.Near, o opposition, request matcher.Request, words []text.Word) string {
	if len(nearest) == 0 {
		return "no tool has anything in common with the words of the message"
	}
	if why := unwanted(nearest[0], o, request, words); why != "" {
		return why
	}
	switch lead := confidence.Lead(nearest); {
	case lead < 0:
		return "the nearest tool has next to nothing in common with the message"
	case lead < leastLead:
		return "two tools are as near to the message as each other"
	}
	return ""
}

// unwanted says why a text does not want what the tool does, however like its words are.
func unwanted(nearest retrieval.Near, o opposition, request matcher.Request, words []text.Word) string {
	p := nearest.Document()
	m := (text.Text{Said: request.Text, Words: words}).Mood()
	switch {
	case refuses(p, words):
		return "the message does not want what the nearest tool does, or wants it undone"
	case thanks(p, words, m):
		return "the message thanks or says good-bye"
	case o.unasked(p, words):
		return "the nearest tool undoes what it is about, and the message does not ask for that"
	case o.unspoken(p, request.Text, m, words):
		return "the message asks or tells, and does not call for the nearest tool as its examples do"
	}
	return ""
}
