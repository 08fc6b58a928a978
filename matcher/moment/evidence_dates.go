package moment

import (
	"regexp"
	"strings"
	"time"

	"earshot/matcher/text"
)

// DateAt reads the date that begins at word i as all days that it may mean: people
// leave the year out, differ on which day "next Friday" is, and write day and month in
// either order. end is i for none.
func (r *Text) DateAt(i int) (days []string, end int) {
	if !text.StartsWithDigit(r.At(i)) && !r.beginsDate(i) {
		return nil, i
	}
	for _, read := range []func(*Text, int) ([]string, int){
		(*Text).figuresDate, (*Text).nearDate, (*Text).namedDay, (*Text).weekend,
		(*Text).monthFirst, (*Text).dayFirst, (*Text).dayAlone, (*Text).later,
	} {
		if days, end = read(r, i); end > i {
			return days, end
		}
	}
	return nil, i
}

// beginsDate keeps the readers from words that begin no date, which most words are.
func (r *Text) beginsDate(i int) bool {
	w := r.At(i)
	_, near := nearDays[w]
	_, named := weekdayOf(w)
	return near || named || months[w] > 0 || ordinalWords[w] > 0 || small[w] > 0 || dateWords[w]
}

var dateWords = text.Set(`next this coming last in the a an day yesterday gestern ieri ayer hier`)

// figuresDate reads 2019-03-08, 8.3.2019, 3/8/19 and 3/8.
func (r *Text) figuresDate(i int) ([]string, int) {
	said := r.window(i)
	if !text.StartsWithDigit(said) || !strings.ContainsAny(said[:min(len(said), 5)], "-/.") {
		return nil, i
	}
	if p := yearFirst.FindStringSubmatch(said); p != nil {
		return r.dated(atoi(p[1]), atoi(p[2]), atoi(p[3])), r.until(i, len(p[1])+len(p[2])+len(p[3])+2)
	}
	p := yearLast.FindStringSubmatch(said)
	if p == nil {
		p = noYear.FindStringSubmatch(said)
	}
	if p == nil {
		return nil, i
	}
	year := atoi(p[3])
	if len(p[3]) == 2 {
		year += 2000
	}
	days := append(r.dated(year, atoi(p[1]), atoi(p[2])), r.dated(year, atoi(p[2]), atoi(p[1]))...)
	if len(days) == 0 {
		return nil, i
	}
	return days, r.until(i, len(p[0]))
}

