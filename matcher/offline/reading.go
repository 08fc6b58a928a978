package offline

import (
	"encoding/json"
	"slices"
	"strings"

	"earshot/matcher"
	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/matcher/values"
	"earshot/repositories"
)

// reading is what a text says for a tool.
type reading struct {
	matcher.Candidate
	values.Reading
}

func (r reading) wish() wish { return wish{r.Candidate, r.Values, r.Said} }

// moments are the dates and times of day in a text.
func moments(t *datetime.Text) []datetime.Reading { return slices.Concat(t.Dates(), t.Clocks()) }

// whole reports whether the text says nothing but values of the tool: what else it has is
// grammar, politeness, or the tool's own words.
func (r reading) whole() bool {
	for i, w := range r.Words {
		if !r.Taken[i] && !isGrammar(w) && !r.speaksOf(w) && !r.brings(i) {
			return false
		}
	}
	return !(text.Text{Words: r.Words}).Tells()
}

// brings reports whether the word at a place is a preposition of a value, as "on" in "on Monday",
// and not one side of a thing, as in "switch on".
func (r reading) brings(i int) bool {
	if !sided[r.Words[i].Norm] || !r.Words[i].Is(text.StopWords) {
		return false
	}
	next := i + 1
	if next < len(r.Words) && r.Words[next].Is(text.StopWords) && !r.Taken[next] {
		next++
	}
	return next < len(r.Words) && r.Taken[next]
}

// isGrammar reports whether a word says nothing of its own beside a value.
func isGrammar(w text.Word) bool {
	if w.Is(text.Negations, text.PastWords) || directions[w.Norm] || isNumber(w) {
		return false
	}
	for _, list := range []text.List{
		text.StopWords, text.Articles, text.RequestWords, text.RatherWords, text.SuitingWords, text.Hesitations, text.Fillers, text.PoliteWords,
		text.AdditionPhrases, text.AgainPhrases, text.SamePhrases, text.Pronouns, text.UnitNames, text.Currencies, text.DayParts, text.ClockCues, text.HourCues,
	} {
		if list.Has(w.Norm) {
			return true
		}
	}
	return w.StemIs(text.UnitNames) || w.Norm == "oclock" || w.Norm == "uhr" || w.Norm == "heures" || w.Norm == "well"
}

func isNumber(w text.Word) bool {
	if w.Is(text.Homographs) {
		return false
	}
	_, spelled := text.NumberWords.Number(w.Norm)
	_, foreign := text.Numbers.Number(w.Norm)
	return text.StartsWithDigit(w.Norm) || (spelled || foreign) && w.Norm != "one"
}

// directions are the words of which a tool does one or the other: on, off, open, close.
var directions = func() map[string]bool {
	found := map[string]bool{}
	for _, pair := range text.Opposites.Entries() {
		for _, word := range strings.Fields(pair) {
			found[word] = true
		}
	}
	for _, word := range []string{"or", "oder", "ou"} {
		found[word] = true // what is open is no value
	}
	return found
}()

// speaksOf reports whether a word is the tool's own: of its name, or of a parameter's.
func (r reading) speaksOf(w text.Word) bool {
	if w.IsSubject() && text.Subjects(text.Identifier(r.Tool.Name))[w.Stem] {
		return true
	}
	for _, parameter := range r.Tool.Params().List() {
		if !parameter.Hidden && text.Subjects(text.Identifier(parameter.Name))[w.Stem] {
			return true
		}
	}
	return w.IsSubject() && !w.Is(text.ActionVerbs) && text.Subjects(r.Tool.Description)[w.Stem]
}

// leaveRanges takes back a number that is one end of a range: "between 20 and 22" is neither. A
// tool that takes both ends keeps them.
func (r reading) leaveRanges() {
	for i := range r.Words {
		if !r.Words[i].Is(text.BetweenWords) {
			continue
		}
		var ends []string
		for at := i + 1; at < min(len(r.Words), i+10) && len(ends) < 2; at++ {
			if numbers := r.Numbers(at); len(numbers) > 0 {
				ends, at = append(ends, numbers[0].Exact), numbers[0].End-1
			}
		}
		if len(ends) == 2 {
			r.dropOne(ends)
		}
	}
}

