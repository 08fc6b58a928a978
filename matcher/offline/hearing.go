package offline

import (
	"maps"
	"slices"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
)

// hearing is what is made of one message in its conversation.
type hearing struct {
	request matcher.Request
	scope   retrieval.Scope
	trace   *matcher.Trace
	traced  bool // the scores are in the trace

	texts    map[string]*datetime.Text // what has been split, by what was said
	readings map[heard]reading         // what has been read
}

// heard is a text that was read for a tool.
type heard struct {
	said string
	tool *repositories.Tool
}

// text is a message, or a part of one, split into words once.
func (h *hearing) text(said string) *datetime.Text {
	if h.texts[said] == nil {
		h.texts[said] = datetime.NewText(said, h.request.Now)
	}
	return h.texts[said]
}

// wish is a call that a text asks for.
type wish struct {
	matcher.Candidate
	values map[string]any
	said   string // the words that ask for it
}

// hear finds the calls that the message asks for, and says why if there are none, as the end
// of "Nothing fired: …". What only goes on with what was begun or done is looked for first: such
// a message has few words, and would else be compared with tools that it does not speak of.
func (h *hearing) hear() ([]wish, string) {
	if one, ok := h.byExample(); ok {
		return []wish{one}, ""
	}
	said := text.Corrected(h.request.Text)
	if one, ok := h.answers(said); ok {
		return []wish{one}, ""
	}
	last, done := h.last()
	if done {
		said = otherwise(last, said)
		if one, ok := h.changes(last, said); ok {
			return []wish{one}, ""
		}
		if one, ok := h.turns(last, said.After); ok {
			return []wish{one}, ""
		}
	}
	calls, why := h.calls(said)
	if said.Marked && said.Before == "" && !slices.ContainsFunc(text.Split(said.After), func(w text.Word) bool { return isThing(w) || w.Is(text.ActionVerbs) }) {
		calls, why = nil, "the message corrects what was said before, and it is not clear what"
	}
	if len(calls) > 0 {
		if done {
			calls[0] = inherits(last, calls[0])
		}
		return calls, ""
	}
	if done && isAddition(said.After) {
		if one, ok := h.others(last, said.After); ok {
			return []wish{one}, ""
		}
	}
	if one, ok := h.continues(said); ok {
		return []wish{one}, ""
	}
	return nil, why
}

// calls finds the calls of a message that stands on its own.
func (h *hearing) calls(said text.Correction) ([]wish, string) {
	if said.Before == "" {
		return h.wishes(said.After)
	}
	return h.repaired(said)
}

// repaired finds the call of a text that corrects itself: that of what it says first, with the
// values of what it says then, or that of what it says then.
func (h *hearing) repaired(said text.Correction) ([]wish, string) {
	first, why := h.one(said.Before)
	if len(first) == 1 {
		if said.After == "" {
			return nil, "the message takes back what it says"
		}
		if r := h.read(said.After, first[0].Candidate); r.whole() && len(r.Values) > 0 {
			maps.Copy(first[0].values, r.Values)
			return first, ""
		}
	}
	if then, _ := h.wishes(withoutArticle(said.After)); len(then) > 0 {
		return then, ""
	}
	if len(first) > 0 {
		why = "the message corrects itself, and what holds is not clear"
	}
	return nil, why
}

// withoutArticle is a text that names a thing, as one does in an order: "the light" tells nothing of it.
func withoutArticle(said string) string {
	if words := text.Split(said); len(words) > 1 && words[0].Is(text.Articles) {
		return said[words[1].Start:]
	}
	return said
}

// one finds the call of a text with a single wish, or those that it asks for with several values
// of one parameter.
func (h *hearing) one(said string) ([]wish, string) {
	request := h.request
	request.Text = said
	words := text.Split(said)
	first := decide(h.scope, request, words)
	judged := h.byValues(first, request, words)
	if h.trace != nil && !h.traced {
		h.trace.Scores, h.traced = h.scope.Scores(judged.nearest), true
	}
	if judged.why != "" {
		return nil, judged.why
	}
	r := h.read(said, h.request.Candidates[judged.nearest[0].Place])
	if why := r.unmet(judged, h.rivals(first.nearest, judged.nearest[0].Place)); why != "" {
		return nil, why
	}
	return h.each(r), ""
}

// closeBy is how far behind the nearest tool another one may be that the values of a text speak for.
const closeBy = 0.15

// byValues judges anew between tools that are about as near, where the text has more values of
// one of them than of any other: "dim the light to 30 percent" has a level, and only one tool
// takes it.
func (h *hearing) byValues(judged judgement, request matcher.Request, words []text.Word) judgement {
	if judged.why == "" || len(judged.nearest) < 2 {
		return judged
	}
	var best, second, at int
	for i, one := range judged.nearest {
		if one.Score < judged.nearest[0].Score-closeBy {
			break
		}
		n := h.chosen(request.Text, h.request.Candidates[one.Place])
		switch {
		case n > best:
			best, second, at = n, best, i
		default:
			second = max(second, n)
		}
	}
	if best == 0 || best == second {
		return judged
	}
	left := slices.DeleteFunc(slices.Clone(judged.nearest), func(one retrieval.Near) bool {
		return one.Place != judged.nearest[at].Place && one.Score >= judged.nearest[0].Score-closeBy
	})
	return judge(barOf(h.request), h.scope, left, oppositionOf(request.Text, words), request, words)
}

// chosen counts the values of a text that no other words could be: numbers, and those among a few
// that are allowed.
func (h *hearing) chosen(said string, c matcher.Candidate) int {
	n := 0
	for _, name := range values.KindsOf(c.Tool).Chosen {
		if h.read(said, c).Values[name] != nil {
			n++
		}
	}
	return n
}

// rivals are the tools that a text is near to, without the nearest.
func (h *hearing) rivals(near []retrieval.Near, nearest int) []reading {
	var found []reading
	for _, one := range near {
		if one.Place != nearest {
			found = append(found, reading{Candidate: h.request.Candidates[one.Place]})
		}
	}
	return found
}

// read reads the values of a text for a tool. They are the caller's own; what is read again, as
// the best of several tools is, is taken from memory.
func (h *hearing) read(said string, c matcher.Candidate) reading {
	key := heard{said, c.Tool}
	r, before := h.readings[key]
	if !before {
		r = h.readAnew(said, c)
		h.readings[key] = r
	}
	r.Values = maps.Clone(r.Values)
	return r
}

func (h *hearing) readAnew(said string, c matcher.Candidate) reading {
	r := reading{c, values.Of(h.text(said), c.Tool)}
	for _, name := range values.KindsOf(c.Tool).Free {
		if value, is := r.Values[name].(string); is && r.own(value) {
			delete(r.Values, name)
		}
	}
	r.leaveRanges()
	return r
}
