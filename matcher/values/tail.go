package values

import (
	"strings"

	"earshot/matcher/text"
)

// readRest fills a free string with the rest of the text, where it is certain that the rest is
// its value and where it ends: what is announced by a colon or "called"; what a message says
// after "that"; and the object of the verb that the tool is for, where the tool has no other
// free string ("remind me to call mum", "add milk to the shopping list").
func (r tailReader) readRest() {
	for _, read := range []func() (*slot, int, int){r.announced, r.told, r.objectOf} {
		s, first, end := read()
		if s == nil {
			continue
		}
		if first < end && r.free(first, end) && r.fresh(first, end) {
			r.fill(s, strings.TrimSpace(r.Surface(first, end)), first, end)
			return
		}
	}
}

// loneText is the one free string that is left, or the one of them for contents.
func (r tailReader) loneText() *slot {
	slots := r.slots(freeText)
	if len(slots) > 1 {
		slots = r.slots(func(s *slot) bool { return s.free && s.namedBy(contents) })
	}
	if len(slots) != 1 {
		return nil
	}
	return slots[0]
}

// announced finds all that follows a colon, or "called".
func (r tailReader) announced() (s *slot, first, end int) {
	if s = r.loneText(); s == nil {
		return nil, 0, 0
	}
	for i := range r.Words[:max(0, len(r.Words)-1)] {
		if r.Words[i].Is(text.AnnouncingWords) || strings.HasPrefix(r.Gap(i), ":") && len(r.Gap(i)) > 1 {
			return s, i + 1, r.trimmed(i+1, len(r.Words))
		}
	}
	return nil, 0, 0
}

// told finds what is said after "that", soon after an order to tell or to note it.
func (r tailReader) told() (s *slot, first, end int) {
	slots := r.slots(func(s *slot) bool { return s.free && s.namedBy(noted) })
	opening := (text.Text{Words: r.Words}).Opening()
	if len(slots) != 1 || opening < 0 || text.TellingWords.Has(r.Norm(opening)) {
		return nil, 0, 0
	}
	for i := opening + 1; i < len(r.Words)-1 && i <= opening+mostBeforeThat; i++ {
		if text.ThatWords.Has(r.Norm(i)) && (!text.Determiners.Has(r.Norm(i-2)) && !text.Articles.Has(r.Norm(i-2)) || r.named(i-1)) {
			return slots[0], i + 1, r.trimmed(i+1, r.sentence(i+1))
		}
	}
	return nil, 0, 0
}

// mostBeforeThat is how many words an order has before "that": "please tell Laura Smith that".
// Later it belongs to something else: "send me the report that Laura wrote".
const mostBeforeThat = 4

// objectOf finds what stands after the verb that the tool is for.
func (r tailReader) objectOf() (s *slot, first, end int) {
	slots := r.slots(func(s *slot) bool { return s.free && s.namedBy(contents) })
	if len(slots) != 1 || r.texts != 1 {
		return nil, 0, 0
	}
	at := r.order()
	if at < 0 {
		return nil, 0, 0
	}
	first = r.object(at + 1)
	end = r.sentence(first)
	listed := r.listed(first, end)
	if w := r.Words[at]; w.Norm != r.verb && !r.means(w) && (listed == end || !w.Is(text.PuttingVerbs)) {
		return nil, 0, 0
	}
	first, end = r.stripped(first, listed)
	return slots[0], first, end
}

// order is the first word of what is ordered or wished, -1 for none.
func (r tailReader) order() int {
	for i, w := range r.Words {
		switch {
		case w.Is(text.PuttingVerbs) || w.IsSubject() && (w.Norm == r.verb || r.means(w)):
			return i
		case !w.Is(text.StopWords) && w.IsSubject() || strings.ContainsAny(r.Gap(i), ".?!") || w.Is(text.Negations):
			return -1
		}
	}
	return -1
}

// means reports whether a verb is of the tool's name, as remind is of reminder, or one that
// its examples begin with.
func (r *filler) means(verb text.Word) bool {
	if r.verbs[verb.Stem] || r.name[verb.Stem] {
		return true
	}
	for stem := range r.name {
		if len(verb.Stem) >= typoLength && strings.HasPrefix(stem, verb.Stem) {
			return true
		}
	}
	return false
}

// listed ends before the place where something is put, in words that the tool itself has: "to
// the shopping list".
func (r tailReader) listed(first, end int) int {
	for i := end - 1; i > first; i-- {
		w := r.Words[i]
		switch {
		case w.Is(text.TargetCues):
			if i+1 < end && r.ofTool(i+1, end) {
				return i
			}
			return end
		case !w.Is(text.Determiners) && !r.own[w.Stem] && !w.Is(text.PoliteWords, text.TrailingWords):
			return end
		}
	}
	return end
}

// ofTool reports whether the words name the tool and nothing else.
func (r tailReader) ofTool(first, end int) bool {
	names := false
	for _, w := range r.Words[first:end] {
		names = names || w.IsSubject() && r.own[w.Stem]
	}
	return names
}

// stripped leaves out what other values have taken at both ends, with the words that bring
// them, and politeness.
func (r tailReader) stripped(first, end int) (from, to int) {
	for i := first; i < end; i++ {
		if !r.taken[i] {
			continue
		}
		if r.bare(first, i) { // "remind me at six to call mum"
			first = r.object(i + 1)
			continue
		}
		if !r.bare(i, end) {
			return end, end // what follows may be a part of it
		}
		end = i
	}
	for end > first && r.loose(end-1, end) {
		end--
	}
	return first, end
}

// bare reports whether the words are nothing but grammar.
func (r tailReader) bare(first, end int) bool {
	for i := first; i < end; i++ {
		if !r.taken[i] && !text.StopWords.Has(r.Norm(i)) && !text.PoliteWords.Has(r.Norm(i)) && !text.TrailingWords.Has(r.Norm(i)) {
			return false
		}
	}
	return true
}

// loose reports whether the word at the end of a value is no part of it: politeness, "too", or
// what brought a value that is taken.
func (r tailReader) loose(i, end int) bool {
	w := r.Norm(i)
	if text.PoliteWords.Has(w) || text.TrailingWords.Has(w) || text.InsteadWords.Has(w) {
		return true
	}
	return end < len(r.Words) && r.taken[end] && (text.ClockCues.Has(w) || text.DayCues.Has(w) || text.LinkingWords.Has(w) || text.Articles.Has(w))
}

// trimmed is the end of the text without politeness.
func (r tailReader) trimmed(first, end int) int {
	for end > first && r.Words[end-1].Is(text.PoliteWords) {
		end--
	}
	return end
}

// sentence ends where a mark ends the sentence.
func (r tailReader) sentence(first int) int {
	for end := first; end < len(r.Words); end++ {
		if strings.ContainsAny(r.Gap(end), ".?!\n") {
			return end + 1
		}
	}
	return len(r.Words)
}

// object skips what stands between a verb and its object.
func (r tailReader) object(i int) int {
	for i < len(r.Words) && (r.Words[i].Is(text.ObjectLinks) || r.named(i) || text.Determiners.Has(r.Norm(i)) && r.named(i+1)) {
		i++
	}
	return i
}

// named reports whether the word at i is one of the tool's name.
func (r tailReader) named(i int) bool {
	return i < len(r.Words) && r.name[r.Words[i].Stem]
}

// fresh reports whether the words say more than the tool's own name does.
func (r tailReader) fresh(first, end int) bool {
	for _, w := range r.Words[first:end] {
		if !w.Is(text.StopWords) && !r.name[w.Stem] {
			return true
		}
	}
	return false
}
