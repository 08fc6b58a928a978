package values

import (
	"slices"
	"strings"

	"earshot/matcher/text"
)

// longestFirst sorts values by their length, so that one is found before a part of it.
func longestFirst(values [][]text.Word) [][]text.Word {
	ordered := slices.Clone(values)
	slices.SortStableFunc(ordered, func(a, b []text.Word) int { return len(b) - len(a) })
	return ordered
}

// readKnown fills free strings with values that were marked in an example, where the text
// has one of them. A word that the examples also say outside of marks may be no value here.
func (r nameReader) readKnown() {
	for _, s := range r.taughtSlots() {
		var found []mention
		used := make([]bool, len(r.Words))
		for _, words := range longestFirst(s.taught.values) {
			if r.lesson.ordinary(words) || r.lesson.shared(s.Name, words) {
				continue
			}
			if m, ok := r.find(s, "", words, used); ok && !r.ofAnother(s, m.first) {
				m.value = r.Surface(m.first, m.end)
				found = append(found, m)
			}
		}
		if len(found) == 1 && r.whole(found[0]) {
			r.fill(s, found[0].value, found[0].first, found[0].end)
			r.listedAt[found[0].first] = true
		}
	}
}

// ofAnother reports whether the word before brings values of another parameter and none of this.
func (r nameReader) ofAnother(s *slot, first int) bool {
	left, _ := (sentence{text: r.Said, words: r.Words, taken: r.taken}).leftOf(first)
	if s.taught.left[left] {
		return false
	}
	for name, of := range r.lesson.of {
		if name != s.Name && of.left[left] && !noWord(left) {
			return true
		}
	}
	return slices.ContainsFunc(relations, func(rel relation) bool {
		return rel.byName && rel.cues.Has(left) && !rel.fits(s) && slices.ContainsFunc(r.open, rel.fits)
	})
}

// whole reports whether a mention is not a part of a longer name.
func (r nameReader) whole(m mention) bool {
	before := m.first > 0 && r.Capital(m.first-1) && r.Capital(m.first) && m.first > 1 && strings.TrimSpace(r.Gap(m.first-1)) == ""
	after := m.end < len(r.Words) && r.Capital(m.end) && strings.TrimSpace(r.Gap(m.end-1)) == ""
	return !before && !after
}

// taughtSlots are the open free strings of which values are marked.
func (r nameReader) taughtSlots() []*slot {
	if r.lesson == nil {
		return nil
	}
	return r.slots(func(s *slot) bool { return s.taught != nil && s.free })
}

// ordinary reports whether a value is a single word that says nothing, or that the examples
// say outside of marks.
func (l *lesson) ordinary(words []text.Word) bool {
	return len(words) == 1 && (!words[0].IsSubject() || l.said[words[0].Stem])
}

// shared reports whether another parameter has the value as well.
func (l *lesson) shared(name string, words []text.Word) bool {
	for other, of := range l.of {
		for _, known := range of.values {
			if other != name && sameWords(known, words) {
				return true
			}
		}
	}
	return false
}

func sameWords(a, b []text.Word) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Norm != b[i].Norm {
			return false
		}
	}
	return true
}

// readCued fills free strings that stand between two words between which values were marked,
// never beside one of them alone.
func (r nameReader) readCued() {
	found := map[*slot][]mention{}
	slots := r.taughtSlots()
	for _, s := range slots {
		found[s] = r.between(s)
	}
	for _, s := range slots {
		if one := found[s]; len(one) == 1 && !r.contested(one[0], s, found) && r.free(one[0].first, one[0].end) {
			r.fill(s, one[0].value, one[0].first, one[0].end)
		}
	}
}

// contested reports whether another slot may have words of the mention.
func (r nameReader) contested(m mention, of *slot, found map[*slot][]mention) bool {
	for s, others := range found {
		for _, other := range others {
			if s != of && other.first < m.end && m.first < other.end {
				return true
			}
		}
	}
	return false
}

