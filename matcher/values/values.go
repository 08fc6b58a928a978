// Package values reads the values of a tool's parameters from the words of a text, without a
// model. A value is taken only where its reading is certain: words that could belong to two
// parameters are given to neither, and nothing is made up. A value that is wrong does harm; one
// that is missing is asked for.
package values

import (
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Reading is what a text says of a tool's parameters.
type Reading struct {
	*datetime.Text
	Values map[string]any // by the names of the parameters; numbers are json.Number
	Taken  []bool         // by word: it is of a value
	// Why says of a parameter why a number in the text is no value of it.
	Why map[string]string
	// Asks has a question for each parameter whose words have two readings: "at 9: 09:00 or 21:00?".
	Asks map[string]string
}

// readers fill the slots of a tool, each with what those before it have left.
var readers = []func(*slotFiller){
	readPatterns, readAllowed, readKnown, readCodes, readNamed, readBooleans, readDurations, readAmounts, readMoments,
	readSpokenNumbers, readNumbers, readLists, readCued, readPlaces, readQuoted, readRest,
}

// Of reads the values that the text gives for the tool's parameters.
func Of(said *datetime.Text, tool *repositories.Tool) Reading {
	f := newFiller(said, tool)
	for _, read := range readers {
		read(f)
	}
	return Reading{said, f.values, f.taken, f.why, f.asks}
}

// restReader reads the rest of a sentence.
type restReader struct{ *slotFiller }

// readRest fills a free string with the rest of the text, where it is certain that the rest is
// its value and where it ends: what is announced by a colon or "called"; what a message says
// after "that"; and the object of the verb that the tool is for, where the tool has no other
// free string ("remind me to call mum", "add milk to the shopping list").
func readRest(filler *slotFiller) {
	f := restReader{filler}
	for _, read := range []func() (*slot, int, int){f.announced, f.reported, f.objectOf} {
		s, first, end := read()
		if s == nil || first >= end || !f.free(first, end) {
			continue
		}
		fresh := func(w text.Word) bool { return !w.Is(text.StopWords) && !f.name[w.Stem] } // it says more than the tool's own name
		if slices.ContainsFunc(f.Words[first:end], fresh) {
			f.fill(s, strings.TrimSpace(f.Surface(first, end)), first, end)
			return
		}
	}
}

// announced finds all that follows a colon, or "called", for the one free string that is left, or the
// one of them for contents.
func (f restReader) announced() (s *slot, first, end int) {
	slots := f.slots(freeText)
	if len(slots) > 1 {
		slots = slices.DeleteFunc(slots, func(s *slot) bool { return !s.namedFor(text.ContentNames) })
	}
	if len(slots) != 1 {
		return nil, 0, 0
	}
	for i := range f.Words[:max(0, len(f.Words)-1)] {
		if gap := f.Gap(i); f.Words[i].Is(text.AnnouncingWords) || strings.HasPrefix(gap, ":") && len(gap) > 1 {
			return slots[0], i + 1, f.trimmed(i+1, len(f.Words))
		}
	}
	return nil, 0, 0
}

// mostBeforeThat is how many words an order has before "that": "please tell Laura Smith that".
// Later it belongs to something else: "send me the report that Laura wrote".
const mostBeforeThat = 4

// reported finds what is said after "that", soon after an order to tell or to note it.
func (f restReader) reported() (s *slot, first, end int) {
	slots := f.slots(func(s *slot) bool { return s.free && s.namedFor(text.NotedNames) })
	opening := f.Opening()
	if len(slots) != 1 || opening < 0 || f.Words[opening].Is(text.TellingWords) {
		return nil, 0, 0
	}
	for i := opening + 1; i < len(f.Words)-1 && i <= opening+mostBeforeThat; i++ {
		if f.Words[i].Is(text.ThatWords) && (!f.At(i-2).Is(text.Determiners, text.Articles) || f.named(i-1)) {
			return slots[0], i + 1, f.trimmed(i+1, f.sentenceEnd(i+1))
		}
	}
	return nil, 0, 0
}

// trimmed is the end of a stretch without politeness.
func (f restReader) trimmed(first, end int) int {
	for end > first && f.Words[end-1].Is(text.PoliteWords) {
		end--
	}
	return end
}

// sentenceEnd is where a mark ends the sentence.
func (f restReader) sentenceEnd(first int) int {
	for end := first; end < len(f.Words); end++ {
		if strings.ContainsAny(f.Gap(end), ".?!\n") {
			return end + 1
		}
	}
	return len(f.Words)
}

// named reports whether the word at i is one of the tool's name.
func (f restReader) named(i int) bool { return f.name[f.At(i).Stem] }

// objectOf finds what stands after the verb that the tool is for.
func (f restReader) objectOf() (s *slot, first, end int) {
	slots := f.slots(func(s *slot) bool { return s.free && s.namedFor(text.ContentNames) })
	if len(slots) != 1 || len(f.kinds.Free) != 1 {
		return nil, 0, 0
	}
	isVerb := func(w text.Word) bool { return w.Norm == f.verb || f.means(w) }
	for at, w := range f.Words {
		if w.Is(text.PuttingVerbs) || w.IsSubject() && isVerb(w) {
			first = f.object(at + 1)
			end = f.sentenceEnd(first)
			listed := f.listed(first, end)
			if !isVerb(w) && (listed == end || !w.Is(text.PuttingVerbs)) {
				return nil, 0, 0
			}
			first, end = f.stripped(first, listed)
			return slots[0], first, end
		}
		if !w.Is(text.StopWords) && w.IsSubject() || strings.ContainsAny(f.Gap(at), ".?!") || w.Is(text.Negations) {
			return nil, 0, 0
		}
	}
	return nil, 0, 0
}

// object skips what stands between a verb and its object.
func (f restReader) object(i int) int {
	for i < len(f.Words) && (f.Words[i].Is(text.ObjectLinks) || f.named(i) || f.Words[i].Is(text.Determiners) && f.named(i+1)) {
		i++
	}
	return i
}

// listed ends before the place where something is put, in words that the tool itself has: "to
// the shopping list".
func (f restReader) listed(first, end int) int {
	names := false // a word of the tool does
	for i := end - 1; i > first; i-- {
		w := f.Words[i]
		switch {
		case w.Is(text.TargetCues) && names:
			return i
		case w.Is(text.TargetCues), !w.Is(text.Determiners) && !f.own[w.Stem] && !w.Is(text.PoliteWords, text.TrailingWords):
			return end
		}
		names = names || w.IsSubject() && f.own[w.Stem]
	}
	return end
}

// stripped leaves out what other values have taken at both ends, with the words that bring
// them, and politeness.
func (f restReader) stripped(first, end int) (from, to int) {
	bare := func(first, end int) bool { // nothing but grammar
		for i := first; i < end; i++ {
			if !f.taken[i] && !f.Words[i].Is(text.StopWords, text.PoliteWords, text.TrailingWords) {
				return false
			}
		}
		return true
	}
	for i := first; i < end; i++ {
		if !f.taken[i] {
			continue
		}
		if bare(first, i) { // "remind me at six to call mum"
			first = f.object(i + 1)
			continue
		}
		if !bare(i, end) {
			return end, end // what follows may be a part of it
		}
		end = i
	}
	for ; end > first; end-- {
		last := f.Words[end-1]
		brings := end < len(f.Words) && f.taken[end] && last.Is(text.ClockCues, text.DayCues, text.LinkingWords, text.Articles)
		if !brings && !last.Is(text.PoliteWords, text.TrailingWords, text.InsteadWords) {
			break
		}
	}
	return first, end
}
