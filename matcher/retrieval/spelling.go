package retrieval

import (
	"cmp"
	"slices"
	"sync"

	"earshot/matcher/text"
)

// typoLength is the length in bytes from which a word that no tool knows is taken for one with
// a typing error: shorter ones, as boat and goat, are too often two words.
const typoLength = 5

// edge is how many bytes at the begin and at the end of a word a spelling is looked up by: one
// error leaves one of both as it was.
const edge = 2

// Spelled returns the words with those that no tool in scope knows in the spelling of a tool's,
// where they are one typing error away from it: a letter too many, too few, another one, or two
// in the wrong order.
func (s Scope) Spelled(words []text.Word) []text.Word {
	var spelled []text.Word
	for i, w := range words {
		if len(w.Stem) < typoLength || !w.IsSubject() || len(text.Topics(w)) > 0 {
			continue
		}
		if right := s.spelled(w.Stem); right != "" {
			if spelled == nil {
				spelled = slices.Clone(words)
			}
			spelled[i] = w.As(right, right)
		}
	}
	if spelled == nil {
		return words
	}
	return spelled
}

// spelled returns the stem that the most tools know of those that are an error away from one
// that no tool knows; empty if there is none.
func (s Scope) spelled(stem string) (best string) {
	most := 0
	for _, p := range s.parts {
		if len(p.stems[stem]) > 0 {
			return ""
		}
	}
	for _, p := range s.parts {
		for _, known := range p.near(stem) {
			if tools := len(p.stems[known]); tools > most && typo(known, stem) {
				best, most = known, tools
			}
		}
	}
	return best
}

// near lists the stems that begin or end as the stem does, in an order that is always the same.
func (l *index) near(stem string) []string {
	spelling := l.spelling()
	return slices.Concat(spelling["^"+stem[:edge]], spelling[stem[len(stem)-edge:]])
}

// spellings makes the lookup of an index's stems when it is first needed.
func (l *index) spellings() func() map[string][]string {
	return sync.OnceValue(func() map[string][]string {
		found := map[string][]string{}
		for stem := range l.stems {
			if len(stem) >= typoLength && !text.StartsWithDigit(stem) {
				begin, end := "^"+stem[:edge], stem[len(stem)-edge:]
				found[begin], found[end] = append(found[begin], stem), append(found[end], stem)
			}
		}
		for _, list := range found {
			slices.SortFunc(list, cmp.Compare[string])
		}
		return found
	})
}

// typo reports whether one of two words is the other with one typing error. Who mistypes
// seldom does so at the first letter.
func typo(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a[0] != b[0] {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if i == len(a) || a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
