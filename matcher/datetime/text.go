// Package datetime finds the dates, times of day and numbers of a text.
package datetime

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// Reading is an interpretation of some words of a text as a date, a time of day or a
// number. A caller that fills in a value takes the exact one; a caller that looks for
// evidence of a value accepts any of them. One without words, whose End is 0, is none.
type Reading struct {
	First, End int // the words, from first to before end
	From, To   int // the same in bytes, the sign of a number included
	// Values are all possible meanings of the words: days as 2006-01-02, times as 15:04,
	// numbers as plain decimals. There are none if only the kind is known, as with "next
	// week".
	Values []string
	// Exact is the one value that is meant, a number as it was written; empty if the words
	// are ambiguous.
	Exact string
	// Doubtful is true if the words may not be a moment or number at all: the 5 of "for 5"
	// is no time in itself, the second of "the second class" no day.
	Doubtful bool
}

// Text is a text with its words, in which dates, times of day and numbers are read. It is of one
// goroutine.
type Text struct {
	text.Text
	Now time.Time // what relative dates count from

	// What has been read; nil before that. Several tools are often asked about one text.
	dates, clocks []Reading
	amounts       []quantity.Amount
	numbers       [][]Reading // by word
}

// NewText splits the first words of a text. It is cut after the last of them: the
// readers look at what follows a word, and a long rest would make each look a long one.
func NewText(said string, now time.Time) *Text {
	t := &Text{Text: text.Of(said), Now: now}
	if n := len(t.Words); n == text.MaxWords {
		t.Said = said[:t.Words[n-1].End]
	}
	return t
}

// Amounts returns the numbers of the text and what each measures, left to right. They are not
// to be changed.
func (t *Text) Amounts() []quantity.Amount {
	if t.amounts == nil {
		t.amounts = append([]quantity.Amount{}, quantity.Unit{}.Amounts(t.Said)...)
	}
	return t.amounts
}

// each collects what read finds. A doubtful reading does not hide one that shares
// its words.
func (t *Text) each(read func(int) Reading) []Reading {
	all := []Reading{}
	for i := 0; i < len(t.Words); {
		found := read(i)
		if found.End == 0 {
			i++
			continue
		}
		all = append(all, found)
		if i = found.End; found.Doubtful {
			i = found.First + 1
		}
	}
	return all
}

// reading makes a reading of the words from first to before end. A single value is exact.
func (t *Text) reading(first, end int, values ...string) Reading {
	found := Reading{First: first, End: end, From: t.Words[first].Start, To: t.Words[end-1].End}
	for _, value := range values {
		if !slices.Contains(found.Values, value) {
			found.Values = append(found.Values, value)
		}
	}
	if len(found.Values) == 1 {
		found.Exact = found.Values[0]
	}
	return found
}

// window is the text from the word on, as far as a date or a time reaches.
func (t *Text) window(i int) string {
	const longest = 32
	text := t.Said[t.Words[i].Start:]
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
func (t *Text) until(i, length int) int {
	end := i + 1
	for end < len(t.Words) && t.Words[end].Start < t.Words[i].Start+length {
		end++
	}
	return end
}

// Format writes a date as 2006-01-02, a time as 15:04, or both with a space between them in
// a layout of package time, in a time zone; or returns an empty string if they lack a part of it.
func Format(exact, layout string, in *time.Location) string {
	for _, known := range []string{"2006-01-02 15:04", time.DateOnly, "15:04"} {
		lacks := func(part string) bool { return strings.Contains(layout, part) && !strings.Contains(known, part) }
		if at, err := time.ParseInLocation(known, exact, in); err == nil && !lacks("2006") && !lacks("15:04") {
			return at.Format(layout)
		}
	}
	return ""
}
