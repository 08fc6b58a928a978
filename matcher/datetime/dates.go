package datetime

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"earshot/matcher/text"
)

// Dates returns the readings of dates in order, which must not be modified.
func (t *Text) Dates() []Reading {
	if t.dates == nil {
		t.dates = t.each(t.date)
	}
	return t.dates
}

// dateLists are the lists with the first words of dates.
var dateLists = []text.List{
	text.NearDays, text.Weekdays, text.ShortWeekdays, text.Months, text.Ordinals, text.DayOrdinals, text.NumberWords, text.Numbers, text.DateWords,
	text.ThisWeek, text.NextWeek, text.LastWeek, text.PastDays, text.ComingDays, text.NextDays, text.AfterNextDays, text.AheadCues, text.AgoCues,
}

// date reads the date that begins at word i, with all possible days: users leave the year out, disagree on "next
// Friday", and write day and month in either order.
func (t *Text) date(i int) Reading {
	if !t.At(i).Begins(dateLists...) && !text.StartsWithDigit(t.Norm(i)) && !monthAhead(t, i) {
		return Reading{} // most words
	}
	if found, known := t.dateAt[i]; known { // "two days before two days before …" reads each once
		return found
	}
	if t.dateAt == nil {
		t.dateAt = map[int]Reading{}
	}
	t.dateAt[i] = dayReader{t}.read(i)
	return t.dateAt[i]
}

// monthAhead reports whether the name of a month follows the word at i, maybe after "of" or the rest of a number: "quince de
// enero", "vingt et un mars".
func monthAhead(t *Text, i int) bool {
	if t.At(i + 1).Is(text.JoinWords) {
		i += 2
	}
	return t.At(t.afterOf(i + 1)).Is(text.Months)
}

func (t dayReader) read(i int) Reading {
	for _, read := range []func(int) Reading{
		t.figuresDate, t.shifted, t.nearDay, t.weekday, t.week, t.monthDay, t.dayMonth, t.dayAlone, t.ahead,
	} {
		if found := read(i); found.End > 0 {
			return found
		}
	}
	return Reading{}
}

func (t *Text) today() time.Time {
	return time.Date(t.Now.Year(), t.Now.Month(), t.Now.Day(), 0, 0, 0, 0, time.UTC)
}

func (t *Text) in(days int) string { return t.today().AddDate(0, 0, days).Format(time.DateOnly) }

// dayOf returns the day as a list of one, or an empty list for an invalid day.
func dayOf(year, month, number int) []string {
	date := time.Date(year, time.Month(month), number, 0, 0, 0, 0, time.UTC)
	if date.Day() != number || month < 1 || month > 12 {
		return nil
	}
	return []string{date.Format(time.DateOnly)}
}

func (t *Text) days(first, end int, days ...string) Reading {
	if len(days) == 0 {
		return Reading{}
	}
	return t.reading(first, end, days...)
}

// dated returns the reading of a day and month in the words from first to before end. Without a year (0) it is the
// next such day, including today, or possibly the previous one: most dates in conversations are ahead. After "last" it is
// the previous one.
func (t *Text) dated(first, end, year, month, number int) Reading {
	if year > 0 {
		return t.days(first, end, dayOf(year, month, number)...)
	}
	next, other := t.today().Year(), -1
	switch this := time.Date(next, time.Month(month), number, 0, 0, 0, 0, time.UTC); {
	case t.At(first - 1).Is(text.PastDays):
		if !this.Before(t.today()) {
			next--
		}
		return t.days(first, end, dayOf(next, month, number)...)
	case this.Before(t.today()):
		next++
	case this.Equal(t.today()):
		other = 1
	}
	exact := dayOf(next, month, number)
	found := t.days(first, end, append(exact, dayOf(next+other, month, number)...)...)
	if len(exact) > 0 {
		found.Exact = exact[0]
	}
	return found
}

var (
	yearFirst = regexp.MustCompile(`^([12]\d{3})[-/.](\d{1,2})[-/.](\d{1,2})(?:\D|$)`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})([-/.])\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})\b`)
	// Without a year only a slash distinguishes a date from a decimal or a range.
	noYear = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})\b`)
	// Points are those of a date after a German "am": "am 5.12."
	pointed = regexp.MustCompile(`^(\d{1,2})\.\s?(\d{1,2})\.(?:\D|$)`)
)

// figuresDate reads 2019-03-08, 8.3.2019, 3/8/19 and 3/8. With points the day is first; with slashes the order is
// open unless one of the two is no month.
func (t *Text) figuresDate(i int) Reading {
	written := t.window(i)
	if !text.StartsWithDigit(written) || !strings.ContainsAny(written[:min(len(written), 5)], "-/.") {
		return Reading{}
	}
	if p := yearFirst.FindStringSubmatch(written); p != nil {
		return t.days(i, t.until(i, len(p[1])+len(p[2])+len(p[3])+2), dayOf(atoi(p[1]), atoi(p[2]), atoi(p[3]))...)
	}
	if p := yearLast.FindStringSubmatch(written); p != nil {
		a, b, year, short := atoi(p[1]), atoi(p[3]), atoi(p[4]), len(p[4]) == 2
		if short {
			year += 2000
		}
		dayFirst := dayOf(year, b, a)
		found := t.days(i, t.until(i, len(p[0])), append(dayOf(year, a, b), dayFirst...)...)
		if p[2] == "." && dayFirst != nil {
			found.Exact = dayFirst[0]
		}
		found.Doubtful = short && p[2] != "/" // may be a version or a part of a code
		return found
	}
	if p := pointed.FindStringSubmatch(written); p != nil && t.At(i-1).IsForeign(text.DayCues) {
		return t.dated(i, t.until(i, len(p[1])+1+len(p[2])), 0, atoi(p[2]), atoi(p[1]))
	}
	p := noYear.FindStringSubmatch(written)
	if p == nil {
		return Reading{}
	}
	end := t.until(i, len(p[0]))
	dayFirst, monthFirst := t.dated(i, end, 0, atoi(p[2]), atoi(p[1])), t.dated(i, end, 0, atoi(p[1]), atoi(p[2]))
	found := t.days(i, end, append(monthFirst.Values, dayFirst.Values...)...)
	found.Exact = monthFirst.Exact + dayFirst.Exact // the one of them that is a day
	if monthFirst.Exact != "" && dayFirst.Exact != "" {
		found.Exact = ""
	}
	return found
}

