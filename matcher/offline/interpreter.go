package offline

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/retrieval"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
)

// interpreter finds the calls of one message in its conversation.
type interpreter struct {
	request matcher.Request
	scope   retrieval.Scope
	trace   *matcher.Trace
	traced  bool // the scores are in the trace

	texts    map[string]*datetime.Text // split texts
	readings map[readFor]reading       // readings of texts
}

// readFor is the key of a text read for a tool.
type readFor struct {
	said string
	tool *repositories.Tool
}

// text returns a message, or a part of it, split into words once.
func (p *interpreter) text(said string) *datetime.Text {
	if p.texts[said] == nil {
		p.texts[said] = datetime.NewText(said, p.request.Now)
		p.texts[said].Preferred = p.request.Language
	}
	return p.texts[said]
}

// words is text without its times.
func (p *interpreter) words(said string) text.Text {
	return text.Text{Said: said, Words: p.text(said).Words}
}

// read reads the values of a text for a tool, with a cache. The caller may modify them.
func (p *interpreter) read(said string, c matcher.Candidate) reading {
	key := readFor{said, c.Tool}
	r, before := p.readings[key]
	if !before {
		r = reading{c, values.Of(p.text(said), c.Tool)}
		r.dropOwn()
		p.readings[key] = r
	}
	r.Values = maps.Clone(r.Values)
	return r
}

// closeBy is the maximum distance to the nearest tool of another one that the values support.
const closeBy = 0.15

// byValues compares tools at about the same distance by the values of the text: "dim the light to 30 percent" has a
// level, and only one tool takes it. Only values that no other words could be count.
func (p *interpreter) byValues(judged judgement, said text.Text) judgement {
	if judged.why == "" || len(judged.nearest) < 2 {
		return judged
	}
	near := func(one retrieval.Near) bool { return one.Score >= judged.nearest[0].Score-closeBy }
	var best, second, at int
	for i, one := range judged.nearest {
		if !near(one) {
			break
		}
		c, n := p.request.Candidates[one.Place], 0
		for _, name := range values.KindsOf(c.Tool).Chosen {
			if p.read(said.Said, c).Values[name] != nil {
				n++
			}
		}
		if n > best {
			best, second, at = n, best, i
		} else {
			second = max(second, n)
		}
	}
	if best == 0 || best == second {
		return judged
	}
	left := slices.DeleteFunc(slices.Clone(judged.nearest), func(one retrieval.Near) bool {
		return one.Place != judged.nearest[at].Place && near(one)
	})
	return utteranceOf(said).judge(barOf(p.request), p.scope, left)
}

// named is the reason against the nearest tool, with its name.
func (p *interpreter) named(judged judgement) string {
	if !strings.Contains(judged.why, "nearest tool") {
		return judged.why
	}
	return judged.why + " (nearest: " + p.request.Candidates[judged.nearest[0].Place].Tool.Name + ")"
}

// plainly is the required probability for a wish that has nothing beside the one thing that its tool gives, and values.
const plainly = 0.45

// plain reports whether a text wishes for the thing that only the nearest tool gives, and has nothing else but values: "I
// need an appointment on Friday".
func (p *interpreter) plain(judged judgement, said string) bool {
	near, t := judged.nearest[0], p.words(said)
	r := p.read(said, p.request.Candidates[near.Place])
	gives := func(q *retrieval.Document) bool {
		for i, w := range t.Words {
			if q.Gives && isThing(w) && q.Name[w.Stem] && !t.At(i-1).Is(text.Definites) { // "my appointment" is there already
				return true
			}
		}
		return false
	}
	return t.Mood() == text.Wish && r.whole() && gives(near.Document()) && !slices.ContainsFunc(p.scope.Nearest(t.Words, Compared), func(other retrieval.Near) bool {
		return other.Place != near.Place && gives(other.Document())
	})
}

// mostKnowing is the maximum number of tools that may take a picked value. Among more, words say too little.
const mostKnowing = 32

// picked returns the judgement of the only tool that gives what a text picks, if the text has nothing else but what that tool
// takes: "two espressos, please" for the tool that orders drinks.
func (p *interpreter) picked(judged judgement, said text.Text) judgement {
	if !wishesOrCounts(said) {
		return judged
	}
	gives := slices.DeleteFunc(p.scope.Knowing(said.Words, mostKnowing), func(near retrieval.Near) bool {
		if !near.Document().Gives {
			return true
		}
		r := p.read(said.Said, p.request.Candidates[near.Place])
		return !r.picks() || !r.whole()
	})
	if len(gives) != 1 {
		return judged
	}
	of := utteranceOf(said).judge(barOf(p.request), p.scope, gives)
	if of.weak {
		of.why = ""
	}
	return of
}

// one finds the call of a text with a single intent, or several with different values of one parameter. Without any
// it returns the reason, as the end of "Nothing fired: …".
func (p *interpreter) one(said string) ([]intent, string) {
	t := p.words(said)
	first := decide(barOf(p.request), p.scope, t)
	judged := p.byValues(first, t)
	if judged.unsure && judged.sure >= plainly && p.plain(judged, said) {
		judged.why = ""
	}
	if judged.weak && judged.why != "" {
		judged = p.picked(judged, t)
	}
	if p.trace != nil && !p.traced {
		p.trace.Scores, p.traced = p.scope.Scores(judged.nearest), true
	}
	if judged.why != "" {
		return nil, p.named(judged)
	}
	nearest := judged.nearest[0].Place
	var rivals []*repositories.Tool
	for _, near := range first.nearest {
		if near.Place != nearest {
			rivals = append(rivals, p.request.Candidates[near.Place].Tool)
		}
	}
	r := p.read(said, p.request.Candidates[nearest])
	if why := r.unmet(judged, rivals); why != "" {
		return nil, why
	}
	return p.each(r), ""
}

// each returns the call of a reading, or one for each value joined by "and": "the kitchen and the office".
func (p *interpreter) each(r reading) []intent {
	choices := values.Choices(r.Text, r.Tool)
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		said := choices[name]
		slices.SortFunc(said, func(a, b values.Mention) int { return a.First - b.First })
		if !r.joined(said) {
			continue
		}
		before, after := r.Said[:r.Words[said[0].First].Start], r.Said[r.Words[said[len(said)-1].End-1].End:]
		var calls []intent
		for _, m := range said {
			one := p.read(before+r.Surface(m.First, m.End)+after, r.Candidate)
			if one.Values[name] == nil {
				return []intent{r.intent()}
			}
			calls = append(calls, one.intent())
		}
		return distinct(calls)
	}
	return []intent{r.intent()}
}

func distinct(calls []intent) []intent {
	var found []intent
	for _, one := range calls {
		if !slices.ContainsFunc(found, func(other intent) bool { return other.Tool == one.Tool && reflect.DeepEqual(other.values, one.values) }) {
			found = append(found, one)
		}
	}
	return found
}
