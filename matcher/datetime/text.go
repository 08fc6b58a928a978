// Package datetime finds the dates, times of day and numbers of a text.
package datetime

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"earshot/matcher/text"
	"earshot/repositories/quantity"
)

// Reading is an interpretation of some words of a text as a date, a time of day or a
// number. A caller that fills in a value takes the exact one; a caller that looks for
// evidence of a value accepts any of them.
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

// reading makes a reading of the words from first to before end. A single value is exact.
func (r *Text) reading(first, end int, values ...string) Reading {
	found := Reading{First: first, End: end, From: r.Words[first].Start, To: r.Words[end-1].End}
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

// Dates returns the readings of dates, left to right. They are not to be changed.
func (r *Text) Dates() []Reading {
	if r.dates == nil {
		r.dates = r.each(r.asDates().date)
	}
	return r.dates
}

// Clocks returns the readings of times of day, left to right. They are not to be changed.
func (r *Text) Clocks() []Reading {
	if r.clocks == nil {
		r.clocks = r.each(r.asClocks().clock)
	}
	return r.clocks
}

// Amounts returns the numbers of the text and what each measures, left to right. They are not
// to be changed.
func (r *Text) Amounts() []quantity.Amount {
	if r.amounts == nil {
		r.amounts = append([]quantity.Amount{}, quantity.Unit{}.Amounts(r.Source)...)
	}
	return r.amounts
}

// numberReader, dateReader and clockReader read one kind of a text, from a word on.
type (
	numberReader struct{ *Text }
	dateReader   struct{ numberReader }
	clockReader  struct{ numberReader }
)

func (r *Text) asNumbers() numberReader { return numberReader{r} }
func (r *Text) asDates() dateReader     { return dateReader{numberReader{r}} }
func (r *Text) asClocks() clockReader   { return clockReader{numberReader{r}} }

// each collects what read finds. A doubtful reading does not hide one that shares
// its words.
func (r *Text) each(read func(int) (Reading, bool)) []Reading {
	all := []Reading{}
	for i := 0; i < len(r.Words); {
		found, ok := read(i)
		if !ok {
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

// Format writes a date as 2006-01-02, a time as 15:04, or both with a space between them in
// a layout of package time, in a time zone; or returns an empty string if they lack a part of it.
func Format(exact, layout string, in *time.Location) string {
	for _, known := range []string{"2006-01-02 15:04", time.DateOnly, "15:04"} {
		at, err := time.ParseInLocation(known, exact, in)
		if err != nil || lacks(known, layout, "2006") || lacks(known, layout, "15:04") {
			continue
		}
		return at.Format(layout)
	}
	return ""
}

func lacks(known, layout, part string) bool {
	return strings.Contains(layout, part) && !strings.Contains(known, part)
}

// Text is a text with its words, in which dates, times of day and numbers are read. It is of one
// goroutine.
type Text struct {
	Source string
	Words  []text.Word
	Now    time.Time // what relative dates count from

	// What has been read; nil before that. Several tools are often asked about one text.
	dates, clocks []Reading
	amounts       []quantity.Amount
	numbers       [][]Reading // by word
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

// Surface is the text of the words from first to before end, as it was written.
func (r *Text) Surface(first, end int) string {
	return r.Source[r.Words[first].Start:r.Words[end-1].End]
}

// Gap is the text between a word and the next.
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

// Alone reads a text that is a number, a date, a time of day and nothing else, or a date and a
// time together, which are returned apart: they may have been said apart.
func (r *Text) Alone() (meant, days, hours []string) {
	if p := stamp.FindStringSubmatch(r.Source); p != nil {
		date, _ := NewText(p[1], r.Now).asDates().date(0)
		clock, _ := NewText(p[2], r.Now).asClocks().clock(0)
		days, hours = date.Values, clock.Values
		if at, err := time.Parse(time.RFC3339, r.Source); err == nil { // people say what a clock on their wall does
			here := at.In(r.Now.Location())
			days, hours = append(days, here.Format(time.DateOnly)), append(hours, here.Format("15:04"))
		}
		return nil, days, hours
	}
	meant = r.asNumbers().alone()
	if clock, ok := r.asClocks().clock(0); ok && clock.End == len(r.Words) {
		return append(meant, clock.Values...), nil, nil
	}
	date, ok := r.asDates().date(0)
	if !ok || date.End == len(r.Words) {
		return append(meant, date.Values...), nil, nil
	}
	at := date.End
	if r.At(at) == "at" {
		at++
	}
	if clock, ok := r.asClocks().clock(at); ok && clock.End == len(r.Words) {
		return meant, date.Values, clock.Values
	}
	return meant, nil, nil
}

// stamp is a date and time of ISO 8601 and RFC 3339. Whoever writes one may have left the time as
// it was said, whatever the offset.
var stamp = regexp.MustCompile(`^(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2})(?::\d{2}(?:\.\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?$`)