// between finds what may be the slot's value by what stands on both sides.
func (r nameReader) between(s *slot) []mention {
	var found []mention
	here := sentence{text: r.Said, words: r.Words, taken: r.taken}
	for first := range r.Words {
		if first > 0 && tight[r.Gap(first-1)] {
			continue // the second half of "L-thyroxine"
		}
		left, before := here.leftOf(first)
		opens := r.Words[first].Is(text.Determiners) && !r.tied(first)
		if !s.taught.left[left] || opens && !s.taught.article || s.taught.names && !r.Lowercase() && !here.capital(first) {
			continue
		}
		m, ok := r.upTo(s, here, first, left, s.taught.before[before])
		if !ok || s.taught.left[r.Norm(first)] || s.taught.left[r.Norm(m.end-1)] {
			continue // its words go on to a cue, or are one
		}
		m.value = r.Surface(m.first, m.end)
		found = s.nearer(found, m)
	}
	return found
}

// nearer adds a mention. Of two that share words the one nearer to its cue is meant, but what
// people note down has cues of its own: "remind me to drive to Rome".
func (s *slot) nearer(found []mention, m mention) []mention {
	last := len(found) - 1
	switch {
	case last < 0 || found[last].end <= m.first:
		return append(found, m)
	case !s.namedBy(noted):
		found[last] = m
	}
	return found
}

// upTo finds where the value that begins at first ends.
func (r nameReader) upTo(s *slot, here sentence, first int, left string, before bool) (mention, bool) {
	most := s.taught.longest + 2
	if s.namedBy(noted) {
		most = len(r.Words)
	}
	for last := first + 1; last <= len(r.Words) && last <= first+most; last++ {
		if r.taken[last-1] {
			return mention{}, false
		}
		rights := here.rightOf(last)
		if right, known := s.taught.knows(rights); known {
			return mention{first: first, end: last}, r.telling(s, first, last) && r.certain(left, right, before)
		}
		if noWord(rights[len(rights)-1]) || r.foreign(s, rights[0]) {
			return mention{}, false
		}
	}
	return mention{}, false
}

// noWord reports whether what stands beside a value is no word.
func noWord(cue string) bool { return cue == atStart || cue == atEnd || cue == atValue }

// knows returns the one that stands behind values of the parameter. Before another value they
// end as at the end.
func (t *taught) knows(rights []string) (string, bool) {
	for _, right := range rights {
		if t.right[right] || right == atValue && t.right[atEnd] {
			return right, true
		}
	}
	return "", false
}

// certain reports whether two cues are enough: where both are words that stand beside
// anything, the left one must bring values in all examples, and more than once or with the
// word before it.
func (r nameReader) certain(left, right string, before bool) bool {
	weak := left == atStart || left == atValue || text.StopWords.Has(left)
	loose := noWord(right) || text.StopWords.Has(right)
	return !weak || !loose || left != atStart && r.lesson.always(left) && (before || r.lesson.brings[left].of > 1)
}

// foreign reports whether a grammar word brings the value of another parameter.
func (r nameReader) foreign(s *slot, word string) bool {
	for name, of := range r.lesson.of {
		if name != s.Name && of.left[word] && text.StopWords.Has(word) {
			return true
		}
	}
	return false
}

// tied reports whether the word at i is a part of a longer one: "L-thyroxine".
func (r *filler) tied(i int) bool {
	return i+1 < len(r.Words) && tight[r.Gap(i)] || i > 0 && tight[r.Gap(i-1)]
}

// telling reports whether words say something, and hold together: "something" does not, nor
// "Pranav and use". What people note down is any sentence.
func (r nameReader) telling(s *slot, first, last int) bool {
	tells := false
	for i, w := range r.Words[first:last] {
		tells = tells || w.IsSubject()
		loose := w.Is(text.StopWords) && !r.tied(first+i) && !w.Is(text.OfWords) && !s.taught.inside[w.Norm] || isCalendar(w.Norm) && !r.Capital(first+i)
		if loose && !s.namedBy(noted) && !(i > 0 && r.Capital(first+i)) {
			return false
		}
	}
	return tells
}
