package offline

import (
	"slices"
	"strings"

	"earshot/matcher/retrieval"
	"earshot/matcher/text"
)

// unspoken reports whether the text is in a mood that, as far as is known, does not call
// for the tool. "When is my appointment?" and "my appointment was fine" have all the words
// of a tool that books one, and are no bookings.
func (o opposition) unspoken(p *retrieval.Document, said string, m text.Mood, words []text.Word) bool {
	return !p.Called(m, words) && !(p.Undoes != "" && o.declines && o.denies(p)) && !spokenInPart(p, said)
}

// spokenInPart reports whether a part of a text calls for the tool, beside others that only tell: "I'm
// going to the movies, book a car".
func spokenInPart(p *retrieval.Document, said string) bool {
	parts := partsOf(said)
	return len(parts) > 1 && len(parts) <= maxParts && slices.ContainsFunc(parts, func(part string) bool {
		part = withoutJoint(part)
		words := text.Split(part)
		m := (text.Text{Said: part, Words: words}).Mood()
		named := len(words) > 2 && p.Name[words[0].Stem] && words[1].Is(text.Articles) // "sound the horn"
		if m == text.Statement || m == text.Fragment && !orders(words) && !named || !p.Called(m, words) {
			return false
		}
		return slices.ContainsFunc(words, func(w text.Word) bool { return w.IsSubject() && p.Known[w.Stem] })
	})
}

// orders reports whether a text begins with a verb, as an order does.
func orders(words []text.Word) bool {
	first := (text.Text{Words: words}).Opening()
	return first >= 0 && (words[first].Is(text.ActionVerbs, text.LightVerbs))
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
		if isSide(words, i) && contradicts(p, w) || w.Is(text.TroubleWords) && p.Known[w.Stem] && deniedBefore(words, i) {
			return true
		}
		if w.Is(text.UndoingWords) && !p.Known[w.Stem] {
			return true
		}
		if w.Is(text.DroppingWords) && !begun && !p.Known[w.Stem] {
			return true
		}
		if w.Is(text.Negations) && !p.Known[w.Stem] && negates(p, words, i) {
			return true
		}
		begun = begun || w.IsSubject()
	}
	return false
}

// deniedBefore reports whether a negation stands right before the word at i: "nicht verloren", "not been
// stolen".
func deniedBefore(words []text.Word, i int) bool {
	return text.AnyIs(words[max(0, i-2):i], text.Negations)
}

// contradicts reports whether the word is the opposite of one that the tool is named
// for or described with: "off" for a tool that turns on.
func contradicts(p *retrieval.Document, w text.Word) bool {
	if p.Known[w.Stem] {
		return false
	}
	for _, opposite := range opposites[w.Norm] {
		if p.Title[text.Stem(opposite)] {
			return !slices.ContainsFunc(opposites[opposite], func(same string) bool { return p.Title[text.Stem(same)] }) // "add or remove" deletes as well
		}
	}
	return false
}

// undoes reports whether the text wants something undone and the tool does that.
func undoes(p *retrieval.Document, words []text.Word) bool {
	for _, w := range words {
		if w.Is(text.UndoingWords) && p.Known[w.Stem] || p.Drops && w.Is(text.DroppingWords) {
			return true
		}
	}
	return false
}

// forbids reports whether the words before a negation make an order of it: "please do not".
func forbids(before []text.Word) bool {
	first := (text.Text{Words: before}).Opening()
	return first == len(before)-1 && before[first].Norm == "do"
}

// negates reports whether the negation at i is of a wish or of what the tool does:
// "do not want", "no appointment", but not "I can not find" or "I do not know".
func negates(p *retrieval.Document, words []text.Word, i int) bool {
	if i == 0 || words[i].Norm == "never" || words[i].IsForeign(text.Negations) || forbids(words[:i]) {
		return true
	}
	if words[i-1].Is(text.UnableWords) || words[i-1].Norm == "or" {
		return false
	}
	for _, w := range words[i+1 : min(i+4, len(words))] {
		if w.Is(text.WantingWords) || p.Name[w.Stem] {
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
		if w.Is(text.PartingWords) && !p.Known[w.Stem] {
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

// unopposed leaves out the tools that do the opposite of what a text says, and those that do not
// know on which side of a thing it is where another tool for that thing knows: "an" and "aus". What only
// shows a list is not asked to "add to the list".
func unopposed(nearest []retrieval.Near, said string, words []text.Word) []retrieval.Near {
	var sides []text.Word
	for i, w := range words {
		if isSide(words, i) || w.Is(text.DroppingWords) && i+1 < len(words) && isDefinite(words[i+1]) {
			sides = append(sides, words[i])
		}
	}
	if len(sides) == 0 || len(nearest) < 2 {
		return nearest
	}
	question := (text.Text{Said: said, Words: words}).Mood() == text.Question
	kept := slices.DeleteFunc(slices.Clone(nearest), func(near retrieval.Near) bool {
		p := near.Document()
		return slices.ContainsFunc(sides, func(w text.Word) bool {
			return contradicts(p, w) || !onSide(p, w) && slices.ContainsFunc(nearest, func(other retrieval.Near) bool {
				q := other.Document()
				return onSide(q, w) && (p.Moods[text.Question] && !question || sideOf(q, w) > sideOf(p, w)) && sameThing(p, q, words) && !contradicts(q, w)
			})
		})
	})
	if len(kept) == 0 {
		return nearest
	}
	return kept
}

// sameThing reports whether a text names a thing that both tools are named for.
func sameThing(p, q *retrieval.Document, words []text.Word) bool {
	return slices.ContainsFunc(words, func(w text.Word) bool { return p.Name[w.Stem] && q.Name[w.Stem] && isThing(w) })
}

// onSide reports whether a tool's name or description says that it puts a thing on the side that a word
// is of.
func onSide(p *retrieval.Document, w text.Word) bool {
	return p.Title[w.Stem] || p.Drops && w.Is(text.DroppingWords)
}

// isSide reports whether the word at i says on which side of something a thing is to be: "off", and not
// the "on" of "on March 1" or "on my list".
func isSide(words []text.Word, i int) bool {
	w, last := words[i], i == len(words)-1
	switch {
	case !sided[w.Norm], w.Is(text.Articles) && !last: // the English "an"
		return false
	case !last && (words[i+1].Is(text.CalendarWords) || isNumber(words[i+1])):
		return false
	}
	return last || i == 0 || !w.Is(text.StopWords) || !words[i+1].Is(text.Articles) || words[i-1].Is(text.LightVerbs)
}

// sideOf says how much a tool's words speak for the side of a thing that a word is: they have the
// word, and do not have its opposite. "An" is both a side and an article.
func sideOf(p *retrieval.Document, w text.Word) int {
	n := 0
	if p.Known[w.Stem] {
		n++
	}
	for _, opposite := range opposites[w.Norm] {
		if p.Known[text.Stem(opposite)] {
			n--
		}
	}
	return n
}

// sided are the words of the pairs of opposites.
var sided = func() map[string]bool {
	found := map[string]bool{}
	for word := range opposites {
		found[word] = true
	}
	return found
}()

// undoing are the stems of the words that ask for something to be undone or taken away.
var undoing = func() map[string]bool {
	found := map[string]bool{}
	for _, word := range text.UndoingWords.Entries() {
		found[text.Stem(word)] = true
	}
	for _, word := range text.DroppingWords.Entries() {
		if text.ActionVerbs.Has(word) {
			found[text.Stem(word)] = true
		}
	}
	return found
}()
