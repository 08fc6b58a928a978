// Package moment finds the dates, times of day and numbers of a text.
package moment

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/text"
)

// In writes the moment in the layout, or nothing where it lacks a part of it.
func (m Moment) In(form string) string {
	for _, known := range []string{"2006-01-02 15:04", time.DateOnly, "15:04"} {
		at, err := time.Parse(known, m.Exact)
		if err != nil || lacks(known, form, "2006") || lacks(known, form, "15:04") {
			continue
		}
		return at.Format(form)
	}
	return ""
}

func lacks(known, form, part string) bool {
	return strings.Contains(form, part) && !strings.Contains(known, part)
}

// Moment is a date or a time of day that stands in the words from first to before end.
type Moment struct {
	First, End int
	// exact is the date as 2006-01-02 or the time as 15:04; empty where the words do
	// not settle it.
	Exact string
}

// Text is a text with its words, in which dates, times of day and numbers are read.
type Text struct {
	Source string
	Words  []text.Word
	Now    time.Time // what relative dates count from
}

// NewText splits the first words of a text. It is cut after the last of them: the
// readers look at what follows a word, and a long rest would make each look a long one.
func NewText(said string, now time.Time) *Text {
	words := text.Split(said)
	if len(words) == text.MaxWords {
		said = said[:words[len(words)-1].End]
	}
	return &Text{Source: said, Words: words, Now: now}
}

// window is the text from the word on, as far as a date or a time reaches.
func (r *Text) window(i int) string {
	const longest = 32
	text := r.Source[r.Words[i].Start:]
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
func (r *Text) until(i, length int) int {
	end := i + 1
	for end < len(r.Words) && r.Words[end].Start < r.Words[i].Start+length {
		end++
	}
	return end
}

// At returns the word at i, and an empty one beyond the text.
func (r *Text) At(i int) string {
	if i < 0 || i >= len(r.Words) {
		return ""
	}
	return r.Words[i].Norm
}

// touching reports whether only sep stands between the word at i and the next.
func (r *Text) touching(i int, sep string) bool {
	return i+1 < len(r.Words) && strings.TrimSpace(r.Gap(i)) == sep
}

// Surface is the text of the words from first to before end, as it was written.
func (r *Text) Surface(first, end int) string {
	return r.Source[r.Words[first].Start:r.Words[end-1].End]
}

// Gap is what stands between a word and the next.
func (r *Text) Gap(i int) string {
	if i+1 >= len(r.Words) {
		return r.Source[r.Words[i].End:]
	}
	return r.Source[r.Words[i].End:max(r.Words[i].End, r.Words[i+1].Start)]
}

// Capital reports whether the word is written with a capital first letter.
func (r *Text) Capital(i int) bool {
	first, _ := utf8.DecodeRuneInString(r.Source[r.Words[i].Start:])
	return unicode.IsUpper(first)
}

// Lowercase reports whether the text has no capital letter but a first one: such a
// writer does not mark names.
func (r *Text) Lowercase() bool {
	_, size := utf8.DecodeRuneInString(r.Source)
	return strings.IndexFunc(r.Source[size:], unicode.IsUpper) < 0
}

// Within returns the words that stand between two places of the text.
func (r *Text) Within(from, to int) (first, end int) {
	for first < len(r.Words) && r.Words[first].End <= from {
		first++
	}
	end = first
	for end < len(r.Words) && r.Words[end].Start < to {
		end++
	}
	return first, end
}
