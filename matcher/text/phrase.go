package text

import "strings"

// maxListed is the longest phrase of the lists that are looked up in sentences, in words.
const maxListed = 5

// PhraseAt returns how many words the longest phrase of the list has that stands at a place;
// 0 for none.
func (l List) PhraseAt(words []Word, at int) int {
	var said strings.Builder
	longest := 0
	for i := at; i < len(words) && i < at+maxListed; i++ {
		if i > at {
			said.WriteByte(' ')
		}
		said.WriteString(words[i].Norm)
		if l.Has(said.String()) {
			longest = i + 1 - at
		}
	}
	return longest
}

// PhraseBefore returns how many words the longest phrase of the list has that ends right
// before a place; 0 for none.
func (l List) PhraseBefore(words []Word, end int) int {
	for first := max(0, end-maxListed); first < end; first++ {
		if length := l.PhraseAt(words, first); first+length == end {
			return length
		}
	}
	return 0
}

// Pause reports whether punctuation parts the word at a place from the one before. Nothing
// stands before the first.
func Pause(said string, words []Word, at int) bool {
	return at <= 0 || at >= len(words) || pauseBetween(said, words[at-1], words[at])
}

// Spoken is the text of the words from first to before end, as it was said.
func Spoken(said string, words []Word, first, end int) string {
	if first >= end {
		return ""
	}
	return said[words[first].Start:words[end-1].End]
}
