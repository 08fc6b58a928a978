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

// Reading is an interpretation of some words of a text as a date, a time of day or a number. To fill in a value use
// Exact; as evidence for a value any of Values counts. An End of 0 means no reading.
type Reading struct {
	First, End int // words, from first to before end
	From, To   int // the same in bytes, including a number's sign
	// Values are all possible meanings of the words: days as 2006-01-02, times as 15:04, numbers as plain decimals.
	// They are empty if only the kind is known, as for "next week".
	Values []string
	// Exact is the only value, a number as written; empty if the words are ambiguous.
	Exact string
	// Doubtful means that the words may not be a moment or number: the 5 of "for 5", the second of "the second
	// class".
	Doubtful bool
}

// Text is a text split into words, with cached readings of dates, times of day and numbers. It is for one
// goroutine.
type Text struct {
	text.Text
	Now       time.Time // base of relative dates
	Preferred string    // the language that the writer is expected to use, as a BCP 47 tag; empty if unknown
	Hour      bool      // a number is an hour, because the time of day was asked for

	// Cached readings; nil before the first use. Several tools often read one text.
	dates, clocks []Reading
	dateAt        map[int]Reading // by first word
	amounts       []quantity.Amount
	numbers       [][]Reading // by word
	moments       []int       // ends, by first words
	language      *string
}

// NewText splits the first words of a text. It cuts the text after the last of them, because readers look at the
// text after a word, and a long rest would make each look expensive.
func NewText(said string, now time.Time) *Text {
	t := &Text{Text: text.Of(said), Now: now}
	if n := len(t.Words); n == text.MaxWords {
		t.Said = said[:t.Words[n-1].End]
	}
	return t
}

// Amounts returns the numbers of the text with their units in order, which must not be modified.
func (t *Text) Amounts() []quantity.Amount {
	if t.amounts == nil {
		t.amounts = append([]quantity.Amount{}, t.AmountsIn(quantity.Unit{})...)
	}
	return t.amounts
}

// AmountsIn returns the numbers of the text with their units, as the language writes them.
func (t *Text) AmountsIn(unit quantity.Unit) []quantity.Amount {
	return unit.In(t.Language()).Amounts(t.Said)
}

// Language returns the text's language, as [text.LanguageIn] has it. It matters only for figures.
func (t *Text) Language() string {
	if t.language == nil {
		found := ""
		if strings.ContainsAny(t.Said, "0123456789") {
			found = text.LanguageIn(t.Said, t.Preferred)
		}
		t.language = &found
	}
	return *t.language
}

// each collects the results of read. A doubtful reading does not hide one with common words.
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

// window returns the text from the word on, as long as a date or a time can be.
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

// until returns the end, in words, of length bytes from word i on.
func (t *Text) until(i, length int) int {
	end := i + 1
	for end < len(t.Words) && t.Words[end].Start < t.Words[i].Start+length {
		end++
	}
	return end
}

// dayAndTime is the layout of a date with a time of day, as Exact has them.
const dayAndTime = time.DateOnly + " 15:04"

// Format writes a date (2006-01-02), a time (15:04), or both with a space between in a layout of package time, in a
// time zone. It returns an empty string if exact lacks a part of the layout, and for RFC 3339 if it is no single
// instant.
func Format(exact, layout string, in *time.Location) string {
	if layout == time.RFC3339 {
		if at := Instants(exact, in); len(at) == 1 {
			return at[0].Format(layout)
		}
		return ""
	}
	for _, known := range []string{dayAndTime, time.DateOnly, "15:04"} {
		lacks := func(part string) bool { return strings.Contains(layout, part) && !strings.Contains(known, part) }
		if at, err := time.Parse(known, exact); err == nil && !lacks("2006") && !lacks("15:04") {
			return at.Format(layout)
		}
	}
	return ""
}

// Instants returns the instants at which clocks of a time zone show a date with a time of day: none in the hour that
// they skip in spring, and two in the one that they repeat in autumn.
func Instants(exact string, in *time.Location) (instants []time.Time) {
	shown, err := time.Parse(dayAndTime, exact)
	if err != nil {
		return nil
	}
	for _, near := range []time.Time{shown.AddDate(0, 0, -1), shown.AddDate(0, 0, 1)} { // one on either side of a change
		_, offset := near.In(in).Zone()
		at := shown.Add(-time.Duration(offset) * time.Second).In(in)
		if at.Format(dayAndTime) == exact && !slices.ContainsFunc(instants, at.Equal) {
			instants = append(instants, at)
		}
	}
	return instants
}