// dropOne removes the value that is one of the ends where only one of them is a value.
func (r reading) dropOne(ends []string) {
	var is []string
	for name, value := range r.Values {
		if number, ok := value.(json.Number); ok && slices.Contains(ends, number.String()) {
			is = append(is, name)
		}
	}
	if len(is) == 1 {
		delete(r.Values, is[0])
	}
}

// own reports whether a value is made of what the tool itself is about: "create a calendar entry"
// has no title.
func (r reading) own(value string) bool {
	about := text.Subjects(text.Identifier(r.Tool.Name) + " " + r.Tool.Description)
	said := text.Subjects(value)
	return len(said) > 0 && shares(said, about) == len(said)
}

// title is what a tool's name says, by the stems of its words.
type title struct {
	things map[string]bool // what it is for
	doing  map[string]bool // the rest: what it does to it
}

type titleForm struct{}

// titleOf is worked out once in the life of the tool.
func titleOf(tool *repositories.Tool) title {
	return tool.Params().Derived(titleForm{}, func() any {
		t := title{things: map[string]bool{}, doing: map[string]bool{}}
		for _, w := range text.Split(text.Identifier(tool.Name)) {
			if isThing(w) {
				t.things[w.Stem] = true
			} else {
				t.doing[w.Stem] = true
			}
		}
		return t
	}).(title)
}

func things(tool *repositories.Tool) map[string]bool { return titleOf(tool).things }

func doing(tool *repositories.Tool) map[string]bool { return titleOf(tool).doing }

// isThing reports whether a word names a thing.
func isThing(w text.Word) bool {
	return w.IsSubject() && !w.Is(text.ActionVerbs, text.LightVerbs, text.EverythingWords) &&
		!directions[w.Norm] && !w.Is(text.UndoingWords, text.DroppingWords) && !isNumber(w) && !isGrammar(w)
}

// shares counts the members that two sets have in common.
func shares(a, b map[string]bool) int {
	n := 0
	for one := range a {
		if b[one] {
			n++
		}
	}
	return n
}

// each returns the call of a reading, or one for each value where a parameter has several that
// are joined by "and": "the kitchen and the office".
func (h *hearing) each(r reading) []wish {
	for name, said := range values.Choices(r.Text, r.Tool) {
		slices.SortFunc(said, func(a, b values.Mention) int { return a.First - b.First })
		if !r.joined(said) {
			continue
		}
		var calls []wish
		for _, m := range said {
			one := h.read(r.with(said, m), r.Candidate)
			if one.Values[name] == nil {
				return []wish{r.wish()}
			}
			calls = append(calls, one.wish())
		}
		return distinct(calls)
	}
	return []wish{r.wish()}
}

// joined reports whether the text joins values by "and".
func (r reading) joined(said []values.Mention) bool {
	for i := 1; i < len(said); i++ {
		if !r.joins(said[i-1].End, said[i].First, i+1 == len(said)) {
			return false
		}
	}
	return true
}

// joins reports whether the words from first to before end join two values.
func (r reading) joins(first, end int, last bool) bool {
	and := !last
	for _, w := range r.Words[first:end] {
		switch {
		case w.Is(text.JoiningPhrases, text.AdditionPhrases):
			and = true
		case !w.Is(text.StopWords, text.Articles, text.SuitingWords) || directions[w.Norm]:
			return false
		}
	}
	return and && end-first <= 4
}

// with is the text with one of several joined values.
func (r reading) with(all []values.Mention, one values.Mention) string {
	first, last := r.Words[all[0].First], r.Words[all[len(all)-1].End-1]
	return r.Said[:first.Start] + (text.Text{Said: r.Said, Words: r.Words}).Surface(one.First, one.End) + r.Said[last.End:]
}
