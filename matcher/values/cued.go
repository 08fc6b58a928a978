package values

import (
	"slices"
	"strings"

	"earshot/matcher/text"
)

// cueReader fills free strings by the marks in examples.
type cueReader struct{ *slotFiller }

// readKnown fills free strings with values that are marked in an example and occur in the text. A word that
// examples also use outside of marks, or that is another parameter's value, does not count.
func readKnown(filler *slotFiller) {
	f := cueReader{filler}
	for _, s := range f.taughtSlots() {
		longest := slices.Clone(s.taught.values)
		slices.SortStableFunc(longest, func(a, b []text.Word) int { return len(b) - len(a) })
		var found []Mention
		used := make([]bool, len(f.Words))
		for _, words := range longest {
			ordinary := len(words) == 1 && (!words[0].IsSubject() || f.lesson.stems[words[0].Stem])
			same := func(value []text.Word) bool {
				return slices.EqualFunc(value, words, func(a, b text.Word) bool { return a.Norm == b.Norm })
			}
			shared := false // with another parameter
			for other, of := range f.lesson.of {
				shared = shared || other != s.Name && slices.ContainsFunc(of.values, same)
			}
			if ordinary || shared {
				continue
			}
			if m, ok := f.find(s, choice{words: words}, used); ok && !f.ofAnother(s, m.First) {
				m.Value = f.Surface(m.First, m.End)
				found = append(found, m)
			}
		}
		if len(found) != 1 {
			continue
		}
		m := found[0] // and not part of a longer name
		before := m.First > 1 && f.Capital(m.First-1) && f.Capital(m.First) && f.Adjoins(m.First-1)
		after := m.End < len(f.Words) && f.Capital(m.End) && f.Adjoins(m.End-1)
		goesOn := s.sentence() && !f.Pause(m.End) && !f.At(m.End).Is(text.PoliteWords) // "it rains very much" is another note
		if !before && !after && !goesOn && !f.standsAside(s, m) && !oneOfTwo(f.slotFiller, s, m.First, m.End) {
			f.fill(s, m.Value, m.First, m.End)
			f.listedAt[m.First] = true
		}
	}
}

// taughtSlots returns the open free strings with marked values.
func (f cueReader) taughtSlots() []*slot {
	return f.slots(func(s *slot) bool { return s.taught != nil && s.free })
}

// standsAside reports whether a known value begins a clause, as who acts or is spoken to, and another word stands where
// examples have the value: "Anna is here, send it to Max". What is somebody's is no name either: "Anna's mother".
func (f cueReader) standsAside(s *slot, m Mention) bool {
	if strings.HasSuffix(m.Value.(string), "'s") || strings.HasSuffix(m.Value.(string), "’s") {
		return true
	}
	if !s.namedFor(text.PersonNames) || !f.Pause(m.First) {
		return false
	}
	here := f.sentence()
	for i, w := range f.Words {
		left, _ := here.leftOf(i)
		named := here.capital(i) && (s.taught.left[left] || f.At(i-1).Is(text.TargetCues))
		cued := named || s.taught.left[left] && f.Lowercase() && !noWord(left)
		if cued && !f.taken[i] && !f.lesson.foreign(s, left) && (i < m.First || i >= m.End) && !f.Pause(i) && w.IsSubject() {
			return true
		}
	}
	return false
}

// ofAnother reports whether the previous word introduces values of another parameter and none of this.
func (f cueReader) ofAnother(s *slot, first int) bool {
	left, _ := f.sentence().leftOf(first)
	if s.taught.left[left] {
		return false
	}
	return !noWord(left) && f.lesson.foreign(s, left) || slices.ContainsFunc(relations, func(rel relation) bool {
		return rel.byName && rel.cues.Has(left) && !rel.fits(s) && slices.ContainsFunc(f.open, rel.fits)
	})
}

// foreign reports whether a word introduces values of a parameter other than the slot.
func (l *lesson) foreign(s *slot, word string) bool {
	for name, of := range l.of {
		if name != s.Name && of.left[word] {
			return true
		}
	}
	return false
}

// readCued fills free strings between two words between which values were marked. One of the two does not suffice,
// and no other slot may match the words. A value that is found tells where the next begins.
func readCued(filler *slotFiller) {
	f := cueReader{filler}
	for slots := f.taughtSlots(); len(slots) > 0 && f.readBetween(slots); slots = f.taughtSlots() {
	}
}

