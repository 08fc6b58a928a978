package datetime

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"earshot/matcher/text"
)

// date reads the date that begins at word i: all days that it may mean, since people
// leave the year out, differ on which day "next Friday" is, and write day and month in
// either order.
func (r dateReader) date(i int) (Reading, bool) {
	if !r.beginsDate(i) {
		return Reading{}, false
	}
	for _, read := range []func(int) (Reading, bool){
		r.figuresDate, r.nearDay, r.weekday, r.week, r.monthDay, r.dayMonth, r.dayAlone, r.ahead,
	} {
		if found, ok := read(i); ok {
			return found, true
		}
	}
	return Reading{}, false
}

// beginsDate spares the readers the words that cannot begin a date, which most words are.
func (r dateReader) beginsDate(i int) bool {
	w := r.At(i)
	return text.StartsWithDigit(w) || slices.ContainsFunc(dateLists, func(list text.List) bool { return list.Has(w) })
}

// dateLists are the lists that have the words a date begins with.
var dateLists = []text.List{
	text.NearDays, text.Weekdays, text.ShortWeekdays, text.Months, text.Ordinals, text.NumberWords, text.DateWords,
}

func (r dateReader) today() time.Time {
	return time.Date(r.Now.Year(), r.Now.Month(), r.Now.Day(), 0, 0, 0, 0, time.UTC)
}

func (r dateReader) in(days int) string { return r.today().AddDate(0, 0, days).Format(time.DateOnly) }

// dayOf returns the day as a list of one, or an empty list if there is no such day.
func dayOf(year, month, number int) []string {
	date := time.Date(year, time.Month(month), number, 0, 0, 0, 0, time.UTC)
	if date.Day() != number || month < 1 || month > 12 {
		return nil
	}
	return []string{date.Format(time.DateOnly)}
}

// dated reads the day and month that the words from first to before end name. Where no
// year was said (0) it is the next such day, today included, and may be the one before:
// of a conversation's dates most lie ahead, and some are told.
func (r dateReader) dated(first, end, year, month, number int) (Reading, bool) {
	if year > 0 {
		return r.settled(first, end, dayOf(year, month, number))
	}
	next, other := r.today().Year(), -1
	switch this := time.Date(next, time.Month(month), number, 0, 0, 0, 0, time.UTC); {
	case this.Before(r.today()):
		next++
	case this.Equal(r.today()):
		other = 1
	}
	found, ok := r.settled(first, end, append(dayOf(next, month, number), dayOf(next+other, month, number)...))
	if exact := dayOf(next, month, number); ok && exact != nil {
		found.Exact = exact[0]
	}
	return found, ok
}

// settled makes a reading from days, if there are any.
func (r dateReader) settled(first, end int, days []string) (Reading, bool) {
	if len(days) == 0 {
		return Reading{}, false
	}
	return r.reading(first, end, days...), true
}

var (
	yearFirst = regexp.MustCompile(`^([12]\d{3})[-/.](\d{1,2})[-/.](\d{1,2})(?:\D|$)`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})\b`)
	// Without a year only a slash tells a date from a decimal or a range.
	noYear = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})\b`)
)

// figuresDate reads 2019-03-08, 8.3.2019, 3/8/19 and 3/8. Points are for the day first;
// slashes leave the order open unless one of the two is no month.
func (r dateReader) figuresDate(i int) (Reading, bool) {
	written := r.window(i)
	if !text.StartsWithDigit(written) || !strings.ContainsAny(written[:min(len(written), 5)], "-/.") {
		return Reading{}, false
	}
	if p := yearFirst.FindStringSubmatch(written); p != nil {
		return r.settled(i, r.until(i, len(p[1])+len(p[2])+len(p[3])+2), dayOf(atoi(p[1]), atoi(p[2]), atoi(p[3])))
	}
	if p := yearLast.FindStringSubmatch(written); p != nil {
		return r.yearLast(i, r.until(i, len(p[0])), p)
	}
	p := noYear.FindStringSubmatch(written)
	if p == nil {
		return Reading{}, false
	}
	end := r.until(i, len(p[0]))
	dayFirst, _ := r.dated(i, end, 0, atoi(p[2]), atoi(p[1]))
	monthFirst, _ := r.dated(i, end, 0, atoi(p[1]), atoi(p[2]))
	found, ok := r.settled(i, end, append(monthFirst.Values, dayFirst.Values...))
	found.Exact = ""
	return found, ok
}

// yearLast reads the parts of 8.3.2019 and 3/8/19.
func (r dateReader) yearLast(first, end int, parts []string) (Reading, bool) {
	a, b, year := atoi(parts[1]), atoi(parts[3]), atoi(parts[4])
	short := len(parts[4]) == 2
	if short {
		year += 2000
	}
	dayFirst, monthFirst := dayOf(year, b, a), dayOf(year, a, b)
	found, ok := r.settled(first, end, append(monthFirst, dayFirst...))
	if parts[2] == "." && dayFirst != nil {
		found.Exact = dayFirst[0]
	}
	found.Doubtful = short && parts[2] != "/" // a version, a part of a code
	return found, ok
}

func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// nearDay reads "tomorrow" and its like.
func (r dateReader) nearDay(i int) (Reading, bool) {
	if r.At(i) == "day" && r.At(i+1) == "after" && r.At(i+2) == "tomorrow" {
		return r.reading(i, i+3, r.in(2)), true
	}
	// "morning" and "in the morning" are manana too; a day it is without an article.
	if days, ok := text.NearDays.Number(r.At(i)); ok && r.At(i-1) != "la" && r.At(i-1) != "guten" {
		return r.reading(i, i+1, r.in(days)), true
	}
	return Reading{}, false
}