func atoi(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// monthDay reads "March 8th, 2026" and "March the eighth".
func (t *Text) monthDay(i int) Reading {
	month, at := numberOf(text.Months, t.Norm(i)), t.afterThe(i+1)
	if month == 0 {
		return Reading{}
	}
	number, end := t.dayNumber(at)
	if end == at {
		return Reading{}
	}
	found := t.withYear(i, end, month, number)
	found.Doubtful = t.At(at).Is(text.NumberWords) && !t.At(end-1).Is(text.Ordinals) // "we may two"
	return found
}

// dayMonth reads "8 March", "the 8th of March 2019", and the 8 of "8 to 10 March".
func (t *Text) dayMonth(i int) Reading {
	at := t.afterThe(i)
	number, end := t.dayNumber(at)
	if end == at && monthAhead(t, at) {
		number, end = spelledAbroad(t, at)
	}
	if end == at || number > 31 {
		return Reading{}
	}
	if found := t.ofMonth(i, end, number); found.End > 0 {
		return found
	}
	next, ranged := end, t.At(end).Is(text.RangeWords)
	if ranged {
		next++
	}
	next = t.afterThe(next)
	if _, last := t.dayNumber(next); last > next {
		if whole := t.ofMonth(i, last, number); whole.End > 0 {
			found := t.reading(i, end, whole.Values...)
			found.Exact, found.Doubtful = whole.Exact, !ranged
			return found
		}
	}
	return Reading{}
}

func (t *Text) afterThe(i int) int {
	if t.Norm(i) == "the" {
		i++
	}
	return i
}

func (t *Text) afterOf(i int) int {
	for t.At(i).Is(text.OfWords) {
		i++
	}
	return i
}

// ofMonth reads the month after a day, with its year.
func (t *Text) ofMonth(first, at, number int) Reading {
	at = t.afterOf(at)
	if month := numberOf(text.Months, t.Norm(at)); month > 0 {
		return t.withYear(first, at+1, month, number)
	}
	if t.Norm(at) == "this" && t.Norm(at+1) == "month" {
		return t.dated(first, at+2, t.today().Year(), int(t.today().Month()), number)
	}
	return Reading{}
}

// withYear reads the year after a day and month, if any.
func (t *Text) withYear(first, end, month, number int) Reading {
	at := t.afterOf(end)
	if year := atoi(t.Norm(at)); year >= 1900 && year < 2200 && len(t.Norm(at)) == 4 {
		return t.dated(first, at+1, year, month, number)
	}
	return t.dated(first, end, 0, month, number)
}

// dayAlone reads "the 8th" and "8th" of this month or the next. It is only certain as an ordinal in figures after
// "the", without a following noun.
func (t *Text) dayAlone(i int) Reading {
	at := t.afterThe(i)
	w, inFigures := t.At(at), endsAsOrdinal(t.Norm(at))
	if !inFigures && (at == i || !w.Is(text.Ordinals) && numberOf(text.NumberWords, w.Norm) == 0) {
		return Reading{}
	}
	number, end := t.dayNumber(at)
	if end == at {
		return Reading{}
	}
	first := t.today().AddDate(0, 0, 1-t.today().Day())
	later := first.AddDate(0, 1, 0)
	this, next := dayOf(first.Year(), int(first.Month()), number), dayOf(later.Year(), int(later.Month()), number)
	found := t.days(i, end, append(this, next...)...)
	found.Exact = ""
	if number < t.today().Day() {
		this = next
	}
	if this != nil {
		found.Exact = this[0]
	}
	found.Doubtful = at == i || !inFigures || end < len(t.Words) && t.Words[end].IsSubject()
	return found
}

// dayNumber reads the day of a month: 8, 8th, 1er, eighth, twenty-first. end is i for none.
func (t *Text) dayNumber(i int) (number, end int) {
	w := t.At(i)
	ordinal, ok := text.Ordinals.Number(w.Norm)
	end = i + 1
	switch {
	case w.Is(text.DayOrdinals) && monthAhead(t, i):
		return numberOf(text.DayOrdinals, w.Norm), end
	case text.StartsWithDigit(w.Norm) && len(w.Norm) <= 2 && w.Norm[len(w.Norm)-1] <= '9':
		number = atoi(w.Norm)
	case w.Norm == "1er" || w.Norm == "1o":
		number = 1
	case endsAsOrdinal(w.Norm):
		number = atoi(w.Norm[:len(w.Norm)-2])
	case ok:
		return ordinal, end
	case numberOf(text.NumberWords, w.Norm) > 0:
		number, end = t.spelled(i)
		number, end = t.lastOrdinal(number, i, end)
	}
	if number < 1 || number > 31 {
		return 0, i
	}
	return number, end
}

// Ordinal matches an English ordinal in figures, such as 3rd.
var Ordinal = regexp.MustCompile(`^\d{1,2}(?:st|nd|rd|th)$`)

func endsAsOrdinal(w string) bool {
	return len(w) >= 3 && len(w) <= 4 && w[len(w)-1] > '9' && Ordinal.MatchString(w)
}