// readBetween reports whether one of the slots gets a value.
func (f cueReader) readBetween(slots []*slot) (filled bool) {
	found := map[*slot][]Mention{}
	for _, s := range slots {
		found[s] = f.between(s)
	}
	for _, s := range slots {
		if len(found[s]) != 1 {
			continue
		}
		m, contested := found[s][0], false
		for other, mentions := range found {
			contested = contested || other != s && slices.ContainsFunc(mentions, func(one Mention) bool { return one.First < m.End && m.First < one.End })
		}
		if !contested && f.free(m.First, m.End) && (s.sentence() || !oneOfTwo(f.slotFiller, s, m.First, m.End)) {
			f.fill(s, m.Value, m.First, m.End)
			filled = true
		}
	}
	return filled
}

// between finds candidates for the slot's value by the words on both sides. Of two with common words the one nearer
// to its cue counts, except for notes, which contain cues: "remind me to drive to Rome".
func (f cueReader) between(s *slot) (found []Mention) {
	here := f.sentence()
	for first, w := range f.Words {
		if first > 0 && joiners[f.Gap(first-1)] {
			continue // the second half of "L-thyroxine"
		}
		left, before := here.leftOf(first)
		opens := w.Is(text.Determiners) && f.tied(first) == first+1
		if !s.taught.left[left] || opens && !s.taught.article || s.taught.names && !f.Lowercase() && !here.capital(first) {
			continue
		}
		if !s.sentence() && acts(f.slotFiller, w) {
			continue // "I want to send"
		}
		end := f.upTo(s, here, first, left, s.taught.before[before])
		if end == first || s.taught.left[w.Norm] || s.taught.left[f.Norm(end-1)] {
			continue // its words continue with a cue, or are one
		}
		m := Mention{f.Surface(first, end), first, end}
		switch last := len(found) - 1; {
		case last < 0 || found[last].End <= first:
			found = append(found, m)
		case found[last].First == first-1 && found[last].End == end && f.Words[first-1].Is(text.Determiners): // the article is marked, too
		case !s.namedFor(text.NotedNames):
			found[last] = m
		}
	}
	return found
}

// upTo finds the end of the value that begins at first; first for none. before means that the two words before it
// precede a value in an example.
func (f cueReader) upTo(s *slot, here sentence, first int, left string, before bool) int {
	most := s.taught.longest + 2
	if s.isNoted() {
		most = len(f.Words)
	}
	for end := first + 1; end <= min(len(f.Words), first+most) && !f.taken[end-1]; end++ {
		if f.Words[end-1].Is(text.NameParticles) {
			most++ // "de la Cruz" is as long as "Cruz"
		}
		rights := here.rightOf(end)
		right, knows := s.taught.knows(rights)
		if past := f.trailing(s, end); !knows && past > end { // "to Anna tomorrow"
			rights = []string{atEnd}
			if right, knows = s.taught.knows(here.rightOf(past)); !knows {
				right, knows = s.taught.knows(rights)
			}
		}
		brings := f.lesson.brings[left]
		always := left != atStart && brings.of > 0 && brings.of >= brings.all && (before || brings.of > 1)
		if ends := rights[len(rights)-1] == atEnd; !knows && ends && always && before && f.Words[end-1].IsSubject() && end-first <= s.taught.longest && f.telling(s, first, end) {
			return end // "a taxi from the hotel", although examples go on: "a taxi from the station to the airport"
		}
		if !knows {
			if noWord(rights[len(rights)-1]) || text.StopWords.Has(rights[0]) && f.lesson.foreign(s, rights[0]) {
				return first // a grammar word introduces another parameter's value
			}
			continue
		}
		// Two cues suffice unless both are common words: then the left one must introduce values in all examples,
		// and more than once or together with the word before it.
		weak := left == atStart || left == atValue || text.StopWords.Has(left)
		loose := noWord(right) || text.StopWords.Has(right)
		together := right == atValue || s.taught.beside[left+" "+right]
		if weak && loose && !(always && together) || !f.telling(s, first, end) {
			return first
		}
		return end
	}
	return first
}

// telling reports whether words are meaningful and belong together, unlike "something" and "Pranav and use". A note
// is any sentence.
func (f cueReader) telling(s *slot, first, end int) bool {
	noted := s.isNoted()
	for i := first; i < end; i++ {
		w := f.Words[i]
		tied := f.tied(i) > i+1 || i > 0 && joiners[f.Gap(i-1)] // a part of a longer word: "L-thyroxine"
		grammar := w.Is(text.StopWords) && !tied && !w.Is(text.OfWords) && !s.taught.inside[w.Norm] && particles(f.Text.Text, i) == i
		if loose := grammar || isCalendar(w.Norm) && !f.Capital(i); loose && !noted && !(i > first && f.Capital(i)) {
			return false
		}
	}
	return slices.ContainsFunc(f.Words[first:end], text.Word.IsSubject)
}
