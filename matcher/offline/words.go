package offline

import (
	"slices"
	"strings"

	"earshot/matcher/text"
	"earshot/repositories"
	"earshot/repositories/lists"
	"earshot/repositories/quantity"
)

// grammar are the lists of words without their own meaning beside a value.
var grammar = []text.List{
	text.StopWords, text.Articles, text.RequestWords, text.RatherWords, text.SuitingWords, text.Hesitations, text.Fillers, text.PoliteWords,
	text.AdditionPhrases, text.AgainPhrases, text.SamePhrases, text.Pronouns, text.UnitNames, text.Currencies, text.DayParts, text.ClockCues, text.HourCues,
}

// isGrammar reports whether a word has no meaning of its own beside a value.
func isGrammar(w text.Word) bool {
	if w.Is(text.Negations, text.PastWords) || isDirection(w) || isNumber(w) {
		return false
	}
	return w.Is(grammar...) || w.StemIs(text.UnitNames)
}

// isDirection reports whether a word selects one of two opposite acts: on, off, open, close. An alternative by "or"
// is not a value either.
func isDirection(w text.Word) bool {
	return w.Is(text.Opposites, text.OrWords)
}

func isNumber(w text.Word) bool {
	return !w.Is(text.Homographs) && (text.StartsWithDigit(w.Norm) || w.Is(text.NumberWords, text.Numbers) && !w.Is(text.ProForms))
}

func isThing(w text.Word) bool {
	verb := w.Is(text.ActionVerbs, text.LightVerbs, text.AttendingVerbs, text.EverythingWords, text.UndoingWords, text.DroppingWords)
	return w.IsSubject() && !verb && !isDirection(w) && !isNumber(w) && !isGrammar(w)
}

// isContent reports whether a word is neither grammar nor a verb without its own meaning.
func isContent(w text.Word) bool { return isDirection(w) || !isGrammar(w) && !w.Is(text.LightVerbs) }

func contentOf(words []text.Word) []text.Word {
	return slices.DeleteFunc(slices.Clone(words), func(w text.Word) bool { return !isContent(w) })
}

// isDefinite reports whether an existing thing follows the word.
func isDefinite(w text.Word) bool { return w.Is(text.Definites) }

func orders(t text.Text) bool { return t.At(t.Opening()).Is(text.ActionVerbs, text.LightVerbs) }

// refersBack reports whether a text refers to an unnamed thing: it has a pronoun or "again", and no thing.
func refersBack(words []text.Word) bool {
	refers := false
	for i, w := range words {
		if isThing(w) {
			return false
		}
		refers = refers || w.Is(text.Pronouns) && !isDirection(w) || text.AgainPhrases.PhraseAt(words, i) > 0
	}
	return refers
}

// maxParts bounds the work for one message; a text with more parts tells and does not order.
const maxParts = 6

// partsOf splits a text where one intent may end and another begin. The parts together are the whole text.
func partsOf(said string) []string {
	t := text.Of(said)
	words := t.Words
	var parts []string
	var amounts []quantity.Amount
	from := 0
	for i := 1; i < len(words); i++ {
		if text.JoiningPhrases.PhraseAt(words, i) > 0 && amounts == nil {
			amounts = append([]quantity.Amount{}, quantity.Unit{}.Amounts(said)...)
		}
		if slices.ContainsFunc(amounts, func(one quantity.Amount) bool { return one.From < words[i].Start && words[i].Start < one.To }) {
			continue // "an hour and a half", "eine Stunde und 20 Minuten"
		}
		ranged := isNumber(words[i-1]) && i+1 < len(words) && isNumber(words[i+1]) && !countsNext(words, i+1)
		ranged = ranged || words[i].Is(text.SumWords) && (isNumber(words[i-1]) || words[i-1].Is(text.Currencies)) && i+1 < len(words) && isNumber(words[i+1]) // "50 euros plus 3"
		joins := !ranged && (text.JoiningPhrases.PhraseAt(words, i) > 0 || text.AndInItalian(t, i)) && !t.Negates(i)                                          // but not the "plus" of "ne … plus"
		joins = joins && !(words[i].Is(text.JoinWords) && betweenDays(words, i))
		if !t.Pause(i) && !joins || text.JoiningPhrases.PhraseBefore(words, i) > 0 {
			continue // but "and then" is one joint
		}
		parts = append(parts, said[from:words[i].Start])
		from = words[i].Start
	}
	return append(parts, said[from:])
}