var (
	yearFirst = regexp.MustCompile(`^([12]\d{3})[-/.](\d{1,2})[-/.](\d{1,2})(?:\D|$)`)
	yearLast  = regexp.MustCompile(`^(\d{1,2})[-/.]\s?(\d{1,2})[-/.]\s?(\d{4}|\d{2})\b`)
	// Without a year only a slash tells a date from a decimal or a range.
	noYear = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})()\b`)
)

// nearDate reads "tomorrow" and its like.
func (r *Text) nearDate(i int) ([]string, int) {
	if m, ok := r.nearDay(i); ok {
		return []string{m.Exact}, m.End
	}
	switch r.At(i) {
	case "yesterday", "gestern", "ieri", "ayer", "hier":
		return []string{r.in(-1)}, i + 1
	}
	return nil, i
}

// namedDay reads "Friday", "this Fri", "next Friday", "last Friday", "Friday next
// week".
func (r *Text) namedDay(i int) ([]string, int) {
	at := i
	if r.At(i) == "next" || r.At(i) == "this" || r.At(i) == "coming" || r.At(i) == "last" {
		at++
	}
	day, ok := weekdayOf(r.At(at))
	if !ok {
		return nil, i
	}
	ahead := (int(day) - int(r.today().Weekday()) + 7) % 7
	switch {
	case r.At(i) == "last":
		return []string{r.in(ahead - 7)}, at + 1
	case r.At(at+1) == "next" && r.At(at+2) == "week":
		return []string{r.in(r.nextWeek(day))}, at + 3
	case r.At(i) == "next" && ahead == 0:
		return []string{r.in(7)}, at + 1
	case r.At(i) == "next":
		return []string{r.in(ahead), r.in(r.nextWeek(day))}, at + 1
	case ahead == 0:
		return []string{r.in(0), r.in(7)}, at + 1
	}
	return []string{r.in(ahead)}, at + 1
}

// weekdayOf knows the names of weekdays and the English short forms.
func weekdayOf(w string) (time.Weekday, bool) {
	if day, ok := weekdays[w]; ok {
		return day, true
	}
	day, ok := shortWeekdays[w]
	return day, ok
}

var shortWeekdays = map[string]time.Weekday{
	"sun": 0, "mon": 1, "tue": 2, "tues": 2, "wed": 3, "thu": 4, "thur": 4, "thurs": 4, "fri": 5, "sat": 6,
}

// weekend reads "this weekend", either day of it, and "next weekend", of which it is
// open whether the coming one is meant.
func (r *Text) weekend(i int) ([]string, int) {
	if r.At(i+1) != "weekend" || r.At(i) != "this" && r.At(i) != "the" && r.At(i) != "next" && r.At(i) != "coming" {
		return nil, i
	}
	saturday := (int(time.Saturday) - int(r.today().Weekday()) + 7) % 7
	days := []string{r.in(saturday), r.in(saturday + 1)}
	if r.At(i) == "next" {
		days = append(days, r.in(saturday+7), r.in(saturday+8))
	}
	return days, i + 2
}

// later reads "in 3 days", "in a week", "two weeks from now".
func (r *Text) later(i int) ([]string, int) {
	at := i
	if r.At(i) == "in" {
		at++
	}
	count, after := r.countOf(at)
	days := map[string]int{"day": 1, "week": 7}[text.Stem(r.At(after))]
	if after == at || days == 0 || count > 5000 {
		return nil, i
	}
	end := after + 1
	if at == i {
		if r.At(end) != "from" || r.At(end+1) != "now" && r.At(end+1) != "today" {
			return nil, i
		}
		end += 2
	}
	return []string{r.in(days * count)}, end
}

// countOf reads a whole number; "a" counts one.
func (r *Text) countOf(i int) (count, end int) {
	if r.At(i) == "a" || r.At(i) == "an" {
		return 1, i + 1
	}
	if i >= len(r.Words) {
		return 0, i
	}
	number, end := r.Figure(i)
	return atoi(string(number)), end
}

// dated returns the days of a year, month and day. Where no year was said (0) they are
// the next such day and the last one: of a conversation's dates most lie ahead, and
// some are told.
func (r *Text) dated(year, month, day int) []string {
	years := []int{year}
	if year == 0 {
		this := r.today().Year()
		years = []int{this, this + 1}
		if !r.today().Before(time.Date(this, time.Month(month), day, 0, 0, 0, 0, time.UTC)) {
			years = []int{this + 1, this}
		} else {
			years[1] = this - 1
		}
	}
	var days []string
	for _, year := range years {
		if m, ok := r.exactly(0, 0, year, month, day); ok && month > 0 {
			days = append(days, m.Exact)
		}
	}
	return days
}

// monthFirst reads "March 8th, 2019" and "March the eighth".
func (r *Text) monthFirst(i int) ([]string, int) {
	month := months[r.At(i)]
	if month == 0 {
		return nil, i
	}
	at := i + 1
	if r.At(at) == "the" {
		at++
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	return r.withAnyYear(i, end, month, day)
}

// dayFirst reads "8 March", "the 8th of March 2019", and the 8 of "8 to 10 March".
func (r *Text) dayFirst(i int) ([]string, int) {
	at := i
	if r.At(at) == "the" {
		at++
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	if days, after := r.ofMonth(i, end, day); after > i {
		return days, after
	}
	next := end
	if rangeWords[r.At(next)] {
		next++
	}
	if r.At(next) == "the" {
		next++
	}
	if _, last := r.dayNumber(next); last > next {
		if days, after := r.ofMonth(i, last, day); after > i {
			return days, end
		}
	}
	return nil, i
}

var rangeWords = text.Set(`and or to till until through bis und au al a e y`)

// ofMonth reads the month after a day, with its year.
func (r *Text) ofMonth(first, at, day int) ([]string, int) {
	for ofWords[r.At(at)] {
		at++
	}
	if month := months[r.At(at)]; month > 0 {
		return r.withAnyYear(first, at+1, month, day)
	}
	if r.At(at) == "this" && r.At(at+1) == "month" {
		return r.dated(r.today().Year(), int(r.today().Month()), day), at + 2
	}
	return nil, first
}

var ofWords = text.Set(`of de di del`)

// withAnyYear reads the year after a day and month, where there is one.
func (r *Text) withAnyYear(first, end, month, day int) ([]string, int) {
	at := end
	for ofWords[r.At(at)] {
		at++
	}
	if year := atoi(r.At(at)); year >= 1900 && year < 2200 && len(r.At(at)) == 4 {
		return r.found(r.dated(year, month, day), first, at+1)
	}
	return r.found(r.dated(0, month, day), first, end)
}

func (r *Text) found(days []string, first, end int) ([]string, int) {
	if len(days) == 0 {
		return nil, first
	}
	return days, end
}

// dayAlone reads "the 8th" and "8th": of this month or of the next.
func (r *Text) dayAlone(i int) ([]string, int) {
	at := i
	if r.At(at) == "the" {
		at++
	}
	w := r.At(at)
	if !endsAsOrdinal(w) && (at == i || ordinalWords[w] == 0 && small[w] == 0) {
		return nil, i
	}
	day, end := r.dayNumber(at)
	if end == at {
		return nil, i
	}
	first := r.today().AddDate(0, 0, 1-r.today().Day())
	var days []string
	for _, month := range []time.Time{first, first.AddDate(0, 1, 0)} {
		days = append(days, r.dated(month.Year(), int(month.Month()), day)...)
	}
	return r.found(days, i, end)
}

// dayNumber reads the day of a month: 8, 8th, 1er, eighth, twenty-first.
func (r *Text) dayNumber(i int) (day, end int) {
	w := r.At(i)
	if text.StartsWithDigit(w) {
		return dayInFigures(w, i)
	}
	if day, ok := ordinalWords[w]; ok {
		return day, i + 1
	}
	if small[w] == 0 || i >= len(r.Words) {
		return 0, i
	}
	value, end := r.spelled(i)
	value, end = r.lastOrdinal(value, i, end)
	if value < 1 || value > 31 {
		return 0, i
	}
	return value, end
}

// dayInFigures reads 8, 8th and 1er.
func dayInFigures(w string, i int) (day, end int) {
	switch {
	case len(w) <= 2 && w[len(w)-1] <= '9':
		day = atoi(w)
	case w == "1er" || w == "1o":
		day = 1
	case endsAsOrdinal(w):
		day = atoi(w[:len(w)-2])
	}
	if day < 1 || day > 31 {
		return 0, i
	}
	return day, i + 1
}

// endsAsOrdinal reports whether the word is an ordinal in figures.
func endsAsOrdinal(w string) bool {
	return len(w) >= 3 && len(w) <= 4 && w[len(w)-1] > '9' && Ordinal.MatchString(w)
}
