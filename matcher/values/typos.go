package values

import (
	"slices"
	"strings"

	"github.com/agext/levenshtein"

	"earshot/matcher/text"
)

// Lengths, in letters, from which a word that differs from a value in one letter is taken for
// it: where a letter is missing or too many, and where it is another. Shorter words that differ
// so little are too often both words, as boat and goat.
const (
	typoLength  = 5
	otherLength = 6
)

// misspelt finds the one listed value, or alias, of which the text has a spelling that is one
// letter away. Words that the tool itself says are spelt as they are meant.
func (r choiceReader) misspelt(s *slot) []mention {
	var found []mention
	for value, words := range s.spellings() {
		for first := 0; first+len(words) <= len(r.Words); first++ {
			end := first + len(words)
			if r.free(first, end) && r.nearly(first, words) && r.meant(s, value, first, end) && !slices.ContainsFunc(found, func(m mention) bool { return m.value == value }) {
				found = append(found, mention{value, first, end})
			}
		}
	}
	if len(found) > 1 {
		return nil
	}
	return found
}

// spellings yields the listed values in the words that they are called by.
func (s *slot) spellings() func(yield func(any, []text.Word) bool) {
	return func(yield func(any, []text.Word) bool) {
		for _, one := range s.Allowed {
			if said, is := one.(string); is && !yield(one, text.Split(said)) {
				return
			}
		}
		for _, alias := range s.Aliases {
			if !yield(alias.Value, text.Split(alias.Words)) {
				return
			}
		}
	}
}

// nearly reports whether the words from first on are those of a value but for one letter of
// one of them.
func (r choiceReader) nearly(first int, words []text.Word) bool {
	typos := 0
	for i, w := range words {
		here := r.Words[first+i]
		if text.Singular(here.Norm) == text.Singular(w.Norm) {
			continue
		}
		whole := len(w.Norm)
		if len(words) > 1 {
			whole = max(whole, typoLength) // the other words vouch for a short one
		}
		if typos++; !r.slip(here, w.Norm, whole) {
			return false
		}
	}
	return typos == 1
}

// slip reports whether what is written may be a slip of the pen for a word.
func (r choiceReader) slip(here text.Word, meant string, length int) bool {
	said := here.Norm
	if length < typoLength || len(said) < 3 || said[0] != meant[0] || !here.IsSubject() || r.own[here.Stem] || strings.ContainsAny(said+meant, "0123456789") {
		return false
	}
	if len(said) == len(meant) && !transposed(said, meant) {
		return length >= otherLength && levenshtein.Distance(said, meant, nil) == 1
	}
	return transposed(said, meant) || levenshtein.Distance(said, meant, nil) == 1
}

// transposed reports whether two words differ in the order of two letters beside each other.
func transposed(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