// countsNext reports whether the number at i counts the thing after it, and ends no range: "for 8 and two loaves", but not "between
// 8 and 10 people".
func countsNext(words []text.Word, i int) bool {
	const near = 3
	return i+1 < len(words) && isThing(words[i+1]) && !text.AnyIs(words[max(0, i-1-near):i], text.BetweenWords)
}

// betweenDays reports whether the word at i is between the days of a range: "between Monday and Wednesday".
func betweenDays(words []text.Word, i int) bool {
	const near = 3
	return words[i-1].Is(text.CalendarWords) && text.AnyIs(words[max(0, i-near):i], text.BetweenWords)
}

// several returns the parts of a text without their joints; none if there is one part, or too many.
func several(parts []string) []text.Text {
	if len(parts) < 2 || len(parts) > maxParts {
		return nil
	}
	return lists.Map(parts, func(part string) text.Text { return text.Of(withoutJoint(part)) })
}

// withoutJoint removes the "and then" at the beginning of a part.
func withoutJoint(said string) string {
	words := text.Split(said)
	if length := text.JoiningPhrases.PhraseAt(words, 0); length > 0 && length < len(words) {
		return said[words[length].Start:]
	}
	return said
}

// toolWords are the stems of a tool's words.
type toolWords struct {
	name, description, parameters map[string]bool // subjects
	examples                      map[string]bool // the same of its examples
	things                        map[string]bool // of its name: its objects
	doing                         map[string]bool // the rest of its name: its acts
}

type toolWordsForm struct{}

// wordsOf returns the words of a tool, which the tool caches.
func wordsOf(tool *repositories.Tool) toolWords {
	return tool.Params().Derived(toolWordsForm{}, func() any {
		t := toolWords{
			name: text.Subjects(text.Identifier(tool.Name)), description: text.Subjects(tool.Description),
			examples: text.Subjects(strings.Join(tool.Spoken(), " ")), parameters: map[string]bool{}, things: map[string]bool{}, doing: map[string]bool{},
		}
		for _, w := range text.Split(text.Identifier(tool.Name)) {
			if isThing(w) {
				t.things[w.Stem] = true
			} else {
				t.doing[w.Stem] = true
			}
		}
		for _, parameter := range tool.Params().List() {
			for stem := range text.Subjects(text.Identifier(parameter.Name)) {
				t.parameters[stem] = t.parameters[stem] || !parameter.Hidden
			}
		}
		return t
	}).(toolWords)
}

// shares counts the common members of two sets.
func shares(a, b map[string]bool) int {
	n := 0
	for one := range a {
		if b[one] {
			n++
		}
	}
	return n
}

type sampleForm struct{}

// maxSampled bounds how many of a tool's examples are read.
const maxSampled = 20

func isPolite(w text.Word) bool { return w.Is(text.PoliteWords) }

// withoutEnds removes the words at the beginning for which leads is true, and those at the end for which trails is.
func withoutEnds(words []text.Word, leads, trails func(text.Word) bool) []text.Word {
	for len(words) > 0 && leads(words[0]) {
		words = words[1:]
	}
	return withoutEnd(words, trails)
}

// withoutEnd removes the words at the end for which matches is true.
func withoutEnd(words []text.Word, matches func(text.Word) bool) []text.Word {
	for len(words) > 0 && matches(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return words
}
