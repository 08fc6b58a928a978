// Package values reads the values of a tool's parameters from the words of a text, without a model. It only takes
// certain values: words that fit two parameters go to neither, and nothing is invented. A wrong value does harm; a
// missing one is asked for.
package values

import (
	"slices"
	"strings"

	"earshot/matcher/datetime"
	"earshot/matcher/text"
	"earshot/repositories"
)

// Reading is the values of a tool's parameters in a text.
type Reading struct {
	*datetime.Text
	Values map[string]any    // by parameter name; numbers are json.Number
	Taken  []bool            // by word: whether a value has it
	Why    map[string]string // tells by parameter why a number in the text is not its value
	Asks   map[string]string // has a question for each parameter with an ambiguous value: "at 9: 09:00 or 21:00?"
	// Unusable tells by parameter why words that certainly speak of it give no value: 25 is above its maximum. A call
	// without what was said is not what the user asks for, even if the parameter is optional.
	Unusable map[string]string
}

// readers fill the slots of a tool in order, each from the words that earlier ones left.
var readers = []func(*slotFiller){
	readPatterns, readAllowed, readKnown, readCodes, readNamed, readBooleans, readAhead, readDurations, readAmounts, readMoments,
	readSpokenNumbers, readNumbers, readLists, readCued, readJourney, readPlaces, readTitled, readIdentifiers,
	readQuoted, readItems, readRest,
}

// Of reads the values of the tool's parameters from the text.
func Of(utterance *datetime.Text, tool *repositories.Tool) Reading {
	return readBy(newFiller(utterance, tool))
}

// For reads the values of the parameters with some names, as if the tool had no others.
func For(utterance *datetime.Text, tool *repositories.Tool, names []string) Reading {
	f := newFiller(utterance, tool)
	f.open = f.slots(func(s *slot) bool { return slices.Contains(names, s.Name) })
	return readBy(f)
}

func readBy(f *slotFiller) Reading {
	for _, read := range readers {
		read(f)
	}
	splitCounts(f)
	return Reading{f.Text, f.values, f.taken, f.reasons, f.questions, f.unusable}
}

// restReader reads the rest of a sentence.
type restReader struct{ *slotFiller }

// readRest fills a free string with the rest of the text if both its ends are certain: after a colon or "called";
// after "that" in a message; and the object of the tool's verb, if the tool has no other free string ("remind me to
// call mum", "add milk to the shopping list").
func readRest(filler *slotFiller) {
	f := restReader{filler}
	for _, read := range []func() (*slot, int, int){f.announced, f.reported, f.objectOf} {
		s, first, end := read()
		if s == nil || first >= end || !f.free(first, end) {
			continue
		}
		isNew := func(w text.Word) bool { return !w.Is(text.StopWords) && !f.name[w.Stem] } // has words beyond the tool's own name
		if slices.ContainsFunc(f.Words[first:end], isNew) && !isAddress(f.Surface(first, end)) {
			f.fill(s, strings.TrimSpace(f.Surface(first, end)), first, end)
			return
		}
	}
}

// isAddress reports whether a text is only an address, which is no sentence.
func isAddress(surface string) bool {
	surface = strings.TrimRight(strings.TrimSpace(surface), ".,;:!?")
	return slices.ContainsFunc(forms, func(candidate form) bool { return candidate.pattern.FindString(surface) == surface })
}

// announced finds the text after a colon, or "called", for the one free string that is left, or the one for
// contents.
func (f restReader) announced() (s *slot, first, end int) {
	slots := f.slots(freeText)
	if len(slots) > 1 {
		slots = slices.DeleteFunc(slots, func(s *slot) bool { return !s.namedFor(text.ContentNames) })
	}
	if len(slots) != 1 {
		return nil, 0, 0
	}
	for i := range f.Words[:max(0, len(f.Words)-1)] {
		if gap := f.Gap(i); f.Words[i].Is(text.AnnouncingWords) || strings.HasPrefix(strings.TrimSpace(gap), ":") && len(gap) > 1 {
			return slots[0], i + 1, f.trimmed(i+1, len(f.Words))
		}
	}
	return nil, 0, 0
}

// mostBeforeThat is the maximum number of words before the "that" of an order: "please tell Laura Smith that".
// Later it belongs to something else: "send me the report that Laura wrote".
const mostBeforeThat = 4

// reported finds the text after "that", soon after an order to tell or to note it.
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

// trimmed returns the end of a range without politeness.
func (f restReader) trimmed(first, end int) int {
	for end > first && f.Words[end-1].Is(text.PoliteWords) {
		end--
	}
	return end
}

// sentenceEnd returns where punctuation ends the sentence.
func (f restReader) sentenceEnd(first int) int {
	for end := first; end < len(f.Words); end++ {
		if strings.ContainsAny(f.Gap(end), ".?!\n") && !f.Joined(end) {
			return end + 1
		}
	}
	return len(f.Words)
}

func (f restReader) named(i int) bool { return f.name[f.At(i).Stem] }

// objectOf finds the text after the tool's verb.
func (f restReader) objectOf() (s *slot, first, end int) {
	slots := f.slots(func(s *slot) bool { return s.free && (s.tellsActs() || s.namedFor(text.ContentNames)) })
	if len(slots) != 1 || f.texts != 1 {
		return nil, 0, 0
	}
	isVerb := func(w text.Word) bool { return w.Norm == f.verb || f.means(w) }
	for i, w := range f.Words {
		if w.Is(text.PuttingVerbs) || w.IsSubject() && isVerb(w) {
			first = f.object(i + 1)
			end = f.sentenceEnd(first)
			listed := f.listed(first, end)
			if !isVerb(w) && (listed == end || !w.Is(text.PuttingVerbs)) {
				return nil, 0, 0
			}
			first, end = f.stripped(first, listed)
			return slots[0], first, end
		}
		if !w.Is(text.StopWords) && w.IsSubject() || strings.ContainsAny(f.Gap(i), ".?!") && !f.Joined(i) || w.Is(text.Negations) {
			return nil, 0, 0
		}
	}
	return nil, 0, 0
}

// object skips the words between a verb and its object.
func (f restReader) object(i int) int {
	for i < len(f.Words) && (f.Words[i].Is(text.ObjectLinks) || f.named(i) || f.Words[i].Is(text.Determiners) && f.named(i+1)) {
		i++
	}
	return i
}

// listed returns the end before a target in the tool's own words: "to the shopping list".
func (f restReader) listed(first, end int) int {
	names := false // a word of the tool names it
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

// stripped removes at both ends the words of other values, the words that introduce them, and politeness.
func (f restReader) stripped(first, end int) (from, to int) {
	bare := func(first, end int) bool { // only grammar
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
			return end, end // the rest may be a part of it
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