// monthDay reads "March 8th, 2026" and "March the eighth".
func (r dateReader) monthDay(i int) (Reading, bool) {
	month, at := numberOf(text.Months, r.At(i)), i+1
	if month == 0 {
		return Reading{}, false
	}
	if r.At(at) == "the" {
		at++
	}
	number, end := r.dayNumber(at)
	if end == at {
		return Reading{}, false
	}
	found, ok := r.withYear(i, end, month, number)
	found.Doubtful = text.NumberWords.Has(r.At(at)) && !text.Ordinals.Has(r.At(end-1)) // "we may two"
	return found, ok
}

// dayMonth reads "8 March", "the 8th of March 2019", and the 8 of "8 to 10 March".
func (r dateReader) dayMonth(i int) (Reading, bool) {
	at := r.afterThe(i)
	number, end := r.dayNumber(at)
	if end == at {
		return Reading{}, false
	}
	if found, ok := r.ofMonth(i, end, number); ok {
		return found, true
	}
	next := end
	if text.RangeWords.Has(r.At(next)) {
		next++
	}
	next = r.afterThe(next)
	if _, last := r.dayNumber(next); last > next {
		if whole, ok := r.ofMonth(i, last, number); ok {
			found := r.reading(i, end, whole.Values...)
			found.Exact, found.Doubtful = whole.Exact, !text.RangeWords.Has(r.At(end))
			return found, true
		}
	}
	return Reading{}, false
}

func (r dateReader) afterThe(i int) int {
	if r.At(i) == "the" {
		i++
	}
	return i
}

// ofMonth reads the month after a day, with its year.
func (r dateReader) ofMonth(first, at, number int) (Reading, bool) {
	for text.OfWords.Has(r.At(at)) {
		at++
	}
	if month := numberOf(text.Months, r.At(at)); month > 0 {
		return r.withYear(first, at+1, month, number)
	}
	if r.At(at) == "this" && r.At(at+1) == "month" {
		return r.dated(first, at+2, r.today().Year(), int(r.today().Month()), number)
	}
	return Reading{}, false
}

// withYear reads the year after a day and month, where there is one.
func (r dateReader) withYear(first, end, month, number int) (Reading, bool) {
	at := end
	for text.OfWords.Has(r.At(at)) {
		at++
	}
	if year := atoi(r.At(at)); year >= 1900 && year < 2200 && len(r.At(at)) == 4 {
		return r.dated(first, at+1, year, month, number)
	}
	return r.dated(first, end, 0, month, number)
}

// dayAlone reads "the 8th" and "8th": of this month or of the next. Only an ordinal in
// figures after "the", with nothing after it that it could count, is a day in itself.
func (r dateReader) dayAlone(i int) (Reading, bool) {
	at := r.afterThe(i)
	w := r.At(at)
	if !endsAsOrdinal(w) && (at == i || !text.Ordinals.Has(w) && numberOf(text.NumberWords, w) == 0) {
		return Reading{}, false
	}
	number, end := r.dayNumber(at)
	if end == at {
		return Reading{}, false
	}
	first := r.today().AddDate(0, 0, 1-r.today().Day())
	later := first.AddDate(0, 1, 0)
	this, next := dayOf(first.Year(), int(first.Month()), number), dayOf(later.Year(), int(later.Month()), number)
	found, ok := r.settled(i, end, append(this, next...))
	found.Exact = ""
	if number < r.today().Day() {
		this = next
	}
	if this != nil {
		found.Exact = this[0]
	}
	found.Doubtful = at == i || !endsAsOrdinal(w) || end < len(r.Words) && text.IsSubject(r.Words[end])
	return found, ok
}

// dayNumber reads the day of a month: 8, 8th, 1er, eighth, twenty-first. end is i for
// none.
func (r dateReader) dayNumber(i int) (number, end int) {
	w := r.At(i)
	if text.StartsWithDigit(w) {
		return dayInFigures(w, i)
	}
	if number, ok := text.Ordinals.Number(w); ok {
		return number, i + 1
	}
	if numberOf(text.NumberWords, w) == 0 {
		return 0, i
	}
	number, end = r.spelled(i)
	number, end = r.lastOrdinal(number, i, end)
	if number < 1 || number > 31 {
		return 0, i
	}
	return number, end
}

// dayInFigures reads 8, 8th and 1er.
func dayInFigures(w string, i int) (number, end int) {
	switch {
	case len(w) <= 2 && w[len(w)-1] <= '9':
		number = atoi(w)
	case w == "1er" || w == "1o":
		number = 1
	case endsAsOrdinal(w):
		number = atoi(w[:len(w)-2])
	}
	if number < 1 || number > 31 {
		return 0, i
	}
	return number, i + 1
}

// Ordinal matches an English ordinal in figures, as 3rd.
var Ordinal = regexp.MustCompile(`^\d{1,2}(?:st|nd|rd|th)$`)

// endsAsOrdinal reports whether the word is an ordinal in figures.
func endsAsOrdinal(w string) bool {
	return len(w) >= 3 && len(w) <= 4 && w[len(w)-1] > '9' && Ordinal.MatchString(w)
}
