package matcher

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// momentText is a text with its words, in which dates, times of day and numbers are read.
type momentText struct {
	text  string
	words []word
	now   time.Time // what relative dates count from
}

// newMomentText splits the first words of a text. It is cut after the last of them: the
// readers look at what follows a word, and a long rest would make each look a long one.
func newMomentText(text string, now time.Time) *momentText {
	words := split(text)
	if len(words) == mostWords {
		text = text[:words[len(words)-1].end]
	}
	return &momentText{text: text, words: words, now: now}
}

// window is the text from the word on, as far as a date or a time reaches.
func (r *momentText) window(i int) string {
	const longest = 32
	text := r.text[r.words[i].start:]
	if len(text) <= longest {
		return text
	}
	cut := longest
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}

// until is the end, in words, of what takes length bytes from word i on.
func (r *momentText) until(i, length int) int {
	end := i + 1
	for end < len(r.words) && r.words[end].start < r.words[i].start+length {
		end++
	}
	return end
}

// at returns the word at i, and an empty one beyond the text.
func (r *momentText) at(i int) string {
	if i < 0 || i >= len(r.words) {
		return ""
	}
	return r.words[i].norm
}

// touching reports whether only sep stands between the word at i and the next.
func (r *momentText) touching(i int, sep string) bool {
	return i+1 < len(r.words) && strings.TrimSpace(r.gap(i)) == sep
}

// surface is the text of the words from first to before end, as it was written.
func (r *momentText) surface(first, end int) string {
	return r.text[r.words[first].start:r.words[end-1].end]
}

// gap is what stands between a word and the next.
func (r *momentText) gap(i int) string {
	if i+1 >= len(r.words) {
		return r.text[r.words[i].end:]
	}
	return r.text[r.words[i].end:max(r.words[i].end, r.words[i+1].start)]
}

// capital reports whether the word is written with a capital first letter.
func (r *momentText) capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(r.text[r.words[i].start:])
	return unicode.IsUpper(first)
}

// lowercase reports whether the text has no capital letter but a first one: such a
// writer does not mark names.
func (r *momentText) lowercase() bool {
	_, size := utf8.DecodeRuneInString(r.text)
	return strings.IndexFunc(r.text[size:], unicode.IsUpper) < 0
}

// within returns the words that stand between two places of the text.
func (r *momentText) within(from, to int) (first, end int) {
	for first < len(r.words) && r.words[first].end <= from {
		first++
	}
	end = first
	for end < len(r.words) && r.words[end].start < to {
		end++
	}
	return first, end
}
